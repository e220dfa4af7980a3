"""The daemon on a DynamoDB table that is there, is not, or is another."""
import http.client
import json
import os
import socket
import subprocess
import unittest
import urllib.parse

import harness
from harness import Client, Daemon

SECRET = "hush/hush+hush="
TOKEN = "hush-hush-token"


def dynamodb(operation, **body):
    """One request to the endpoint, which does not check signatures."""
    url = urllib.parse.urlparse(harness.endpoint())
    connection = http.client.HTTPConnection(url.hostname, url.port, timeout=60)
    connection.request("POST", "/", json.dumps(body), {
        "X-Amz-Target": "DynamoDB_20120810." + operation,
        "Content-Type": "application/x-amz-json-1.0",
        "Authorization": "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20260101/"
                         "us-east-1/dynamodb/aws4_request, "
                         "SignedHeaders=host, Signature=0"})
    answer = connection.getresponse()
    text = answer.read()
    connection.close()
    if answer.status != 200:
        raise AssertionError(text)
    return json.loads(text)


def create_table(name, attribute, kind="S"):
    dynamodb("CreateTable", TableName=name, BillingMode="PAY_PER_REQUEST",
             AttributeDefinitions=[{"AttributeName": attribute,
                                    "AttributeType": kind}],
             KeySchema=[{"AttributeName": attribute, "KeyType": "HASH"}])


def config(table, endpoint=None, lease="20s"):
    endpoint = endpoint or os.environ.get("AWS_ENDPOINT_URL_DYNAMODB")
    return (f"[namespace default]\nstore = dynamodb\ntable = {table}\n"
            f"endpoint = {endpoint}\nregion = us-east-1\n"
            f"access_key_id = AKIDEXAMPLE\nsecret_access_key = {SECRET}\n"
            f"session_token = {TOKEN}\nlease = {lease}\n")


class Table(unittest.TestCase):
    def setUp(self):
        harness.need_dynamodb()
        self.table = f"t-{os.getpid()}-{self._testMethodName}"

    def task(self, *args, table=None, more=""):
        daemon = Daemon(config(table or self.table) + more, args=args)
        try:
            return daemon.run()
        finally:
            daemon.close()

    def test_init_and_check(self):
        status, out, err = self.task("--check-table")
        self.assertEqual((status, out), (78, ""))
        self.assertIn(self.table, err)
        self.assertIn("ddblock init-table", err)
        for _ in range(2):
            status, out, err = self.task("--init-table")
            self.assertEqual((status, harness.not_waiting(err)), (0, ""))
            self.assertIn(self.table, out)
        status, out, err = self.task("--check-table")
        self.assertEqual((status, harness.not_waiting(err)), (0, ""))

    def test_check_unknown_namespace(self):
        status, _, err = self.task("--check-table", "--namespace=none")
        self.assertEqual(status, 64)
        self.assertIn("there is no namespace none", err)

    def test_locks(self):
        self.assertEqual(self.task("--init-table")[0], 0)
        with Daemon(config(self.table)) as daemon, Client(daemon) as client:
            self.assertEqual(client.hello()["scope"], "fleet")
            grant = client.acquire("jobs/nightly", wait="60s")
            self.assertTrue(grant.ok, grant)
            self.assertIn("lock:jobs/nightly", json.dumps(
                dynamodb("Scan", TableName=self.table, ConsistentRead=True)))
            self.assertTrue(client.release(grant).ok)
            again = client.acquire("jobs/nightly", wait="60s")
            self.assertGreater(int(again["token"]), int(grant["token"]))

    def test_sort_key(self):
        """A lock is named by both keys; a table with one key has no such
        lock."""
        sorts = "key_attribute = lock_key\nsort_attribute = sort_key\n"
        status, out, _ = self.task("--init-table", more=sorts)
        self.assertEqual(status, 0)
        self.assertIn('partition key "lock_key" (S), sort key "sort_key" (S)',
                      out)
        plain = self.table + "-plain"
        self.assertEqual(self.task("--init-table", table=plain)[0], 0)
        status, _, err = self.task("--check-table", table=plain,
                                   more="sort_attribute = sort_key\n")
        self.assertEqual(status, 78)
        self.assertIn('has partition key "key" (S), but the namespace needs '
                      'partition key "key" (S), sort key "sort_key" (S) and '
                      'no other', err)
        text = config(self.table) + sorts + \
            config(plain).replace("default", "plain")
        with Daemon(text) as one, Daemon(text) as two, \
                Client(one) as a, Client(two) as b:
            grant = a.acquire("k", sort="x y", wait="60s")
            self.assertTrue(grant.ok, grant)
            self.assertEqual(b.try_("k", sort="x y").code, "LOCK_BUSY")
            self.assertTrue(b.try_("k").ok)
            keys = {(item["lock_key"]["S"].split(":")[0],
                     item["sort_key"]["S"]) for item in dynamodb(
                "Scan", TableName=self.table, ConsistentRead=True)["Items"]}
            self.assertEqual(keys, {("lock", "x y"), ("lock", "-"),
                                    ("session", "-")})
            rows = {(row["key"], row.get("sort"))
                    for row in b.call("LIST").rows}
            self.assertEqual(rows, {("k", "x y"), ("k", None)})
            self.assertEqual(len(b.call("LIST sort=-").rows), 1)
            refused = a.try_("k", sort="x", ns="plain")
            self.assertEqual(refused.code, "UNSUPPORTED")
            self.assertIn('namespace "plain" has no sort keys', str(refused))
            self.assertTrue(a.try_("k", sort="-", ns="plain").ok)
            tag = b.send("ACQUIRE k sort=x%20y wait=120s")
            self.assertTrue(a.release(grant).ok)
            self.assertGreater(int(b.reply(tag)["token"]),
                               int(grant["token"]))

    def test_names_that_are_taken(self):
        for more in ("ttl_attribute = holders\n", "ttl_attribute = key\n",
                     "sort_attribute = s\nttl_attribute = s\n"):
            status, _, err = self.task("--check-table", more=more)
            self.assertNotEqual(status, 0)
            self.assertIn("cannot be the attribute of the time to live", err)

    def test_another_time_to_live(self):
        self.assertEqual(self.task("--init-table")[0], 0)
        status, _, err = self.task("--check-table",
                                   more="ttl_attribute = expiry_time\n")
        self.assertEqual(status, 78)
        self.assertIn('has its time to live on attribute "ttl", but the '
                      'namespace needs it on "expiry_time"', err)

    def test_two_daemons(self):
        self.assertEqual(self.task("--init-table")[0], 0)
        with Daemon(config(self.table)) as one, \
                Daemon(config(self.table)) as two, \
                Client(one) as a, Client(two) as b:
            grant = a.acquire("k", wait="60s")
            self.assertTrue(grant.ok, grant)
            tag = b.send("ACQUIRE k wait=120s")
            self.assertEqual(b.try_("k").code, "LOCK_BUSY")
            self.assertTrue(a.release(grant).ok)
            second = b.reply(tag)
            self.assertTrue(second.ok, second)
            self.assertGreater(int(second["token"]), int(grant["token"]))

    def test_daemon_killed(self):
        """Its locks are free after a lease, for the other daemon."""
        self.assertEqual(self.task("--init-table")[0], 0)
        with Daemon(config(self.table, lease="2s")) as one, \
                Daemon(config(self.table, lease="2s")) as two, \
                Client(one) as a, Client(two) as b:
            grant = a.acquire("k", wait="60s")
            self.assertTrue(grant.ok, grant)
            one.kill()
            second = b.acquire("k", wait="60s")
            self.assertTrue(second.ok, second)
            self.assertGreater(int(second["token"]), int(grant["token"]))


class Away(unittest.TestCase):
    """An absent endpoint: the daemon waits, and stops waiting."""

    def spawn(self, port, task):
        daemon = Daemon(config("ttt", f"http://127.0.0.1:{port}"), args=[task])
        self.addCleanup(daemon.close)
        process = subprocess.Popen(
            daemon.command(), env=daemon.env, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def test_told_and_ended(self):
        with socket.socket() as closed, \
                socket.create_server(("127.0.0.1", 0)) as silent:
            closed.bind(("127.0.0.1", 0))
            tasks = [self.spawn(s.getsockname()[1], task)
                     for s in (closed, silent)
                     for task in ("--init-table", "--check-table")]
            for process in tasks:
                err = process.communicate(timeout=60)[1]
                self.assertEqual(process.returncode, 69, err)
                lines = err.splitlines()
                self.assertIn(": waiting for http://127.0.0.1:", lines[0])
                self.assertIn("does not answer", lines[-1])


class Trouble(unittest.TestCase):
    """A temporary error does not end the daemon; it logs the reason."""

    def trouble(self, daemon, code, *wanted):
        with Client(daemon) as client:
            answer = client.acquire("k", wait="2s")
            self.assertFalse(answer.ok)
            self.assertIn(code, (answer.code, answer.get("cause")), answer)
            row = client.call("STATUS").rows[0]
            self.assertEqual(row["session"], "opening", row)
            self.assertEqual(row["cause"], code, row)
            line = daemon.wait_log(code)
            for text in wanted:
                self.assertIn(text, line)
        for secret in (SECRET, TOKEN):
            self.assertNotIn(secret, daemon.log())
            self.assertNotIn(urllib.parse.quote(secret, safe=""),
                             daemon.log())

    def test_no_table_yet(self):
        harness.need_dynamodb()
        table = f"t-{os.getpid()}-late"
        with Daemon(config(table)) as daemon:
            self.trouble(daemon, "NO_TABLE", table, "ddblock init-table")
            create_table(table, "key")
            daemon.wait_log("the store answers again")
            with Client(daemon) as client:
                self.assertTrue(client.acquire("k", wait="60s").ok)

    def test_wrong_table(self):
        harness.need_dynamodb()
        for attribute, kind in (("id", "S"), ("key", "N")):
            table = f"t-{os.getpid()}-wrong-{attribute}"
            create_table(table, attribute, kind)
            with Daemon(config(table)) as daemon:
                self.trouble(daemon, "WRONG_TABLE", table)

    def test_nobody_listens(self):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))  # and does not listen
            port = s.getsockname()[1]
            with Daemon(config("locks", f"http://127.0.0.1:{port}")) as daemon:
                self.trouble(daemon, "UNREACHABLE", str(port))

    def test_no_answer(self):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            s.listen()
            port = s.getsockname()[1]
            with Daemon(config("locks", f"http://127.0.0.1:{port}",
                               lease="2s")) as daemon:
                self.trouble(daemon, "UNREACHABLE")

    def test_no_such_host(self):
        with Daemon(config("locks", "https://ddblock.invalid")) as daemon:
            self.trouble(daemon, "UNREACHABLE", "ddblock.invalid")

    def test_plain_http_to_elsewhere(self):
        daemon = Daemon(config("locks", "http://192.0.2.1:8000"))
        self.addCleanup(daemon.close)
        status, _, err = daemon.run()
        self.assertNotEqual(status, 0)
        self.assertIn("http", err)
        self.assertNotIn(SECRET, err)


if __name__ == "__main__":
    harness.main(dynamodb=True)
