#!/usr/bin/env python3
"""Are the locks of real daemons linearizable? A checker that is not ours says.

    test_linear.py                          one round, 2,000 holds
    LINEAR_SECONDS=3600 test_linear.py      as many rounds as begin in that time
    LINEAR_MUTANT=no-kill test_linear.py Rounds     would such a round notice?

Three daemons on one table and one with an embedded store are killed and
stopped, and so are their clients, anywhere; between daemons and DynamoDB,
requests and answers are lost, are late, take effect after they were given up,
and networks are cut. There are locks for exclusive use, semaphores, and locks
that readers share. Each client writes down what it asked for, what it was
granted and until when it believed in it, by the clock of the host; porcupine
looks for an order of all that (checker/model.go says what a lock is). No
verdict hangs on how long anything took.

It must find what is seeded into ddblockd-unsafe, too.
"""
import asyncio
import collections
import functools
import os
import re
import signal
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, os.pardir, "integration"))

import fault_proxy  # noqa: E402
import fleet  # noqa: E402
import harness  # noqa: E402
import test_fleet  # noqa: E402
from undisturbed import Undisturbed  # noqa: E402

SECONDS = float(os.environ.get("LINEAR_SECONDS") or 0)
MUTANT = os.environ.get("LINEAR_MUTANT")
GRANTS = 2000  # of the three together
LEAST = {"exclusive": 400, "shared": 200, "semaphore": 400, "embedded": 200}
LATE = 0.01  # requests, and as many answers, that may be given up meanwhile
LATE_S = 2 * float(test_fleet.SETTINGS["request_timeout"].rstrip("s"))
SLOW = 0.05  # requests that take their time
SLOW_S = 0.05
POLL = "50ms"  # so that locks go from host to host more often


def place():
    """Where the checker is built."""
    return os.path.abspath(os.environ.get("DDBLOCK_LINEAR", "linear.d"))


@functools.lru_cache(None)
def ensure():
    """Build it on first use. Why there is none, if so."""
    try:
        done = subprocess.run(
            [os.path.join(HERE, "setup"), place()], check=False, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT)
    except OSError as e:
        return str(e)
    return done.stdout if done.returncode != 0 else None


class Checked(unittest.TestCase):
    """Has the checker."""

    def setUp(self):
        super().setUp()
        if ensure() is not None:
            self.skipTest(f"no checker: {ensure()}")

    def check(self, lines):
        """What it makes of a history: (status, what it said)."""
        done = subprocess.run(
            [os.path.join(place(), "linear")], check=False, text=True,
            input="".join(line + "\n" for line in lines), capture_output=True)
        return done.returncode, done.stdout + done.stderr


class Checker(Checked):
    """It says no, and only to what is wrong. (KEY CLIENT LIMIT TOKEN ASK GRANT
    END DONE)"""

    def says(self, status, *lines):
        found, said = self.check(lines)
        self.assertEqual(found, status, said)

    def test_exclusive(self):
        self.says(0, "k 1 - 7 10 20 30 40", "k 2 - 8 11 31 50 -")
        # It was granted while the first believed in it.
        self.says(1, "k 1 - 7 10 20 30 40", "k 2 - 8 11 29 50 -")
        # Another lock is another lock.
        self.says(0, "k 1 - 7 10 20 30 40", "l 2 - 8 11 29 50 -")
        # The release of the dead is open: before the next, or much later.
        self.says(0, "k 1 - 7 10 20 30 -", "k 2 - 8 90 95 99 -")
        # Its deadline was over when it heard of the grant.
        self.says(0, "k 1 - 7 10 50 30 -", "k 2 - 8 31 40 60 70")

    def test_tokens(self):
        self.says(1, "k 1 - 7 10 20 30 40", "k 2 - 7 50 60 70 80")
        self.says(1, "k 1 0 7 10 20 30 40", "k 2 - 7 50 60 70 80")
        self.says(1, "k 1 - 7 10 20 30 40", "k 2 0 7 50 60 70 80")
        self.says(0, "k 1 0 7 10 20 30 40", "k 2 0 7 50 60 70 80")
        # Of two that were asked for together, either may be first.
        self.says(0, "k 1 - 8 10 90 91 92", "k 2 - 7 10 20 30 40")

    def test_shared(self):
        readers = "k 1 0 7 10 20 50 60", "k 2 0 7 10 20 50 60"
        self.says(0, *readers, "k 3 - 8 10 51 60 70")
        self.says(1, *readers, "k 3 - 8 10 49 60 70")
        self.says(1, "k 1 - 7 10 20 50 60", "k 2 0 8 10 49 60 70")

    def test_semaphore(self):
        two = "k 1 2 7 10 20 50 60", "k 2 2 8 10 20 50 60"
        self.says(0, *two, "k 3 2 9 10 51 70 80")
        self.says(1, *two, "k 3 2 9 10 49 70 80")
        # What two dead had is room for two, and no more.
        dead = "k 1 2 7 10 20 30 -", "k 2 2 8 10 20 30 -"
        next_two = "k 3 2 9 35 40 80 90", "k 4 2 10 35 40 80 90"
        self.says(0, *dead, *next_two)
        self.says(1, *dead, *next_two, "k 5 2 11 50 60 70 71")
        # Nobody has it within another limit meanwhile.
        self.says(1, "k 1 2 7 10 20 50 60", "k 2 3 8 10 20 50 60")
        self.says(1, "k 1 2 7 10 20 50 60", "k 2 0 8 10 20 50 60")

    def test_unreadable(self):
        self.says(2, "k 1 - 7 10 20 30")
        self.says(2, "k 1 - x 10 20 30 40")
        self.says(2, "k 1 - 7 20 10 30 40")


def holds_of(lines, killed_us, deaths_us):
    """What clients (fleet.Line, guard_client.c) believed that they had.

    @killed_us is by process, and so is @deaths_us: when its daemons died."""
    asked, holds = {}, []
    for line in lines:
        hold = asked.get(line.pid)
        until_us = 1000 * line.until_ms
        if line.word == "ask":
            asked[line.pid] = {"key": line.key, "pid": line.pid,
                               "ask": line.at_us, "done": "-"}
        elif hold is None:
            continue
        elif line.word in ("enter", "share"):
            hold.update(token=line.token, grant=line.at_us, end=until_us,
                        said=line.at_us)
            holds.append(hold)
        elif line.word in ("touch", "keep", "pausing"):
            hold.update(end=until_us, said=line.at_us)
        elif line.word in ("leave", "lost") and "end" in hold:
            hold["end"] = min(until_us, line.at_us)
            hold["left"] = True
        elif line.word == "left":
            hold["done"] = line.at_us
    for hold in holds:
        ends_us = [at for at in deaths_us[hold["pid"]] if at >= hold["ask"]]
        if not hold.pop("left", False):
            # The moment before a kill may be long before the kill.
            ends_us.append(killed_us[hold["pid"]])
        # A client that is stopped sees late that its connection has ended,
        # and uses nothing before it has seen it. What it says, it says alive.
        for at in ends_us:
            hold["end"] = min(hold["end"], max(hold["said"], at))
    return holds


class Holds(unittest.TestCase):
    """What is made of what clients say."""

    def test_killed(self):
        """The moment before a kill may be before what it asked last."""
        def end(*killed_us):
            lines = [fleet.Line(i, "k", 7, 1, word, at_us, 90)
                     for i, (word, at_us) in enumerate(
                         [("ask", 2000), ("enter", 3000)])]
            return [holds_of(lines, {7: at}, {7: []})[0]["end"]
                    for at in killed_us]
        self.assertEqual(end(99000, 50000, 2500, 1000),
                         [90000, 50000, 3000, 3000])

    def test_its_daemon_died(self):
        """A client that is stopped then sees it late; one that goes on is
        believed to the last that it did."""
        def end(touched_us, *deaths_us):
            lines = [fleet.Line(i, "k", 7, 1, word, at_us, 90)
                     for i, (word, at_us) in enumerate(
                         [("ask", 2000), ("enter", 3000),
                          ("touch", touched_us), ("lost", 80000)])]
            return holds_of(lines, {}, {7: deaths_us})[0]["end"]
        self.assertEqual(end(4000), 80000)
        self.assertEqual(end(4000, 1000, 50000, 60000), 50000)
        self.assertEqual(end(55000, 50000), 55000)


class Recorded(Checked):
    """Beside test_fleet.Base: a fleet whose clients' holds are checked."""

    def setUp(self):
        super().setUp()
        self.limit_of = {}  # by process
        self.deaths_us = {}  # by process: of its daemon
        self.history = []  # as the checker reads it

    def guard(self, daemon, key="k", *options):
        guard = super().guard(daemon, key, *options)
        limit = "0" if "--shared" in options else "-"
        for option in options:
            if option.startswith("--limit="):
                limit = option.split("=")[1]
        self.limit_of[guard.pid] = limit
        self.deaths_us[guard.pid] = daemon.deaths_us
        return guard

    def judge(self):
        """End all clients. (status, what was said, the holds)"""
        self.close_guards()
        self.resource.settle()
        holds = holds_of(self.resource.lines, self.resource.killed_us,
                         self.deaths_us)
        self.history = [" ".join(
            [h["key"], str(h["pid"]), self.limit_of[h["pid"]]]
            + [str(h[name]) for name in ("token", "ask", "grant", "end",
                                         "done")]) for h in holds]
        status, said = self.check(self.history)
        print(said, end="", flush=True)
        return status, said, holds


class Rounds(Recorded, test_fleet.Turmoil):
    """Everything at random."""
    HARM = {"daemons killed": 3, "daemons stopped": 3, "clients killed": 20,
            "clients stopped": 5, "clients stopped anywhere": 5,
            "networks cut": 1}
    TOUCHES = 5

    async def weather(self, exchange, rule):
        """Beside what is lost, what is late."""
        luck = self.random.random()
        if luck < 2 * LATE:
            self.late += 1
            await self.too_late(exchange, before=luck < LATE)
            return
        if luck < 2 * LATE + SLOW:
            await asyncio.sleep(self.random.uniform(0, SLOW_S))
        await super().weather(exchange, rule)

    async def too_late(self, exchange, before):
        """It takes effect, or is answered, when it was perhaps given up."""
        delay_s = self.random.uniform(0, LATE_S)
        if before:
            await asyncio.sleep(delay_s)
        _, head, body = await exchange.forward()
        if not before:
            await asyncio.sleep(delay_s)
        await exchange.write(head + body)

    def stop_anywhere(self):
        guard = self.some_client()
        if guard is not None and guard not in self.pausing:
            guard.signal(signal.SIGSTOP)
            self.done["clients stopped anywhere"] += 1
            self.later(test_fleet.STOP_S, guard.resume)
        self.later(self.random.uniform(0.5, 2), self.stop_anywhere)

    def host(self, **changes):
        if MUTANT:
            changes["mutant"] = MUTANT
        return super().host(poll=POLL, **changes)

    def embedded(self):
        """A host that has its locks for itself."""
        daemon = harness.Daemon(
            "[namespace default]\nstore = sqlite\nfile = {dir}/locks.db\n"
            + "".join(f"{k} = {v}\n" for k, v in test_fleet.SETTINGS.items()),
            args=self.ARGS)
        self.daemons.append(daemon)
        return daemon.start()

    def first_guards(self):
        three, alone = list(self.daemons), [self.embedded()]
        for daemons, name in ((three, ""), (three, "2"), (alone, "-embedded")):
            for number in range(5):
                daemon = daemons[number % len(daemons)]
                self.new_guard(daemon, f"exclusive{name}")
                self.new_guard(daemon, f"semaphore{name}",
                               "--limit=2")
                self.new_guard(daemon, f"shared{name}",
                               *(("--shared",) if number > 1 else ()))
        self.later(1, self.stop_anywhere)
        self.later(2, self.cut)

    def grants(self):
        """By the name of a use, and of the embedded store."""
        with self.resource.condition:
            entered = dict(self.resource.enters)
        found = collections.Counter()
        for pid, n in entered.items():
            key = self.key_of[pid]
            name = re.match("[a-z]*", key)[0]
            found["embedded" if "embedded" in key else name] += n
        return found

    def new_guard(self, daemon, key, *use):
        super().new_guard(daemon, key, *use)
        self.key_of[self.guards[-1].pid] = key

    def has_enough(self):
        found = self.grants()
        return sum(found.values()) - found["embedded"] >= GRANTS and \
            all(found[name] >= least for name, least in LEAST.items())

    def play_and_judge(self):
        self.key_of, self.late = {}, 0
        took_s = self.play()
        status, said, holds = self.judge()
        if status != 0:
            with open("linear.history", "w", encoding="utf-8") as f:
                f.writelines(line + "\n" for line in self.history)
            self.fail(f"linear.history: {said}")
        requests = [r for p in self.proxies for r in p.seen()]
        total = self.total
        total.update(self.grants())
        total.update({
            "rounds": 1, "holds": len(holds),
            "keys": len({h["key"] for h in holds}),
            "ends unknown": sum(h["done"] == "-" for h in holds),
            "requests": len(requests), "late": self.late,
            "unanswered": sum(r.answered is None for r in requests),
            "ms of the checker": int(said.split(" ms")[0].split()[-1])})
        total.update(self.done)
        print(f"in {took_s:.0f} s; all in all: "
              + ", ".join(f"{n} {name}" for name, n in total.items()),
              flush=True)
        self.assertGreaterEqual(len(holds), GRANTS)
        self.failed = False

    def test_linearizable(self):
        self.total = collections.Counter(rounds=0, holds=0, keys=0, **{
            name: 0 for name in LEAST})
        end_s = fleet.boot_now() + SECONDS
        self.play_and_judge()
        while fleet.boot_now() < end_s:
            self.doCleanups()
            self.setUp()
            self.play_and_judge()


class Seeded(Undisturbed, Recorded, test_fleet.Base):
    """What is seeded is found: two have what only one may have."""
    LEASE_MS = 1000 * test_fleet.LEASE_S

    def hold(self, daemon, *options):
        """A client that has it, and keeps it."""
        guard = self.guard(daemon, "k", "--touches=0", *options)
        self.resource.wait_word(guard, "enter", "share")
        return guard

    def hosts(self, number, mutant):
        return [self.host(mutant=mutant)[0] for _ in range(number)]

    def wrong(self):
        status, said, _ = self.judge()
        self.assertEqual(status, 1, said)
        self.assertIn("k: is no lock", said)
        self.failed = False


class Control(Seeded):
    """What has to go wrong at once."""

    def test_semaphore(self):
        one, two = self.hosts(2, "join-when-full")
        for daemon in one, two, one:
            self.hold(daemon, "--limit=2")
        self.wrong()

    def test_reader_beside_writer(self):
        one, two = self.hosts(2, "share-ignores-holders")
        self.hold(one)
        self.hold(two, "--shared")
        self.wrong()

    def test_writer_beside_reader(self):
        one, = self.hosts(1, "fits-whatever-the-use")
        self.hold(one, "--shared")
        self.hold(one)
        self.wrong()

    def test_writer_of_a_slow_kill(self):
        """It goes on after the moment before its kill was noted, and after
        another came in: nothing but what it says itself shows that."""
        one, two = self.hosts(2, "share-ignores-holders")
        slow = self.hold(one)
        other = self.hold(two, "--shared")
        entered = self.resource.find(other.pid, "share")
        self.resource.wait_word(slow, "touch", after=entered.number)
        slow.kill()
        asked = self.resource.find(slow.pid, "ask")
        self.resource.killed_us[slow.pid] = asked.at_us - 1
        self.wrong()

    def test_token(self):
        """One has it after the other, with the same token."""
        one, two = self.hosts(2, "acquire-keeps-token")
        self.assertEqual(self.hold(one).stop(), 0)
        self.hold(two)
        self.wrong()


class Takeover(Seeded):
    """An observer that sees no beat (test_fleet.py has the picture)."""

    def test_no_kill(self):
        test_fleet.Defects.blind_observer(self, "no-kill")
        self.resource.wait(lambda: self.resource.overlaps, "an overlap")
        self.wrong()


if __name__ == "__main__":
    unittest.TestCase.maxDiff = None
    harness.main(dynamodb=True)
