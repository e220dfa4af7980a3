#!/usr/bin/env python3
"""SIGHUP: the configuration is read again, and nobody loses anything by it."""
import os
import signal
import subprocess
import threading
import unittest

import harness
from harness import Client, Daemon
from test_break import STRANGER, ask_as, some_group

TOP = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))

MEMORY = "[namespace default]\nstore = memory\n"


def conf(daemon="", default="", more=""):
    return f"[daemon]\n{daemon}{MEMORY}{default}{more}"


def reload(daemon, text):
    """True: it was taken."""
    daemon.write_config(text)
    daemon.signal(signal.SIGHUP)
    daemon.wait_notice("RELOADING=1")
    daemon.wait_notice("READY=1")
    return not daemon.status_text.startswith("the configuration cannot")


class Reload(unittest.TestCase):
    def test_log_level(self):
        with Daemon(conf(), log_level="info") as daemon:
            # Flags go before the file, at a reload as at the start.
            self.assertTrue(reload(daemon, conf("log_level = debug\n")))
            daemon.wait_log("was read again")

    def test_an_invalid_file(self):
        with Daemon(conf()) as daemon, Client(daemon) as client:
            self.assertFalse(reload(daemon, conf(
                "locks_max = 1\n", "poll = soon\nlaese = 3s\n")))
            daemon.wait_log(r"ddblockd.conf:5: poll = soon")
            daemon.wait_log(r"ddblockd.conf:6: .*did you mean lease")
            daemon.wait_log("nothing changes")
            self.assertTrue(client.call("TRY a").ok)
            self.assertTrue(client.call("TRY b").ok)
            os.unlink(daemon.config)
            daemon.signal(signal.SIGHUP)
            daemon.wait_notice("RELOADING=1")
            daemon.wait_notice("READY=1")
            self.assertIn("cannot be used", daemon.status_text)
            self.assertTrue(reload(daemon, conf()))

    def test_what_stays(self):
        with Daemon(conf("", "lease = 20s\n")) as daemon:
            self.assertTrue(reload(daemon, conf("history = yes\n",
                                                "lease = 40s\n")))
            daemon.wait_log(r"ddblockd.conf:2: history stays no: it changes "
                            "with the next start")
            daemon.wait_log(r"ddblockd.conf:5: lease of namespace default "
                            "stays 20s: it changes with the next start")

    def test_limits(self):
        with Daemon(conf("", "idle = 0s\n")) as daemon, \
                Client(daemon) as client, Client(daemon) as other:
            held = [client.call(f"TRY k{i}") for i in range(4)]
            self.assertTrue(reload(daemon, conf(
                "locks_max = 2\nholds_per_connection_max = 2\n"
                "connections_max = 2\nwatches_max = 1\n"
                "requests_per_connection_max = 1\n", "idle = 0s\n")))
            self.assertEqual(client.call("TRY x").code, "LIMIT")
            self.assertEqual(other.call("TRY x").code, "LIMIT")
            self.assertEqual(len(client.call("HELD").rows), 4)
            with Client(daemon) as third:
                self.assertEqual(third.reply().code, "LIMIT")
            for grant in held[:3]:
                self.assertTrue(client.call(f"RELEASE id={grant['id']}").ok)
            self.assertTrue(other.call("TRY x").ok)
            self.assertEqual(client.call("HELLO")["requests_max"], "1")
            self.assertTrue(reload(daemon, conf()))
            self.assertTrue(client.call("TRY y").ok)

    def test_queued_bytes(self):
        """A larger limit is for those who are there, too."""
        small = "queued_bytes_max = 2M\n"
        with Daemon(conf(small)) as daemon, Client(daemon) as client:
            self.assertTrue(reload(daemon, conf("queued_bytes_max = 16M\n")))
            for i in range(2000):
                client.call(f"TRY {'k' * 900}{i}")
            self.assertEqual(len(client.call("HELD").rows), 2000)
            self.assertTrue(reload(daemon, conf(small)))
            self.assertEqual(len(client.call("HELD").rows), 2000)

    def test_wait_and_owner(self):
        with Daemon(conf()) as daemon, Client(daemon) as one, \
                Client(daemon) as two:
            self.assertTrue(one.call("TRY k").ok)
            self.assertTrue(reload(daemon, conf(
                "", "wait = 0s\nowner = somebody\n")))
            self.assertEqual(two.call("ACQUIRE k").code, "LOCK_BUSY")
            self.assertEqual(two.call("GET k")["owner"], "somebody")

    @unittest.skipUnless(os.geteuid() == 0,
                         "only root can be somebody else")
    def test_administrators(self):
        group = some_group()
        with Daemon(conf()) as daemon:
            self.assertIn(" ERR DENIED ", ask_as(
                daemon, "UNDRAIN", STRANGER, group.gr_gid))
            self.assertTrue(reload(daemon, conf(
                f"admin_group = {group.gr_name}\n")))
            self.assertIn("OK", ask_as(
                daemon, "UNDRAIN", STRANGER, group.gr_gid))

    def test_namespaces(self):
        more = "[namespace more]\nstore = memory\n"
        with Daemon(conf()) as daemon, Client(daemon) as client:
            client.call("HELLO renewed=yes")
            self.assertTrue(client.call("TRY k").ok)
            self.assertEqual(client.call("TRY k ns=more").code,
                             "UNKNOWN_NAMESPACE")
            self.assertTrue(reload(daemon, conf(more=more)))
            held = client.call("ACQUIRE k ns=more")
            self.assertTrue(held.ok)
            with Client(daemon) as other:
                waiting = other.send("ACQUIRE k ns=more")
                while client.call("STATUS").rows[1]["waiting"] != "1":
                    pass
                self.assertTrue(reload(daemon, conf()))
                self.assertEqual(other.reply(waiting).code,
                                 "UNKNOWN_NAMESPACE")
            daemon.wait_log("namespace more is gone")
            self.assertEqual(client.call("STATUS").rows[1]["removed"], "yes")
            self.assertEqual(client.call("TRY x ns=more").code,
                             "UNKNOWN_NAMESPACE")
            self.assertEqual(len(client.call("HELD ns=more").rows), 1)
            self.assertTrue(reload(daemon, conf(more=more)))
            self.assertTrue(client.call("TRY x ns=more").ok)
            self.assertTrue(client.call(f"RELEASE id={held['id']}").ok)

    def test_a_new_namespace_that_cannot_be(self):
        """Its file is a directory: nothing of the new settings counts."""
        with Daemon(conf()) as daemon, Client(daemon) as client:
            self.assertFalse(reload(daemon, conf(
                "locks_max = 1\n", "",
                "[namespace more]\nstore = sqlite\nfile = {dir}\n")))
            daemon.wait_log("nothing changes")
            self.assertEqual(len(client.call("STATUS").rows), 1)
            self.assertTrue(client.call("TRY a").ok)
            self.assertTrue(client.call("TRY b").ok)

    def test_stop_wait(self):
        with Daemon(conf("stop_wait = 1h\n")) as daemon, \
                Client(daemon) as client:
            self.assertTrue(client.call("TRY k").ok)
            self.assertTrue(reload(daemon, conf("stop_wait = 0s\n")))
            self.assertEqual(daemon.stop(), 0)

    def test_too_late(self):
        with Daemon(conf()) as daemon, Client(daemon) as client:
            self.assertTrue(client.call("TRY k").ok)
            daemon.signal(signal.SIGTERM)
            daemon.wait_log("SIGTERM")
            daemon.signal(signal.SIGHUP)
            daemon.wait_log("too late")

    def test_under_load(self):
        """Fifty clients that lock and wait, and a reload all the time."""
        plain = "[namespace default]\nfile = {dir}/default.db\n"
        with Daemon(f"[daemon]\n{plain}") as daemon:
            stop = threading.Event()
            failed = []
            counts = [0] * 50

            def work(i):
                try:
                    with Client(daemon) as client:
                        while not stop.is_set():
                            held = client.call(f"ACQUIRE k{i % 20}")
                            if not held.ok:
                                failed.append(str(held))
                                return
                            done = client.call(f"RELEASE id={held['id']}")
                            if not done.ok:
                                failed.append(str(done))
                                return
                            counts[i] += 1
                except Exception as error:  # pylint: disable=broad-except
                    failed.append(repr(error))

            with Client(daemon) as steady:
                held = steady.call("TRY steady")
                threads = [threading.Thread(target=work, args=(i,))
                           for i in range(50)]
                for thread in threads:
                    thread.start()
                for i in range(20):
                    self.assertTrue(reload(
                        daemon, f"[daemon]\nlocks_max = {100 + i}\n{plain}"
                        f"poll = {i + 1}s\nhandover_max = {i + 1}\n"
                        f"idle = {i % 3}s\n"))
                stop.set()
                for thread in threads:
                    thread.join()
                self.assertEqual(failed, [])
                self.assertTrue(all(counts), counts)
                self.assertTrue(
                    steady.call(f"RELEASE id={held['id']}").ok)


class Manual(unittest.TestCase):
    """What the manual says of each setting is what the table says."""

    def test_settings_of_the_manual(self):
        script = os.path.join(TOP, "scripts/settings-reference")
        done = subprocess.run([script, "--check"], capture_output=True,
                              text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    harness.main()
