"""Bad input from the store's side: every fault has a clear reply, which names
what is wrong and where; the daemon stays up; other keys are served as usual;
and when the fault ends, all is well again.
"""
import json
import os
import unittest

import fault_proxy
import harness
from fault_proxy import EVER, Proxy, answer, error
from harness import Client, Daemon
from runner import ddblock
from test_daemon_dynamodb import create_table, dynamodb
from undisturbed import Undisturbed

NOT_SO = "The security token included in the request is "
NOT_JSON = "not understood|does not answer as DynamoDB"
# What the endpoint does, what a request is told, and which words are in it.
# A definite refusal is told at once; what time may cure, when time is up.
FAULTS = {
    "wrong credentials": (
        error("UnrecognizedClientException", NOT_SO + "invalid."),
        "NO_CREDENTIALS", "invalid"),
    "expired credentials": (
        error("ExpiredTokenException", NOT_SO + "expired"),
        "NO_CREDENTIALS", "expired"),
    "no permission": (
        error("AccessDeniedException", "User: x is not authorized to perform:"
              " dynamodb:UpdateItem on resource: y"),
        "ACCESS_DENIED", "dynamodb:UpdateItem"),
    "no table": (
        error("ResourceNotFoundException", "Requested resource not found"),
        "NO_TABLE", "not found|does not exist"),
    "throttling": (
        error("ProvisionedThroughputExceededException", "slow down"),
        "THROTTLED", "slow down"),
    "an error of the server": (
        answer(500, {"__type": "InternalServerError", "message": "oops"}),
        "UNREACHABLE", "oops"),
    "a page of HTML": (
        answer(503, b"<html><body>Service Unavailable</body></html>"),
        "UNREACHABLE", "503"),
    "garbage for HTTP": (fault_proxy.garbage, "UNREACHABLE", "127.0.0.1"),
    "garbage for JSON": (answer(200, b"\x00{]"), "UNREACHABLE",
                         NOT_JSON),
    "JSON of another kind": (answer(200, b"[1, 2]"), "UNREACHABLE",
                             NOT_JSON),
    "an answer cut off": (fault_proxy.truncate, "UNREACHABLE", "cut off"),
    "a close after the write": (fault_proxy.lose_after, "UNREACHABLE",
                                "without an answer"),
    "silence": (fault_proxy.mute_before, "UNREACHABLE", "."),
}
SESSION = "0123456789abcdef0123456789abcdef"
GRANT = "fedcba9876543210fedcba9876543210"
HOLDER = f"{SESSION}.{GRANT}.2000.-"


def chosen():
    """The faults whose name has a word of $DDBLOCK_FAULT; all, without it."""
    words = os.environ.get("DDBLOCK_FAULT", "").split(",")
    return [(name, row) for name, row in FAULTS.items()
            if any(word in name for word in words)]


class Base(unittest.TestCase):
    request_timeout = "5s"
    lease = "20s"

    def setUp(self):
        harness.need_dynamodb()
        self.table = (f"t-{os.getpid()}-{harness.boot_ms()}-"
                      + self._testMethodName)
        create_table(self.table, "key")
        self.proxy = Proxy()
        self.daemon = Daemon(
            f"[namespace default]\nstore = dynamodb\ntable = {self.table}\n"
            f"region = us-east-1\nendpoint = {self.proxy.url}\n"
            f"lease = {self.lease}\nheartbeat = 1s\npoll = 100ms\naudit = 1s\n"
            f"idle = 0s\n"
            f"request_timeout = {self.request_timeout}\n")
        self.addCleanup(self.close)

    def close(self):
        self.proxy.clear()
        try:
            self.daemon.close()
        finally:
            self.proxy.close()

    def put(self, **attributes):
        dynamodb("PutItem", TableName=self.table, Item=attributes)

    def check_serves(self, client, key):
        """It does, though not whenever the machine stands still for as long
        as a request may take."""
        for _ in range(10):
            grant = client.acquire(key, wait="60s")
            self.assertTrue(grant.ok, grant)
            done = client.release(grant)
            if done.code != "UNREACHABLE":
                break
        self.assertTrue(done.ok, done)


class Endpoint(Base):
    request_timeout = "1s"  # how long a fault without an answer takes

    def refused(self, client, key, code, text):
        """A busy machine needs longer to receive the error."""
        for wait in ("500ms", "3s", "20s"):
            grant = client.acquire(key, wait=wait)
            self.assertFalse(grant.ok)
            if code in (grant.code, grant.get("cause")):
                break
        self.assertIn(code, (grant.code, grant.get("cause")), grant)
        if grant.code == code:
            self.assertRegex(grant.text, text)

    def test_requests_for_one_key(self):
        """The fault hits requests for one key only."""
        self.daemon.start()
        with Client(self.daemon) as client:
            held = client.acquire("held", wait="60s")
            for name, (fault, code, text) in chosen():
                with self.subTest(name):
                    rule = self.proxy.on(None, fault, times=EVER, key="k")
                    try:
                        self.refused(client, "k", code, text)
                        self.check_serves(client, "other")
                    finally:
                        rule.stop()
                        rule.go()
                    self.check_serves(client, "k")
                    print(f"{name}, for one key: {code}", flush=True)
            self.assertEqual([e for e in client.events
                              if e.word == "LOCK_LOST"], [])
            self.assertTrue(client.release(held).ok)

    def check_shown(self, code, row):
        """People are told no good news of an endpoint that refuses all."""
        self.assertEqual(row["credentials"], "refused" if code ==
                         "NO_CREDENTIALS" else "ok", row)
        shown = ddblock(self.daemon, "status").stdout
        self.assertNotIn("\ndefault: 0 requests succeeded,", shown)
        if code == "NO_CREDENTIALS":
            self.assertIn("\ndefault: 0 requests succeeded\n", shown)
        self.assertIn(f"\n    its last problem: {code}\n", shown)
        self.assertLessEqual(max(map(len, shown.split("\n"))), 79, shown)

    def test_all_requests(self):
        """The fault meets everything, from the start on."""
        for name, (fault, code, text) in chosen():
            with self.subTest(name):
                rule = self.proxy.on(None, fault, times=EVER)
                if self.daemon.alive():
                    self.daemon.kill()  # the fault before it failed
                self.daemon.start()
                with Client(self.daemon) as client:
                    self.refused(client, "k", code, text)
                    # A try may end before the session's first request does.
                    line = self.daemon.wait_log(code)
                    self.assertRegex(line, text)
                    self.assertEqual(line.count(self.proxy.url), 1, line)
                    self.assertIn("namespace default", line)
                    row = client.call("STATUS").rows[0]
                    self.assertEqual((row["session"], row["cause"]),
                                     ("opening", code), row)
                    self.check_shown(code, row)
                    # Whatever it answers, it is not asked as fast as it does.
                    self.assertLess(int(row["requests"]), 500, row)
                    rule.stop()
                    rule.go()
                    self.daemon.wait_log("the session is open")
                    self.check_serves(client, "k")
                    self.assertIsNone(
                        client.call("STATUS").rows[0].get("cause"))
                self.assertEqual(self.daemon.stop(), 0)
                print(f"{name}, for everything: {code}", flush=True)

    def test_down_while_held(self):
        """A short outage is danger, and then it is over."""
        self.daemon.start()
        with Client(self.daemon) as client:
            grant = client.acquire("k", wait="60s")
            self.proxy.down()
            self.assertEqual(client.event("LOCK_IN_DANGER")["id"],
                             grant["id"])
            waiting = client.acquire("other", wait="0.1")
            self.assertFalse(waiting.ok)
            self.assertEqual(client.call("STATUS").rows[0]["cause"],
                             "UNREACHABLE")
            self.proxy.up()
            self.assertEqual(client.event("LOCK_SAFE")["id"], grant["id"])
            self.check_serves(client, "other")
            self.assertTrue(client.release(grant).ok)
            print("an endpoint that is down for a while: danger, then safe")


class Health(Base):
    request_timeout = "18s"  # nothing is late here

    def test_health(self):
        """How the endpoint fares is in STATUS, for people and programs."""
        self.daemon.start()
        with Client(self.daemon) as client:
            self.check_serves(client, "k")
            row = client.call("STATUS").rows[0]
            self.assertGreater(int(row["succeeded"]), 3)
            self.assertEqual(row["failed"], "0", row)
            self.assertIsNone(row.get("failed_ago"))
            self.assertRegex(row["latency_p50"], r"^[0-9.]+m?s$")
            self.assertNotIn("failed", ddblock(self.daemon, "status").stdout)
            self.proxy.on("acquire", error("ThrottlingException"), times=2)
            self.check_serves(client, "k")
        shown = json.loads(
            ddblock(self.daemon, "--json", "status").stdout)["namespaces"][0]
        self.assertEqual((shown["failed"], shown["failure"]),
                         (2, "ThrottlingException: said the proxy"))
        self.assertLess(shown["failed_ago_ms"], 1000 * harness.TIMEOUT_S)
        self.assertGreaterEqual(shown["latency_p99_ms"],
                                shown["latency_p50_ms"])
        self.assertRegex(
            ddblock(self.daemon, "status").stdout,
            r"\n\ndefault \(fleet\):\s+\S+\n"
            r"default: \d+ requests succeeded, lately half within \S+ and "
            r"99 % within \S+\n    credentials: ok, [^\n]+\n"
            r"    2 failed, the last \S+ ago: "
            r"ThrottlingException: said the proxy\n\nddblockd ")


class Hedges(Base):
    request_timeout = "15s"

    @staticmethod
    def status(client):
        return client.call("STATUS").rows[0]

    def is_hedged(self, client, fault):
        """A beat meets @fault; another goes out over another connection. True:
        its answer decided."""
        won = self.status(client)["hedges_won"]
        rule = self.proxy.on("beat", fault)
        first = rule.wait_hit()
        self.proxy.wait_seen("beat", since=first.came)
        second = self.proxy.seen("beat", since=first.came)[0]
        self.assertNotEqual(second.port, first.port)
        self.assertGreater(int(second.value(":n")), int(first.value(":n")))
        self.proxy.wait_seen("beat", 2, since=first.came)
        rule.go()
        return self.status(client)["hedges_won"] != won

    def check_late(self, fault):
        """A late request goes twice, and the effect of the first does no harm.
        (If the endpoint takes seconds, both are given up: then once more.)"""
        self.daemon.start()
        with Client(self.daemon) as client:
            grant = client.acquire("k", wait="60s")
            while not self.is_hedged(client, fault):
                pass
            self.proxy.wait_seen("beat", self.proxy.count("beat") + 2)
            row = self.status(client)
            self.assertEqual((row["session"], row["state"], row["lost"]),
                             ("open", "ok", "0"), row)
            self.assertEqual(list(client.events), [])
            self.assertTrue(client.release(grant).ok)
        shown = json.loads(
            ddblock(self.daemon, "--json", "status").stdout)["namespaces"][0]
        self.assertGreater(shown["hedges_won"], 0)
        self.assertGreaterEqual(shown["hedges"], shown["hedges_won"])
        self.assertRegex(
            ddblock(self.daemon, "status").stdout,
            r"\n    \d+ late renewals sent twice, \d+ of them answered by "
            r"the second\n")

    def test_answer_is_late(self):
        self.check_late(fault_proxy.hold_answer)

    def test_request_is_late(self):
        self.check_late(fault_proxy.hold)


class Records(Base):
    """Records that were written by hand."""

    # The defect, and the attribute that the reply must name.
    BAD = {
        "holders of another type": ("holders", {"holders": {"S": HOLDER}}),
        "holders in a list": ("holders", {"holders": {"L": [{"S": HOLDER}]}}),
        "a holder that is no holder": (
            "holders", {"holders": {"SS": ["me"]}}),
        "a holder without a lease": (
            "holders", {"holders": {"SS": [f"{SESSION}.{GRANT}.0.-"]}}),
        "two holders of an exclusive lock": (
            "holders", {"holders": {"SS": [HOLDER, HOLDER.replace("0", "1")]}}),
        "no token": ("token", {"token": None}),
        "a token of another type": ("token", {"token": {"S": "7"}}),
        "a token below zero": ("token", {"token": {"N": "-7"}}),
        "a token beyond 2^53": ("token", {"token": {"N": "9007199254740993"}}),
        "a fraction of a token": ("token", {"token": {"N": "7.5"}}),
        "no mode": ("mode", {"mode": None}),
        "a mode that is none": ("mode", {"mode": {"S": "exclusive"}}),
        "wishes of another type": ("xwait", {"xwait": {"N": "1"}}),
        "wishes that are none": ("xwait", {"xwait": {"SS": ["me"]}}),
        "an owner of another type": ("owner", {"owner": {"N": "1"}}),
    }
    # A free lock: the write itself meets these.
    BAD_FREE = {
        "a token of another type": ("token", {"token": {"S": "7"}}),
        "wishes of another type": ("xwait", {"xwait": {"S": "me"}}),
        "holders of another type, but empty": ("holders",
                                               {"holders": {"NULL": True}}),
        # These do not hinder the write, but the record cannot be read
        # afterwards.
        "a fraction of a token": ("token", {"token": {"N": "7.5"}}),
        "wishes that are none": ("xwait", {"xwait": {"SS": ["me"]}}),
    }

    def check_bad(self, client, attribute):
        for request in ("TRY k", "ACQUIRE k wait=60s", "GET k"):
            reply = client.call(request)
            self.assertEqual(reply.code, "BAD_RECORD", reply)
            for text in (self.table, "lock:k", f'"{attribute}"'):
                self.assertIn(text, reply.text)
        rows = client.call("LIST")
        self.assertTrue(rows.ok, rows)

    def check_all(self, bad, good):
        self.daemon.start()
        with Client(self.daemon) as client:
            for name, (attribute, wrong) in bad.items():
                with self.subTest(name):
                    item = {**good, **wrong, "key": {"S": "lock:k"}}
                    self.put(**{k: v for k, v in item.items()
                                if v is not None})
                    self.check_bad(client, attribute)
                    self.check_serves(client, "other")
                    dynamodb("DeleteItem", TableName=self.table,
                             Key={"key": {"S": "lock:k"}})
                    self.check_serves(client, "k")
                    print(f"{name}: BAD_RECORD, names {attribute}")

    def test_bad_held(self):
        self.check_all(self.BAD, {"holders": {"SS": [HOLDER]},
                                  "mode": {"S": "x"}, "token": {"N": "7"}})

    def test_bad_free(self):
        self.check_all(self.BAD_FREE, {"token": {"N": "7"}})

    def test_no_room_for_tokens(self):
        """A token so near to 2^53 that there is no block below it. Nothing is
        written; the defect is named; a hold continues."""
        for token in ("9007199254740991", "9007199254740900",
                      "9007199254740992", "-1"):
            with self.subTest(token):
                self.put(key={"S": "lock:k"}, token={"N": token})
                if not self.daemon.alive():
                    self.daemon.start()
                with Client(self.daemon) as client:
                    for request in ("TRY k", "ACQUIRE k wait=60s"):
                        reply = client.call(request)
                        self.assertEqual(reply.code, "BAD_RECORD", reply)
                        for text in (self.table, "lock:k", '"token"'):
                            self.assertIn(text, reply.text)
                    self.check_serves(client, "other")
                item = dynamodb("GetItem", TableName=self.table,
                                ConsistentRead=True,
                                Key={"key": {"S": "lock:k"}})["Item"]
                self.assertEqual(item, {"key": {"S": "lock:k"},
                                        "token": {"N": token}})
                print(f"a free lock's token {token}: BAD_RECORD, not written")
        self.put(key={"S": "lock:k"}, token={"N": "9007199254740891"})
        with Client(self.daemon) as client:
            grant = client.acquire("k", wait="60s")
            self.assertEqual(int(grant["token"]), 9007199254740892)
            self.assertTrue(client.release(grant).ok)

    def test_attributes_of_others(self):
        """Foreign attributes do not matter."""
        self.put(key={"S": "lock:k"}, token={"N": "7"}, colour={"S": "red"},
                 nested={"M": {"a": {"L": [{"NULL": True}]}}})
        self.daemon.start()
        with Client(self.daemon) as client:
            grant = client.acquire("k", wait="60s")
            self.assertGreater(int(grant["token"]), 7)
            self.assertTrue(client.release(grant).ok)

    def test_bad_session(self):
        """The holder's session is not readable: it is not known whether it
        lives, so its lock is not taken."""
        self.put(key={"S": "lock:k"}, holders={"SS": [HOLDER]},
                 mode={"S": "x"}, token={"N": "7"})
        self.put(key={"S": "session:" + SESSION}, beat={"S": "1"},
                 lease_ms={"N": "2000"})
        self.daemon.start()
        with Client(self.daemon) as client:
            self.assertEqual(client.try_("k").code, "LOCK_BUSY")
            tag = client.send("ACQUIRE k wait=120s")
            self.proxy.wait_seen("look", 3)
            self.check_serves(client, "other")
            self.assertEqual(self.proxy.count("take"), 0)
            # A session that is absent is buried after its lease.
            dynamodb("DeleteItem", TableName=self.table,
                     Key={"key": {"S": "session:" + SESSION}})
            grant = client.reply(tag)
            self.assertTrue(grant.ok, grant)
            self.assertGreater(int(grant["token"]), 7)
            self.assertEqual(len(self.proxy.seen("bury")), 1)

    def test_deleted_while_held(self):
        """The audit finds it."""
        self.daemon.start()
        with Client(self.daemon) as client:
            grant = client.acquire("k", wait="60s")
            dynamodb("DeleteItem", TableName=self.table,
                     Key={"key": {"S": "lock:k"}})
            lost = client.event("LOCK_LOST")
            self.assertEqual((lost["id"], lost["reason"]),
                             (grant["id"], "stolen"))
            self.assertEqual(client.release(grant).code, "LOCK_LOST")
            self.check_serves(client, "k")

    def test_spoilt_while_held(self):
        """A release that cannot read the record says so."""
        self.daemon.start()
        with Client(self.daemon) as client:
            grant = client.acquire("k", wait="60s")
            self.put(key={"S": "lock:k"}, holders={"S": "me"},
                     mode={"S": "x"}, token=json.loads(
                         f'{{"N": "{grant["token"]}"}}'))
            answer_ = client.release(grant)
            self.assertEqual(answer_.code, "BAD_RECORD", answer_)
            self.assertIn('"holders"', answer_.text)
            self.check_serves(client, "other")
            dynamodb("DeleteItem", TableName=self.table,
                     Key={"key": {"S": "lock:k"}})
            self.check_serves(client, "k")

    def test_session_deleted(self):
        """Our own session is gone: its holds are lost, a new one opens."""
        self.daemon.start()
        with Client(self.daemon) as client:
            grant = client.acquire("k", wait="60s")
            beat = self.proxy.seen("beat") or self.proxy.wait_seen("beat")
            dynamodb("DeleteItem", TableName=self.table,
                     Key={"key": {"S": beat[0].key}})
            self.assertEqual(client.event("LOCK_LOST")["id"], grant["id"])
            self.check_serves(client, "other")
            self.assertGreaterEqual(self.proxy.count("open"), 2)


class OwnSession(Undisturbed, Base):
    """A user spoils the item of our own session."""
    LEASE_MS = 4000
    lease = "4s"
    request_timeout = "2s"
    SPOILT = {
        "beat": {"S": "1"},
        "lease_ms": {"S": "4000"},
    }

    def spoil(self, attribute, wrong):
        """Change the item of the session that beats next; its name."""
        item = self.proxy.wait_seen(
            "beat", self.proxy.count("beat") + 1)[-1].key
        dynamodb("UpdateItem", TableName=self.table,
                 Key={"key": {"S": item}}, UpdateExpression="SET #a = :a",
                 ExpressionAttributeNames={"#a": attribute},
                 ExpressionAttributeValues={":a": wrong})
        return item

    def check_spoilt(self, client, attribute, wrong):
        grant = client.acquire("k", wait="60s")
        self.assertTrue(grant.ok, grant)
        item = self.spoil(attribute, wrong)
        danger = client.event("LOCK_IN_DANGER")
        self.assertEqual((danger["id"], danger["reason"]),
                         (grant["id"], "BAD_RECORD"))
        self.check_serves(client, "other")
        row = client.call("STATUS").rows[0]
        self.assertEqual((row["state"], row["cause"]),
                         ("danger", "BAD_RECORD"), row)
        renewed = client.call(f"RENEW id={grant['id']}")
        self.assertEqual(renewed.code, "BAD_RECORD", renewed)
        for line in (renewed.text,
                     self.daemon.wait_log(f'attribute "{attribute}"')):
            for text in (self.table, item, attribute):
                self.assertIn(text, line)
        lost = client.event("LOCK_LOST")
        self.assertEqual((lost["id"], lost["reason"]),
                         (grant["id"], "expired"))
        self.assertEqual(client.release(grant).code, "LOCK_LOST")
        self.check_serves(client, "other")
        self.check_serves(client, "k")
        self.assertIsNone(client.call("STATUS").rows[0].get("cause"))

    def test_spoilt(self):
        """Its beats do not count any more, which is danger, then loss; it is
        said why and where; and the next session serves the same locks."""
        self.daemon.start()
        for attribute, wrong in self.SPOILT.items():
            with self.subTest(attribute), Client(self.daemon) as client:
                self.check_spoilt(client, attribute, wrong)
                print(f"our own session's {attribute} is spoilt: "
                      "in danger, lost, and a new one")

    def test_marked_dead(self):
        """With a mark of any type the session is dead, and its owner knows."""
        self.daemon.start()
        for mark in {"S": "a person"}, {"BOOL": True}, {"N": "1"}:
            with self.subTest(mark), Client(self.daemon) as client:
                grant = client.acquire("k", wait="60s")
                self.assertTrue(grant.ok, grant)
                self.spoil("dead", mark)
                lost = client.event("LOCK_LOST")
                self.assertEqual(lost["id"], grant["id"])
                self.check_serves(client, "other")
                self.check_serves(client, "k")

    def test_for_people_only(self):
        """An attribute that is not needed does no harm."""
        self.daemon.start()
        with Client(self.daemon) as client:
            grant = client.acquire("k", wait="60s")
            self.spoil("host", {"N": "1"})
            renewed = client.call(f"RENEW id={grant['id']}")
            self.assertTrue(renewed.ok, renewed)
            self.proxy.wait_seen("beat", self.proxy.count("beat") + 6)
            self.assertEqual(list(client.events), [])
            self.assertTrue(client.release(grant).ok)


if __name__ == "__main__":
    harness.main(dynamodb=True)
