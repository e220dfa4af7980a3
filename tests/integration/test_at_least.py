#!/usr/bin/env python3
"""`ddblock run --at-least`: the lock stays held, whatever becomes of the
command, its runner and the daemon, and nobody waits for that but who wants it.
"""
import json
import os
import signal
import unittest

import harness
from harness import Client, Daemon
from runner import PAUSE, READY, Run, ddblock, python

CONFIG = """
[namespace default]
file = {dir}/d.db
lease = 20s
margin = 1s
"""


class AtLeast(unittest.TestCase):
    def run_one(self, daemon, *args):
        run = ddblock(daemon, "run", "-n", *args)
        return run.returncode, run.stdout, run.stderr

    def only_hold(self, daemon):
        row, = json.loads(ddblock(daemon, "held", "--json").stdout)
        return row

    def test_run(self):
        with Daemon(CONFIG) as daemon:
            self.assertEqual(
                self.run_one(daemon, "--at-least=1h", "job", "--", "sh", "-c",
                             "echo done; exit 7"), (7, "done\n", ""))
            row = self.only_hold(daemon)
            self.assertEqual((row["key"], row["state"], row["left"]),
                             ("job", "held", True))
            status, _, said = self.run_one(daemon, "job", "--", "true")
            self.assertEqual(status, 1, said)
            # It is an administrator's to end.
            self.assertEqual(ddblock(
                daemon, "break", "--reason=test",
                f"--token={row['token']}", "job").returncode, 0)
            self.assertEqual(self.run_one(daemon, "job", "--", "true"),
                             (0, "", ""))

    def test_waits_for_its_end(self):
        with Daemon(CONFIG) as daemon, Client(daemon) as other:
            begun = harness.boot_ms()
            self.assertEqual(
                self.run_one(daemon, "--at-least=700ms", "job", "--", "true"),
                (0, "", ""))
            self.assertTrue(other.acquire("job", wait="1m").ok)
            self.assertGreaterEqual(harness.boot_ms() - begun, 700)

    def test_runner_and_daemon_are_killed(self):
        with Daemon(CONFIG) as daemon:
            with Run(daemon, "run", "--at-least=1h", "job", "--",
                     *python(READY, PAUSE)) as run:
                run.ready()
                os.kill(run.process.pid, signal.SIGKILL)
            with Client(daemon) as other:
                while other.call("HELD").rows[0].get("left") != "yes":
                    pass
            for _ in range(2):
                daemon.kill()
                daemon.start()
                daemon.wait_log("inherited sessions=1 holds=1 left_out=0$")
                with Client(daemon) as other:
                    self.assertEqual(other.try_("job").code, "LOCK_BUSY")
                    row, = other.call("HELD").rows
                    self.assertIn("at_least", row.arguments)

    def test_it_ends_after_a_restart(self):
        with Daemon(CONFIG) as daemon:
            with Client(daemon) as one:
                grant = one.acquire("job", at_least="2s")
                self.assertTrue(one.release(grant).ok)
            daemon.kill()
            daemon.start()
            with Client(daemon) as other:
                self.assertTrue(other.acquire("job", wait="1m").ok)

    def test_said_wrong(self):
        with Daemon(CONFIG) as daemon:
            status, _, said = self.run_one(
                daemon, "--at-least=2d", "job", "--", "true")
            self.assertEqual((status, "at_least is at most 24h" in said),
                             (64, True), said)
            status, _, said = self.run_one(
                daemon, "--at-least=0s", "job", "--", "true")
            self.assertEqual((status, "a time above 0" in said), (64, True),
                             said)


if __name__ == "__main__":
    harness.main()
