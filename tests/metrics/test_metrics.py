#!/usr/bin/env python3
"""Metrics: what a real daemon counts is what a client did, on both stores; the
text is OpenMetrics, by the parser of Prometheus' own client; and the HTTP
listener serves that, and nothing else.
"""
import os
import stat
import subprocess
import unittest

import prometheus
from prometheus import by_http, by_verb, say, table, TOP

import fault_proxy
import harness
from fault_proxy import lose_before
from harness import Client, Daemon
from test_access import APP, As
from test_check import ddblock

CONFIG = """[daemon]
metrics_listen = {dir}/metrics.sock
[namespace default]
store = sqlite
file = {dir}/default.db
metrics_prefixes = jobs/  reports/
"""
RULES = f"""[daemon]
metrics_listen = {{dir}}/metrics.sock
[namespace default]
store = memory
[namespace secret]
store = memory
[access app]
user = {APP}
namespace = default
allow = see, take, list
[access nothing]
allow = none
"""
STATUS = {  # field: metric
    "locks": "ddblockd_locks", "held": "ddblockd_holds",
    "waiting": "ddblockd_waiters", "granted": "ddblockd_grants_total",
    "handed_over": "ddblockd_handovers_total",
    "lost": "ddblockd_losses_total",
    "hints_heard": "ddblockd_hints_heard_total",
    "hints_useful": "ddblockd_hints_useful_total",
    "tokens_back": "ddblockd_tokens_back_total",
    "doubts": "ddblockd_writes_in_doubt",
    "requests": "ddblockd_store_requests_total",
    "repetitions": "ddblockd_store_repetitions_total",
    "succeeded": "ddblockd_store_requests_succeeded_total",
    "failed": "ddblockd_store_requests_failed_total",
    "hedges": "ddblockd_store_hedges_total",
    "hedges_won": "ddblockd_store_hedges_won_total",
}


def http(daemon):
    return os.path.join(daemon.directory, "metrics.sock")


class Counts(unittest.TestCase):
    """What is counted, and where it is the same as STATUS."""

    def same_as_status(self, client):
        """No request to the store is under way: nothing changes between."""
        while True:
            before = client.call("STATUS").rows[0]
            metrics = by_verb(client)
            after = client.call("STATUS").rows[0]
            if [before.get(f) for f in STATUS] == \
                    [after.get(f) for f in STATUS]:
                break
        for field, name in STATUS.items():
            if before.get(field) is not None:
                self.assertEqual(metrics.get(name, namespace="default"),
                                 int(before[field]), field)
        return metrics

    def work(self, daemon, client):
        """Five holds, of which one is lost and one is held yet; a refusal,
        and a waiter that gives up."""
        other = Client(daemon)
        self.addCleanup(other.close)
        kept = client.try_("a")
        self.assertTrue(kept.ok)
        self.assertEqual(other.try_("a").code, "LOCK_BUSY")
        self.assertEqual(other.call("ACQUIRE a wait=1ms").code,
                         "ACQUIRE_TIMEOUT")
        for key in ("jobs/1", "jobs/2", "reports/x"):
            self.assertTrue(client.release(client.try_(key)).ok)
        self.assertTrue(client.try_("short", max_hold="10ms").ok)
        self.assertEqual(client.event("LOCK_LOST")["reason"], "max_hold")

    def judge(self, m):
        """What work() did."""
        count = m.get
        self.assertEqual(count("ddblockd_grants_total"), 5)
        self.assertEqual(count("ddblockd_losses_total"), 1)
        self.assertEqual(count("ddblockd_losses_total", reason="max_hold"), 1)
        self.assertEqual(count("ddblockd_holds"), 1)
        self.assertEqual(count("ddblockd_wait_seconds_count"), 5)
        self.assertEqual(count("ddblockd_hold_seconds_count"), 4)
        self.assertGreaterEqual(count("ddblockd_hold_seconds_sum"), 0.01)
        self.assertEqual(
            {s.labels["code"]: s.value for s in
             m.samples("ddblockd_acquire_failures_total")},
            {"LOCK_BUSY": 1, "ACQUIRE_TIMEOUT": 1})
        self.assertEqual(count("ddblockd_requests_total", verb="TRY"), 6)
        self.assertEqual(count("ddblockd_requests_total", verb="RELEASE"), 3)
        self.assertEqual(count("ddblockd_connections"), 2)
        self.assertEqual(count("ddblockd_open"), 1)
        self.assertLess(count("ddblockd_renewal_age_seconds"),
                        count("ddblockd_lease_remaining_seconds"))
        self.assertGreater(count("ddblockd_memory_bytes", account="locks"), 0)
        self.assertGreater(
            count("ddblockd_user_memory_bytes", user=str(os.getuid())), 0)
        self.assertGreater(count("process_resident_memory_bytes"), 1 << 20)
        for kind in {s.labels["operation"] for s in
                     m.samples("ddblockd_store_operations_total")}:
            self.assertEqual(
                count("ddblockd_store_operations_total", operation=kind),
                count("ddblockd_store_operation_seconds_count",
                      operation=kind), kind)
        self.assertGreaterEqual(count("ddblockd_store_operations_total",
                                      operation="acquire", outcome="done"), 5)

    def test_sqlite(self):
        with Daemon(CONFIG) as daemon, Client(daemon) as client:
            self.work(daemon, client)
            m = self.same_as_status(client)
            self.judge(m)
            for prefix, granted in (("jobs/", 2), ("reports/", 1)):
                for name in ("grants_total", "wait_seconds_count",
                             "hold_seconds_count"):
                    self.assertEqual(m.get(f"ddblockd_{name}", prefix=prefix),
                                     granted, name)
            # No key is a label: but for the prefixes there are none.
            self.assertNotIn("reports/x", m.text)
            self.assertEqual({n: f.type for n, f in m.families.items()},
                             {n: k.lower() for n, k in table().items()})
            # The same by the other ways.
            status, shown, err = ddblock(daemon, "metrics")
            self.assertEqual((status, err), (0, ""))
            for other in (prometheus.Metrics(shown),
                          by_http(http(daemon))):
                self.assertEqual(other.get("ddblockd_grants_total"), 5)
                self.assertEqual(list(other.families), list(m.families))

    def test_dynamodb(self):
        harness.need_dynamodb()
        with harness.on_new_table("metrics") as daemon, \
                Client(daemon) as client:
            self.work(daemon, client)
            m = self.same_as_status(client)
            self.judge(m)
            self.assertEqual(m.get("ddblockd_namespace_info", scope="fleet",
                                   format="native"), 1)
            # Five grants and four ends, of one unit at the least.
            self.assertGreaterEqual(
                m.get("ddblockd_store_consumed_units_total", kind="write"), 9)
            self.assertEqual(m.samples("ddblockd_store_trouble"), [])

    def test_an_endpoint_in_trouble(self):
        """Throttled, then without an answer: each is counted, and that it is
        so is told."""
        harness.need_dynamodb()
        proxy = fault_proxy.Proxy()
        self.addCleanup(proxy.close)
        table_made = harness.on_new_table("metrics-trouble")
        config = "\n".join([
            "[namespace default]", "store = dynamodb",
            "table = metrics-trouble", "region = us-east-1",
            f"endpoint = {proxy.url}", "request_timeout = 1s", ""])
        table_made.close()
        with Daemon(config) as daemon, Client(daemon) as client:
            self.assertTrue(client.release(client.acquire("a")).ok)
            proxy.on("acquire", fault_proxy.error(
                "ProvisionedThroughputExceededException"), times=1)
            self.assertTrue(client.acquire("b").ok)
            m = by_verb(client)
            self.assertEqual(
                m.get("ddblockd_store_requests_throttled_total"), 1)
            before = m.get("ddblockd_store_requests_unanswered_total")
            rule = proxy.on("read", lose_before, times=1000)
            self.assertEqual(client.call("GET c").code, "UNREACHABLE")
            while not (m := by_verb(client)).samples(
                    "ddblockd_store_errors_total", code="UNREACHABLE"):
                pass  # the operation ends after its client's patience
            self.assertGreater(
                m.get("ddblockd_store_requests_unanswered_total"), before)
            rule.stop()

    def test_rules_of_access(self):
        """A namespace that its client may not list is not there, and what
        users have is for those that see all."""
        if os.geteuid() != 0:
            self.skipTest("needs to be root")
        with Daemon(RULES) as daemon:
            app = As(daemon, APP)
            self.addCleanup(app.close)
            m = by_verb(app)
            self.assertEqual({s.labels["namespace"] for f in
                              m.families.values() for s in f.samples
                              if "namespace" in s.labels}, {"default"})
            self.assertEqual(m.samples("ddblockd_user_memory_bytes"), [])
            # Who may open the listener's socket sees all of it.
            m = by_http(http(daemon))
            self.assertEqual(m.get("ddblockd_open", namespace="secret"), 1)
            self.assertNotEqual(m.samples("ddblockd_user_memory_bytes"), [])


class Http(unittest.TestCase):
    """The listener: /metrics, and its bounds."""

    REQUESTS = (
        (b"GET /metrics HTTP/1.0\r\n\r\n", "200"),
        (b"GET /metrics HTTP/1.1\r\nA: " + b"x" * 4000 + b"\r\n\r\n", "200"),
        (b"HEAD /metrics HTTP/1.1\r\n\r\n", "405"),
        (b"POST /metrics HTTP/1.1\r\n\r\n", "405"),
        (b"GET / HTTP/1.1\r\n\r\n", "404"),
        (b"GET /metrics/ HTTP/1.1\r\n\r\n", "404"),
        (b"GET /metrics\r\n\r\n", "400"),
        (b"GET /metrics HTTP/2\r\n\r\n", "400"),
        (b"GET /metrics HTTP/1.1 x\r\n\r\n", "400"),
        (b"\r\n\r\n", "400"),
        (b"\0\xff\r\n\r\n", "400"),
        (b"GET /metrics HTTP/1.1\r\nA: " + b"x" * 5000, "431"),
    )

    def test_requests(self):
        with Daemon(CONFIG) as daemon:
            for request, status in self.REQUESTS:
                first, _, body = say(http(daemon), request)
                self.assertEqual(first.split(" ")[1], status, request)
                self.assertNotEqual(body, "")

    def test_idle_clients_keep_nobody_out(self):
        """Of more than eight the oldest goes."""
        with Daemon(CONFIG) as daemon:
            idle = [prometheus.connect(http(daemon)) for _ in range(8)]
            for s in idle:
                self.addCleanup(s.close)
                s.setblocking(False)
            self.assertEqual(by_http(http(daemon)).get("ddblockd_open"), 1)
            # It had to go for that, and no other.
            self.assertEqual(idle[0].recv(1), b"")
            for s in idle[1:]:
                self.assertRaises(BlockingIOError, s.recv, 1)

    def test_one_that_does_not_read(self):
        """Others are served meanwhile, and it gets what it asked for."""
        with Daemon(CONFIG) as daemon, Client(daemon) as client:
            with prometheus.connect(http(daemon)) as slow:
                slow.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
                self.assertTrue(client.try_("a").ok)
                by_http(http(daemon))
                got = b""
                while not got.endswith(b"# EOF\n"):
                    data = slow.recv(100)
                    self.assertNotEqual(data, b"")
                    got += data

    def test_where_it_listens(self):
        with Daemon(CONFIG.replace("[daemon]", "[daemon]\nsocket_mode = 0600")
                    ) as daemon:
            by_http(http(daemon))
            mode = os.stat(http(daemon)).st_mode
            self.assertEqual((stat.S_ISSOCK(mode), stat.S_IMODE(mode)),
                             (True, 0o600))
            self.assertEqual(daemon.stop(), 0)
            self.assertFalse(os.path.exists(http(daemon)))
        listen = f"127.0.0.1:{prometheus.free_port()}"
        with Daemon(CONFIG.replace("{dir}/metrics.sock", listen)) as daemon:
            daemon.wait_log(f"metrics on {listen}")
            by_http(listen)

    def test_after_a_death_and_beside_another(self):
        """A file that a dead daemon left is taken; that of a live one is
        not, and is waited for, once it is told of."""
        with Daemon(CONFIG) as daemon:
            daemon.wait_log("metrics on ")
            daemon.kill()
            daemon.start()
            daemon.wait_log("metrics on ")
            with Daemon(CONFIG.replace("{dir}/metrics.sock", http(daemon))
                        ) as other:
                other.wait_log("cannot listen there")
                self.assertEqual(daemon.stop(), 0)
                other.wait_log("metrics on ")
                by_http(http(daemon))

    def test_elsewhere_is_refused(self):
        for listen in ("0.0.0.0:9", "[::]:9", "localhost:9", "metrics.sock"):
            bad = Daemon(CONFIG.replace("{dir}/metrics.sock", listen),
                         args=["--check-config"])
            self.addCleanup(bad.close)
            status, _, err = bad.run()
            self.assertEqual(status, 78, err)
            self.assertIn(f"metrics_listen = {listen}: ", err)
        many = Daemon(CONFIG.replace("jobs/", "a " * 17),
                      args=["--check-config"])
        self.addCleanup(many.close)
        status, _, err = many.run()
        self.assertEqual(status, 78, err)
        self.assertIn("metrics_prefixes has 18", err)


class Document(unittest.TestCase):
    def test_its_tables_are_what_the_code_says(self):
        done = subprocess.run(
            [os.path.join(TOP, "scripts", "metrics-reference"), "--check"],
            check=False, capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (0, ""))


if __name__ == "__main__":
    harness.main(dynamodb=True)
