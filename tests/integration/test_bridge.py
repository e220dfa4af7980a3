"""A fleet that moves from an older client's format to our own, over a bridge.

Three daemons, one for each phase: the old format, the bridge, the native one.
Any two neighbours exclude each other, in any order and after any death.
"""
import base64
import unittest

import harness
from harness import Client, Daemon
from test_daemon_dynamodb import config, create_table, dynamodb

LEASE_S = 4


def namespace(name, table, more=""):
    text = config(table, lease=f"{LEASE_S}s") + more
    return text.replace("[namespace default]", f"[namespace {name}]")


class Phases:
    """A daemon in each."""
    format = None  # of the old ones, with what it needs

    def setUp(self):
        harness.need_dynamodb()
        test = f"{type(self).__name__}-{self._testMethodName}"
        self.old, self.new = f"old-{test}", f"new-{test}"
        create_table(self.old, "key")
        create_table(self.new, "key")
        self.daemons = {
            "old": self.daemon(
                namespace("default", self.old, self.format)),
            "bridge": self.daemon(
                namespace("default", self.new, "bridge = old\n") +
                namespace("old", self.old, self.format)),
            "native": self.daemon(namespace("default", self.new)),
        }
        # The first request of each looks at its table.
        for phase in self.daemons:
            client = self.client(phase)
            self.assertEqual(client.call("ACQUIRE warm wait=20s").code, "OK")
            client.close()

    def daemon(self, text):
        daemon = Daemon(text)
        self.addCleanup(daemon.close)
        daemon.start()
        return daemon

    def client(self, phase):
        client = Client(self.daemons[phase])
        self.addCleanup(client.close)
        return client

    def grant(self, client, request):
        reply = client.call(request)
        self.assertEqual(reply.code, "OK", reply)
        return reply


class Bridge(Phases, unittest.TestCase):
    format = "format = awslabs\nlease_text = go\n"

    def exclude(self, first, second):
        """One holds, the other waits, and gets it when that is released."""
        a, b = self.client(first), self.client(second)
        held = self.grant(a, "ACQUIRE k wait=20s")
        self.assertEqual(b.call("TRY k").code, "LOCK_BUSY")
        waiting = b.send("ACQUIRE k wait=30s")
        self.grant(a, f"RELEASE id={held['id']}")
        reply = b.reply(waiting)
        self.assertEqual(reply.code, "OK", reply)
        self.assertEqual(a.call("TRY k").code, "LOCK_BUSY")
        self.grant(b, f"RELEASE id={reply['id']}")

    def test_neighbours_exclude_each_other(self):
        for one, other in (("old", "bridge"), ("bridge", "native")):
            self.exclude(one, other)
            self.exclude(other, one)

    def test_one_hold_of_two_records(self):
        client = self.client("bridge")
        client.hello(renewed="yes")
        held = self.grant(client, "TRY k")
        self.assertGreater(int(held["token"]), 0)
        self.assertNotIn("rows", held.arguments)
        for table in (self.old, self.new):
            items = dynamodb("Scan", TableName=table)["Items"]
            keys = [i["key"]["S"].split(":")[-1] for i in items
                    if "ownerName" in i or "holders" in i]
            self.assertEqual(keys, ["k"], items)
        # Each renewal of either says how long both are good.
        until = int(held["until_boot_ms"])
        while until <= int(held["until_boot_ms"]):
            event = client.event("LOCK_SAFE")
            self.assertEqual(event["id"], held["id"])
            self.assertGreaterEqual(int(event["until_boot_ms"]), until)
            until = int(event["until_boot_ms"])
        renewed = self.grant(client, f"RENEW id={held['id']}")
        self.assertGreaterEqual(int(renewed["until_boot_ms"]), until)

    def test_it_has_what_both_have(self):
        client = self.client("bridge")
        for terms, what in (("mode=shared", "shared use"),
                            ("data=x", "data"),
                            ("policy=fail-closed", "fail-closed holds")):
            reply = client.call(f"TRY k {terms}")
            self.assertEqual(reply.code, "UNSUPPORTED")
            self.assertIn("awslabs", reply.text)
            self.assertIn(what, reply.text)

    def test_several_keys(self):
        client = self.client("bridge")
        held = self.grant(client, "ACQUIRE k1 k2 wait=20s")
        self.assertEqual(held["rows"], "2")
        for phase in ("old", "native"):
            other = self.client(phase)
            for key in ("k1", "k2"):
                self.assertEqual(other.call(f"TRY {key}").code, "LOCK_BUSY")
        self.grant(client, f"RELEASE id={held['id']}")
        self.grant(self.client("old"), "TRY k1")
        self.grant(self.client("native"), "TRY k2")

    def test_lost_where_one_is_lost(self):
        """A user deletes the old record: the native one is released."""
        client = self.client("bridge")
        held = self.grant(client, "TRY k")
        dynamodb("DeleteItem", TableName=self.old, Key={"key": {"S": "k"}})
        event = client.event("LOCK_LOST")
        self.assertEqual((event["id"], event["reason"]),
                         (held["id"], "stolen"))
        self.grant(self.client("native"), "ACQUIRE k wait=20s")
        self.grant(self.client("old"), "ACQUIRE k wait=20s")

    def test_death(self):
        """kill -9 of a bridging daemon: both records are free in a lease."""
        client = self.client("bridge")
        held = self.grant(client, "TRY k")
        old, native = self.client("old"), self.client("native")
        waiting = [(c, c.send("ACQUIRE k wait=60s")) for c in (old, native)]
        self.daemons["bridge"].kill()
        for other, tag in waiting:
            self.assertEqual(other.reply(tag).code, "OK")
            self.assertGreater(harness.boot_ms(), int(held["until_boot_ms"]))

    def test_refused_configurations(self):
        for more, why in (
                ("bridge = nobody\n", "no such namespace"),
                ("bridge = default\n", "this namespace itself"),
                ("bridge = other\n", "nothing to move from")):
            text = (namespace("default", self.new, more) +
                    namespace("other", self.old))
            daemon = Daemon(text, args=["--check-config"])
            self.addCleanup(daemon.close)
            status, _, errors = daemon.run()
            self.assertNotEqual(status, 0)
            self.assertIn(why, errors)


class Tokens(Phases):
    """If the old format has tokens, too, the tokens of both only rise."""

    def put(self, token):
        """Free, in the old format, with that token."""
        raise NotImplementedError

    def token_of(self, item):
        raise NotImplementedError

    def setUp(self):
        super().setUp()
        self.last = 0

    def take(self, client, key="k"):
        held = self.grant(client, f"ACQUIRE {key} wait=30s")
        token = int(held.arguments.get("token_text", held["token"]))
        self.assertGreater(token, self.last, held)
        self.last = token
        return held

    def pass_on(self, *phases):
        for phase in phases:
            client = self.client(phase)
            held = self.take(client)
            if phase == "bridge":
                self.expect_records(self.last)
            self.grant(client, f"RELEASE id={held['id']}")

    def records(self):
        old = dynamodb("GetItem", TableName=self.old, ConsistentRead=True,
                       Key={"key": {"S": "k"}})["Item"]
        new = dynamodb("GetItem", TableName=self.new, ConsistentRead=True,
                       Key={"key": {"S": "lock:k"}})["Item"]
        return self.token_of(old), int(new["token"]["N"])

    def expect_records(self, token):
        self.assertEqual(self.records(), (token, token))

    def test_tokens_rise(self):
        self.pass_on("old", "old", "bridge", "old", "bridge", "bridge", "old",
                     "bridge", "native", "bridge", "native", "native",
                     "bridge", "bridge", "native")

    def test_from_client_to_client(self):
        clients = [self.client("bridge") for _ in range(5)]
        held = self.take(clients[0])
        waiting = [c.send("ACQUIRE k wait=30s") for c in clients[1:]]
        for at, tag in enumerate(waiting):
            self.grant(clients[at], f"RELEASE id={held['id']}")
            held = clients[at + 1].reply(tag)
            self.assertEqual(held.code, "OK", held)
            self.assertGreater(int(held["token"]), self.last)
            self.last = int(held["token"])
            self.expect_records(self.last)

    def test_several_keys(self):
        tokens = {"k1": 0, "k2": 0}
        for phase in ("old", "bridge", "native", "bridge"):
            client = self.client(phase)
            held = self.grant(client, "ACQUIRE k1 k2 wait=20s")
            for row in held.rows:
                self.assertGreater(int(row["token"]), tokens[row["key"]])
                tokens[row["key"]] = int(row["token"])
            self.grant(client, f"RELEASE id={held['id']}")

    def test_the_old_one_is_ahead(self):
        self.put(2**53 - 4)
        self.pass_on("bridge", "bridge")
        self.expect_records(2**53 - 2)


class JsFailOpen(Tokens, unittest.TestCase):
    format = "format = js-fail-open\nkey_attribute = key\n"

    def put(self, token):
        dynamodb("PutItem", TableName=self.old, Item={
            "key": {"S": "k"}, "owner": {"S": "js"},
            "guid": {"B": base64.b64encode(bytes(64)).decode()},
            "leaseDurationMs": {"N": "1"}, "fencingToken": {"N": str(token)}})

    def token_of(self, item):
        return int(item["fencingToken"]["N"])

    def test_no_room(self):
        """Nothing is above the last of all: it is refused, and stays."""
        self.put(2**53 - 1)
        reply = self.client("bridge").call("ACQUIRE k wait=20s")
        self.assertEqual(reply.code, "BAD_RECORD", reply)
        for word in (self.old, '"k"', '"fencingToken"', "2^53"):
            self.assertIn(word, reply.text)
        self.put(2**53 - 2)
        self.pass_on("bridge")
        reply = self.client("native").call("ACQUIRE k wait=20s")
        self.assertEqual(reply.code, "BAD_RECORD", reply)
        for word in (self.new, '"lock:k"', '"token"', "2^53"):
            self.assertIn(word, reply.text)
        self.expect_records(2**53 - 1)


class DlockFencing(Tokens, unittest.TestCase):
    format = "format = dlock\nfencing = yes\ntrust_clock = yes\n"

    def put(self, token):
        value = token.to_bytes((token.bit_length() + 7) // 8, "big")
        dynamodb("PutItem", TableName=self.old, Item={
            "key": {"S": "k"}, "owner": {"S": "go"}, "until": {"N": "1000"},
            "fencingToken": {"B": base64.b64encode(value).decode()}})

    def token_of(self, item):
        value = base64.b64decode(item["fencingToken"]["B"])
        return int.from_bytes(value, "big")

    def test_more_than_numbers_have_room_for(self):
        """It is told as it is; no native one could be above it."""
        self.put(2**60)
        for at in range(2):
            client = self.client("bridge")
            held = self.take(client)
            self.assertEqual(held["token"], "0")
            self.assertEqual(held["token_text"], str(2**60 + 1 + at))
            old, native = self.records()
            self.assertEqual(old, 2**60 + 1 + at)
            self.assertLess(native, 2**53 - 2**40)
            self.grant(client, f"RELEASE id={held['id']}")


if __name__ == "__main__":
    harness.main(dynamodb=True)
