#!/usr/bin/env python3
"""Two daemons, and everything that can be wrong between them and DynamoDB.

    test_endpoint_faults.py           two minutes
    DURATION=3600 SEED=7 TROUBLE=latency,moved test_endpoint_faults.py

One reaches its endpoint by name and over TLS, and lives through one trouble
after the other: latency, silence at every stage, connections that are refused,
reset or cut anywhere, errors and throttling, certificates of all wrong kinds,
a name that does not resolve or moves, and now and then an outage longer than
its lease. The other walks: its requests and answers are cut at each byte in
turn (gate.py). Their clients want the same locks. Seen from outside:

* A hold is lost only if no renewal that got through could have kept it.
* Two never have the same lock, and tokens only grow.
* After the end of a trouble a renewal gets through within a heartbeat.
* No daemon's loop is blocked for more than 50 ms (watchdog.py).
* Neither memory nor descriptors grow.
"""
import json
import os
import random
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, os.pardir, "integration"))

import certificates  # noqa: E402
import fault_judge  # noqa: E402
import harness  # noqa: E402
from harness import Client, Daemon, boot_ms  # noqa: E402
from test_daemon_dynamodb import create_table  # noqa: E402

DURATION_S = float(os.environ.get("DURATION", "120"))
SEED = int(os.environ.get("SEED") or 1)
NAME = "dynamodb.faults.test"
HOMES = ("127.0.0.2", "127.0.0.3")
MUTE_DNS = "127.0.0.4"  # hears questions and says nothing
LEASE_MS, MARGIN_MS = 10000, 1000
HEARTBEAT_MS = {"a": 2000, "b": 500}
BLOCKED_MS = 50
# Of a machine where an idle daemon waits longer, only that it tried is judged.
BUSY_MS = 100
AROUND_MS = 20000  # is told of what went wrong
GROWTH_KB = 8192  # of which what is kept for reuse has up to 5000

# Modes of the gate; of the names; and how long, in seconds.
TROUBLES = [
    ({"mode": "latency", "low": 0, "high": 5}, 5, 9),
    ({"mode": "latency", "low": 0, "high": 0.5}, 2, 4),
    ({"mode": "accept"}, 2, 4), ({"mode": "request"}, 2, 4),
    ({"mode": "answer"}, 2, 4), ({"mode": "refuse"}, 2, 4),
    ({"mode": "reset"}, 2, 4), ({"mode": "status"}, 2, 4),
    ({"mode": "throttle"}, 2, 4), ({"mode": "expired"}, 2, 3),
    ({"mode": "name"}, 2, 3), ({"mode": "unknown"}, 2, 3),
    ({"mode": "garbage"}, 2, 3), ({"mode": "cut"}, 3, 5),
    ({"names": "none"}, 2, 4), ({"names": "silent"}, 2, 4),
    ({"names": "moved"}, 2, 3), ({"mode": "request"}, 12, 13),
]
# As root of a namespace of its own the daemon sees these files instead.
CONFINE = """
mount --bind "$1/hosts" /etc/hosts &&
mount --bind "$1/resolv.conf" /etc/resolv.conf &&
mount --bind "$1/nsswitch.conf" /etc/nsswitch.conf &&
mount --bind "$1/ca.pem" /etc/ssl/certs/ca-certificates.crt &&
shift && exec "$@"
"""


class Confined(Daemon):
    """A daemon with names and authorities of its own (in @place)."""

    place = None

    def command(self):
        return [*harness.confined(), "sh", "-c", CONFINE, "sh", self.place,
                *super().command()]


class Names:
    """What the daemon's resolver is told."""

    def __init__(self, place):
        self.place = place
        self.home = 0
        self.write("nsswitch.conf", "hosts: files dns\n")
        self.mute = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            self.mute.bind((MUTE_DNS, 53))
            self.can_be_silent = True
        except OSError:  # no privilege, or another such test
            self.can_be_silent = False
        self.good()

    def write(self, name, text):
        # Into the file itself: it is mounted elsewhere.
        with open(os.path.join(self.place, name), "w") as f:
            f.write(text)

    def good(self):
        self.write("resolv.conf", "nameserver 127.0.0.1\n")
        self.write("hosts", f"{HOMES[self.home]} {NAME}\n")

    def fail(self, silently):
        server = MUTE_DNS if silently and self.can_be_silent else "127.0.0.1"
        self.write("resolv.conf", f"nameserver {server}\n"
                   "options timeout:5 attempts:2\n")
        self.write("hosts", "127.0.0.1 localhost\n")

    def move(self):
        self.home = 1 - self.home
        self.good()


class Gate:
    """gate.py, and what it has written."""

    def __init__(self, place):
        port = harness.endpoint().split(":")[-1]
        self.process = subprocess.Popen(
            [sys.executable, os.path.join(HERE, "gate.py"), place, port],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.said = threading.Condition()
        self.lines = []
        self.late_ms = 0
        self.beats = {}
        self.cuts = {}
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for text in self.process.stdout:
            line = json.loads(text)
            with self.said:
                of = line.get("of")
                self.late_ms = line.get("late_ms", self.late_ms)
                if line.get("request") in ("beat", "open"):
                    self.beats.setdefault(of, []).append(line)
                for cut in ("request_cut", "answer_cut", "handshake_cut"):
                    if cut in line:
                        self.cuts.setdefault((cut, line.get("kind")), {})[
                            line[cut]] = line.get("length", 0)
                if "request" not in line:
                    self.lines.append(line)
                self.said.notify_all()

    def wait(self, found, what, timeout=harness.TIMEOUT_S):
        with self.said:
            assert self.said.wait_for(found, timeout), what
            return found()

    def tell(self, **command):
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()

    def listen(self, name, host, port, tls):
        seen = len(self.lines)
        self.tell(listen=name, host=host, port=port, tls=tls)
        return self.wait(lambda: next(
            (line["port"] for line in self.lines[seen:]
             if line.get("listening") == name), None), "the gate to listen")

    def mode(self, of, **mode):
        """When it was so."""
        seen = len(self.lines)
        self.tell(of=of, **mode)
        return self.wait(lambda: next(
            (line["at"] for line in self.lines[seen:]
             if "at" in line and line["mode"] == mode["mode"]), None), mode)

    def close(self):
        self.process.stdin.close()
        self.process.wait(harness.TIMEOUT_S)
        self.reader.join()
        self.process.stdout.close()


class Worker(threading.Thread):
    """A client that has one lock after the other, or one for ever."""

    def __init__(self, test, name, daemon, keys, pause_s):
        super().__init__(name=name, daemon=True)
        self.test = test
        self.where = daemon
        self.keys = keys
        self.pause_s = pause_s  # None: for ever
        self.failure = None
        self.random = random.Random(name)

    def run(self):
        try:
            with Client(self.where) as client:
                client.hello(self.name)
                while not self.test.over.is_set():
                    self.turn(client, self.random.choice(self.keys))
        except Exception as e:  # pylint: disable=broad-except
            self.failure = e
            self.test.over.set()

    def turn(self, client, key):
        grant = client.acquire(key, wait="2s")
        since_ms = boot_ms()
        if not grant.ok:
            self.test.refused.append((self.name, grant.code))
            return
        lost = self.keep(client, grant)
        until_ms = boot_ms()
        if lost is None:
            # It may be lost all the same while that is on its way.
            client.release(grant)
        else:
            self.test.losses.append((self.name[0], key, until_ms, lost.raw))
        self.test.holds.append((key, since_ms, until_ms, int(grant["token"])))

    def keep(self, client, grant):
        """The loss, if there is one."""
        end = time.monotonic() + (self.pause_s or 0)
        while self.pause_s is None or time.monotonic() < end:
            if self.test.over.is_set():
                return None
            try:
                event = client.event("LOCK_LOST", 0.25 if self.pause_s is None
                                     else max(end - time.monotonic(), 0))
            except TimeoutError:
                continue
            if event["id"] == grant["id"]:
                return event
        return None


class EndpointFaults(unittest.TestCase):
    def setUp(self):
        harness.need_dynamodb()
        place = tempfile.TemporaryDirectory(prefix="ddblockd-faults-")
        self.addCleanup(place.cleanup)
        self.place = place.name
        certificates.make(self.place, NAME)
        self.names = Names(self.place)
        self.addCleanup(self.names.mute.close)
        self.gate = Gate(self.place)
        self.addCleanup(self.gate.close)
        self.table = f"faults-{os.getpid()}"
        create_table(self.table, "key")
        self.over = threading.Event()
        self.losses, self.holds, self.refused = [], [], []
        self.recoveries = []
        self.sizes = {}  # kB of memory, by moment and daemon

    def start(self):
        port = self.gate.listen("a", HOMES[0], 0, True)
        self.gate.listen("a", HOMES[1], port, True)
        walk = self.gate.listen("b", "127.0.0.1", 0, False)
        Confined.place = self.place
        self.daemons = {
            "a": Confined(self.config("a", f"https://{NAME}:{port}")),
            "b": Daemon(self.config("b", f"http://127.0.0.1:{walk}")),
            "control": Daemon()}
        for daemon in self.daemons.values():
            self.addCleanup(daemon.close)
            daemon.start()

    def config(self, name, endpoint):
        return (f"[namespace default]\nstore = dynamodb\n"
                f"table = {self.table}\nregion = us-east-1\n"
                f"endpoint = {endpoint}\nlease = {LEASE_MS}ms\n"
                f"heartbeat = {HEARTBEAT_MS[name]}ms\n"
                f"margin = {MARGIN_MS}ms\nrequest_timeout = 2s\n"
                "poll = 50ms\naudit = 5s\nidle = 0s\nline = 0\n")

    def workers(self):
        """On both: two that want what the other wants, and holds for ever. One
        that walks has its own, for the more requests."""
        shared = [f"shared/{i}" for i in range(3)]
        found = []
        for name in ("a", "b"):
            rows = [("contender", shared, 0.05)] * 2
            rows += [("keeper", [f"keep/{name}/{i}"], None) for i in range(4)]
            if name == "b":
                rows += [("walker", [f"walk/{i}/{j}" for j in range(50)], 0)
                         for i in range(12)]
            found += [Worker(self, f"{name}/{kind}/{i}", self.daemons[name],
                             keys, pause_s)
                      for i, (kind, keys, pause_s) in enumerate(rows)]
        return found

    def watch(self):
        return subprocess.Popen(
            [sys.executable, os.path.join(HERE, "watchdog.py"),
             *(f"{name}={daemon.socket}={daemon.pid}"
               for name, daemon in self.daemons.items())],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def measure(self, when):
        for name, daemon in self.daemons.items():
            with open(f"/proc/{daemon.pid}/status", encoding="ascii") as f:
                rss_kb = next(int(line.split()[1]) for line in f
                              if line.startswith("VmRSS"))
            self.sizes[when, name] = rss_kb

    # ---- the run

    def trouble(self, trouble, least_s, most_s):
        """One of them, from its beginning until a renewal is through again."""
        mode = dict(trouble)
        names = mode.pop("names", None)
        if names == "moved":
            self.names.move()
        elif names is not None:
            self.names.fail(names == "silent")
        # Of some of it nobody notices anything who stays connected.
        drop = names in ("none", "silent") or self.random.random() < 0.5 or \
            mode.get("mode") in (*certificates.KINDS, "garbage", "cut",
                                 "accept", "refuse")
        self.gate.mode("a", **{"mode": "pass", **mode}, drop=drop,
                       only=HOMES[self.names.home])
        self.over.wait(self.random.uniform(least_s, most_s))
        self.names.good()
        self.settle("a", names or mode["mode"],
                    self.gate.mode("a", mode="pass",
                                   only=HOMES[self.names.home]))

    def settle(self, name, what, end_ms):
        beats = self.gate.beats.setdefault(name, [])
        try:
            recovered = self.gate.wait(
                lambda: fault_judge.recovered(end_ms, beats[-50:]), what)
        except AssertionError:
            self.fail(f"{name} does not recover from {what}, "
                      + self.last_seen(name, end_ms))
        self.recoveries.append((recovered, name, what, end_ms))
        with Client(self.daemons[name]) as client:
            while (row := client.call("STATUS").rows[0]) and \
                    (row["session"], row["state"]) != ("open", "ok"):
                assert boot_ms() < end_ms + 1000 * harness.TIMEOUT_S, row

    def last_seen(self, name, end_ms):
        """What helps to find out why nothing more came of a daemon."""
        daemon = self.daemons[name]
        if not daemon.alive():
            return f"it has ended, {daemon.process.poll()}:\n{daemon.log()}"
        log = "\n".join(daemon.log().split("\n")[-40:])
        with self.gate.said:
            beats = "\n".join(map(str, self.gate.beats[name][-8:]))
        try:
            with Client(daemon) as client:
                status = client.call("STATUS", 5).rows[0].raw
        except OSError as e:
            status = str(e)
        return f"which ended at {end_ms:.0f}; {status}\n{beats}\n{log}"

    def chosen(self):
        """In any order; only those with a word of $TROUBLE, if there is one."""
        words = os.environ.get("TROUBLE", "").split(",")
        found = [row for row in TROUBLES
                 if any(word in str(row[0]) for word in words)]
        return self.random.sample(found, len(found))

    def walked(self):
        """Everywhere? After the last place of a request nothing is missing."""
        with self.gate.said:
            places = self.gate.cuts.get(("request_cut", None), {0: 99})
            if len(places) < max(places.values()) - 1:
                return False
            for kind in ("acquire", "release"):
                places = self.gate.cuts.get(("answer_cut", kind), {0: 99})
                if len(places) < min(places.values()):
                    return False
            return True

    def run_all(self):
        self.gate.mode("b", mode="walk")
        begin = time.monotonic()
        todo, warm = self.chosen(), False
        while todo or time.monotonic() < begin + DURATION_S or \
                not self.walked() and time.monotonic() < begin + 2 * DURATION_S:
            if self.over.is_set():
                return
            self.trouble(*(todo.pop() if todo
                           else self.random.choice(self.chosen())))
            if not warm and time.monotonic() > begin + DURATION_S / 3:
                warm = True
                self.measure("warm")
        self.settle("b", "walk", self.gate.mode("b", mode="pass"))
        self.measure("end")

    def test_all(self):
        self.random = random.Random(SEED)
        print(f"SEED={SEED} DURATION={DURATION_S:.0f}", flush=True)
        self.start()
        watchdog = self.watch()
        workers = self.workers()
        for worker in workers:
            worker.start()
        try:
            self.run_all()
        finally:
            self.over.set()
            for worker in workers:
                worker.join(harness.TIMEOUT_S)
            report = json.loads(watchdog.communicate(
                timeout=harness.TIMEOUT_S)[0])
            self.say(report)
        self.judge(workers, report)

    # ---- what came of it

    def say(self, report):
        for name, row in report.items():
            print(f"{name}: {row}")
        print(f"gate: {self.gate.late_ms:.0f} ms late")
        worst = {}
        for (came, done), name, what, _ in self.recoveries:
            worst.setdefault((name, what), []).append((done, came))
        for (name, what), times in sorted(worst.items()):
            print(f"{name}: after {what}, {len(times)} times: tried within "
                  f"{max(came for _, came in times):.0f} ms, renewed within "
                  f"{max(times)[0]:.0f} ms")
        print(f"{len(self.holds)} holds, {len(self.losses)} lost, "
              f"{len(self.refused)} requests refused")
        for (cut, kind), seen in sorted(self.gate.cuts.items(), key=str):
            print(f"{cut} {kind or ''}: {len(seen)} places of "
                  f"{max(seen.values())}")
        print("kB:", {" ".join(k): v for k, v in self.sizes.items()},
              flush=True)

    def around(self, at_ms):
        """The renewals and the troubles of that time, of both."""
        moments = [(beat["came"], str(beat))
                   for beats in self.gate.beats.values() for beat in beats]
        moments += [(line["at"], str(line))
                    for line in self.gate.lines if "at" in line]
        return "\n".join(text for moment, text in sorted(moments)
                         if abs(moment - at_ms) < AROUND_MS)

    def judge(self, workers, report):
        self.assertEqual([(w.name, w.failure) for w in workers
                          if w.failure is not None], [])
        # Where nobody gets to run, neither daemon nor gate does: a request
        # comes later than it was sent, and nobody is blamed for that.
        late_ms = max(report["control"]["worst_ms"], self.gate.late_ms)
        lasts_ms = LEASE_MS - MARGIN_MS - late_ms
        for name, key, at_ms, event in self.losses:
            kept = fault_judge.keeper(at_ms, self.gate.beats[name], lasts_ms)
            if kept is not None:
                self.fail(f"{key} was lost at {at_ms}: {event}\n{kept}\n"
                          + self.around(at_ms))
        self.assertTrue(any(name == "a" for name, *_ in self.losses),
                        "an outage longer than the lease, and no loss")
        self.assertEqual(fault_judge.overlaps(self.holds), [])
        for (came, done), name, what, end_ms in self.recoveries:
            within_ms = HEARTBEAT_MS[name] + late_ms
            if (done if late_ms <= BUSY_MS else came) > within_ms:
                self.fail(f"{name} after {what}: tried within {came} ms, "
                          f"renewed within {done} ms\n"
                          + self.around(end_ms + done))
        for name in ("a", "b"):
            self.assertLessEqual(
                report[name]["blocked_ms"] - report["control"]["blocked_ms"],
                BLOCKED_MS, report)
            self.assertLessEqual(
                self.sizes["end", name] - self.sizes["warm", name],
                GROWTH_KB, self.sizes)
        self.assertTrue(self.walked())


class Judge(unittest.TestCase):
    """The judge itself is no friend of the accused."""

    BEAT = {"request": "beat", "status": 200, "kept": True,
            "sent": 1000, "came": 1000, "done": 1200}

    def test_a_loss_that_need_not_have_been(self):
        self.assertIs(fault_judge.keeper(5000, [self.BEAT], 9000), self.BEAT)

    def test_a_loss_that_had_to_be(self):
        for change in ({"kept": False}, {"status": 400}, {"request": "look"},
                       {"sent": -4000}, {"done": 4900}):
            beat = {**self.BEAT, **change}
            self.assertIsNone(fault_judge.keeper(5000, [beat], 9000), change)
        self.assertIsNone(fault_judge.keeper(10000, [self.BEAT], 9000))

    def test_two_at_once(self):
        apart = [("k", 1, 2, 7), ("k", 2, 3, 8), ("l", 2, 3, 1)]
        self.assertEqual(fault_judge.overlaps(apart), [])
        for other in (("k", 2.5, 4, 9), ("k", 3, 4, 8), ("k", 1.5, 1.6, 7.5)):
            self.assertNotEqual(fault_judge.overlaps(apart + [other]), [])

    def test_recovery(self):
        self.assertEqual(fault_judge.recovered(900, [self.BEAT]), (100, 300))
        self.assertEqual(fault_judge.recovered(1100, [self.BEAT]), (0, 100))
        self.assertIsNone(fault_judge.recovered(1300, [self.BEAT]))


if __name__ == "__main__":
    harness.main(dynamodb=True)
