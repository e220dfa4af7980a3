#!/usr/bin/env python3
"""A fleet moves from an older client to the native format, while it works.

A process of the real older client, a daemon of ours with a bridge, and one that
is done with it. The older client goes before the last one comes; the bridge is
there throughout. All use the same locks, with a guard inside: nobody ever meets
anybody, though the first and the last have no record in common; and the tokens
of all of them only rise.
"""
import os
import random
import threading
import time
import unittest

import ours
import peers
from guard import Guard
from test_daemon_dynamodb import create_table

import harness  # peers knows where these are
from undisturbed import Undisturbed

TURNS = int(os.environ.get("DDBLOCK_INTEROP_MOVES", "40"))
SECONDS = 90
LEASE_MS = 1000


def native(table, **settings):
    lines = {
        "store": "dynamodb", "table": table,
        "endpoint": harness.endpoint(),
        "region": "us-east-1", "access_key_id": "AKIDEXAMPLE",
        "secret_access_key": "none", "lease": f"{2 * LEASE_MS}ms",
        "poll": "20ms", "handover_max": 3, **settings}
    return "[namespace default]\n" + "".join(
        f"{name} = {value}\n" for name, value in lines.items())


class Moving(Undisturbed):
    LEASE_MS = LEASE_MS
    peer = None
    doubles = False  # its tokens outgrow those of the native format
    keys = 2  # at a time
    pause_ms = 10

    def setUp(self):
        harness.need_dynamodb()
        self.guard = Guard()
        self.failures = []
        self.old_goes_on = self.all_goes_on = True
        name = f"{type(self).__name__}-{os.getpid()}-{self.serial}"
        self.old, self.new = "old-" + name, "new-" + name
        create_table(self.new, "key")

    def daemon(self, text):
        daemon = harness.Daemon(text, log_level="info")
        self.addCleanup(daemon.close)
        daemon.start()
        return daemon

    def use_old(self, peer):
        dice = random.Random(1)
        while self.old_goes_on:
            key = f"k{dice.randrange(self.keys)}"
            until = harness.boot_ms() + LEASE_MS if peer.dies else None
            got = peer.acquire(key, wait_ms=500)
            if got is None:
                continue
            with self.guard.inside(key, "old", got.token, until):
                pass
            peer.release(key)

    def use_ours(self, daemon, who, seed):
        dice = random.Random(seed)
        with ours.Client(daemon, self.peer) as client:
            while self.all_goes_on:
                client.turn(self.guard, who, f"k{dice.randrange(self.keys)}",
                            self.pause_ms, tokens=True)

    def cross(self, daemon):
        """Each lock once, for the native records to have the tokens, too."""
        with ours.Client(daemon, self.peer) as client:
            for key in range(self.keys):
                client.give(client.take(f"k{key}"))

    def begin(self, body, *arguments):
        def guarded():
            try:
                body(*arguments)
            except BaseException as e:  # the test's thread says it
                self.failures.append(e)

        thread = threading.Thread(target=guarded)
        thread.start()
        return thread

    def count(self, who):
        return self.guard.count(who)

    def pass_turns(self, *who):
        """Until each of these has had so many turns more."""
        wanted = {name: self.count(name) + TURNS for name in who}
        end_s = time.monotonic() + SECONDS
        while not self.failures and time.monotonic() < end_s and \
                any(self.count(n) < wanted[n] for n in who):
            harness.pass_boot_ms(harness.boot_ms() + 20)
        self.assertEqual(self.failures, [])
        for name in who:
            self.assertGreaterEqual(self.count(name), wanted[name], name)

    def test_nobody_meets_anybody(self):
        with self.peer(self.old, lease_ms=LEASE_MS) as first:
            first.create()
            # dlock's first write of a record may set its token to 1 twice.
            for n in range(self.keys):
                first.acquire(f"k{n}")
                first.release(f"k{n}")
        peer = self.peer(self.old, lease_ms=LEASE_MS, poll_ms=20).start()
        self.addCleanup(peer.close)
        bridge = self.daemon(
            native(self.new, bridge="old") +
            ours.config(self.peer, self.old, lease_ms=2 * LEASE_MS,
                        poll="20ms", handover_max=3)
            .replace("[namespace default]", "[namespace old]"))
        threads = []
        try:
            old = self.begin(self.use_old, peer)
            threads = [old] + [
                self.begin(self.use_ours, bridge, "bridge", n)
                for n in range(2)]
            self.pass_turns("old", "bridge")
            self.old_goes_on = False
            old.join()
            self.cross(bridge)
            last = self.daemon(native(self.new))
            threads.append(self.begin(self.use_ours, last, "native", 3))
            self.pass_turns("bridge", "native")
        finally:
            self.old_goes_on = self.all_goes_on = False
            for thread in threads:
                thread.join()
        print(f"{self.id()}: " + ", ".join(
            f"{who} {self.count(who)}" for who in ("old", "bridge", "native")),
            flush=True)
        self.assertEqual(self.failures, [])
        self.assertEqual(self.guard.overlaps, [])
        self.assertEqual([
            (before, after) for before, after in self.guard.stale
            if not (self.doubles and after.who == "native")], [])


class Java(Moving, unittest.TestCase):
    peer = peers.Java


class Dynamolock(Moving, unittest.TestCase):
    peer = peers.Dynamolock


class Python(Moving, unittest.TestCase):
    peer = peers.Python


class JsFailOpen(Moving, unittest.TestCase):
    peer = peers.JsFailOpen
    keys = 12  # it waits for a whole lease when it finds one held,
    pause_ms = 60  # and that it was released meanwhile is no help


# There is no bridge from js-fail-closed: its holds never end.
class Dlock(Moving, unittest.TestCase):
    peer = peers.Dlock


class DlockFencing(Moving, unittest.TestCase):
    peer = peers.DlockFencing
    doubles = True


if __name__ == "__main__":
    peers.main()
