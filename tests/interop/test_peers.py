#!/usr/bin/env python3
"""The older clients among themselves: that these drive the real libraries.

For each of them: one holds, and the other is refused and gets it later; a dead
one's lock is taken over after its lease, and no sooner; what is kept in a lock
is there for the other. What is said of ours in test_interop.py means nothing
if this does not hold.
"""
import json
import os
import re
import subprocess
import threading
import unittest

import peers
from guard import Guard
from recorder import behind

import harness  # peers knows where it is
from test_daemon_dynamodb import dynamodb
from undisturbed import Undisturbed

LEASE_MS = 750  # python: only what a float has exactly
TURNS = 15  # of each of two, in contention


class Pair(Undisturbed):
    """The cases; a class below for each library."""

    LEASE_MS = LEASE_MS
    peer = None

    @classmethod
    def setUpClass(cls):
        harness.need_dynamodb()
        cls.table = f"{cls.__name__}-{os.getpid()}-{next(cls.serials)}"
        cls.a = cls.begin(cls.addClassCleanup)
        cls.a.create()
        cls.b = cls.begin(cls.addClassCleanup)

    @classmethod
    def begin(cls, clean_up):
        """One more, behind a proxy of its own: peer.proxy."""
        peer = behind(clean_up, lambda url: cls.peer(
            cls.table, endpoint=url, lease_ms=LEASE_MS))
        clean_up(peer.close)
        return peer

    def setUp(self):
        self.key = self.id().rsplit(".", 1)[-1]

    def take(self, peer, key, wait_ms=0, **named):
        answer = peer.acquire(key, wait_ms, **named)
        self.assertIsNotNone(answer, f"{key} is busy")
        return answer

    def test_one_at_a_time(self):
        self.take(self.a, self.key)
        self.assertTrue(self.a.holds(self.key))
        self.assertIsNone(self.b.acquire(self.key))
        self.assertFalse(self.b.holds(self.key))
        self.take(self.b, "another")
        self.b.release("another")
        self.a.release(self.key)
        self.assertFalse(self.a.holds(self.key))
        self.take(self.b, self.key, wait_ms=5000)
        self.assertIsNone(self.a.acquire(self.key))
        self.b.release(self.key)

    def test_waits_for_the_release(self):
        self.take(self.a, self.key)
        since = self.b.proxy.mark()
        self.b.send_acquire(self.key, wait_ms=20000)
        # It has looked once, and was refused.
        self.b.proxy.wait(lambda: [r for r in self.b.proxy.seen(since=since)
                                   if r.status], "a look")
        self.a.release(self.key)
        self.assertIsNotNone(self.b.acquired())
        self.b.release(self.key)

    def test_heartbeats(self):
        """Three leases long, while the other tries all the time."""
        since = self.a.proxy.mark()
        self.take(self.a, self.key)
        self.b.send_acquire(self.key, wait_ms=3 * LEASE_MS)
        self.assertIsNone(self.b.acquired())
        self.assertTrue(self.a.holds(self.key))
        if self.peer.dies:
            self.assertGreaterEqual(len(self.a.proxy.writes(since)), 6)
        self.a.release(self.key)
        self.take(self.b, self.key, wait_ms=5000)
        self.b.release(self.key)

    def test_death(self):
        mortal = self.begin(self.addCleanup)
        self.take(mortal, self.key)
        if not self.peer.dies:
            mortal.die()
            self.assertIsNone(self.b.acquire(self.key, wait_ms=2 * LEASE_MS))
            return
        mortal.proxy.wait_writes(3)  # it and two heartbeats
        mortal.die()
        since = self.b.proxy.mark()
        self.take(self.b, self.key, wait_ms=30000)
        last = mortal.proxy.writes()[-1]
        taken = self.b.proxy.writes(since)[0]
        self.assertGreaterEqual(taken.came_s - last.came_s, LEASE_MS / 1000)
        self.b.release(self.key)

    def test_a_late_one_notices(self):
        """What stood still for longer than its lease has lost it."""
        if not self.peer.dies:
            self.skipTest("it has no lease")
        late = self.begin(self.addCleanup)
        self.take(late, self.key)
        late.freeze()
        self.take(self.b, self.key, wait_ms=30000)
        late.thaw()
        peers.soon(lambda: not late.holds(self.key), "the other to notice")
        self.assertTrue(self.b.holds(self.key))
        self.b.release(self.key)

    def test_contention(self):
        guard = Guard()
        failures = []
        # dlock's first write of a record may set its token to 1 twice.
        self.take(self.a, self.key)
        self.a.release(self.key)

        def turns(peer, who):
            try:
                for _ in range(TURNS):
                    got = peer.acquire(self.key, wait_ms=60000)
                    while got is None:
                        got = peer.acquire(self.key, wait_ms=60000)
                    with guard.inside(self.key, who, got.token):
                        pass
                    peer.release(self.key)
            except BaseException as e:  # the test's thread says it
                failures.append(e)

        threads = [threading.Thread(target=turns, args=pair)
                   for pair in ((self.a, "a"), (self.b, "b"))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(240)
        self.assertEqual((failures, guard.overlaps, guard.stale),
                         ([], [], []))
        self.assertEqual((guard.count("a"), guard.count("b")),
                         (TURNS, TURNS))

    def test_table(self):
        described = dynamodb("DescribeTable", TableName=self.table)["Table"]
        names = [key["AttributeName"] for key in described["KeySchema"]]
        wanted = [self.peer.key_attribute]
        if self.peer.sort_attribute:
            wanted.append(self.peer.sort_attribute)
        self.assertEqual(names, wanted)

    def test_data_and_attributes(self):
        if not self.peer.has_attributes:
            self.skipTest("the format has none")
        attributes = {"region": "north east", "n": 17}
        data = b"a\0b=" if self.peer.has_data else None
        self.take(self.a, self.key, data=data, attributes=attributes)
        seen = self.b.get(self.key)
        self.assertEqual((seen.data, seen.attributes), (data, attributes))
        self.a.release(self.key)
        self.assertIsNone(self.b.get(self.key))

    def test_heartbeat_with_data(self):
        if not self.peer.has_data:
            self.skipTest("the format has none")
        self.take(self.a, self.key, data=b"one", attributes={"n": 17})
        self.a.heartbeat(self.key, data=b"two")
        seen = self.b.get(self.key)
        self.assertEqual((seen.data, seen.attributes), (b"two", {"n": 17}))
        self.a.release(self.key)

    def test_keep(self):
        if not self.peer.has_keep:
            self.skipTest("the format has no such thing")
        self.take(self.a, self.key, data=b"one")
        self.a.release(self.key, keep=True, data=b"two")
        item = dynamodb("GetItem", TableName=self.table,
                        Key={"key": {"S": self.key}})["Item"]
        self.assertEqual(item["isReleased"], {"S": "1"})
        got = self.take(self.b, self.key, data=b"three", replace="no")
        self.assertEqual(got.data, b"two")
        self.b.release(self.key)

    def test_tokens(self):
        if not self.peer.has_token:
            self.skipTest("the format has none")
        tokens = []
        for peer in (self.a, self.b, self.a, self.b):
            tokens.append(self.take(peer, self.key, wait_ms=5000).token)
            peer.release(self.key)
        self.assertEqual(tokens, self.tokens)


class Java(Pair, unittest.TestCase):
    peer = peers.Java


class Dynamolock(Pair, unittest.TestCase):
    peer = peers.Dynamolock

    def test_with_java(self):
        """Two libraries of one format: they exclude each other."""
        java = peers.Java(self.table, lease_ms=LEASE_MS).start()
        self.addCleanup(java.close)
        self.take(self.a, self.key, data=b"x")
        with self.assertRaises(peers.Failed):  # its lease is no number
            java.acquire(self.key)
        self.a.release(self.key)


class Python(Pair, unittest.TestCase):
    peer = peers.Python


class JsFailOpen(Pair, unittest.TestCase):
    peer = peers.JsFailOpen
    tokens = [1, 2, 3, 4]


class JsFailClosed(Pair, unittest.TestCase):
    peer = peers.JsFailClosed


class Dlock(Pair, unittest.TestCase):
    peer = peers.Dlock


class DlockFencing(Pair, unittest.TestCase):
    peer = peers.DlockFencing
    tokens = [1, 2, 4, 8]


def shape(operation, request):
    """A request without what differs from one run to the next."""
    def plain(expression):
        for name, meant in request.get("ExpressionAttributeNames",
                                       {}).items():
            expression = re.sub(name + r"\b", meant, expression)
        for name, value in request.get("ExpressionAttributeValues",
                                       {}).items():
            expression = re.sub(name + r"\b", ":" + "".join(value),
                                expression)
        return expression

    return (operation, request.get("ConsistentRead"),
            request.get("ReturnValues", "NONE"),
            plain(request.get("ConditionExpression", "")),
            plain(request.get("UpdateExpression", "")),
            sorted((name, "".join(value)) for name, value in
                   request.get("Item", request.get("Key")).items()))


def recorded(name):
    with open(os.path.join(peers.HERE, "..", "traces", name + ".jsonl"),
              encoding="utf-8") as f:
        lines = [json.loads(line) for line in f]
    return [shape(line["operation"], line["request"]) for line in lines]


class StandIn(Undisturbed, unittest.TestCase):
    """What stands in for dlock sends what the real one sent."""
    LEASE_MS = LEASE_MS

    def setUp(self):
        harness.need_dynamodb()

    def start(self, kind, table):
        peer = behind(self.addCleanup, lambda url: kind(
            table, endpoint=url, lease_ms=LEASE_MS))
        self.addCleanup(peer.close)
        return peer

    @staticmethod
    def sent(peer):
        return [shape(r.operation, r.body) for r in peer.proxy.seen()]

    def check(self, kind, name):
        table = f"StandIn-{name}-{os.getpid()}-{self.serial}"
        peer = self.start(kind, table)
        peer.create()
        for _ in range(4):
            peer.acquire("k1")
            peer.release("k1")
        scene = recorded(name + ".uncontended")
        self.assertEqual(self.sent(peer)[:len(scene)], scene)
        peer = self.start(kind, table)
        peer.acquire("h0")
        peer.proxy.wait_writes(3)
        peer.die()
        scene = recorded(name + ".death")
        self.assertEqual(self.sent(peer)[:len(scene)], scene)
        peer = self.start(kind, table)
        peer.acquire("h0", wait_ms=30000)
        peer.release("h0")
        scene = recorded(name + ".takeover")
        for one in self.sent(peer):
            self.assertIn(one, scene)

    def test_plain(self):
        self.check(peers.Dlock, "dlock")

    def test_fencing(self):
        self.check(peers.DlockFencing, "dlock-fencing")


class Setup(unittest.TestCase):
    def test_again(self):
        """What is there is left alone, and needs no network."""
        peers.ensure("go")
        done = subprocess.run(
            [os.path.join(peers.HERE, "setup"), peers.place(), "go"],
            env=dict(os.environ, PATH="/usr/bin:/bin", GOPROXY="off"),
            stdin=subprocess.DEVNULL, capture_output=True, text=True,
            check=False)
        self.assertEqual((done.returncode, done.stdout, done.stderr),
                         (0, "", ""))


if __name__ == "__main__":
    harness.main(dynamodb=True)
