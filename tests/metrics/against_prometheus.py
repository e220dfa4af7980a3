#!/usr/bin/env python3
"""A real Prometheus scrapes a real daemon on DynamoDB Local: under load, while
it is throttled, in an outage and after its death. Each query of the board shows
something, and each alert is raised by what it is for. (make check-prometheus)
"""
import itertools
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request

import prometheus
from prometheus import BOARD, RULES, free_port, queries

import fault_proxy
import harness
from harness import Client, Daemon

PATIENCE_S = 90
RATE = "20s"  # the interval of rates
# What these are about is not there while all is well; never here; or so short
# that the alert's own query is enough.
OF_TROUBLE = ("ddblockd_store_trouble{", "ddblockd_store_errors_total{",
              "1 - ddblockd_open{")
NEVER = ("ddblockd_draining{", "ddblockd_in_danger{")
CONFIG = """[daemon]
metrics_listen = {listen}
hints = 127.0.0.1:{hints}
requests_per_connection_max = 100
[namespace default]
store = dynamodb
table = metrics-prometheus
region = us-east-1
endpoint = {endpoint}
lease = 4s
heartbeat = 1s
danger = 2s
poll = 200ms
request_timeout = 1s
metrics_prefixes = jobs/
[namespace local]
store = sqlite
file = {{dir}}/local.db
"""
SCRAPE = """global:
  scrape_interval: 1s
  scrape_timeout: 1s
  evaluation_interval: 1s
rule_files:
  - {rules}
scrape_configs:
  - job_name: ddblockd
    static_configs:
      - targets: ['{listen}']
"""


class Prometheus:
    """The server; a context manager."""

    def __init__(self, listen):
        self.directory = tempfile.TemporaryDirectory()
        self.url = f"http://127.0.0.1:{free_port()}"
        path = os.path.join(self.directory.name, "prometheus.yml")
        with open(path, "w", encoding="utf-8") as f:
            f.write(SCRAPE.format(rules=RULES, listen=listen))
        self.log = open(os.path.join(self.directory.name, "log"), "w+",
                        encoding="utf-8")
        self.process = subprocess.Popen([
            prometheus.tool("prometheus"), f"--config.file={path}",
            f"--storage.tsdb.path={self.directory.name}/data",
            f"--web.listen-address={self.url[len('http://'):]}",
            "--log.level=warn"], stdout=self.log, stderr=self.log)

    def __enter__(self):
        try:
            wait_until(self.is_ready, "Prometheus")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        self.log.close()
        self.directory.cleanup()

    def is_ready(self):
        if self.process.poll() is not None:
            self.log.seek(0)
            raise AssertionError(f"Prometheus ended:\n{self.log.read()}")
        try:
            with urllib.request.urlopen(self.url + "/-/ready"):
                return True
        except OSError:
            return False

    def ask(self, path, **arguments):
        query = urllib.parse.urlencode(arguments)
        try:
            with urllib.request.urlopen(
                    f"{self.url}/api/v1/{path}?{query}") as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as e:
            raise AssertionError(
                f"{path} {arguments}: {e.read().decode()}") from e

    def query(self, expression):
        """(labels, value) of each sample now."""
        return [(s["metric"], float(s["value"][1])) for s in
                self.ask("query", query=expression)["result"]]

    def alerts(self):
        """name -> expression"""
        return {r["name"]: r["query"]
                for g in self.ask("rules", type="alert")["groups"]
                for r in g["rules"]}

    def firing(self):
        return {a["labels"]["alertname"] for a in
                self.ask("alerts")["alerts"] if a["state"] == "firing"}


def wait_until(condition, what):
    """Prometheus tells nobody when it has scraped: it is asked again."""
    end = time.monotonic() + PATIENCE_S
    while not (found := condition()):
        if time.monotonic() > end:
            raise AssertionError(f"there was never {what}")
        threading.Event().wait(0.2)
    return found


class Load(threading.Thread):
    """Two clients that want one key, and keys of their own."""

    def __init__(self, daemon):
        super().__init__(daemon=True)
        self.daemon_socket = daemon.socket
        self.ending = threading.Event()
        self.error = None
        self.start()

    def run(self):
        try:
            with Client(self.daemon_socket) as one, \
                    Client(self.daemon_socket) as other:
                for n in itertools.count():
                    if self.ending.is_set():
                        return
                    self.turn(one, other, n)
        except Exception as e:  # pylint: disable=broad-except
            self.error = e

    @staticmethod
    def turn(one, other, n):
        for ns in ("default", "local"):
            grant = one.acquire("jobs/a", ns=ns)
            other.try_("jobs/a", ns=ns)
            waiting = other.send(f"ACQUIRE jobs/a ns={ns}")
            if grant.ok:
                one.release(grant)
            grant = other.reply(waiting)
            if grant.ok:
                other.release(grant)
            # What is acquired again and again is kept: this is not.
            grant = one.acquire(f"other/{n}", ns=ns)
            if grant.ok:
                one.release(grant)
        one.call("LIST")
        one.call("GET never")

    def stop(self):
        self.ending.set()
        self.join()
        if self.error is not None:
            raise self.error


class AgainstPrometheus(unittest.TestCase):
    def setUp(self):
        prometheus.tool("prometheus")
        harness.need_dynamodb()
        self.proxy = fault_proxy.Proxy()
        self.addCleanup(self.proxy.close)
        self.listen = f"127.0.0.1:{free_port()}"
        config = CONFIG.format(listen=self.listen, hints=free_port(),
                               endpoint=self.proxy.url)
        made = Daemon(config, args=["--init-table", "--namespace=default"])
        self.addCleanup(made.close)
        status, _, err = made.run()
        self.assertEqual(status, 0, err)
        self.daemon = Daemon(config)
        self.addCleanup(self.daemon.close, check=False)
        self.daemon.start()
        with open(BOARD, encoding="utf-8") as f:
            self.board = json.load(f)

    def raised(self, server, name, expression=None):
        """The alert's expression is true, of this daemon."""
        expression = expression or server.alerts()[name]
        found = wait_until(lambda: server.query(expression), name)
        print(f"    {name}: {found}", file=sys.stderr)

    def all_is_shown(self, server, trouble=False):
        """Each query of the board has an answer, or those of trouble."""
        def missing():
            return [(title, expression) for title, expression in
                    queries(self.board, RATE)
                    if not any(n in expression for n in NEVER) and trouble
                    == any(n in expression for n in OF_TROUBLE)
                    and not server.query(expression)]
        try:
            wait_until(lambda: not missing(), "all of the board")
        except AssertionError as e:
            raise AssertionError(f"without an answer: {missing()}") from e

    def test_a_bad_day(self):
        with Prometheus(self.listen) as server, \
                Client(self.daemon) as holder:
            alerts = server.alerts()
            self.assertEqual(set(alerts), {
                "DdblockdDown", "DdblockdInDanger", "DdblockdLocksLost",
                "DdblockdStoreUnreachable", "DdblockdNotOpen",
                "DdblockdRenewalOld", "DdblockdThrottled",
                "DdblockdWaitersQueue", "DdblockdLoopLag",
                "DdblockdTokensBack"})
            wait_until(lambda: server.query('up{job="ddblockd"} == 1'),
                       "a scrape")
            load = Load(self.daemon)
            self.a_quiet_while(server, alerts)
            self.a_queue(server, holder)
            rule = self.proxy.on("acquire", fault_proxy.error(
                "ProvisionedThroughputExceededException"), times=100000)
            rule.wait_hit()
            self.raised(server, "DdblockdThrottled",
                        alerts["DdblockdThrottled"].replace("5m", "20s"))
            rule.stop()
            self.all_is_shown(server)
            load.stop()
            self.a_lag(server, alerts["DdblockdLoopLag"])
            self.an_outage(server, holder)
            self.daemon.kill()
            self.raised(server, "DdblockdDown")

    def a_quiet_while(self, server, alerts):
        """All expressions are good PromQL, and none is true of that."""
        wait_until(lambda: server.query(
            "sum(ddblockd_grants_total) > 20"), "a load")
        for name, expression in alerts.items():
            self.assertEqual(server.query(expression), [], name)

    def a_queue(self, server, holder):
        """More requests wait than a connection may have: some are refused,
        and it becomes longer."""
        self.assertTrue(holder.acquire("wanted").ok)
        waiter = Client(self.daemon)
        self.addCleanup(waiter.close)
        waiter.send_all(["ACQUIRE wanted"] * 20)
        wait_until(lambda: server.query("sum(ddblockd_waiters) > 19"),
                   "a queue")
        waiter.send_all(["ACQUIRE wanted"] * 100)
        self.raised(server, "DdblockdWaitersQueue")
        self.assertEqual(
            [v for _, v in wait_until(lambda: server.query(
                'ddblockd_requests_refused_total{code="LIMIT"}'),
                "a refusal")], [20])
        waiter.close()

    def a_lag(self, server, expression):
        """The daemon stands still, for less than its lease."""
        end = time.monotonic() + PATIENCE_S
        while not server.query(expression.replace("5m", "10s")):
            self.assertLess(time.monotonic(), end)
            self.daemon.freeze()
            harness.pass_boot_ms(harness.boot_ms() + 800)
            self.daemon.thaw()
            threading.Event().wait(0.5)

    def an_outage(self, server, holder):
        """What is held is in danger, then lost; then it is over."""
        wait_until(lambda: server.query(
            'ddblockd_danger_in_seconds{namespace="default"} > 0.5'),
            "a renewal after the standstills")
        self.assertTrue(holder.acquire("held").ok)
        self.proxy.down()
        for name in ("DdblockdRenewalOld", "DdblockdInDanger",
                     "DdblockdLocksLost", "DdblockdStoreUnreachable",
                     "DdblockdNotOpen"):
            self.raised(server, name)
        self.all_is_shown(server, trouble=True)
        wait_until(lambda: {"DdblockdLocksLost"} <= server.firing(),
                   "an alert that is raised")
        self.proxy.up()
        wait_until(lambda: server.query(
            'ddblockd_open{namespace="default"} == 1'), "an end of it")
        self.assertEqual(server.query("ddblockd_in_danger == 1"), [])
        wait_until(lambda: not server.query("ddblockd_store_trouble"),
                   "a store without trouble")


if __name__ == "__main__":
    harness.main(dynamodb=True)
