#!/usr/bin/env python3
"""The table of ddblockd(8), "LOCKS AT A STOP OR RELOAD": a test for each row
(test_restart.py has the one of systemd). One client holds k, another waits for
it."""
import signal
import subprocess
import time
import unittest

import harness
from harness import Client, Daemon

LEASE = "[namespace default]\nfile = {dir}/default.db\nlease = 2s\n" \
    "margin = 300ms\ntry_timeout = 500ms\n"
MARGIN_S = 0.3


def conf(daemon):
    return f"[daemon]\n{daemon}{LEASE}"


class Rows(unittest.TestCase):
    holder = waiter = None

    def begin(self, daemon):
        self.holder, self.waiter = Client(daemon), Client(daemon)
        self.held = self.holder.call("TRY k")
        self.assertTrue(self.held.ok)
        self.waiting = self.waiter.send("ACQUIRE k")
        while self.holder.call("STATUS").rows[0]["waiting"] != "1":
            pass

    def tearDown(self):
        for client in (self.holder, self.waiter):
            if client is not None:
                client.close()

    def release(self):
        return self.holder.call(f"RELEASE id={self.held['id']}")

    def free_again_after_s(self, daemon):
        """From the start of the next daemon."""
        began = time.monotonic()
        daemon.start()
        with Client(daemon) as client:
            self.assertTrue(client.call("ACQUIRE k").ok)
        return time.monotonic() - began

    def test_stop_and_a_release_in_time(self):
        with Daemon(conf("stop_wait = 1h\n")) as daemon:
            self.begin(daemon)
            daemon.signal(signal.SIGTERM)
            self.assertEqual(self.waiter.reply(self.waiting).code,
                             "SHUTTING_DOWN")
            self.holder.event("SHUTDOWN")
            self.assertTrue(daemon.alive())
            self.assertTrue(self.release().ok)
            self.assertEqual(daemon.wait(), 0)
            self.assertLess(self.free_again_after_s(daemon), 1.5)

    def test_stop_and_the_wait_is_over(self):
        with Daemon(conf("stop_wait = 0s\n")) as daemon:
            self.begin(daemon)
            self.assertEqual(daemon.stop(), 0)
            self.assertEqual(self.waiter.reply(self.waiting).code,
                             "SHUTTING_DOWN")
            self.assertGreater(self.free_again_after_s(daemon), MARGIN_S)

    def test_stop_with_release_on_stop(self):
        with Daemon(conf("stop_wait = 0s\nrelease_on_stop = yes\n")) \
                as daemon:
            self.begin(daemon)
            self.assertEqual(daemon.stop(), 0)
            self.assertEqual(self.holder.event("LOCK_LOST")["reason"],
                             "shutdown")
            self.assertLess(self.free_again_after_s(daemon), 1.5)

    def test_a_second_signal(self):
        with Daemon(conf("stop_wait = 1h\n")) as daemon:
            self.begin(daemon)
            daemon.signal(signal.SIGTERM)
            daemon.wait_log("SIGTERM")
            daemon.signal(signal.SIGTERM)
            self.assertEqual(daemon.wait(), 0)
            self.assertGreater(self.free_again_after_s(daemon), MARGIN_S)

    def test_kill(self):
        with Daemon(conf("")) as daemon:
            self.begin(daemon)
            daemon.kill()
            with self.assertRaises(harness.Ended):
                self.waiter.reply(self.waiting)
            self.assertGreater(self.free_again_after_s(daemon), MARGIN_S)

    def test_kill_and_a_client_that_comes_back(self):
        with Daemon(conf("")) as daemon:
            with Client(daemon) as client:
                self.assertTrue(client.call("HELLO resume=yes").ok)
                self.held = client.call("TRY k")
                daemon.kill()
            daemon.start()
            with Client(daemon) as other, Client(daemon) as client:
                self.assertEqual(other.call("TRY k").code, "LOCK_BUSY")
                resumed = client.call(f"RESUME secret={self.held['secret']}")
                self.assertTrue(resumed.ok)
                self.assertEqual(resumed.rows[0]["token"], self.held["token"])
                self.assertTrue(
                    client.call(f"RELEASE id={resumed.rows[0]['id']}").ok)

    def test_kill_without_a_journal(self):
        with Daemon(conf("journal = no\n")) as daemon:
            self.begin(daemon)
            daemon.kill()
            self.assertGreater(self.free_again_after_s(daemon), 1)

    def test_drain(self):
        with Daemon(conf("")) as daemon:
            self.begin(daemon)
            done = subprocess.run(
                [harness.program("ddblock"), f"--socket={daemon.socket}",
                 "drain", "-n"], check=False, capture_output=True)
            self.assertEqual(done.returncode, 0)
            self.assertEqual(self.waiter.reply(self.waiting).code, "DRAINING")
            self.assertTrue(self.holder.call(f"RENEW id={self.held['id']}").ok)
            self.assertTrue(self.release().ok)

    def test_reload(self):
        with Daemon(conf("")) as daemon:
            self.begin(daemon)
            daemon.signal(signal.SIGHUP)
            daemon.wait_log("was read again")
            self.assertTrue(self.release().ok)
            self.assertTrue(self.waiter.reply(self.waiting).ok)


if __name__ == "__main__":
    harness.main()
