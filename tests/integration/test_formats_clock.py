"""The clock of the times in older clients' records, and the clients that trust
it."""
import contextlib
import ctypes
import email.utils
import http.client
import http.server
import os
import threading
import time
import unittest
import urllib.parse

import harness
from harness import Client, Daemon
from test_daemon_dynamodb import dynamodb
from test_formats_settings import config

AHEAD_S = 3600
LEASE_S = 60
EXPIRY_S = 7200


class Ahead(http.server.BaseHTTPRequestHandler):
    """The endpoint, with a clock that is an hour ahead."""
    protocol_version = "HTTP/1.1"

    def date_time_string(self, timestamp=None):
        return email.utils.formatdate(time.time() + AHEAD_S, usegmt=True)

    def do_POST(self):
        url = urllib.parse.urlparse(harness.endpoint())
        connection = http.client.HTTPConnection(url.hostname, url.port,
                                                timeout=harness.TIMEOUT_S)
        body = self.rfile.read(int(self.headers["Content-Length"]))
        connection.request("POST", "/", body, dict(self.headers))
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        # A daemon that ends does not wait for it.
        with contextlib.suppress(ConnectionError):
            self.send_response(answer.status)
            self.send_header("Content-Type", "application/x-amz-json-1.0")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    def log_message(self, *_):
        pass


class Times(unittest.TestCase):
    def setUp(self):
        harness.need_dynamodb()
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Ahead)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever,
                         daemon=True).start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)

    def written(self, lines):
        """The record of a lock, and when it was acquired."""
        table = f"t-{os.getpid()}-{self._testMethodName}"
        text = config(table, lines).replace(
            harness.endpoint(),
            f"http://127.0.0.1:{self.server.server_port}")
        task = Daemon(text, args=["--init-table"])
        self.addCleanup(task.close)
        self.assertEqual(task.run()[0::2], (0, ""))
        with Daemon(text) as daemon, Client(daemon) as client:
            before = time.time()
            self.assertTrue(client.acquire("k", wait="60s").ok)
            after = time.time()
            item, = dynamodb("Scan", TableName=table,
                             ConsistentRead=True)["Items"]
        return item, before, after

    def between(self, value, before, after, shift):
        self.assertGreaterEqual(value, int(before) + shift)
        self.assertLessEqual(value, int(after) + 1 + shift)

    def test_this_hosts(self):
        """Other hosts compare it with theirs, and not with the endpoint's."""
        item, before, after = self.written(
            "format = dlock\ntrust_clock = yes\n")
        self.between(int(item["until"]["N"]) / 1000, before, after, LEASE_S)

    def test_this_hosts_if_it_is_trusted(self):
        item, before, after = self.written(
            "format = js-fail-open\nkey_attribute = id\nlocal_time = yes\n"
            "trust_clock = yes\n")
        self.between(int(item["lockAcquiredTimeUnixMs"]["N"]) / 1000, before,
                     after, 0)

    def test_the_endpoints(self):
        """The clock by which expired items are deleted."""
        item, before, after = self.written(
            f"format = python\nexpiry = {EXPIRY_S}s\n")
        # The endpoint says it in whole seconds.
        self.between(int(item["expiry_time"]["N"]), before - 2, after + 2,
                     AHEAD_S + EXPIRY_S)


def synchronised():
    """The kernel's state of its clock: adjtimex(2)."""
    timex = ctypes.create_string_buffer(512)  # modes = 0: only look
    state = ctypes.CDLL(None, use_errno=True).adjtimex(timex)
    status = int.from_bytes(timex[40:44], "little")
    return state >= 0 and state != 5 and not status & 0x40


class Clock(unittest.TestCase):
    """A host whose clock is not synchronised does not compare it with
    others'."""

    def daemon(self, lines):
        harness.need_dynamodb()
        text = config(f"t-{os.getpid()}-{self._testMethodName}",
                      "format = dlock\n" + lines)
        task = Daemon(text, args=["--init-table"])
        self.addCleanup(task.close)
        self.assertEqual(task.run()[0::2], (0, ""))
        return Daemon(text)

    def test_the_kernel_is_asked(self):
        """Until the clock is said to be right, no lock is granted, and waits
        end in time."""
        with self.daemon("") as daemon, Client(daemon) as client:
            grant = client.try_("k")
            waited = client.acquire("l", wait="10ms")
            checked = client.call("CHECK")
            clock, = [row for row in checked.rows if row["check"] == "clock"]
            self.assertTrue(client.call("GET k").ok)
        log = daemon.log()
        if synchronised():
            self.assertTrue(grant.ok, grant)
            self.assertTrue(waited.ok, waited)
            self.assertNotIn("no lock is granted", log)
            return
        why = "the kernel does not say that this host's is synchronised"
        self.assertEqual(grant.code, "UNREACHABLE", grant)
        self.assertIn(why, grant.raw)
        self.assertIn("trust_clock = yes", grant.raw)
        self.assertEqual((waited.code, waited["cause"]),
                         ("ACQUIRE_TIMEOUT", "UNREACHABLE"), waited)
        self.assertIn(why, waited.raw)
        self.assertEqual(clock["state"], "error", clock)
        self.assertEqual(log.count("no lock is granted: format = dlock"), 1,
                         log)
        # It is not the store's fault.
        self.assertNotIn("the store does not answer", log)

    def test_trusted(self):
        with self.daemon("trust_clock = yes\n") as daemon, \
                Client(daemon) as client:
            self.assertTrue(client.try_("k").ok)
        self.assertNotIn("no lock is granted", daemon.log())


if __name__ == "__main__":
    harness.main(dynamodb=True)
