"""Three daemons on one table, and processes that use what their locks guard.

Daemons and clients are killed and stopped at random; what the locks guard must
never see two holders at a time (fleet.py tells how that is judged). The same
judge must find an overlap when the client ignores its own deadline, and when a
daemon takes over without killing the session of the holder first: those runs
are arranged so that the defect shows every time, and each arrangement is also
run without the defect.

Clients stop themselves, holding the lock, between a use of the resource and
their next look at the deadline (guard_client.c says why). Daemons are stopped
anywhere.
"""
import heapq
import itertools
import os
import random
import time
import unittest

import fault_proxy
import fleet
import harness
from fleet import Guard, boot_now, wait_until_boot
from harness import Client, Daemon
from undisturbed import Undisturbed

LEASE_S = 3
SETTINGS = {"lease": "3s", "margin": "1s", "heartbeat": "750ms",
            "danger": "1500ms", "request_timeout": "1s", "poll": "200ms",
            "audit": "2s"}
STOP_S = 1.3 * LEASE_S
CUT_S = 1.2 * LEASE_S
CUT_EVERY_S = 8
GRANTS = 500
KEYS = 4
CLIENTS = 5  # of each daemon
LOST_ANSWERS = 0.02  # before their effect, and as many after it


class Base(unittest.TestCase):
    ARGS = ("--stop-wait=0",)  # of each daemon

    def setUp(self):
        harness.need_dynamodb()
        self.table = (f"t-{os.getpid()}-{harness.boot_ms()}-"
                      + self._testMethodName)
        self.guards = []
        self.resource = fleet.Resource()
        self.addCleanup(self.resource.close)
        self.proxies = []
        self.daemons = []
        self.failed = True
        self.addCleanup(self.close_daemons)
        self.addCleanup(self.close_guards)

    def host(self, **changes):
        """A host: a daemon behind a proxy of its own."""
        proxy = fault_proxy.Proxy()
        mutant = changes.pop("mutant", None)
        program = changes.pop("program", None)
        config = (f"[namespace default]\nstore = dynamodb\n"
                  f"table = {self.table}\nregion = us-east-1\n"
                  f"endpoint = {proxy.url}\n")
        config += "".join(f"{k} = {v}\n"
                          for k, v in {**SETTINGS, **changes}.items())
        if not self.daemons:
            task = Daemon(config, args=["--init-table"])
            try:
                self.assertEqual(task.run()[0], 0)
            finally:
                task.close()
        daemon = Daemon(config, args=self.ARGS)
        if program is not None:
            daemon.program = program
        if mutant is not None:
            daemon.program = harness.program("ddblockd-unsafe")
            daemon.env["DDBLOCK_MUTANT"] = mutant
        self.proxies.append(proxy)
        self.daemons.append(daemon)
        daemon.start()
        return daemon, proxy

    def guard(self, daemon, key="k", *options):
        guard = Guard(self.resource, daemon, key, *options)
        self.guards.append(guard)
        return guard

    def close_guards(self):
        for guard in self.guards:
            guard.kill()

    def close_daemons(self):
        for proxy in self.proxies:
            proxy.clear()
        for daemon in self.daemons:
            ended = False
            try:
                daemon.close(check=not self.failed)
                ended = True
            finally:
                if self.failed or not ended:
                    print(f"---- log of {daemon.directory}\n"
                          + "\n".join(daemon.log().split("\n")[-60:]))
        for proxy in self.proxies:
            proxy.close()

    def use(self, guard, after=-1):
        """Wait until it uses the resource."""
        return self.resource.wait_word(guard, "enter", "touch", after=after)


class Turmoil(Base):
    """Everything at random, for a judge."""
    HARM = {"daemons killed": 5, "daemons stopped": 5, "clients killed": 10,
            "clients stopped": 5}
    TOUCHES = 3  # of each hold

    def setUp(self):
        super().setUp()
        seed = int(os.environ.get("DDBLOCK_SEED", time.time_ns() % 10**9))
        self.random = random.Random(seed)
        print(f"DDBLOCK_SEED={seed}", flush=True)
        self.actions = []  # a heap of (when, number, function)
        self.numbers = itertools.count()
        self.done = dict.fromkeys(self.HARM, 0)

    async def weather(self, exchange, rule):
        """A network that loses some answers."""
        luck = self.random.random()
        if luck < LOST_ANSWERS:
            fault = fault_proxy.lose_before
        elif luck < 2 * LOST_ANSWERS:
            fault = fault_proxy.lose_after
        else:
            fault = fault_proxy.pass_on
        await fault(exchange, rule)

    def later(self, seconds, function, *arguments):
        heapq.heappush(self.actions, (boot_now() + seconds,
                                      next(self.numbers), function, arguments))

    def new_guard(self, daemon, key, *use):
        guard = self.guard(daemon, key, "--rounds=0",
                           f"--touches={self.TOUCHES}", *use)
        guard.use = use
        self.daemon_of[guard.pid] = daemon

    def thaw(self, daemon):
        daemon.thaw()
        self.busy.discard(daemon)
        self.forget_grants(daemon)

    def forget_grants(self, daemon):
        """The next misfortune of this host waits for a grant on it."""
        self.seen[daemon] = self.grants_on(daemon)

    def grants_on(self, daemon):
        with self.resource.condition:
            return sum(n for pid, n in self.resource.enters.items()
                       if self.daemon_of[pid] is daemon)

    def is_well(self, daemon):
        return daemon not in self.busy and \
            self.seen[daemon] < self.grants_on(daemon)

    def hurt_daemon(self, daemon):
        kinds = [k for k in ("daemons killed", "daemons stopped")
                 if self.done[k] < self.HARM[k]]
        if not kinds:
            return
        kind = self.random.choice(kinds)
        self.done[kind] += 1
        if kind == "daemons killed":
            daemon.kill()
            daemon.start()
            self.forget_grants(daemon)
            return
        daemon.freeze()
        self.busy.add(daemon)
        # Stopped together, a client may be the first to wake.
        for guard in self.living(daemon)[:2]:
            guard.pause()
            self.pausing.append(guard)
        self.later(STOP_S, self.thaw, daemon)

    def cut(self):
        """Now and then a network is cut for longer than a lease."""
        proxy = self.random.choice(self.proxies)
        proxy.down()
        self.busy.add(proxy)
        self.done["networks cut"] += 1
        self.later(CUT_S, self.mend, proxy)
        self.later(CUT_EVERY_S, self.cut)

    def mend(self, proxy):
        proxy.up()
        self.busy.discard(proxy)

    def living(self, daemon=None):
        return [g for g in self.guards if not g.ended()
                and (daemon is None or g.daemon is daemon)]

    def some_client(self):
        """A running client; there may be none right after all daemons were
        killed."""
        living = self.living()
        return self.random.choice(living) if living else None

    def hurt_client(self):
        if self.done["clients killed"] < self.HARM["clients killed"]:
            guard = self.some_client()
            if guard is not None:
                guard.kill()
                self.done["clients killed"] += 1
        if self.done["clients stopped"] + len(self.pausing) < \
                self.HARM["clients stopped"]:
            guard = self.some_client()
            if guard is not None and guard not in self.pausing:
                guard.pause()
                self.pausing.append(guard)
        self.later(self.random.uniform(0.2, 0.6), self.hurt_client)

    def resume(self, guard):
        guard.resume()
        self.done["clients stopped"] += 1

    def look_after(self):
        """A client that ended comes back, as services do."""
        for guard in list(self.guards):
            if guard.ended():
                self.guards.remove(guard)
                self.new_guard(guard.daemon, guard.key, *guard.use)
        for guard in list(self.pausing):
            if guard.ended():
                self.pausing.remove(guard)
            elif guard.paused():
                self.pausing.remove(guard)
                self.later(STOP_S, self.resume, guard)
        for daemon in self.daemons:
            if self.is_well(daemon):
                self.hurt_daemon(daemon)

    def is_over(self):
        return self.has_enough() and not self.busy and \
            all(self.done[k] >= most for k, most in self.HARM.items())

    def has_enough(self):
        return self.resource.grants >= GRANTS

    def play(self):
        """Until it is over; how long that took, in seconds."""
        begin = boot_now()
        self.busy, self.pausing = set(), []
        self.seen, self.daemon_of = {}, {}
        for _ in range(3):
            _, proxy = self.host()
            proxy.on(None, self.weather, times=10**9)
        self.first_guards()
        for daemon in self.daemons:
            self.forget_grants(daemon)
        self.later(0, self.hurt_client)
        condition = self.resource.condition
        while not self.is_over():
            self.assertLess(boot_now() - begin, 300, self.done)
            while self.actions and self.actions[0][0] <= boot_now():
                _, _, function, arguments = heapq.heappop(self.actions)
                function(*arguments)
            self.look_after()
            with condition:
                condition.wait(0.05)
        for guard in self.guards:
            guard.kill()
        return boot_now() - begin


class Chaos(Turmoil):
    """The resource judges it."""

    def first_guards(self):
        for number in range(CLIENTS * 3):
            self.new_guard(self.daemons[number % 3], f"k{number % KEYS}")
        self.more_guards()

    def more_guards(self):
        """Beside clients that use the keys one at a time."""

    def test_no_overlap(self):
        took_s = self.play()
        self.assertEqual(self.resource.overlaps, [])
        self.assertEqual(self.resource.bad_tokens, [])
        lost = sum(line.word == "lost" for line in self.resource.lines)
        print(f"{self.resource.grants} grants on {KEYS} keys, "
              f"{len(self.resource.lines)} lines, {lost} holds lost; "
              + ", ".join(f"{n} {k}" for k, n in self.done.items())
              + f"; {sum(p.count() for p in self.proxies)} requests; no "
              f"overlap, tokens only grew; {took_s:.1f} s",
              flush=True)
        self.failed = False


class Defects(Undisturbed, Base):
    """Arrangements in which one missing rule lets two hold at a time."""
    LEASE_MS = 1000 * LEASE_S

    def stop_the_holders_daemon(self, *options):
        one, _ = self.host()
        two, _ = self.host()
        holder = self.guard(one, "k", "--touches=0", *options)
        self.use(holder)
        one.freeze()
        other = self.guard(two, "k", "--touches=20")
        entered = self.use(other)
        return one, holder, other, entered

    def test_stopped_daemon(self):
        """Its client stops by itself, before another is granted the lock."""
        one, holder, other, entered = self.stop_the_holders_daemon()
        lost = self.resource.wait_word(holder, "lost")
        self.assertLess(lost.number, entered.number)
        self.resource.wait_word(other, "end")
        one.thaw()
        holder.wait()
        self.assertEqual(self.resource.overlaps, [])
        self.assertEqual(self.resource.bad_tokens, [])
        print("a client whose daemon is stopped: out before the next one is "
              "in")
        self.failed = False

    def test_stopped_together(self):
        """Daemon and client stopped beyond the lease; the client wakes
        first, and touches nothing more."""
        one, _ = self.host()
        two, _ = self.host()
        holder = self.guard(one, "k", "--touches=0")
        self.use(holder)
        holder.pause()
        holder.wait_paused()
        one.freeze()
        other = self.guard(two, "k", "--touches=0")
        entered = self.use(other)
        holder.resume()
        self.resource.wait_word(holder, "lost", after=entered.number)
        self.use(other, after=len(self.resource.lines))
        one.thaw()
        holder.wait()
        self.assertEqual(other.stop(), 0)
        self.assertEqual(self.resource.overlaps, [])
        print("a client stopped with its daemon: touches nothing when it "
              "wakes")
        self.failed = False

    def test_defect_no_deadline(self):
        _, _, _, entered = self.stop_the_holders_daemon("--no-deadline")
        self.resource.wait(lambda: self.resource.overlaps, "an overlap")
        self.assertGreater(self.resource.overlaps[0].number, entered.number)
        print("defect found: a client that ignores its own deadline")
        self.failed = False

    def blind_observer(self, mutant=None):
        """The other host sees the holder's session once, and never again
        until its lease would be over: all looks of its are lost. The
        holder is well the whole time."""
        one, _ = self.host()
        two, proxy = self.host(mutant=mutant)
        holder = self.guard(one, "k", "--touches=0")
        self.use(holder)
        looks = proxy.on("look", fault_proxy.lose_before, nth=2, times=10**9)
        other = self.guard(two, "k", "--touches=0")
        proxy.wait_seen("look")
        return holder, other, proxy, looks

    def test_blind_observer(self):
        """Its kill fails, for the beat has moved."""
        holder, other, proxy, looks = self.blind_observer()
        kill = proxy.wait_seen("kill")[0]
        self.assertEqual(kill.status, 400)
        looks.stop()
        mark = len(self.resource.lines)
        self.use(holder, after=mark)
        self.assertIsNone(self.resource.find(other.pid, "enter"))
        self.assertEqual(holder.stop(), 0)
        self.use(other)
        self.assertEqual(proxy.count("take"), 0)
        self.assertEqual(self.resource.overlaps, [])
        print("an observer that saw no beat: its kill fails, nothing is taken")
        self.failed = False

    def test_defect_no_kill(self):
        _, _, proxy, _ = self.blind_observer("no-kill")
        self.resource.wait(lambda: self.resource.overlaps, "an overlap")
        self.assertEqual(proxy.count("kill"), 0)
        print("defect found: a lock taken over without the kill")
        self.failed = False


class Ends(Undisturbed, Base):
    """The fate of locks whose holders are gone."""
    LEASE_MS = 1000 * LEASE_S

    def test_client_killed(self):
        """The next one here is granted from memory."""
        daemon, proxy = self.host()
        with Client(daemon) as one:
            self.assertTrue(one.acquire("warm").ok)
            holder = self.guard(daemon, "k", "--touches=0")
            last = self.use(holder).token
            tags = [one.send("ACQUIRE k")]
            self.assertTrue(one.call("PING").ok)
            took = []
            for _ in range(5):
                mark = proxy.mark()
                before = boot_now()
                holder.kill()
                grant = one.reply(tags.pop())
                took.append(boot_now() - before)
                self.assertEqual(proxy.seen(
                    since=mark, but=("beat", "audit")), [])
                self.assertGreater(int(grant["token"]), last)
                holder = self.guard(daemon, "k", "--touches=0")
                while not one.call("WAITING key=k").rows:
                    pass
                self.assertTrue(one.release(grant).ok)
                last = self.use(holder).token
                tags.append(one.send("ACQUIRE k"))
                self.assertTrue(one.call("PING").ok)
            print("holder killed, the next here granted without a request "
                  "after " + ", ".join(f"{t * 1000:.1f}" for t in took)
                  + " ms")
        self.failed = False

    def test_daemon_killed(self):
        """Another host kills its session, then takes; for the other locks
        of that session nothing needs to be waited for or asked."""
        one, _ = self.host()
        two, proxy = self.host()
        with Client(one) as a, Client(two) as b:
            tokens = {}
            for key in ("k", "later"):
                grant = a.acquire(key)
                tokens[key] = int(grant["token"])
            tag = b.send("ACQUIRE k")
            proxy.wait_seen("look")
            one.kill()
            killed = boot_now()
            grant = b.reply(tag)
            took = boot_now() - killed
            self.assertGreater(int(grant["token"]), tokens["k"])
            kill, = [r for r in proxy.seen("kill") if r.status == 200]
            take, = proxy.seen("take")
            self.assertLess(kill.answered, take.came)
            print(f"daemon killed: its lock granted elsewhere {took:.2f} s "
                  f"later (lease {LEASE_S} s), killed first, then taken")
            mark = proxy.mark()
            before = boot_now()
            grant = b.try_("later")
            self.assertTrue(grant.ok, grant)
            self.assertGreater(int(grant["token"]), tokens["later"])
            kinds = [r.kind for r in proxy.seen(since=mark, key="later")]
            self.assertEqual(kinds, ["acquire", "take"])
            self.assertEqual(proxy.count(("kill", "look", "bury"),
                                         since=mark), 0)
            print("a try of another lock of it: acquire, take; "
                  f"{(boot_now() - before) * 1000:.1f} ms")
        self.failed = False

    def test_long_observed_corpse(self):
        """No client waited, but the session was seen: a try takes at once."""
        one, _ = self.host()
        two, proxy = self.host()
        with Client(one) as a, Client(two) as b:
            token = int(a.acquire("k")["token"])
            one.kill()
            self.assertEqual(b.try_("k").code, "LOCK_BUSY")
            proxy.wait_seen("look")
            wait_until_boot(boot_now() + 1.1 * LEASE_S)
            mark = proxy.mark()
            before = boot_now()
            grant = b.try_("k")
            self.assertTrue(grant.ok, grant)
            self.assertGreater(int(grant["token"]), token)
            kinds = [r.kind for r in proxy.seen(since=mark)
                     if r.kind in ("kill", "take", "look")]
            self.assertEqual(kinds, ["look", "kill", "take"])
            print("a try of a long-observed corpse: kill, take; "
                  f"{(boot_now() - before) * 1000:.1f} ms")
        self.failed = False


if __name__ == "__main__":
    harness.main(dynamodb=True)
