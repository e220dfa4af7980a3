#!/usr/bin/env python3
"""Ours and theirs on one table, in the format of each of the older clients.

Each excludes the other; each waits for the other's release, for the whole
lease of one that died, and for no less; what one keeps in a lock is there for
the other. The contended minute is in test_contended.py.

    test_interop.py [Java|Dynamolock|Python|...][.test_NAME]...
"""
import os
import unittest

import ours
import peers
from recorder import behind, is_mark

import fault_proxy  # peers knows where these are
import harness
from test_daemon_dynamodb import dynamodb
from undisturbed import Undisturbed

LEASE_MS = 2000
LEASE_S = LEASE_MS / 1000
LATE_S = 30  # generous: how much later than the lease is still well
MARKED_MS = 500  # the lease of one whose record is marked
MARKS = "ddblockd_marks"


class Both(Undisturbed):
    """The cases; a class below for each library."""

    LEASE_MS = LEASE_MS
    peer = None

    @classmethod
    def setUpClass(cls):
        harness.need_dynamodb()
        cls.table = f"{cls.__name__}-{os.getpid()}-{next(cls.serials)}"
        cls.theirs = cls.begin(cls.addClassCleanup)
        cls.theirs.create()
        cls.daemon = cls.serve(cls.addClassCleanup)

    @classmethod
    def begin(cls, clean_up, lease_ms=LEASE_MS, **options):
        """One of theirs, behind a proxy of its own: peer.proxy."""
        peer = behind(clean_up, lambda url: cls.peer(
            cls.table, endpoint=url, lease_ms=lease_ms, **options))
        clean_up(peer.close)
        return peer

    @classmethod
    def serve(cls, clean_up, **settings):
        """One of our daemons, behind a proxy of its own: daemon.proxy."""
        daemon = behind(clean_up, lambda url: harness.Daemon(ours.config(
            cls.peer, cls.table, url, LEASE_MS, **settings)))
        clean_up(daemon.close, check=False)
        return daemon

    def setUp(self):
        self.key = self.id().rsplit(".", 1)[-1]

    def client(self, daemon=None):
        client = ours.Client(daemon or self.daemon, self.peer)
        self.addCleanup(client.close)
        return client

    def take_theirs(self, peer=None, wait_ms=20000, **named):
        answer = (peer or self.theirs).acquire(self.key, wait_ms, **named)
        self.assertIsNotNone(answer, f"{self.key} is busy for them")
        return answer

    def wait_look(self, proxy, since):
        """Until somebody behind it has looked, and was refused."""
        proxy.wait(lambda: [r for r in proxy.seen(since=since) if r.answered],
                   "a look")

    # -- one holds, the other waits -----------------------------------------

    def test_ours_waits_for_theirs(self):
        client = self.client()
        self.take_theirs()
        self.assertEqual(client.attempt(self.key).code, "LOCK_BUSY")
        self.assertEqual(client.get(self.key)["state"], "held")
        since = self.daemon.proxy.mark()
        tag = client.send_acquire(self.key)
        self.wait_look(self.daemon.proxy, since)
        self.theirs.release(self.key)
        grant = client.reply(tag)
        self.assertTrue(grant.ok, grant)
        self.assertIsNone(self.theirs.acquire(self.key))
        client.give(grant)
        self.assertEqual(client.get(self.key)["state"], "free")

    def test_theirs_wait_for_ours(self):
        client = self.client()
        grant = client.take(self.key)
        self.assertIsNone(self.theirs.acquire(self.key))
        since = self.theirs.proxy.mark()
        self.theirs.send_acquire(self.key, wait_ms=30000)
        self.wait_look(self.theirs.proxy, since)
        client.give(grant)
        self.assertIsNotNone(self.theirs.acquired())
        self.assertEqual(client.attempt(self.key).code, "LOCK_BUSY")
        self.theirs.release(self.key)

    def test_in_turns(self):
        client = self.client()
        for _ in range(3):
            self.take_theirs()
            self.theirs.release(self.key)
            client.give(client.take(self.key))

    # -- heartbeats ---------------------------------------------------------

    def test_theirs_beat(self):
        """Three leases long, while ours tries all the time."""
        client = self.client()
        self.take_theirs()
        refused = client.reply(client.send_acquire(
            self.key, wait=f"{3 * LEASE_MS}ms"))
        self.assertEqual(refused.code, "ACQUIRE_TIMEOUT")
        self.assertTrue(self.theirs.holds(self.key))
        self.theirs.release(self.key)
        client.give(client.take(self.key))

    def test_ours_beats(self):
        client = self.client()
        since = self.daemon.proxy.mark()
        grant = client.take(self.key)
        self.theirs.send_acquire(self.key, wait_ms=3 * LEASE_MS)
        self.assertIsNone(self.theirs.acquired())
        if self.peer.dies:
            self.assertGreaterEqual(len(self.daemon.proxy.writes(since)), 6)
        client.give(grant)
        self.assertEqual(client.losses(), [])
        self.take_theirs()
        self.theirs.release(self.key)

    # -- death --------------------------------------------------------------

    def check_times(self, last, taken):
        """By one clock, and exactly: what came here began before."""
        self.assertGreaterEqual(taken.came_s - last.came_s, LEASE_S)
        self.assertLess(taken.came_s - last.came_s, LEASE_S + LATE_S)
        if self.peer.format == "dlock":
            over_s = last.came_wall_s + LEASE_S + self.peer.skew_ms / 1000
            # It is a moment of theirs in whole milliseconds, and before
            # its request came here.
            self.assertGreaterEqual(taken.came_wall_s, over_s - 0.25)

    def test_theirs_die(self):
        client = self.client()
        mortal = self.begin(self.addCleanup)
        self.take_theirs(mortal)
        if not self.peer.dies:
            mortal.die()
            refused = client.reply(client.send_acquire(
                self.key, wait=f"{2 * LEASE_MS}ms"))
            self.assertEqual(refused.code, "ACQUIRE_TIMEOUT")
            return
        since = self.daemon.proxy.mark()
        tag = client.send_acquire(self.key)
        mortal.proxy.wait_writes(3)  # it and two heartbeats
        mortal.die()
        last = mortal.proxy.writes()[-1]
        grant = client.reply(tag)
        self.assertTrue(grant.ok, grant)
        taken = next(r for r in self.daemon.proxy.writes(since)
                     if not is_mark(r))
        self.check_times(last, taken)
        client.give(grant)

    def test_ours_dies(self):
        mortal = self.serve(self.addCleanup)
        self.client(mortal).take(self.key)
        if not self.peer.dies:
            mortal.kill()
            self.assertIsNone(self.theirs.acquire(self.key,
                                                  wait_ms=2 * LEASE_MS))
            return
        since = self.theirs.proxy.mark()
        self.theirs.send_acquire(self.key, wait_ms=30000)
        mortal.proxy.wait_writes(3)
        mortal.kill()
        last = mortal.proxy.writes()[-1]
        self.assertIsNotNone(self.theirs.acquired())
        self.check_times(last, self.theirs.proxy.writes(since)[0])
        self.theirs.release(self.key)

    def test_theirs_stand_still(self):
        """What they still believe when they go on does ours no harm."""
        if not self.peer.dies:
            self.skipTest("it has no lease")
        client = self.client()
        late = self.begin(self.addCleanup)
        self.take_theirs(late)
        late.freeze()
        grant = client.take(self.key)
        late.thaw()
        peers.soon(lambda: not late.holds(self.key), "them to notice")
        client.give(grant)
        self.assertEqual(list(client.events), [])

    # -- answers that are lost ----------------------------------------------

    def test_no_false_alarm(self):
        """Whichever answer is lost: it was ours, and stays so."""
        client = self.client()
        proxy = self.daemon.proxy
        for nth in range(1, 5):
            rule = proxy.on(None, fault_proxy.lose_after, nth=nth)
            self.addCleanup(rule.stop)
            since = proxy.mark()
            grant = client.take(f"{self.key}-{nth}")
            if self.peer.dies:
                proxy.wait(lambda s=since: len(proxy.writes(s)) >= 5,
                           "renewals")
            client.give(grant)
            if nth == 1 or self.peer.dies:
                rule.wait_hit()
            rule.stop()
            self.assertEqual(client.losses(), [])
            self.assertEqual(client.get(f"{self.key}-{nth}")["state"], "free")

    # -- what is in a record ------------------------------------------------

    def test_tokens_rise(self):
        if not self.peer.has_token:
            self.skipTest("the format has none")
        client = self.client()
        tokens = []
        for _ in range(3):
            tokens.append(self.take_theirs().token)
            self.theirs.release(self.key)
            grant = client.take(self.key)
            tokens.append(int(grant["token"]))
            client.give(grant)
        self.assertEqual(tokens, sorted(set(tokens)))

    def test_theirs_keep_something(self):
        if not self.peer.has_attributes:
            self.skipTest("the format has none")
        client = self.client()
        data = b"\0a=%" if self.peer.has_data else None
        attributes = {"region": "north east", "n": 17}
        self.take_theirs(data=data, attributes=attributes)
        seen = client.get(self.key)
        self.assertEqual(ours.attributes_of(seen), attributes)
        if self.peer.has_data:
            self.assertEqual(seen["data"].encode(), data)
        self.theirs.release(self.key)

    def test_ours_keeps_something(self):
        if not self.peer.has_attributes:
            self.skipTest("the format has none")
        client = self.client()
        data = b"\0a=%" if self.peer.has_data else None
        attributes = {"region": "north east", "n": 17}
        since = self.daemon.proxy.mark()
        grant = client.take(self.key, data=data, attributes=attributes)
        self.daemon.proxy.wait_writes(3, since)  # it and two heartbeats
        seen = self.theirs.get(self.key)
        self.assertEqual((seen.data, seen.attributes), (data, attributes))
        attributes["region"] = "south"
        renewed = client.call(f"RENEW id={grant['id']} attr.region=south")
        self.assertTrue(renewed.ok, renewed)
        seen = self.theirs.get(self.key)
        self.assertEqual((seen.data, seen.attributes), (data, attributes))
        client.give(grant)

    # -- marks --------------------------------------------------------------

    def item(self, key):
        name = {self.peer.key_attribute: {"S": key}}
        if self.peer.sort_attribute:
            name[self.peer.sort_attribute] = {"S": "-"}
        return dynamodb("GetItem", TableName=self.table, Key=name,
                        ConsistentRead=True).get("Item", {})

    def is_marked(self, key):
        return MARKS in self.item(key)

    def counts(self, key):
        """Do its marks count: are they of the version that it has?"""
        item = self.item(key)
        versions = [next(iter(value.values())) for name, value in item.items()
                    if name != MARKS]
        return bool(set(item.get(MARKS, {"SS": []})["SS"]) & set(versions))

    def mark(self, *keys):
        """A client of ours waits for each, until its mark is there."""
        client = self.client()
        for key in keys:
            client.send_acquire(key)
        for key in keys:
            peers.soon(lambda key=key: self.is_marked(key), f"{key} marked")
        client.close()

    def works(self, peer, key):
        """It beats on, believes in it and gives it back."""
        since = peer.proxy.mark()
        peer.proxy.wait_writes(2, since)
        self.assertTrue(peer.holds(key))
        peer.release(key)

    def ways(self):
        """Those of acquiring: by name (who, how, are the marks gone then?)."""
        return {"plain": (self.theirs, {}, True)}

    def take_marked(self, ways, keys):
        for name, (peer, how, wipes) in ways.items():
            with self.subTest(name):
                self.assertTrue(self.is_marked(keys[name]))
                got = peer.acquire(keys[name], 30000, **how)
                self.assertIsNotNone(got, f"{name} is busy for them")
                self.assertEqual(self.is_marked(keys[name]), not wipes)
                self.assertFalse(self.counts(keys[name]))
                self.works(peer, keys[name])

    def need_marks(self):
        if self.peer.format not in ("awslabs", "python", "js-fail-open"):
            self.skipTest("nothing is marked in the format")

    def test_marked_and_held(self):
        """It works with what is marked as with what is not."""
        self.need_marks()
        self.take_theirs()
        # It is renewed meanwhile, so a mark may come too late.
        self.mark(self.key)
        self.works(self.theirs, self.key)
        client = self.client()
        client.give(client.take(self.key))

    def test_marked_and_dead(self):
        """Who takes it over wipes the marks, or they are of no such version."""
        self.need_marks()
        ways = self.ways()
        keys = {name: f"{self.key}-{name}" for name in ways}
        mortal = self.begin(self.addCleanup, lease_ms=MARKED_MS)
        for key in keys.values():
            self.assertIsNotNone(mortal.acquire(key))
        mortal.freeze()
        self.mark(*keys.values())
        for key in keys.values():
            self.assertTrue(self.counts(key), key)
            if self.peer.has_attributes:
                self.assertIn(MARKS, str(self.theirs.get(key)))
        mortal.die()
        self.take_marked(ways, keys)

    def test_tables(self):
        """Each side can use what the other has created."""
        daemon = harness.Daemon(ours.config(self.peer, self.table),
                                args=["--check-table"])
        self.addCleanup(daemon.close)
        self.assertEqual(daemon.run()[0::2], (0, ""))
        table = self.table + "-ours"
        daemon = harness.Daemon(ours.config(self.peer, table),
                                args=["--init-table"])
        self.addCleanup(daemon.close)
        self.assertEqual(daemon.run()[0::2], (0, ""))
        with self.peer(table, lease_ms=LEASE_MS) as peer:
            self.assertIsNotNone(peer.acquire("k"))
            peer.release("k")


class Keeping(Both):
    """Formats whose release can leave the record, marked as free."""

    def record(self):
        return dynamodb("GetItem", TableName=self.table,
                        Key={"key": {"S": self.key}})["Item"]

    def test_marked_and_released(self):
        """And a client that takes what is marked as free."""
        ways = self.ways()
        keys = {name: f"{self.key}-{name}" for name in ways}
        for key in keys.values():
            self.assertIsNotNone(self.theirs.acquire(key, data=b"one"))
        self.mark(*keys.values())
        for key in keys.values():
            self.theirs.release(key, keep=True)
        self.take_marked(ways, keys)

    def test_theirs_leave_it(self):
        daemon = self.serve(self.addCleanup, keep_attributes="yes")
        client = self.client(daemon)
        self.take_theirs(data=b"one", attributes={"n": 17})
        self.theirs.release(self.key, keep=True, data=b"two")
        seen = client.get(self.key)
        self.assertEqual((seen["state"], seen["data"]), ("free", "two"))
        grant = client.take(self.key)
        self.assertNotIn("isReleased", self.record())
        self.assertEqual(grant["data"], "two")
        seen = self.theirs.get(self.key)
        self.assertEqual((seen.data, seen.attributes), (b"two", {"n": 17}))
        client.give(grant)

    def test_ours_leaves_it(self):
        daemon = self.serve(self.addCleanup, released="keep",
                            keep_attributes="yes")
        client = self.client(daemon)
        grant = client.take(self.key, data=b"one", attributes={"n": 17})
        client.give(grant, data=b"two")
        self.assertEqual(self.record()["isReleased"], {"S": "1"})
        got = self.take_theirs(data=b"three", replace="no",
                               attributes={"n": 17})
        self.assertEqual(got.data, b"two")
        self.theirs.release(self.key, keep=True)
        grant = client.take(self.key)
        seen = self.theirs.get(self.key)
        self.assertEqual((seen.data, seen.attributes), (b"two", {"n": 17}))
        client.give(grant)


class Java(Keeping, unittest.TestCase):
    peer = peers.Java

    def ways(self):
        """An update of what is there keeps what it does not know of."""
        return {"plain": (self.theirs, {}, True),
                "data-kept": (self.theirs, {"replace": "no"}, True),
                "exists": (self.theirs, {"exists": "yes"}, True),
                "consistent": (self.theirs, {"consistent": "yes"}, True),
                "update": (self.theirs, {"update": "yes"}, False),
                "consistent-update": (self.theirs, {
                    "consistent": "yes", "update": "yes"}, False)}


class Dynamolock(Keeping, unittest.TestCase):
    peer = peers.Dynamolock

    def ways(self):
        """It copies what it does not know of, with a version of its own."""
        return {"plain": (self.theirs, {}, False),
                "data-kept": (self.theirs, {"replace": "no"}, False)}


class Python(Both, unittest.TestCase):
    peer = peers.Python


class JsFailOpen(Both, unittest.TestCase):
    peer = peers.JsFailOpen

    def ways(self):
        trusting = self.begin(self.addCleanup, trust_local_time="yes")
        return {"plain": (self.theirs, {}, True),
                "local-time": (trusting, {}, True)}


class JsFailClosed(Both, unittest.TestCase):
    peer = peers.JsFailClosed


class Dlock(Both, unittest.TestCase):
    peer = peers.Dlock


class DlockFencing(Both, unittest.TestCase):
    peer = peers.DlockFencing

    def test_their_first_write_is_late(self):
        """A weakness of theirs, which we only know: tokens begin again."""
        client = self.client()
        first = self.theirs.proxy.on("open", fault_proxy.hold)
        self.theirs.send_acquire(self.key, wait_ms=20000)
        first.wait_hit()
        for token in (1, 2):
            grant = client.take(self.key)
            self.assertEqual(grant["token"], str(token))
            client.give(grant)
        first.go()
        self.assertEqual(self.theirs.acquired().token, 1)
        self.assertEqual(self.theirs.proxy.begun_again(), {self.key})
        self.theirs.release(self.key)

    def test_our_first_write_is_late(self):
        """Ours is refused, and looks again."""
        client = self.client()
        first = self.daemon.proxy.on(None, fault_proxy.hold)
        tag = client.send_acquire(self.key)
        first.wait_hit()
        for token in (1, 2):
            self.assertEqual(self.take_theirs().token, token)
            self.theirs.release(self.key)
        first.go()
        grant = client.reply(tag)
        self.assertEqual(grant["token"], "3")
        client.give(grant)


if __name__ == "__main__":
    peers.main(at_once=3)
