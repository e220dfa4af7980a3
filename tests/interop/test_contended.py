#!/usr/bin/env python3
"""Ours and theirs on the same locks, with a guard inside.

Two of theirs, and two clients of one daemon of ours, take turns, while the
network loses answers and requests of all of them at random. The run ends when
ours had the locks so often and theirs so often, or after so many seconds,
which is a failure. Ours may meet nobody in there; should they, what was sent
about that lock is left in a file. Theirs may meet each other: what they wrote
without knowing is theirs, and they take it over from themselves
(ddblock-formats(7)); how often they did is said.

    DDBLOCK_INTEROP_SECONDS=1200 DDBLOCK_INTEROP_OURS=3000 \
        DDBLOCK_INTEROP_THEIRS=200 test_contended.py \
        [Java|Dynamolock|Python|...]...
"""
import collections
import json
import os
import random
import threading
import time
import unittest

import ours
import peers
from guard import Guard
from recorder import Recorder

import harness  # peers knows where it is

SECONDS = int(os.environ.get("DDBLOCK_INTEROP_SECONDS", "120"))
OURS = int(os.environ.get("DDBLOCK_INTEROP_OURS", "400"))
THEIRS = int(os.environ.get("DDBLOCK_INTEROP_THEIRS", "20"))
LEASE_MS = 1000
WAIT_MS = 3 * LEASE_MS  # so that theirs meet what they left themselves
LOSE_ANSWERS = 0.03
LOSE_REQUESTS = 0.02
FAILURES_MAX = 20  # of theirs in a row: then it is not lost answers


class Run:
    """Until both sides have had enough."""

    def __init__(self, case):
        self.case = case
        self.guard = Guard()
        self.end_s = time.monotonic() + SECONDS
        self.failures = []  # whatever must not be
        self.mishaps = 0  # what theirs threw
        self.late = 0  # answers of a machine that was too busy, to ours
        self.begun_again = set()  # keys whose tokens theirs reset

    def goes_on(self):
        return not self.failures and time.monotonic() < self.end_s and (
            self.guard.count("ours") < OURS or
            self.guard.count("theirs") < THEIRS)

    def overlaps(self):
        """How often who met whom."""
        return collections.Counter(
            " and ".join(sorted((one.who, other.who)))
            for one, other in self.guard.overlaps)

    def stale(self):
        """Tokens that fell, but for those that theirs reset."""
        return [pair for pair in self.guard.stale
                if pair[1].key not in self.begun_again]

    def key(self, dice):
        turn = len(self.guard.visits) // self.case.key_turns
        return f"{self.case.key}-{turn}-{dice.randrange(self.case.keys)}"

    def guarded(self, body, *arguments):
        try:
            body(*arguments)
        except BaseException as e:  # the test's thread says it
            self.failures.append(e)

    def theirs(self, peer, proxy, seed):
        dice = random.Random(seed)
        in_a_row = 0
        while self.goes_on():
            key = self.key(dice)
            try:
                got = peer.acquire(key, wait_ms=WAIT_MS)
                if got is not None:
                    until = proxy.until_boot_ms(key, LEASE_MS) \
                        if peer.dies else None
                    with self.guard.inside(key, "theirs", got.token, until):
                        pass
                    peer.release(key)
                in_a_row = 0
            except peers.Failed as e:
                self.mishaps += 1
                in_a_row += 1
                if in_a_row > FAILURES_MAX:
                    self.failures.append(e)

    def ours(self, client, seed):
        dice = random.Random(seed)
        while self.goes_on():
            key = self.key(dice)
            code = client.turn(self.guard, "ours", key, self.case.pause_ms,
                               self.case.peer.has_token)
            self.late += code in ours.LATE


class Contended:
    """The cases; a class below for each library."""

    peer = None
    keys = 1  # at a time
    key_turns = 10 ** 9  # then there are others
    pause_ms = 10
    lossy = True
    model = ""  # what is not the library itself says so

    def setUp(self):
        harness.need_dynamodb()
        name = self.id().rsplit(".", 1)[-1]
        self.key = name.removeprefix("test_")
        self.table = f"{type(self).__name__}-{self.key}-{os.getpid()}"

    def proxy(self, seed, lossy):
        proxy = Recorder(LOSE_ANSWERS if lossy else 0.0,
                         LOSE_REQUESTS if lossy else 0.0, seed)
        self.addCleanup(proxy.close)
        return proxy

    def work(self, run, peers_and_proxies, our_proxy):
        with harness.Daemon(ours.config(
                self.peer, self.table, our_proxy.url, LEASE_MS, poll="20ms",
                handover_max=3), log_level="info") as daemon:
            clients = [ours.Client(daemon, self.peer) for _ in range(2)]
            threads = [threading.Thread(
                target=run.guarded, args=(run.theirs, peer, proxy, n))
                for n, (peer, proxy) in enumerate(peers_and_proxies)]
            threads += [threading.Thread(
                target=run.guarded, args=(run.ours, client, 10 + n))
                for n, client in enumerate(clients)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(SECONDS + 120)
                self.assertFalse(thread.is_alive(), "somebody hangs")
            for client in clients:
                client.close()

    def play(self, lossy):
        run = Run(self)
        proxies = [self.proxy(seed, lossy) for seed in range(3)]
        with self.peer(self.table, lease_ms=LEASE_MS) as first:
            first.create()
        theirs = [self.peer(self.table, endpoint=proxy.url,
                            lease_ms=LEASE_MS, poll_ms=20).start()
                  for proxy in proxies[:2]]
        for peer in theirs:
            self.addCleanup(peer.close)
        began_s = time.monotonic()
        self.work(run, list(zip(theirs, proxies)), proxies[2])
        run.begun_again = proxies[0].begun_again() | proxies[1].begun_again()
        counts = run.guard.count("ours"), run.guard.count("theirs")
        print(f"{self.id()}{self.model}: ours {counts[0]}, theirs {counts[1]} "
              f"in {time.monotonic() - began_s:.0f} s, lost "
              f"{[proxy.lost for proxy in proxies]}, late {run.late}, "
              f"mishaps of theirs {run.mishaps}, "
              f"met: {dict(run.overlaps())}, "
              f"outstayed {len(run.guard.outstayed)}, "
              f"begun again {run.begun_again or {}}", flush=True)
        wrong = [pair for pair in run.guard.overlaps if not self.lossy or
                 "ours" in (pair[0].who, pair[1].who)]
        if wrong:
            self.save(proxies, {one.key for one, _ in wrong})
        self.assertEqual(wrong, [])
        self.assertEqual(run.failures, [])
        return run, counts

    def save(self, proxies, keys):
        """What all sent about these locks, in a file for each."""
        for key in keys:
            sent = [(r.came_boot_ms, n, r) for n, proxy in enumerate(proxies)
                    for r in proxy.seen() if f'"{key}"' in r.raw.decode()]
            name = f"{self.table}.{key}.jsonl"
            with open(name, "w", encoding="utf-8") as file:
                for came_boot_ms, n, r in sorted(sent, key=lambda s: s[:2]):
                    print(json.dumps({
                        "came_boot_ms": came_boot_ms, "lost": r.lost,
                        "who": "ours" if n == 2 else f"theirs {n}",
                        "operation": r.operation, "status": r.status,
                        "request": r.body, "answer": r.answer}), file=file)
            print(f"see {os.path.abspath(name)}", flush=True)

    def test_contended(self):
        run, counts = self.play(self.lossy)
        self.assertEqual([pair for pair in run.stale()
                          if not self.lossy or pair[1].who == "ours"], [])
        self.assertGreaterEqual(counts, (OURS, THEIRS))
        self.assertGreaterEqual(counts[1], THEIRS)


class Java(Contended, unittest.TestCase):
    peer = peers.Java


class Dynamolock(Contended, unittest.TestCase):
    peer = peers.Dynamolock


class Python(Contended, unittest.TestCase):
    peer = peers.Python


class JsFailOpen(Contended, unittest.TestCase):
    peer = peers.JsFailOpen
    keys = 6  # it waits for a whole lease when it finds one held,
    pause_ms = 60  # and that it was released meanwhile is no help


class JsFailClosed(Contended, unittest.TestCase):
    """What they acquired without knowing is theirs for ever."""

    peer = peers.JsFailClosed
    lossy = False


class Dlock(Contended, unittest.TestCase):
    """No registry has it: a program does what its recordings show."""

    peer = peers.Dlock
    model = " (a model)"


class DlockFencing(Dlock):
    peer = peers.DlockFencing
    key_turns = 30  # its tokens double, so a key does not last for ever


if __name__ == "__main__":
    peers.main()
