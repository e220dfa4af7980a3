#!/usr/bin/env python3
"""Daemons of the release before and of this one, on one table.

    DDBLOCK_SEED=7 test_releases.py Turmoil      the same misfortunes again

While a fleet is upgraded, its hosts run both. The older ones know nothing of
the line of hosts in a lock's record: they leave waiter marks, and pass it. Here
three hosts of each mix want one key all the time. Daemons are killed while a
client has the lock, restarted and drained, one after the other; then all at
random, with lost answers and a network that is cut. ddblock-judge reads what
all of them logged, the resource that the locks guard sees no overlap, and each
host is granted the lock again and again.

`setup` builds the older daemon, and names its commit.
"""
import functools
import os
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, os.pardir, "integration"))

import harness  # noqa: E402
import test_history  # noqa: E402
from fleet import boot_now  # noqa: E402

KEY = "k"
CLIENTS = 2  # of each host
TURNS = 20  # of each host, between two misfortunes
# An older host passes the line, but only when it looks at the right moment:
# beside two newer ones it was seen to wait for 40 seconds.
STARVED_S = 240


def place():
    """Where the older daemon is built."""
    top = os.path.join(HERE, os.pardir, os.pardir)
    return os.path.abspath(os.environ.get(
        "DDBLOCK_RELEASE_BEFORE", os.path.join(top, "build/release-before")))


@functools.lru_cache(None)
def ensure():
    """Build it on first use. Why there is none, if so."""
    done = subprocess.run(
        [os.path.join(HERE, "setup"), place()], check=False, text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT)
    return done.stdout if done.returncode != 0 else None


class Mixed:
    """Before a case with hosts among the bases. builds: of each host."""
    BUILDS = ()

    def setUp(self):
        if ensure() is not None:
            self.skipTest(f"no release before: {ensure()}")
        super().setUp()

    def host(self, **changes):
        build = self.BUILDS[len(self.daemons) % len(self.BUILDS)]
        if build == "older":
            changes["program"] = os.path.join(place(), "ddblockd")
        return super().host(**changes)

    def expect_no_overlap(self):
        self.assertEqual(self.resource.overlaps, [])
        self.assertEqual(self.resource.bad_tokens, [])

    def expect_clean(self, grants):
        """And the judge finds nothing."""
        self.expect_no_overlap()
        status, said = self.judge()
        self.assertEqual(status, 0, said)
        self.assertIn("nothing is wrong", said)
        self.assertGreaterEqual(int(said.split(" grants")[0].split()[-1]),
                                grants)


class OneKey(Mixed, test_history.Judged):
    """One misfortune after the other, on every host."""

    def setUp(self):
        super().setUp()
        self.host_of = {}  # by process of a client
        self.drained = set()

    def new_guard(self, daemon):
        guard = self.guard(daemon, KEY, "--rounds=0", "--touches=2")
        self.host_of[guard.pid] = self.daemons.index(daemon)

    def look_after(self):
        """A client that ended comes back, as services do."""
        for guard in [g for g in self.guards if g.ended()]:
            if guard.daemon.alive() and guard.daemon not in self.drained:
                self.guards.remove(guard)
                self.new_guard(guard.daemon)

    def wait(self, predicate, what):
        """As that of the resource, but clients come back meanwhile."""
        end = boot_now() + STARVED_S
        condition = self.resource.condition
        while True:
            self.expect_no_overlap()
            self.look_after()
            with condition:
                if predicate():
                    return
                self.assertLess(boot_now(), end, what + self.state())
                condition.wait(0.05)

    def state(self):
        """For people, of what does not go on."""
        lines = [f"\n{line}" for line in self.resource.lines[-20:]]
        return "".join(lines) + "".join(
            f"\nhost {self.host_of[g.pid]}: client {g.pid}"
            + (" has ended" if g.ended() else "") for g in self.guards)

    def turns(self):
        """Of each host, so far."""
        counts = [0] * len(self.daemons)
        for pid, n in self.resource.enters.items():
            counts[self.host_of[pid]] += n
        return counts

    def wait_turns(self, daemons, what):
        """Until each of these had the lock some more times."""
        with self.resource.condition:
            before = self.turns()
            mark = len(self.resource.lines)
        wanted = [before[self.daemons.index(d)] + TURNS for d in daemons]

        def had():
            now = self.turns()
            return all(now[self.daemons.index(d)] >= n
                       for d, n in zip(daemons, wanted))
        self.wait(had, f"turns: {what}")
        with self.resource.condition:
            after = self.turns()
            waited = self.longest_wait(
                mark, [self.daemons.index(d) for d in daemons])
        print(f"{what}: turns "
              + ", ".join(f"{b} {y - x}" for b, x, y
                          in zip(self.BUILDS, before, after))
              + f"; one waited for {waited} of others", flush=True)

    def longest_wait(self, mark, hosts):
        """What one of these hosts waited for: grants to others."""
        last, longest = dict.fromkeys(hosts, 0), 0
        enters = (line for line in self.resource.lines[mark:]
                  if line.word == "enter")
        for number, line in enumerate(enters, start=1):
            host = self.host_of[line.pid]
            if host in last:
                longest = max(longest, number - last[host] - 1)
                last[host] = number
        return longest

    def wait_holder(self, daemon):
        """Until a client of this daemon has the lock."""
        def has():
            pid = self.resource.holders.get(KEY, (0,))[0]
            line = self.resource.last.get(pid)
            return self.host_of.get(pid) == self.daemons.index(daemon) and \
                line.word in ("enter", "touch")
        self.wait(has, "a grant there")

    def others(self, daemon):
        return [d for d in self.daemons if d is not daemon]

    def kill(self, daemon, what):
        self.wait_holder(daemon)
        daemon.kill()
        self.wait_turns(self.others(daemon), f"{what} is dead")
        daemon.start()

    def restart(self, daemon):
        self.assertEqual(daemon.stop(), 0)
        daemon.start()

    def drain(self, daemon, what):
        """While another host has the lock: no grant comes between what is told
        here and what is told there."""
        with harness.Client(daemon) as client:
            self.drained.add(daemon)
            self.wait_holder(self.others(daemon)[0])
            self.tell(daemon, "drained")
            self.assertTrue(client.call("DRAIN").ok)
            self.wait_turns(self.others(daemon), f"{what} is drained")
            self.assertEqual(client.call("STATUS").rows[0]["held"], "0")
            self.tell(daemon, "undrained")
            self.assertTrue(client.call("UNDRAIN").ok)
            self.drained.remove(daemon)

    def test_misfortunes(self):
        for _ in self.BUILDS:
            self.host()
        for daemon in self.daemons:
            for _ in range(CLIENTS):
                self.new_guard(daemon)
        self.wait_turns(self.daemons, "all are well")
        for number, daemon in enumerate(self.daemons):
            what = f"host {number} ({self.BUILDS[number]})"
            self.kill(daemon, what)
            self.wait_turns(self.daemons, f"{what} is back")
            self.restart(daemon)
            self.wait_turns(self.daemons, f"{what} was restarted")
            self.drain(daemon, what)
            self.wait_turns(self.daemons, f"{what} is not drained any more")
        self.close_guards()
        self.expect_clean(TURNS * 3 * (1 + 3 * 3))
        self.failed = False


class OneOlder(OneKey):
    BUILDS = "older", "newer", "newer"


class OneNewer(OneKey):
    BUILDS = "older", "older", "newer"


class Turmoil(Mixed, test_history.Minute):
    """Everything at random for a minute, and all uses of locks."""
    BUILDS = "older", "newer", "newer"
    test_a_line_is_missing = None  # of any one daemon: test_history.py


class TurmoilOlder(Turmoil):
    BUILDS = "older", "older", "newer"


del OneKey  # it has no hosts

if __name__ == "__main__":
    unittest.TestCase.maxDiff = None
    harness.main(dynamodb=True)
