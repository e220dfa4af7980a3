#!/usr/bin/env python3
"""Whose clock is CLOCK_BOOTTIME: it runs on while the host sleeps, and
CLOCK_MONOTONIC does not. Here the two are a million seconds apart, as after a
long sleep (time_namespaces(7)).
"""
import os
import shutil
import subprocess
import sys
import time
import unittest

import harness
from harness import Client, Daemon

APART_S = 1000000
NAMESPACE = ["unshare", "--user", "--map-root-user", "--time", "--fork",
             f"--boottime={APART_S}", "--"]


def is_apart():
    monotonic_s = time.clock_gettime(time.CLOCK_MONOTONIC)
    return harness.boot_ms() / 1000 - monotonic_s > APART_S / 2


def go_there():
    """Run this again with a boot clock of its own, if that can be done."""
    if is_apart() or shutil.which("unshare") is None or subprocess.run(
            [*NAMESPACE, "true"], check=False,
            capture_output=True).returncode:
        return
    os.execvp(NAMESPACE[0], [*NAMESPACE, sys.executable, *sys.argv])


class BootClock(unittest.TestCase):
    def setUp(self):
        if not is_apart():
            self.skipTest("unshare --time does not work here")
        self.daemon = Daemon()
        self.addCleanup(self.daemon.close)
        self.daemon.start()

    def test_deadlines_are_of_the_boot_clock(self):
        with Client(self.daemon) as client:
            before_ms = harness.boot_ms()
            grant = client.call("TRY k")
            self.assertGreater(int(grant["until_boot_ms"]), before_ms)

    def test_the_daemon_wakes_by_the_boot_clock(self):
        """Nothing but its timer says that a wait is over, each time."""
        with Client(self.daemon) as holder, Client(self.daemon) as waiter:
            self.assertTrue(holder.call("TRY k").ok)
            for _ in range(3):
                self.assertEqual(waiter.call("ACQUIRE k wait=100ms").code,
                                 "ACQUIRE_TIMEOUT")


if __name__ == "__main__":
    go_there()
    harness.main()
