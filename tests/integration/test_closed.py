#!/usr/bin/env python3
"""Fail-closed holds: they outlive client, daemon and host until they are
released or broken."""
import subprocess
import unittest

import harness
from harness import Client, Daemon

CLOSED = {"policy": "fail-closed"}
LEFT = "its client left it held, fail-closed: only a break ends that"
SILENT = ("its holder gives no sign of life, but is fail-closed: only a break "
          "ends that")


class Closed(unittest.TestCase):
    def breaks(self, client, key="x"):
        token = client.call(f"GET {key}")["token"]
        return client.call(f"BREAK {key} token={token} reason=looked")

    def test_released(self):
        with Daemon() as daemon, Client(daemon) as one, \
                Client(daemon) as other:
            grant = one.acquire("x", **CLOSED)
            self.assertEqual(grant["policy"], "fail-closed")
            for name in ("remaining", "until_boot_ms", "margin"):
                self.assertIsNone(grant.get(name))
            self.assertTrue(one.release(grant).ok)
            self.assertTrue(other.try_("x").ok)

    def test_outlives_the_client(self):
        with Daemon() as daemon, Client(daemon) as other:
            with Client(daemon) as one:
                grant = one.acquire("x", **CLOSED)
            busy = other.call("ACQUIRE x wait=10ms")
            self.assertEqual(busy.code, "ACQUIRE_TIMEOUT")
            self.assertEqual((busy["policy"], busy["alive"], busy.text),
                             ("fail-closed", "no", LEFT))
            self.assertEqual(other.call(f"RELEASE id={grant['id']}").code,
                             "NO_SUCH_LOCK")
            seen = other.call("GET x")
            self.assertEqual((seen["state"], seen["policy"], seen["here"],
                              seen["alive"]),
                             ("held", "fail-closed", "no", "no"))
            row, = other.call("LIST state=held").rows
            self.assertEqual((row["policy"], row["alive"]),
                             ("fail-closed", "no"))
            said = subprocess.run(
                [harness.program("ddblock"), f"--socket={daemon.socket}",
                 "run", "-n", "x", "true"], check=False, capture_output=True,
                text=True, timeout=harness.TIMEOUT_S)
            self.assertIn("fail-closed, alive: no: only a break ends that",
                          said.stderr)
            self.assertTrue(self.breaks(other).ok)
            self.assertTrue(other.try_("x").ok)

    def test_its_client_is_there(self):
        """Nobody says that only a break ends it; a release does, too."""
        with Daemon() as daemon, Client(daemon) as other, \
                Client(daemon) as one:
            grant = one.acquire("x", **CLOSED)
            busy = other.call("TRY x")
            self.assertEqual((busy["policy"], busy.get("alive"), busy.text),
                             ("fail-closed", None,
                              "somebody else holds the lock"))
            self.assertTrue(one.release(grant).ok)
            self.assertTrue(other.try_("x").ok)

    def test_outlives_the_daemon(self):
        """Stopped, stopped with release_on_stop, and killed."""
        for ending in ("stop", "release", "kill"):
            config = ("[daemon]\nstop_wait = 0s\nrelease_on_stop = "
                      f"{'yes' if ending == 'release' else 'no'}\n"
                      "[namespace default]\nfile = {dir}/a.db\n"
                      "lease = 2s\n")
            with self.subTest(ending), Daemon(config) as daemon:
                with Client(daemon) as one:
                    one.acquire("x", **CLOSED)
                    one.acquire("y")
                    if ending == "kill":
                        daemon.kill()
                    else:
                        self.assertEqual(daemon.stop(), 0)
                daemon.start()
                with Client(daemon) as other:
                    # y's lease ends in this time, and x has none.
                    self.assertTrue(other.acquire("y", wait="30s").ok)
                    busy = other.call("ACQUIRE x wait=3s")
                    self.assertEqual(busy.code, "ACQUIRE_TIMEOUT")
                    # Its session goes on after a death, but not after an
                    # end with nothing left to do.
                    self.assertEqual((busy["policy"], busy["alive"]),
                                     ("fail-closed", "no"), busy)
                    self.assertEqual(busy.text, SILENT
                                     if ending == "release" else LEFT)
                    self.assertIn("acquired_at", busy.arguments)
                    self.assertTrue(self.breaks(other).ok)
                    self.assertTrue(other.try_("x").ok)

    def test_beside_others(self):
        with Daemon() as daemon, Client(daemon) as one, \
                Client(daemon) as other, Client(daemon) as third:
            with Client(daemon) as gone:
                gone.acquire("x", mode="shared", limit=2, **CLOSED)
            self.assertTrue(one.try_("x", mode="shared", limit=2).ok)
            full = other.try_("x", mode="shared", limit=2)
            self.assertEqual(full.code, "LOCK_BUSY")
            seen = other.call("GET x")
            self.assertEqual((seen["policy"], seen["holders"]),
                             ("fail-closed", "2"))
            waits = third.send("ACQUIRE x")
            self.assertTrue(self.breaks(other).ok)
            self.assertTrue(third.reply(waits).ok)
            self.assertEqual(one.event()["reason"], "broken")

    def test_the_command(self):
        with Daemon() as daemon, Client(daemon) as other:
            run = [harness.program("ddblock"), f"--socket={daemon.socket}",
                   "run", "--fail-closed", "x", "--"]
            self.assertEqual(subprocess.run(
                run + ["true"], check=False,
                timeout=harness.TIMEOUT_S).returncode, 0)
            self.assertEqual(other.call("GET x")["state"], "free")
            # It kills the process that watches it and has the lock, and
            # itself.
            done = subprocess.run(
                run + ["sh", "-c", "kill -9 $PPID"], check=False,
                timeout=harness.TIMEOUT_S)
            self.assertEqual(done.returncode, 4)
            busy = other.call("ACQUIRE x wait=100ms")
            self.assertEqual(busy.code, "ACQUIRE_TIMEOUT")
            self.assertTrue(self.breaks(other).ok)


if __name__ == "__main__":
    harness.main()
