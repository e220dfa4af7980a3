#!/usr/bin/env python3
"""What outlives a daemon, in the file that it keeps for the next one: a hold
goes on after kill -9, and a file that cannot be believed, or cannot be written,
is as if there were none, with one line that says so.
"""
import os
import resource
import signal
import struct
import unittest

import harness
from harness import Client, Daemon

NOBODY = 65534
KEY = "a-key-that-is-found"
MAGIC, VERSION, BOOT_MS, BOOT_ID = 0, 8, 16, 24  # places in the file
CONFIG = """
[namespace default]
file = {dir}/d.db
lease = 20s
margin = 1s
"""
MEMORY = """
[namespace default]
store = memory
"""


def change(path, at, new):
    with open(path, "r+b") as f:
        f.seek(at)
        f.write(new)


def damage(path):
    with open(path, "r+b") as f:
        old = f.read()
        f.seek(0)
        f.write(old.replace(KEY.encode(), KEY.upper().encode()))


def make_link(path):
    os.rename(path, path + ".elsewhere")
    os.symlink(path + ".elsewhere", path)


def make_directory(path):
    os.unlink(path)
    os.mkdir(path)


# What is done to the file of a dead daemon, and what the next one says of it.
SPOILED = [
    ("empty", lambda path: os.truncate(path, 0), "truncated"),
    ("cut short", lambda path: os.truncate(path, 4000), "truncated"),
    ("damaged", damage, "damaged"),
    ("another file", lambda path: change(path, MAGIC, b"#!/bin/s"),
     "no journal"),
    ("another version", lambda path: change(path, VERSION, b"\x63"),
     r"another version of ddblockd \(99\)"),
    ("another version of entries", lambda path: change(path, 64 + 8, b"\x62"),
     r"another version of ddblockd \(98\)"),
    ("another boot", lambda path: change(path, BOOT_ID, b"0000"),
     "another boot"),
    ("later", lambda path: change(path, BOOT_MS, struct.pack("=Q", 1 << 60)),
     "a later time"),
]
# The same, where the file cannot be replaced.
FOREIGN = [
    ("symlink", make_link, "symbolic link"),
    ("directory", make_directory, "Is a directory|no regular file"),
    ("writable by others", lambda path: os.chmod(path, 0o666),
     "others may write it"),
    ("two names", lambda path: os.link(path, path + ".2"), "another name"),
]


class OneDaemon:
    """With either store that outlives its daemon."""

    def path(self, daemon):
        return daemon.socket + ".journal"

    def kill(self, daemon, key=KEY, **arguments):
        """A grant of a daemon that is dead."""
        arguments.setdefault("linger", "1m")
        with Client(daemon) as one:
            grant = one.acquire(key, **arguments)
            self.assertTrue(grant.ok, grant)
            daemon.kill()
        return grant

    def resume(self, client, grant):
        return client.call(f"RESUME secret={grant['secret']}")

    def expect_nothing(self, daemon, grant):
        """Nothing was inherited, and the lock is not free yet."""
        with Client(daemon) as client:
            self.assertEqual(self.resume(client, grant).code, "NO_SUCH_LOCK")
            self.assertEqual(client.try_(KEY).code, "LOCK_BUSY")

    def test_resumed(self):
        with self.daemon() as daemon:
            grant = self.kill(daemon)
            for _ in range(3):
                daemon.start()
                daemon.wait_log("inherited sessions=1 holds=1 left_out=0$")
                with Client(daemon) as other:
                    self.assertEqual(other.try_(KEY).code, "LOCK_BUSY")
                daemon.kill()
            daemon.start()
            with Client(daemon) as heir, Client(daemon) as other:
                row, = self.resume(heir, grant).rows
                self.assertEqual(
                    (row["id"], row["token"], row["key"], row["state"]),
                    (grant["id"], grant["token"], KEY, "held"))
                self.assertEqual(other.try_(KEY).code, "LOCK_BUSY")
                self.assertTrue(heir.call(f"RENEW id={grant['id']}").ok)
                self.assertTrue(heir.release(grant).ok)
                self.assertTrue(other.try_(KEY).ok)

    def test_it_tells_no_secret(self):
        with self.daemon() as daemon:
            grant = self.kill(daemon)
            for _ in range(2):
                self.assertFalse(harness.tells(self.path(daemon),
                                               grant["secret"]))
                daemon.start()
                daemon.wait_log("holds=1")
                daemon.kill()
            daemon.start()
            with Client(daemon) as heir:
                wrong = "0" + grant["secret"][1:], grant["secret"][:-1] + "0"
                for secret in set(wrong) - {grant["secret"]}:
                    self.assertFalse(heir.call(f"RESUME secret={secret}").ok)
                self.assertTrue(self.resume(heir, grant).ok)
                # It is the secret of all that is granted here from now on.
                self.assertEqual(heir.acquire("more", linger="1m")["secret"],
                                 grant["secret"])
                self.assertFalse(harness.tells(self.path(daemon),
                                               grant["secret"]))
                heir.call("RELEASE all=yes")


class Sqlite(OneDaemon, unittest.TestCase):
    def daemon(self):
        return Daemon()

    def test_who_cannot_resume(self):
        """A client whose connection has ended has a margin to stop."""
        with Daemon(CONFIG) as daemon:
            with Client(daemon) as one:
                grant = one.acquire(KEY)
                daemon.kill()
            killed = harness.boot_ms()
            daemon.start()
            with Client(daemon) as other:
                again = other.acquire(KEY)
                self.assertTrue(again.ok, again)
                self.assertGreaterEqual(harness.boot_ms(), killed + 1000)
                self.assertGreater(int(again["token"]), int(grant["token"]))

    def test_released(self):
        """Neither before a death nor before an end is anything left of it."""
        with Daemon() as daemon:
            with Client(daemon) as one:
                self.assertTrue(one.release(one.acquire(KEY)).ok)
                daemon.kill()
            daemon.start()
            daemon.wait_log("inherited sessions=1 holds=0")
            with Client(daemon) as one:
                self.assertTrue(one.release(one.try_(KEY)).ok)
            self.assertEqual(daemon.stop(), 0)
            self.assertFalse(os.path.exists(self.path(daemon)))
            daemon.start()
            self.assertEqual(daemon.log().count("inherited"), 1)

    def test_left_at_a_stop(self):
        """What is left to its lease is for the next one."""
        with Daemon(args=["--stop-wait=0s"]) as daemon:
            with Client(daemon) as one:
                grant = one.acquire(KEY, linger="1m")
                self.assertEqual(daemon.stop(), 0)
            daemon.start()
            with Client(daemon) as heir:
                row, = self.resume(heir, grant).rows
                self.assertEqual(row["token"], grant["token"])

    def spoiled(self, daemon, spoil, said, so):
        """It says what is wrong and what follows, and inherits nothing."""
        grant = self.kill(daemon)
        spoil(self.path(daemon))
        daemon.start()
        line = daemon.wait_log(f"journal {self.path(daemon)}: ")
        self.assertRegex(line, said)
        self.assertIn(so, line)
        self.expect_nothing(daemon, grant)

    def test_spoiled(self):
        for what, spoil, said in SPOILED:
            with self.subTest(what), Daemon(CONFIG) as daemon:
                self.spoiled(daemon, spoil, said, "starting without it")
                # There is a new one, which counts.
                grant = self.kill(daemon, "another")
                daemon.start()
                with Client(daemon) as heir:
                    self.assertTrue(self.resume(heir, grant).ok)
                    heir.release(grant)

    def test_cut_in_its_middle(self):
        with Daemon(CONFIG) as daemon:
            with Client(daemon) as one:
                for i in range(100):
                    one.acquire(f"{i}-" + "k" * 1000, linger="1m")
                grant = self.kill(daemon)
            os.truncate(self.path(daemon), 50000)
            daemon.start()
            daemon.wait_log("damaged; starting without it")
            self.expect_nothing(daemon, grant)

    def foreign(self, spoil, said):
        with Daemon(CONFIG) as daemon:
            self.spoiled(daemon, spoil, said, "will not outlive this daemon")
            self.assertTrue(os.path.lexists(self.path(daemon)))
            self.assertFalse(os.path.exists(self.path(daemon) + ".new"))

    def test_foreign(self):
        for what, spoil, said in FOREIGN:
            with self.subTest(what):
                self.foreign(spoil, said)

    @unittest.skipUnless(os.geteuid() == 0, "needs root, to be another")
    def test_other_user(self):
        self.foreign(lambda path: os.chown(path, NOBODY, -1), "another user's")

    def test_two_daemons(self):
        with Daemon() as one, Daemon(
                args=[f"--journal={one.socket}.journal"]) as other:
            other.wait_log("another daemon has it")
            with Client(other) as client:
                self.assertTrue(client.acquire(KEY).ok)
            grant = self.kill(one)
            one.start()
            with Client(one) as heir:
                self.assertTrue(self.resume(heir, grant).ok)
                heir.release(grant)

    def test_none(self):
        with Daemon(CONFIG.replace("20s", "3s"),
                    args=["--journal=no"]) as daemon:
            grant = self.kill(daemon)
            self.assertFalse(os.path.exists(self.path(daemon)))
            daemon.start()
            with Client(daemon) as client:
                self.assertEqual(self.resume(client, grant).code,
                                 "NO_SUCH_LOCK")
                again = client.acquire(KEY)
                self.assertTrue(again.ok, again)
                self.assertGreater(harness.boot_ms(),
                                   int(grant["until_boot_ms"]))
                self.assertGreater(int(again["token"]), int(grant["token"]))

    def test_where(self):
        """In the first of the service manager's directories, else beside the
        socket."""
        with Daemon() as other:
            first = os.path.join(other.directory, "first")
            os.mkdir(first)
            with Daemon(env={"RUNTIME_DIRECTORY": f"{first}:/nowhere"}):
                self.assertEqual(os.listdir(first), ["sock.journal"])
            with Daemon(args=[f"--journal={first}/no/way"]) as daemon:
                self.assertIn("No such file or directory",
                              daemon.wait_log("will not outlive"))

    def test_full_at_the_start(self):
        with Daemon(MEMORY) as daemon:
            command = daemon.command()
            daemon.kill()
            daemon.command = lambda: ["prlimit", "--fsize=200000", *command]
            daemon.start()
            daemon.wait_log("there is no room for it: File too large")
            self.assertFalse(os.path.exists(self.path(daemon)))
            with Client(daemon) as client:
                self.assertTrue(client.acquire(KEY).ok)

    def test_full_later(self):
        """It is given up, all goes on, and nobody inherits the half of it."""
        with Daemon(MEMORY) as daemon, Client(daemon) as client:
            resource.prlimit(daemon.pid, resource.RLIMIT_FSIZE,
                             (300000, resource.RLIM_INFINITY))
            for i in range(400):
                self.assertTrue(client.acquire(f"{i}-" + "k" * 1000).ok)
            daemon.wait_log("there is no room for it: File too large.*"
                            "will not outlive this daemon")
            self.assertEqual(len(client.call("HELD").rows), 400)
            self.assertFalse(os.path.exists(self.path(daemon)))
            self.assertEqual(daemon.log().count("no room"), 1)

    def test_grows(self):
        with Daemon() as daemon:
            with Client(daemon) as one:
                grants = [one.acquire(f"{i}-" + "k" * 1000, linger="1m")
                          for i in range(400)]
                daemon.kill()
            daemon.start()
            daemon.wait_log("inherited sessions=1 holds=400 left_out=0")
            with Client(daemon) as heir:
                rows = self.resume(heir, grants[0]).rows
                self.assertEqual([row["token"] for row in rows],
                                 [grant["token"] for grant in grants])
                heir.call("RELEASE all=yes")

    def test_other_times(self):
        with Daemon(CONFIG) as daemon:
            grant = self.kill(daemon)
            daemon.write_config(CONFIG.replace("lease = 20s", "lease = 21s"))
            daemon.start()
            daemon.wait_log("holds=0.*nothing of namespace default: its store "
                            "or its times are others now")
            self.expect_nothing(daemon, grant)

    def test_memory_ends_with_its_daemon(self):
        with Daemon(MEMORY) as daemon:
            self.kill(daemon)
            daemon.start()
            with Client(daemon) as client:
                self.assertTrue(client.try_(KEY).ok)

    def test_one_that_kills_its_reader(self):
        with Daemon(CONFIG) as daemon:
            grant = self.kill(daemon)
            for number in (signal.SIGABRT, signal.SIGKILL, signal.SIGKILL,
                           signal.SIGKILL, signal.SIGABRT):
                daemon.start()
                daemon.wait_log("inherited")
                daemon.signal(number)
                self.assertEqual(daemon.wait(), -number)
            daemon.start()
            self.assertIn("starting without it",
                          daemon.wait_log("two daemons in a row died"))
            self.expect_nothing(daemon, grant)


class DynamoDB(OneDaemon, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        harness.need_dynamodb()

    def daemon(self):
        return harness.on_new_table(f"j-{os.getpid()}-{self._testMethodName}")


if __name__ == "__main__":
    harness.main(dynamodb=True)
