"""The embedded store's disk in trouble, under a daemon that serves on."""
import collections
import contextlib
import os
import resource
import signal
import sqlite3
import unittest

import harness
from harness import Client, Daemon

# Danger comes late, so that a machine that is busy does not cause it.
CONFIG = """
[namespace default]
file = {dir}/d.db
lease = 4s
heartbeat = 200ms
danger = 3500ms
margin = 200ms
"""


def fill(daemon):
    """From now on no file of this daemon can grow."""
    resource.prlimit(daemon.pid, resource.RLIMIT_FSIZE,
                     (1, resource.RLIM_INFINITY))


def make_room(daemon):
    resource.prlimit(daemon.pid, resource.RLIMIT_FSIZE,
                     (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


class Full(unittest.TestCase):
    def test_nothing_is_lost(self):
        with Daemon(CONFIG) as daemon, Client(daemon) as client:
            client.hello(renewed="yes")
            grant = client.try_("held")
            self.assertTrue(grant.ok, grant)
            fill(daemon)
            refused = client.try_("other")
            self.assertEqual(refused.code, "STORE_FULL", refused)
            self.assertIn("make room", refused.text)
            # Beyond the lease, and renewals come all the same.
            harness.pass_boot_ms(int(grant["until_boot_ms"]) + 500)
            while int(client.event("RENEWED")["until_boot_ms"]) \
                    < harness.boot_ms():
                pass
            self.assertEqual({e.word for e in client.events} - {"RENEWED"},
                             set())
            row = client.call("STATUS").rows[0]
            self.assertEqual((row["session"], row["state"], row["cause"]),
                             ("open", "ok", "STORE_FULL"))
            self.assertTrue(client.call(f"RENEW id={grant['id']}").ok)
            make_room(daemon)
            self.assertTrue(client.try_("other").ok)
            self.assertTrue(client.release(grant).ok)
            # Said once, and once when it was over: beats are no sign.
            daemon.wait_log("STORE_FULL")
            daemon.wait_log("the store answers again")
            self.assertEqual(daemon.log().count("answers again"), 1)

    def test_it_ends(self):
        """No client waits for a write that cannot be done."""
        with Daemon(CONFIG, args=["--stop-wait=100ms"]) as daemon, \
                Client(daemon) as client:
            self.assertTrue(client.try_("held").ok)
            fill(daemon)
            self.assertEqual(daemon.stop(), 0)
            self.assertIn("1 locks are still held", daemon.log())

    def test_it_ends_with_nothing_held(self):
        """A released lock that is kept idle is not listed as held."""
        with Daemon(CONFIG + "idle = 1h\n",
                    args=["--stop-wait=100ms"]) as daemon, \
                Client(daemon) as client:
            self.assertTrue(client.release(client.try_("idle")).ok)
            fill(daemon)
            self.assertEqual(daemon.stop(), 0)
            self.assertIn("not all of it could be written", daemon.log())

    def test_it_does_not_start(self):
        daemon = Daemon(CONFIG)
        self.addCleanup(daemon.close)
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        self.addCleanup(resource.setrlimit, resource.RLIMIT_FSIZE,
                        (soft, hard))
        # Python ignores the signal, and what it starts would, too.
        old = signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        self.addCleanup(signal.signal, signal.SIGXFSZ, old)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1, hard))
        status, _, err = daemon.run()
        self.assertGreater(status, 0, err)
        self.assertIn("make room", err)


class Damaged(unittest.TestCase):
    """What cannot be read is refused, and only that."""

    def setUp(self):
        # Time enough for a disk that is busy with others, too.
        self.daemon = Daemon("[namespace default]\nfile = {dir}/d.db\n"
                             "lease = 10m\nheartbeat = 1m\n"
                             "request_timeout = 1m\n").start()
        self.addCleanup(self.daemon.close)
        self.path = f"{self.daemon.directory}/d.db"
        self.keys = [f"key/{i:03}" + "x" * 90 for i in range(200)]
        with Client(self.daemon) as client:
            tags = [client.send(f"TRY {key}") for key in self.keys]
            self.assertTrue(all(client.reply(tag).ok for tag in tags))
        self.assertEqual(self.daemon.stop(), 0)

    def try_all(self):
        self.daemon.start()
        with Client(self.daemon) as client:
            tags = [client.send(f"TRY {key}") for key in self.keys]
            replies = [client.reply(tag) for tag in tags]
            self.assertTrue(client.try_("a-new-one").ok)
            return collections.Counter(r.code for r in replies), replies

    def test_bad_record(self):
        with contextlib.closing(sqlite3.connect(self.path)) as db:
            db.execute("UPDATE lock SET token = 'many' WHERE key = ?",
                       (self.keys[7].encode(),))
            db.execute("UPDATE lock SET holders = x'00' WHERE key = ?",
                       (self.keys[9].encode(),))
            db.commit()
        codes, replies = self.try_all()
        self.assertEqual(codes, {"OK": 198, "BAD_RECORD": 2})
        self.assertEqual({replies[7].code, replies[9].code}, {"BAD_RECORD"})
        self.daemon.wait_log(f'"{self.keys[7]}"')

    def test_bad_page(self):
        with open(self.path, "r+b") as f:
            f.seek(-4096, os.SEEK_END)
            f.write(b"\xa5" * 4096)
        codes, replies = self.try_all()
        self.assertEqual(set(codes), {"OK", "STORE_BROKEN"})
        self.assertGreater(codes["OK"], 100)
        for reply in replies:
            self.assertTrue(reply.ok or "damaged" in reply.text, reply)


class Killed(unittest.TestCase):
    def test_newcomer_waits_for_the_lease(self):
        """Beats are not in the file, yet a new life that inherits nothing waits
        for the old."""
        with Daemon(CONFIG, args=["--journal=no"]) as daemon:
            with Client(daemon) as client:
                client.hello(renewed="yes")
                first = client.try_("k")
                self.assertTrue(first.ok, first)
                for _ in range(3):
                    client.event("RENEWED")
                daemon.kill()
                client.wait_end()
            started_ms = harness.boot_ms()
            daemon.start()
            with Client(daemon) as client:
                self.assertEqual(client.try_("k").code, "LOCK_BUSY")
                second = client.acquire("k", wait="60s")
                self.assertTrue(second.ok, second)
                self.assertGreaterEqual(harness.boot_ms() - started_ms, 4040)
                self.assertGreater(int(second["token"]), int(first["token"]))


if __name__ == "__main__":
    harness.main()
