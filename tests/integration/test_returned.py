#!/usr/bin/env python3
"""Memory that a user caused comes back to the host when the user is gone.

What the daemon allocates is meant, and not its journal: a file, whose room
stays.
"""
import re
import time
import unittest

import harness

CONNECTIONS = 90
REQUESTS = 1000		# of each
LOOK_S = 0.1


def resident_kb(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        return int(re.search(r"^RssAnon:\s+(\d+) kB$", f.read(),
                             re.M).group(1))


class Returned(harness.WithDaemon, unittest.TestCase):
    def setUp(self):
        self.daemon = self.enterContext(harness.Daemon())
        self.bystander = self.client()
        for i in range(CONNECTIONS):
            self.assertTrue(self.bystander.try_(f"k{i}").ok)

    def wait_many(self, key):
        client = harness.Client(self.daemon)
        client.send_raw(b"".join(b"#%d ACQUIRE %s\n" % (i, key)
                                 for i in range(REQUESTS)))
        self.assertTrue(client.call("PING").ok)
        return client

    def test_waiters(self):
        before = resident_kb(self.daemon.pid)
        clients = [self.wait_many(b"k%d" % i) for i in range(CONNECTIONS)]
        # Beside them, and after them.
        self.assertTrue(self.bystander.try_("more").ok)
        with self.client():
            most = resident_kb(self.daemon.pid)
            for client in clients:
                client.close()
            allowed = before + (most - before) / 4
            if harness.sanitized():  # it keeps what is freed
                allowed = float("inf")
            deadline = time.monotonic() + harness.TIMEOUT_S
            while (left := resident_kb(self.daemon.pid)) > allowed:
                self.assertLess(time.monotonic(), deadline,
                                f"{before} kB, then {most}, now {left}")
                time.sleep(LOOK_S)
        print(f"{before} kB, then {most}, then {left}")
        self.assertTrue(self.bystander.call("PING").ok)


if __name__ == "__main__":
    harness.main()
