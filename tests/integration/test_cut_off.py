#!/usr/bin/env python3
"""Whose connection the daemon ends: what it held stays for a margin, and it is
nobody else's greed that ends it.

The daemon's own history says when the next client was granted what a cut-off
client held. When that was cut off, it says a little late: the margin counts
from the moment at which the daemon begins with it. The tests count from before.
"""
import unittest

import harness

MARGIN_MS = 300


class Case(harness.WithDaemon, unittest.TestCase):
    CONFIG = f"""
[daemon]
history = yes
queued_bytes_max = 2M
queued_bytes_per_uid_max = 2560K
[namespace default]
file = {{dir}}/db
lease = 3s
margin = {MARGIN_MS}ms
idle = 0
"""

    def setUp(self):
        self.daemon = harness.Daemon(config=self.CONFIG, args=["--log=json"])
        self.daemon.start()
        self.addCleanup(self.daemon.close)
        self.other = self.client()
        self.granted("big", self.other, data="d" * 100000)

    def granted(self, key, client=None, **arguments):
        """A client that has it: (client, grant)."""
        client = client or self.client()
        grant = client.acquire(key, **arguments)
        self.assertTrue(grant.ok, grant)
        return client, grant

    def cut_off(self, client):
        """It asks for more than there is room for, and does not read. If the
        daemon stops reading from it first, what others of its user have is too
        much."""
        self.cut_ms = harness.boot_ms()
        client.send_raw(b"GET big\n" * 60)
        others = [self.client() for _ in range(3)]
        # Each of these is answered behind one of its, until it is full.
        for _ in range(30):
            self.assertTrue(others[0].call("GET big").ok)
        for other in others:
            other.send_raw(b"GET big\n" * 9)
        self.daemon.wait_log("was cut off: it")
        for other in others:
            other.close()

    def moment(self, **fields):
        """When that was written; it has happened."""
        wanted = {f"DDBLOCK_{k.upper()}": v for k, v in fields.items()}
        while True:
            for entry in self.daemon.history():
                if wanted.items() <= entry.items():
                    return int(entry["DDBLOCK_BOOT_US"]) / 1000
            self.daemon.wait_log("DDBLOCK_EVENT")

    def has_gap(self, won):
        """The next holder came a margin later at the earliest."""
        self.assertTrue(won.ok, won)
        granted = self.moment(event="answered", hold=won["id"])
        self.assertGreaterEqual(granted - self.cut_ms, MARGIN_MS)


class Gap(Case):
    def test_one_lock(self):
        one, _ = self.granted("x")
        waits = self.other.send("ACQUIRE x")
        self.cut_off(one)
        self.has_gap(self.other.reply(waits))

    def test_is_told(self):
        """A client that reads is told of its loss before the end."""
        one, grant = self.granted("x")
        waits = self.other.send("ACQUIRE x")
        self.cut_ms = harness.boot_ms()
        # Lines without an end, together too much for their user.
        for client, length in ((one, 1_000_000), (self.client(), 850_000),
                               (self.client(), 850_000)):
            client.send_raw(b" " * length)
        one.wait_end()
        self.assertEqual(
            [(line.word, line["id"], line["reason"]) for line in one.events],
            [("LOCK_LOST", grant["id"], "cut_off")])
        self.has_gap(self.other.reply(waits))

    def test_each_that_it_has(self):
        """Several locks as one, and a place among sharers."""
        one = self.client()
        self.assertTrue(one.call("ACQUIRE a b").ok)
        self.granted("s", one, mode="shared", limit=1)
        waits = [self.other.send(line) for line in (
            "ACQUIRE b", "ACQUIRE a", "ACQUIRE s mode=shared limit=1")]
        self.cut_off(one)
        for tag in waits:
            self.has_gap(self.other.reply(tag))

    def test_by_itself(self):
        """A hold that its client ends is released at once; so is a hold that
        it released before it was cut off."""
        one, _ = self.granted("x", max_hold="1h")
        one.close()
        self.assertTrue(self.other.acquire("x").ok)
        two, grant = self.granted("y")
        two.send_raw(f"RELEASE id={grant['id']}\n".encode())
        self.cut_off(two)
        rows = self.other.call("HELD key=y").rows
        self.assertEqual(rows, [])

    def test_what_another_resumes(self):
        """The old holder is cut off, with its holds that do not linger."""
        one, grant = self.granted("x", linger="1h")
        _, plain = self.granted("plain", one)
        waits = self.other.send("ACQUIRE plain")
        heir = self.client()
        self.cut_ms = harness.boot_ms()
        self.assertTrue(heir.call(f"RESUME secret={grant['secret']}").ok)
        self.has_gap(self.other.reply(waits))
        self.assertEqual(one.event("LOCK_LOST")["id"], plain["id"])
        self.assertEqual(one.reply().code, "LOCK_NOT_OWNED")

    def test_lingers(self):
        """A client that may resume works until the deadline that it was
        told."""
        one, grant = self.granted("x", linger="1ms")
        waits = self.other.send("ACQUIRE x")
        self.cut_off(one)
        won = self.other.reply(waits)
        self.assertGreaterEqual(
            self.moment(event="answered", hold=won["id"]),
            int(grant["until_boot_ms"]) + MARGIN_MS)

    def test_left_to_its_lease(self):
        one, grant = self.granted("x", on_close="lease")
        waits = self.other.send("ACQUIRE x")
        self.cut_off(one)
        won = self.other.reply(waits)
        self.assertGreaterEqual(
            self.moment(event="answered", hold=won["id"]),
            int(grant["until_boot_ms"]) + MARGIN_MS)


class Resumed(Case):
    CONFIG = Case.CONFIG.replace(
        f"lease = 3s\nmargin = {MARGIN_MS}ms", "lease = 1h")

    def test_in_time(self):
        """Though the time for which it would linger is over."""
        one, grant = self.granted("x", linger="1ms")
        self.cut_off(one)
        harness.pass_boot_ms(harness.boot_ms() + 10)
        heir = self.client()
        reply = heir.call(f"RESUME secret={grant['secret']}")
        self.assertTrue(reply.ok, reply)
        self.assertEqual([row["state"] for row in reply.rows], ["held"])
        self.assertEqual(self.other.try_("x").code, "LOCK_BUSY")


class ComesBack(Case):
    """A client that said so works on until its own deadline."""

    def comes_back(self, key="x", **arguments):
        client = self.client()
        self.assertTrue(client.hello(resume="yes").ok)
        return self.granted(key, client, **arguments)

    def resume(self, grant, **hello):
        heir = self.client()
        self.assertTrue(heir.hello(**hello).ok)
        return heir, heir.call(f"RESUME secret={grant['secret']}")

    def kept_until(self, grant):
        return int(grant["until_boot_ms"]) + MARGIN_MS

    def test_is_kept_until_its_deadline(self):
        """And a margin, of which another client and STATUS know."""
        one, grant = self.comes_back()
        waits = self.other.send("ACQUIRE x")
        self.cut_off(one)
        row, = self.other.call("HELD key=x").rows
        self.assertEqual((row["id"], row["left"]), (grant["id"], "yes"))
        self.assertIn("lingers", row.arguments)
        row, = self.other.call("STATUS").rows
        self.assertEqual(row["lingering"], "1")
        won = self.other.reply(waits)
        self.assertTrue(won.ok, won)
        self.assertGreaterEqual(
            self.moment(event="answered", hold=won["id"]),
            self.kept_until(grant))
        _, reply = self.resume(grant)
        self.assertEqual(reply.code, "NO_SUCH_LOCK")

    def test_is_resumed_again_and_again(self):
        one, grant = self.comes_back(max_hold="1h")
        self.cut_off(one)
        for _ in range(2):
            heir, reply = self.resume(grant, resume="yes")
            self.assertEqual([(row["id"], row["state"])
                              for row in reply.rows], [(grant["id"], "held")])
            _, more = self.granted("more", heir)
            self.assertEqual(more["secret"], grant["secret"])
            self.assertTrue(heir.release(more).ok)
            self.cut_off(heir)
        heir, reply = self.resume(grant)
        self.assertEqual(len(reply.rows), 1)
        # This one does not come back.
        waits = self.other.send("ACQUIRE x")
        self.cut_off(heir)
        self.has_gap(self.other.reply(waits))
        _, reply = self.resume(grant)
        self.assertEqual(reply.code, "NO_SUCH_LOCK")

    def test_that_ends_by_itself(self):
        """Its holds are released at once, in whatever way it ends."""
        for end in ("close", "half_close", "quit"):
            with self.subTest(end):
                one, grant = self.comes_back(end)
                if end == "quit":
                    one.send("QUIT")
                else:
                    getattr(one, end)()
                won = self.other.acquire(end)
                self.assertTrue(won.ok, won)
                self.assertLess(
                    self.moment(event="answered", hold=won["id"]),
                    int(grant["until_boot_ms"]))
                _, reply = self.resume(grant)
                self.assertEqual(reply.code, "NO_SUCH_LOCK")

    def test_what_has_another_rule(self):
        """Is granted without a secret, and not kept."""
        one = self.client()
        one.hello(resume="yes")
        for key, terms in (("a", {"policy": "fail-closed"}),
                           ("b", {"renew": "manual"}),
                           ("c", {"on_close": "lease"})):
            _, grant = self.granted(key, one, **terms)
            self.assertNotIn("secret", grant.arguments)
        for key, terms in (("d", {"mode": "shared"}),
                           ("e", {"mode": "shared", "limit": 2}),
                           ("f", {"reentrant": "yes"}),
                           ("g", {"linger": "1s"})):
            _, grant = self.granted(key, one, **terms)
            self.assertIn("secret", grant.arguments)
        several = one.call("TRY h i")
        self.assertIn("secret", several.arguments)
        one.hello(resume="no")
        _, grant = self.granted("j", one)
        self.assertNotIn("secret", grant.arguments)
        waits = self.other.send("ACQUIRE j")
        self.cut_off(one)
        self.has_gap(self.other.reply(waits))

    def test_a_stop_that_releases(self):
        """What is kept for a client that was cut off is not released before:
        the next daemon waits for its lease."""
        self.daemon.close()
        self.daemon = harness.Daemon(config=self.CONFIG.replace(
            "history = yes", "history = yes\nstop_wait = 0\n"
            "release_on_stop = yes"), args=["--log=json"])
        self.daemon.start()
        self.addCleanup(self.daemon.close)
        self.other = self.client()
        self.granted("big", data="d" * 100000)[0].close()
        one, grant = self.comes_back()
        self.cut_off(one)
        # The log says it first; a stop before that releases all.
        while not self.other.call("HELD key=x").rows[0].get("left"):
            pass
        self.daemon.stop()
        self.daemon.start()
        won = self.client().acquire("x")
        self.assertTrue(won.ok, won)
        self.assertGreaterEqual(harness.boot_ms(), self.kept_until(grant))


class Greed(Case):
    def stuff(self, client):
        """Ask until nothing is read any more."""
        client.socket.setblocking(False)
        stuck = 0
        while stuck < 20:
            try:
                client.socket.send(b"HELP\n" * 1000)
                stuck = 0
            except BlockingIOError:
                stuck += 1
                self.assertTrue(self.other.call("PING").ok)

    def test_of_others(self):
        """Two clients do not read. A third, which reads, asks for and sends
        more than there is room for beside them, and one of the two is cut
        off."""
        greedy = [self.granted(f"greedy{i}") for i in range(2)]
        reader, grant = self.granted("x")
        for client, _ in greedy:
            self.stuff(client)
        self.assertNotIn("was cut off", self.daemon.log())
        wait = [self.client() for _ in greedy]
        tags = [client.send(f"ACQUIRE greedy{i}")
                for i, client in enumerate(wait)]
        waits = self.other.send("ACQUIRE x")
        self.cut_ms = harness.boot_ms()
        reader.send_raw(b"HELP\n" * 512)
        for _ in range(512):
            reply = reader.reply()
            self.assertTrue(reply.ok, reply)
        reader.send_raw(b"#long PING" + b" " * 700000)
        self.daemon.wait_log("was cut off.*it has most")
        reader.send_raw(b"\n")
        self.assertTrue(reader.reply("long").ok)
        self.assertEqual([row["state"] for row in reader.call(
            "HELD key=x").rows], ["held"])
        released = reader.release(grant)
        self.assertTrue(released.ok, released)
        self.assertTrue(self.other.reply(waits).ok)
        left = {entry["DDBLOCK_CLIENT"] for entry in self.daemon.history()
                if entry["DDBLOCK_EVENT"] == "left"}
        self.assertEqual(len(left), 1)
        for i, (_, lost) in enumerate(greedy):
            entry, = [e for e in self.daemon.history()
                      if e.get("DDBLOCK_HOLD") == lost["id"]
                      and e["DDBLOCK_EVENT"] == "answered"]
            if entry["DDBLOCK_CLIENT"] in left:
                self.has_gap(wait[i].reply(tags[i]))


if __name__ == "__main__":
    harness.main()
