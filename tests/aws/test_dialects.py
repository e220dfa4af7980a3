#!/usr/bin/env python3
"""Two daemons on endpoints that are not DynamoDB, but speak like it.

dynalite, the real one (tests/aws/setup installs it): it never tells which item
made a condition fail, and has no transactions. ScyllaDB's Alternator, replayed:
DynamoDB Local does the work, and its answers are put into Alternator's words,
as its source has them (check_aws_errors_others.c): names, texts without
escapes, statuses, few headers, chunks; with and without the item of a failed
condition (Alternator 6.0 began to tell it).
"""
import email.utils
import json
import os
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, os.pardir, "integration"))

import harness  # noqa: E402
from fault_proxy import Proxy  # noqa: E402
from harness import Client, Daemon  # noqa: E402

SPACE = "com.amazonaws.dynamodb.v20120810#"
TEXTS = {"ConditionalCheckFailedException": "Failed \"condition\".",
         "ResourceNotFoundException": "Requested resource not found: Table: "
                                      "\"{table}\" not found"}


START = """
const server = require(process.argv[1])({ createTableMs: 0 })
server.listen(0, '127.0.0.1', () => console.log(server.address().port))
"""


class Flows:
    """What must work on each of them. @self.url is the endpoint."""

    def setUp(self):
        self.begin()
        self.name = f"dialect-{os.getpid()}-{self._testMethodName}"

    def daemon(self):
        daemon = Daemon(
            f"[namespace default]\nstore = dynamodb\ntable = {self.name}\n"
            f"region = us-east-1\nendpoint = {self.url}\nlease = 4s\n"
            "poll = 100ms\naudit = 1s\nrequest_timeout = 2s\nmargin = 500ms\n"
            "heartbeat = 1s\naccess_key_id = AKIDEXAMPLE\n"
            "secret_access_key = secret\n")
        self.addCleanup(daemon.close, check=False)
        return daemon

    def both(self):
        for task in ("--init-table", "--check-table"):
            done = self.daemon()
            done.args.append(task)
            status, _, text = done.run()
            self.assertEqual(status, 0, text)
        return self.daemon().start(), self.daemon().start()

    def test_one_after_the_other(self):
        one, other = self.both()
        with Client(one) as a, Client(other) as b:
            first = a.acquire("k", wait="60s")
            self.assertTrue(first.ok, first)
            self.assertEqual(b.try_("k").code, "LOCK_BUSY")
            # Its wish is seen, and it has the lock when that is free.
            tag = b.send("ACQUIRE k wait=60s")
            self.assertTrue(a.release(first).ok)
            second = b.reply(tag)
            self.assertTrue(second.ok, second)
            self.assertGreater(int(second["token"]), int(first["token"]))
            rows = a.call("LIST").rows
            self.assertEqual([(r["key"], r["state"]) for r in rows],
                             [("k", "held")])
            self.assertTrue(b.release(second).ok)

    def test_a_host_that_dies(self):
        one, other = self.both()
        with Client(one) as a, Client(other) as b:
            first = a.acquire("k", wait="60s")
            self.assertTrue(first.ok, first)
            one.kill()
            second = b.acquire("k", wait="60s")
            self.assertTrue(second.ok, second)
            self.assertGreater(int(second["token"]), int(first["token"]))

    def test_break(self):
        one, other = self.both()
        with Client(one) as a, Client(other) as b:
            first = a.acquire("k", wait="60s")
            self.assertTrue(first.ok, first)
            seen = b.call("GET k")
            done = b.call(f"BREAK k token={seen['token']} reason=stuck")
            self.assertTrue(done.ok, done)
            lost = a.event("LOCK_LOST")
            self.assertEqual(lost["id"], first["id"])
            second = b.acquire("k", wait="60s")
            self.assertGreater(int(second["token"]), int(first["token"]))

    def test_shared(self):
        one, other = self.both()
        with Client(one) as a, Client(other) as b, Client(other) as c:
            for client in (a, b):
                grant = client.acquire("k", mode="shared", wait="60s")
                self.assertTrue(grant.ok, grant)
            self.assertEqual(c.try_("k").code, "LOCK_BUSY")

    def test_several(self):
        """Without transactions they are taken in turn, and still all or none.
        """
        one, other = self.both()
        with Client(one) as a, Client(other) as b:
            grant = a.call("ACQUIRE k l wait=60s")
            self.assertEqual((grant.code, len(grant.rows)), ("OK", 2), grant)
            # What it got before it met the one that is held, it gives back.
            busy = b.call("TRY j l m")
            self.assertEqual((busy.code, busy["key"]), ("LOCK_BUSY", "l"), busy)
            self.assertTrue(a.acquire("j", wait="60s").ok)
            tried = b.call("TRY m n")
            self.assertEqual((tried.code, len(tried.rows)), ("OK", 2), tried)
            self.assertTrue(b.release(tried).ok)
            self.assertEqual(b.call("ACQUIRE l m wait=1s").code,
                             "ACQUIRE_TIMEOUT")
            self.assertTrue(b.try_("m").ok)
            self.assertEqual(b.try_("k").code, "LOCK_BUSY")

    def test_no_table(self):
        daemon = self.daemon().start()
        with Client(daemon) as client:
            grant = client.acquire("k", wait="5s")
            self.assertEqual(grant.code, "NO_TABLE", grant)


class Dynalite(Flows, unittest.TestCase):
    def begin(self):
        program = os.path.join(os.environ.get("DDBLOCK_AWS", "none"),
                               "node_modules/dynalite")
        if not os.path.exists(program):
            self.skipTest("there is no dynalite: see tests/aws/setup")
        # It takes no 0 for a port.
        process = subprocess.Popen(
            ["node", "-e", START, program], stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.url = f"http://127.0.0.1:{int(process.stdout.readline())}"


class Alternator(Flows, unittest.TestCase):
    tells_item = True

    def begin(self):
        harness.need_dynamodb()
        proxy = Proxy()
        self.addCleanup(proxy.close)
        proxy.on(None, self.speak, times=10 ** 9)
        self.url = proxy.url

    async def speak(self, exchange, _rule):
        request = exchange.request
        if request.operation == "TransactWriteItems":
            await self.write(exchange, 400, self.error(
                "UnknownOperationException",
                "Unsupported operation TransactWriteItems"))
            return
        status, _, body = await exchange.forward()
        if status != 200:
            found = json.loads(body)
            name = found["__type"].split("#")[-1]
            text = TEXTS.get(name, found.get("message", "")).replace(
                "{table}", self.name)
            item = found.get("Item") if self.tells_item else None
            body = self.error(name, text, item)
        await self.write(exchange, status, body)

    @staticmethod
    def error(name, text, item=None):
        if item is not None:  # and those versions escape
            return json.dumps({"__type": SPACE + name, "message": text,
                               "Item": item}).encode()
        return (f'{{"__type":"{SPACE}{name}","message":"{text}"}}').encode()

    @staticmethod
    async def write(exchange, status, body):
        date = email.utils.formatdate(usegmt=True)
        words = {200: "OK", 400: "Bad Request"}.get(status, "Error")
        head = (f"HTTP/1.1 {status} {words}\r\nServer: Seastar httpd\r\n"
                f"Date: {date}\r\n"
                "Content-Type: application/x-amz-json-1.0\r\n")
        if len(body) > 512:
            half = len(body) // 2
            parts = b"".join(b"%x\r\n%s\r\n" % (len(p), p) for p in
                             (body[:half], body[half:], b""))
            await exchange.write(
                (head + "Transfer-Encoding: chunked\r\n\r\n").encode() + parts)
        else:
            await exchange.write(
                (head + f"Content-Length: {len(body)}\r\n\r\n").encode()
                + body)


class OldAlternator(Alternator):
    tells_item = False


if __name__ == "__main__":
    harness.main(dynamodb=True)
