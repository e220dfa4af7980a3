#!/usr/bin/env python3
"""DRAIN and UNDRAIN, `ddblock drain` and `undrain`: a daemon that grants no new
locks, while what is held goes on."""
import json
import os
import subprocess
import time
import unittest

import harness
from harness import Client, Daemon
from users import STRANGER, ask_as

TWO = """[namespace default]
store = memory
[namespace other]
store = memory
"""


def command(daemon, *args):
    return [harness.program("ddblock"), f"--socket={daemon.socket}", *args]


def ddblock(daemon, *args):
    done = subprocess.run(command(daemon, *args), capture_output=True,
                          text=True, timeout=harness.TIMEOUT_S, check=False)
    return done.returncode, done.stdout, done.stderr


class Verbs(unittest.TestCase):
    def test_waiters_holders_and_the_next(self):
        with Daemon() as daemon, Client(daemon) as holder, \
                Client(daemon) as other:
            held = holder.call("TRY k reentrant=yes")
            waiting = other.send("ACQUIRE k")
            while other.call("STATUS").rows[0]["waiting"] != "1":
                pass
            drained = holder.call("DRAIN")
            self.assertEqual(drained["held"], "1")
            self.assertEqual(other.reply(waiting).code, "DRAINING")
            self.assertEqual(other.call("TRY x").code, "DRAINING")
            self.assertEqual(other.call("ACQUIRE x").code, "DRAINING")
            # What it has goes on.
            again = holder.call("TRY k reentrant=yes")
            self.assertEqual((again.ok, again["count"]), (True, "2"))
            self.assertTrue(holder.call(f"RENEW id={held['id']}").ok)
            self.assertTrue(holder.call(f"RELEASE id={held['id']}").ok)
            self.assertTrue(holder.call(f"RELEASE id={held['id']}").ok)
            self.assertEqual(other.call("TRY k").code, "DRAINING")
            status = other.call("STATUS").rows[0]
            self.assertEqual((status["held"], status["draining"]),
                             ("0", "yes"))
            self.assertEqual(other.call("DRAIN")["held"], "0")  # twice
            self.assertTrue(other.call("UNDRAIN").ok)
            self.assertIsNone(
                other.call("STATUS").rows[0].get("draining"))
            self.assertTrue(other.call("TRY k").ok)

    def test_lingering(self):
        """What waits for its client is resumed, and is held until then."""
        with Daemon() as daemon:
            with Client(daemon) as first:
                secret = first.call("TRY k linger=60s")["secret"]
            with Client(daemon) as second:
                while second.call("STATUS").rows[0].get("lingering") != "1":
                    pass
                self.assertEqual(second.call("DRAIN")["held"], "1")
                had = second.call(f"RESUME secret={secret}")
                self.assertEqual(had.rows[0]["state"], "held")
                number = had.rows[0]["id"]
                self.assertTrue(second.call(f"RELEASE id={number}").ok)
                self.assertEqual(second.call("DRAIN")["held"], "0")

    def test_fail_closed(self):
        """It is held until it is released; left, it is nobody's."""
        with Daemon() as daemon, Client(daemon) as last:
            with Client(daemon) as client:
                a = client.call("TRY a policy=fail-closed")
                client.call("TRY b policy=fail-closed")
                self.assertEqual(last.call("DRAIN")["held"], "2")
                self.assertTrue(client.call(f"RELEASE id={a['id']}").ok)
                self.assertEqual(last.call("DRAIN")["held"], "1")
            while last.call("DRAIN")["held"] != "0":
                pass
            self.assertEqual(last.call("GET b")["policy"], "fail-closed")

    def test_one_namespace(self):
        with Daemon(TWO) as daemon, Client(daemon) as client:
            self.assertTrue(client.call("TRY k ns=other").ok)
            self.assertEqual(client.call("DRAIN ns=other")["held"], "1")
            self.assertEqual(client.call("TRY x ns=other").code, "DRAINING")
            self.assertTrue(client.call("TRY x").ok)
            self.assertEqual(client.call("DRAIN ns=no").code,
                             "UNKNOWN_NAMESPACE")
            self.assertTrue(client.call("UNDRAIN").ok)
            self.assertTrue(client.call("TRY x ns=other").ok)

    def test_a_restart_forgets_it(self):
        with Daemon() as daemon:
            with Client(daemon) as client:
                self.assertTrue(client.call("DRAIN").ok)
            self.assertEqual(daemon.stop(), 0)
            daemon.start()
            with Client(daemon) as client:
                self.assertTrue(client.call("TRY k").ok)

    @unittest.skipUnless(os.geteuid() == 0,
                         "only root can be somebody else")
    def test_a_stranger(self):
        with Daemon() as daemon:
            for verb in ("DRAIN", "UNDRAIN"):
                self.assertIn(" ERR DENIED ",
                              ask_as(daemon, verb, STRANGER, STRANGER))
                daemon.wait_log(f"may not say {verb}")
            with Client(daemon) as client:
                self.assertTrue(client.call("TRY k").ok)


class Command(unittest.TestCase):
    def test_nothing_is_held(self):
        with Daemon() as daemon:
            status, out, err = ddblock(daemon, "drain")
            self.assertEqual((status, err), (0, ""))
            self.assertIn("nothing is held", out)
            self.assertIn("drained", ddblock(daemon, "status")[1])
            status, out, err = ddblock(daemon, "run", "-n", "k", "--", "true")
            self.assertEqual(status, 75)
            self.assertIn("try another", err)
            self.assertEqual(ddblock(daemon, "undrain"), (0, "", ""))
            self.assertEqual(
                ddblock(daemon, "run", "-n", "k", "--", "true")[0], 0)

    def test_it_waits(self):
        with Daemon() as daemon, Client(daemon) as client:
            client.call("HELLO name=worker")
            held = client.call("TRY k")
            status, _, err = ddblock(daemon, "drain", "--no-wait")
            self.assertEqual(status, 0)
            self.assertIn(f"1 lock is held: 1 by worker (pid {os.getpid()})",
                          err)
            status, out, err = ddblock(daemon, "--json", "drain",
                                       "--timeout=0")
            self.assertEqual(status, 1)
            self.assertEqual(json.loads(out), {"draining": True, "held": 1})
            with subprocess.Popen(command(daemon, "drain"),
                                  stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True) as drain:
                self.assertIn("1 lock is held", drain.stderr.readline())
                time.sleep(1)
                self.assertIsNone(drain.poll())
                self.assertTrue(client.call(f"RELEASE id={held['id']}").ok)
                self.assertEqual(drain.wait(harness.TIMEOUT_S), 0)

    def test_it_waits_for_ever(self):
        for option in "--wait=forever", "--timeout=7d", "-wforever":
            with Daemon() as daemon, Client(daemon) as client:
                held = client.call("TRY k")
                with subprocess.Popen(command(daemon, "drain", option),
                                      stdout=subprocess.DEVNULL,
                                      stderr=subprocess.PIPE,
                                      text=True) as drain:
                    self.assertIn("1 lock is held", drain.stderr.readline())
                    self.assertTrue(client.call(f"RELEASE id={held['id']}").ok)
                    self.assertEqual(drain.wait(harness.TIMEOUT_S), 0)

    def test_several_holders(self):
        """Those with the most names are counted, too."""
        with Daemon() as daemon:
            clients = [Client(daemon) for _ in range(12)]
            try:
                for i, client in enumerate(clients):
                    client.call(f"HELLO name=n{i}")
                    self.assertTrue(client.call(f"TRY k{i}").ok)
                err = ddblock(daemon, "drain", "-n")[2]
                self.assertIn("12 locks are held", err)
                self.assertIn("4 by others", err)
            finally:
                for client in clients:
                    client.close()

    def test_misused(self):
        with Daemon() as daemon:
            self.assertEqual(ddblock(daemon, "drain", "x")[0], 64)
            self.assertEqual(ddblock(daemon, "drain", "-w", "soon")[0], 64)
            for options in ["-n", "-w", "5"], ["--wait=1d", "--no-wait"]:
                status, out, err = ddblock(daemon, "drain", *options)
                self.assertEqual((status, out), (64, ""))
                self.assertIn("-n does not wait", err)
            self.assertTrue("drained" not in ddblock(daemon, "status")[1])


if __name__ == "__main__":
    harness.main()
