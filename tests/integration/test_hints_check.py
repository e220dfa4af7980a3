"""CHECK asks other hosts whether they hear hints, and `ddblock status` shows
what hints did."""
import hashlib
import json
import os
import re
import socket
import subprocess
import time
import unittest
from unittest import mock

import fault_proxy
import harness
from harness import Client
from test_check import deny
from test_daemon_dynamodb import dynamodb
from test_hints import OFTEN, SELDOM, Base

KEY = "5f" * 32
MS = r"\d+\.\d ms"
SILENT = ("is UDP open from here to it, and from it to {}? Or it died lately: "
          "such a host looks alive until its lease ends. Meanwhile locks are "
          "found by polls")
ELSEWHERE = ("set hints_address there to an address of that host that others "
             "reach; if no host is there, another program wrote it into the "
             "table")


def closed_port():
    """A UDP socket that nobody reads: what is sent there has no answer, and no
    other program can have the port."""
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind(("127.0.0.1", 0))
    return s


class Checks(Base):
    def found(self, daemon):
        """The findings about hints; there is no error."""
        with Client(daemon) as c:
            answer = c.call("CHECK")
        self.assertTrue(answer.ok, answer)
        self.assertEqual(answer["errors"], "0", answer)
        return [(row["state"], row["text"], row.arguments.get("advice"))
                for row in answer.rows if row["check"] == "hints"]

    def the_one(self, daemon):
        found = self.found(daemon)
        self.assertEqual(len(found), 1, found)
        return found[0]

    def address(self, daemon):
        return self.status(daemon)["hints"]

    def ddblock(self, daemon, *args):
        done = subprocess.run(
            [harness.program("ddblock"), f"--socket={daemon.socket}", *args],
            capture_output=True, text=True, timeout=harness.TIMEOUT_S,
            check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def forge(self, contact, name="forged", **attributes):
        """A session that another program wrote into the table."""
        in_time = int(time.time()) + 2 * 86400
        digits = hashlib.md5(name.encode()).hexdigest()
        item = {"key": {"S": f"session:{digits}"},
                "beat": {"N": "1"}, "lease_ms": {"N": "3600000"},
                "ttl": {"N": str(in_time)}, "host": {"S": name},
                "contact": {"S": contact}}
        item.update(attributes)
        dynamodb("PutItem", TableName=self.table,
                 Item={k: v for k, v in item.items() if v is not None})


class Found(Checks):
    def test_both_hear(self):
        hosts = [self.host(SELDOM) for _ in range(2)]
        for host in hosts:
            state, text, advice = self.the_one(host)
            self.assertEqual((state, advice), ("ok", None), text)
            self.assertRegex(text, f"^1 host hears us \\({MS}\\)$")

    def test_three(self):
        hosts = [self.host(SELDOM) for _ in range(3)]
        _, text, _ = self.the_one(hosts[0])
        self.assertRegex(
            text, f"^2 hosts hear us \\(fastest {MS}, slowest {MS}\\)$")

    def test_alone(self):
        host = self.host(SELDOM)
        self.assertEqual(self.the_one(host),
                         ("ok", "no other host hears hints", None))

    def test_one_without(self):
        hosts = [self.host(SELDOM), self.host(OFTEN, hints=None)]
        self.assertEqual(
            self.the_one(hosts[0]),
            ("ok", "no other host hears hints; 1 session is of a host "
             "without hints", None))
        self.assertEqual(self.found(hosts[1]), [])

    def test_closed(self):
        """The third cannot be reached at the address that it gives."""
        nobody = closed_port()
        self.addCleanup(nobody.close)
        where = f"127.0.0.1:{nobody.getsockname()[1]}"
        hosts = [self.host(SELDOM) for _ in range(2)]
        self.host(SELDOM, hints_address=where)
        state, text, advice = self.the_one(hosts[0])
        self.assertRegex(
            text, f"^1 host hears us \\({MS}\\); 1 does not answer: "
            f"{re.escape(where)} \\({re.escape(socket.gethostname())}\\)$")
        self.assertEqual(state, "warning")
        self.assertEqual(advice, SILENT.format(self.address(hosts[0])))

    def test_no_answer_at_all(self):
        """It hears, and what it answers goes elsewhere."""
        nobody = closed_port()
        self.addCleanup(nobody.close)
        where = f"127.0.0.1:{nobody.getsockname()[1]}"
        host, other = self.host(SELDOM, hints_address=where), self.host(SELDOM)
        _, text, advice = self.the_one(host)
        self.assertRegex(text, "^no other host hears us; 1 does not answer: "
                         + re.escape(self.address(other)))
        self.assertEqual(advice, SILENT.format(where))

    def test_forged(self):
        hosts = [self.host(SELDOM) for _ in range(2)]
        self.forge(f"239.1.1.1:7400 {KEY}", "many")
        found = self.found(hosts[0])
        self.assertRegex(found[0][1], "^1 host hears us")
        self.assertEqual(found[0][0], "ok")
        self.assertEqual(found[1:], [
            ("warning", "nothing is sent to 239.1.1.1:7400 (many): a "
             "multicast address", ELSEWHERE)])
        self.assertEqual(self.figure(hosts[0], "hints_unsent"), 0)

    def test_forged_alone(self):
        """And what such an item has otherwise."""
        host = self.host(SELDOM)
        own = self.address(host)
        self.forge(f"169.254.169.254:80 {KEY}", "\x1b[31mred")
        self.forge(f"{own} {KEY}", "twin")
        self.forge(f"{own} {KEY}", socket.gethostname())
        self.forge(f"127.0.0.1:9 {'00' * 32}", "keyless")
        self.forge("it hears well", "odd")
        self.forge(f"127.0.0.1:9 {KEY}", "dead", dead={"S": "self"})
        self.forge(f"127.0.0.1:9 {KEY}", "over", ttl={"N": "1000"})
        self.forge(f"127.0.0.1:9 {KEY}", "endless", ttl=None)
        self.forge(f"127.0.0.1:9 {KEY}", "late",
                   ttl={"N": str(int(time.time()) + 86400)})
        self.forge(f"127.0.0.1:9 {KEY}", "timeless", lease_ms={"S": "1"})
        state, text, _ = self.the_one(host)
        self.assertEqual(state, "warning")
        beginning = "nothing is sent to "
        self.assertTrue(text.startswith(beginning), text)
        self.assertEqual(
            sorted(text[len(beginning):].split(", ")),
            [f"{own} (twin): our own address",
             "127.0.0.1:9 (keyless): a public key that is none",
             "169.254.169.254:80 (?[31mred): a link-local address"])

    def test_expired(self):
        host = self.host(SELDOM)
        self.forge(f"127.0.0.1:9 {KEY}", "late",
                   ttl={"N": str(int(time.time()) + 86400)})
        self.forge("it hears well", "odd")
        self.assertEqual(
            self.the_one(host),
            ("ok", "no other host hears hints; 1 session is of a host without "
             "hints; 1 session has expired", None))

    def test_more_than_are_asked(self):
        """Each in its item, as an attacker may write them; none is at home."""
        host = self.host(SELDOM)
        nobody = closed_port()
        self.addCleanup(nobody.close)
        where = f"127.0.0.1:{nobody.getsockname()[1]}"
        for i in range(253):
            self.forge(f"{where} {KEY}", f"n{i}")
        _, text, _ = self.the_one(host)
        self.assertRegex(text, "^no other host hears us; 1 does not answer: "
                         f"{re.escape(where)} .*; 53 more were not asked$")
        # One for each, twice, and to one address so many at once.
        self.assertEqual(self.figure(host, "hints_sent") +
                         self.figure(host, "hints_unsent"), 400)

    def test_not_bound_yet(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.bind(("127.0.0.1", 0))
            host = self.host(OFTEN, hints=f"127.0.0.1:{s.getsockname()[1]}")
            host.wait_log("cannot bind")
            self.assertEqual(self.the_one(host), (
                "warning", "the address for hints is not ours yet: there are "
                "none", "the log says why; if another program has the port, "
                "end it or set another one"))
            out = self.ddblock(host, "status")
            self.assertIn("\nhints: none yet, the log says why, peers: 0, ",
                          out)
            self.assertLessEqual(max(map(len, out.split("\n"))), 79, out)

    def test_not_listed(self):
        """The table does not show its items."""
        with fault_proxy.Proxy() as proxy:
            self.host(SELDOM)  # it makes the table
            with mock.patch.dict(os.environ,
                                 AWS_ENDPOINT_URL_DYNAMODB=proxy.url):
                host = self.host(SELDOM)
            proxy.on("list", deny, times=2)
            state, text, advice = self.the_one(host)
        self.assertEqual(state, "warning")
        self.assertRegex(text, "^which other hosts there are is not known: "
                         ".* User: .* not authorized .*Scan")
        self.assertEqual(advice, "hints need it not; to see which hosts hear "
                         "them, allow dynamodb:Scan")

    def test_large_table(self):
        """Who waits is told how much of it was looked at."""
        async def go_on(exchange, _rule):
            await exchange.reply(200, json.dumps({
                "Items": [], "ScannedCount": 250,
                "LastEvaluatedKey": {"key": {"S": "lock:a"}}}).encode())
        with fault_proxy.Proxy() as proxy:
            self.host(SELDOM)
            with mock.patch.dict(os.environ,
                                 AWS_ENDPOINT_URL_DYNAMODB=proxy.url):
                host = self.host(SELDOM)
            proxy.on("list", go_on, times=fault_proxy.EVER)
            self.assertEqual(
                self.the_one(host),
                ("ok", "no other host hears hints; only the first 50000 items "
                 "of the table were looked at", None))
            pages = [r.body for r in proxy.seen()
                     if r.kind == "list" and r.body["Limit"] == 250]
        self.assertEqual(len(pages), 200)
        self.assertNotIn("ExclusiveStartKey", pages[0])
        self.assertEqual([p["ExclusiveStartKey"] for p in pages[1:]],
                         [{"key": {"S": "lock:a"}}] * 199)

    def test_after_an_error(self):
        """What is wrong with the table is said, and hints are left out."""
        with fault_proxy.Proxy() as proxy:
            self.host(SELDOM)
            with mock.patch.dict(os.environ,
                                 AWS_ENDPOINT_URL_DYNAMODB=proxy.url):
                host = self.host(SELDOM)
            proxy.on("together", deny)
            with Client(host) as c:
                answer = c.call("CHECK")
        self.assertEqual(answer["errors"], "1")
        self.assertNotIn("hints", [row["check"] for row in answer.rows])

    def test_meanwhile(self):
        """One check at a time waits for answers; others are served."""
        nobody = closed_port()
        self.addCleanup(nobody.close)
        self.host(SELDOM, hints_address="127.0.0.1:"
                  f"{nobody.getsockname()[1]}")
        host = self.host(SELDOM)
        client, other = self.client(host), self.client(host)
        # A machine that stands still may miss the second in which it waits.
        for i in range(10):
            sent = self.figure(host, "hints_sent")
            tag = client.send("CHECK")
            self.wait_figure(host, "hints_sent", sent + 1)
            self.assertTrue(other.release(other.try_(f"k{i}")).ok)
            refused = other.call("CHECK")
            self.assertTrue(client.reply(tag).ok)
            if refused.code == "LIMIT":
                break
        self.assertEqual(refused.code, "LIMIT")
        self.assertIn('namespace "default" is being checked already',
                      str(refused))

    def test_nobody_listens_any_more(self):
        nobody = closed_port()
        self.addCleanup(nobody.close)
        self.host(SELDOM, hints_address="127.0.0.1:"
                  f"{nobody.getsockname()[1]}")
        host = self.host(SELDOM)
        with Client(host) as client:
            client.send_raw(b"CHECK\n")
            self.wait_figure(host, "hints_sent", 1)
        host.stop()


class Shown(Checks):
    """By the commands."""

    def test_check(self):
        nobody = closed_port()
        self.addCleanup(nobody.close)
        where = f"127.0.0.1:{nobody.getsockname()[1]}"
        host = self.host(SELDOM)
        self.host(SELDOM, hints_address=where)
        words = " ".join(self.ddblock(host, "check").split())
        self.assertIn("warning hints no other host hears us; 1 does not "
                      f"answer: {where} ({socket.gethostname()}) -> is UDP "
                      "open from here to it, and from it to "
                      f"{self.address(host)}?", words)
        told = json.loads(self.ddblock(host, "check", "--json"))
        found = [f for f in told["findings"] if f["check"] == "hints"]
        self.assertEqual([(f["ns"], f["state"], f["advice"]) for f in found],
                         [("default", "warning",
                           SILENT.format(self.address(host)))])

    def test_status(self):
        hosts = [self.host(SELDOM) for _ in range(2)]
        clients = [self.client(h) for h in hosts]
        where = self.address(hosts[0])
        self.assertIn(f"\nhints at {where}, peers: 0, sent: 0, not sent: 0, "
                      "accepted: 0, late: 0,\n    refused: 0\n",
                      self.ddblock(hosts[0], "status"))
        grant = clients[1].acquire("k")
        tag = self.wait_for(hosts[0], clients[0])
        clients[1].release(grant)
        self.assertTrue(clients[0].reply(tag).ok)
        out = self.ddblock(hosts[0], "status")
        self.assertIn("\ndefault: 1 hints of other hosts, by 1 of them a lock "
                      "changed hands\n", out)
        self.assertRegex(out, f"\nhints at {re.escape(where)}, peers: 1, "
                         r"sent: \d, not sent: 0, accepted: 1, late: 0,\s+"
                         r"refused: \d\n")

    def test_status_without(self):
        host = self.host(SELDOM, hints=None)
        self.assertNotIn("hints", self.ddblock(host, "status"))


if __name__ == "__main__":
    harness.main(dynamodb=True)
