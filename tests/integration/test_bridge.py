"""A fleet that moves from an older client's format to our own, over a bridge.

Three daemons, one for each phase: the old format, the bridge, the native one.
Any two neighbours exclude each other, whoever comes first, and whatever dies.
"""
import unittest

import harness
from harness import Client, Daemon
from test_daemon_dynamodb import config, create_table, dynamodb

LEASE_S = 4


def namespace(name, table, more=""):
    text = config(table, lease=f"{LEASE_S}s") + more
    return text.replace("[namespace default]", f"[namespace {name}]")


class Bridge(unittest.TestCase):
    def setUp(self):
        harness.need_dynamodb()
        test = self._testMethodName
        self.old, self.new = f"old-{test}", f"new-{test}"
        create_table(self.old, "key")
        create_table(self.new, "key")
        old = "format = awslabs\nlease_text = go\n"
        self.daemons = {
            "old": self.daemon(namespace("default", self.old, old)),
            "bridge": self.daemon(
                namespace("default", self.new, "bridge = old\n") +
                namespace("old", self.old, old)),
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
        """Somebody deletes the old record: the native one is given back."""
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


if __name__ == "__main__":
    harness.main(dynamodb=True)
