"""The embedded store's disk in trouble, under a daemon that serves on."""
import resource
import signal
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
        """Nobody waits for what cannot be written."""
        with Daemon(CONFIG, args=["--stop-wait=100ms"]) as daemon, \
                Client(daemon) as client:
            self.assertTrue(client.try_("held").ok)
            fill(daemon)
            self.assertEqual(daemon.stop(), 0)

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


class Killed(unittest.TestCase):
    def test_newcomer_waits_for_the_lease(self):
        """Beats are not in the file, yet a new life waits for the old."""
        with Daemon(CONFIG) as daemon:
            with Client(daemon) as client:
                client.hello(renewed="yes")
                first = client.try_("k")
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
