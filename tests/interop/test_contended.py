#!/usr/bin/env python3
"""Ours and theirs on the same locks, with a guard inside.

Two of theirs, and two clients of one daemon of ours, take turns. Each side has
the locks 200 times at least, and the run, of a minute and a half at most, ends
as soon as both have. Nobody may meet anybody in there. Then once more with
answers lost at random: ours, of which nobody may notice anything; and theirs,
which may make them believe that they failed where they did not: then what they
hold has to end with its lease, and only ours is judged.

    DDBLOCK_INTEROP_SECONDS=300 DDBLOCK_INTEROP_TURNS=5000 test_contended.py \
        [Java|Dynamolock|Python|...][.test_NAME]...
"""
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

SECONDS = int(os.environ.get("DDBLOCK_INTEROP_SECONDS", "90"))
TURNS = int(os.environ.get("DDBLOCK_INTEROP_TURNS", "200"))
LEASE_MS = 1000
LOSE = 0.02
KEY_TURNS = 30  # dlock's tokens double, so a key does not last for ever
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
        return not self.failures and time.monotonic() < self.end_s and \
            min(self.guard.count("ours"), self.guard.count("theirs")) < TURNS

    def stale(self):
        """Tokens that fell, but for those that theirs reset."""
        return [pair for pair in self.guard.stale
                if pair[1].key not in self.begun_again]

    def key(self, dice):
        turn = len(self.guard.visits) // KEY_TURNS
        return f"{self.case.key}-{turn}-{dice.randrange(self.case.keys)}"

    def guarded(self, body, *arguments):
        try:
            body(*arguments)
        except BaseException as e:  # the test's thread says it
            self.failures.append(e)

    def theirs(self, peer, seed):
        dice = random.Random(seed)
        in_a_row = 0
        while self.goes_on():
            key = self.key(dice)
            # What they wrote was not written before they were asked.
            until = harness.boot_ms() + LEASE_MS if peer.dies else None
            try:
                got = peer.acquire(key, wait_ms=500)
                if got is not None:
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
            grant = client.reply(client.send_acquire(key, wait="500ms"))
            if grant.code in ("ACQUIRE_TIMEOUT", *ours.LATE):
                self.late += grant.code in ours.LATE
                continue
            assert grant.ok, grant
            token = int(grant["token"]) if self.case.peer.has_token else None
            with self.guard.inside(key, "ours", token,
                                   client.until_boot_ms(grant)):
                pass
            done = client.call(f"RELEASE id={grant['id']}")
            assert done.code in ("OK", *ours.LATE), done
            self.late += done.code in ours.LATE
            # Ours is fast: leave some for the others.
            harness.pass_boot_ms(harness.boot_ms() + self.case.pause_ms)


class Contended:
    """The cases; a class below for each library."""

    peer = None
    keys = 2  # at a time
    pause_ms = 10

    def setUp(self):
        harness.need_dynamodb()
        name = self.id().rsplit(".", 1)[-1]
        self.key = name.removeprefix("test_")
        self.table = f"{type(self).__name__}-{self.key}-{os.getpid()}"

    def proxy(self, lose, seed):
        proxy = Recorder(lose=lose, seed=seed)
        self.addCleanup(proxy.close)
        return proxy

    def play(self, lose_ours=0.0, lose_theirs=0.0):
        run = Run(self)
        their_proxy = self.proxy(lose_theirs, 1)
        our_proxy = self.proxy(lose_ours, 2)
        with self.peer(self.table, lease_ms=LEASE_MS) as first:
            first.create()
        theirs = [self.peer(self.table, endpoint=their_proxy.url,
                            lease_ms=LEASE_MS, poll_ms=20).start()
                  for _ in range(2)]
        for peer in theirs:
            self.addCleanup(peer.close)
        with harness.Daemon(ours.config(
                self.peer, self.table, our_proxy.url, LEASE_MS, poll="20ms",
                handover_max=3), log_level="info") as daemon:
            clients = [ours.Client(daemon, self.peer) for _ in range(2)]
            threads = [threading.Thread(
                target=run.guarded, args=(run.theirs, peer, n))
                for n, peer in enumerate(theirs)]
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
        run.begun_again = their_proxy.begun_again()
        counts = run.guard.count("ours"), run.guard.count("theirs")
        print(f"{self.id()}: ours {counts[0]}, theirs {counts[1]}, answers "
              f"lost {our_proxy.lost} and {their_proxy.lost}, late {run.late}, "
              f"mishaps of theirs {run.mishaps}, "
              f"outstayed {run.guard.outstayed}, "
              f"begun again {run.begun_again or {}}", flush=True)
        self.assertEqual(run.failures, [])
        self.assertGreaterEqual(min(counts), TURNS)
        return run

    def test_all_is_well(self):
        run = self.play()
        self.assertEqual((run.guard.overlaps, run.stale()), ([], []))
        self.assertEqual(run.mishaps, 0)

    def test_ours_loses_answers(self):
        run = self.play(lose_ours=LOSE)
        self.assertEqual((run.guard.overlaps, run.stale()), ([], []))

    def test_theirs_lose_answers(self):
        run = self.play(lose_theirs=LOSE)
        self.assertEqual([pair for pair in run.guard.overlaps
                          if "ours" in (pair[0].who, pair[1].who)], [])
        self.assertEqual([pair for pair in run.stale()
                          if pair[1].who == "ours"], [])


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
    peer = peers.JsFailClosed

    def test_theirs_lose_answers(self):
        """What they acquired without knowing is theirs for ever."""
        self.skipTest("nobody could go on")


class Dlock(Contended, unittest.TestCase):
    peer = peers.Dlock


class DlockFencing(Contended, unittest.TestCase):
    peer = peers.DlockFencing


if __name__ == "__main__":
    peers.main()
