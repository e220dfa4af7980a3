#!/usr/bin/env python3
"""A table that is restored from a backup, beside running daemons, and
`ddblock raise-tokens`."""
import json
import os
import time
import unittest

import harness
from harness import Client, Daemon
from test_daemon_dynamodb import config, create_table, dynamodb
from test_drain import ddblock
from users import STRANGER, ask_as


def scan(table):
    """All items; the tables here have one page."""
    return dynamodb("Scan", TableName=table, ConsistentRead=True)["Items"]


def write(table, requests):
    for at in range(0, len(requests), 25):
        left = dynamodb("BatchWriteItem", RequestItems={
            table: requests[at:at + 25]})
        assert not left["UnprocessedItems"], left


def restore(table, backup):
    """What is newer is gone, the rest is as it was."""
    keys = [item["key"] for item in backup]
    write(table, [{"DeleteRequest": {"Key": {"key": item["key"]}}}
                  for item in scan(table) if item["key"] not in keys])
    write(table, [{"PutRequest": {"Item": item}} for item in backup])


def tokens(table):
    return {item["key"]["S"][5:]: int(item["token"]["N"])
            for item in scan(table) if item["key"]["S"].startswith("lock:")}


def backup_token(backup, key):
    return next(item["token"]["N"] for item in backup
                if item["key"]["S"] == "lock:" + key)


class Restored(unittest.TestCase):
    def setUp(self):
        harness.need_dynamodb()
        self.table = f"restored-{os.getpid()}-{self._testMethodName}"
        create_table(self.table, "key")

    def daemon(self, more=""):
        daemon = Daemon(config(self.table) + "audit = 1s\nidle = 0s\n" + more)
        self.addCleanup(daemon.close)
        return daemon.start()

    def token(self, client, key, **arguments):
        grant = client.acquire(key, wait="60s", **arguments)
        self.assertTrue(grant.ok, grant)
        self.assertTrue(client.release(grant).ok)
        return int(grant["token"])

    def hand_on(self, client, held, other):
        """To the other client, which waits for it: without a release."""
        tag = other.send("ACQUIRE x wait=60s")
        while client.call("STATUS").rows[0]["waiting"] != "1":
            pass
        self.assertTrue(client.release(held).ok)
        return other.reply(tag)

    def test_a_daemon_remembers(self):
        daemon = self.daemon()
        with Client(daemon) as client:
            self.token(client, "x")
            self.token(client, "y")
            backup = scan(self.table)
            given = max(self.token(client, "x") for _ in range(3))
            restore(self.table, backup)
            before = int(time.time()) << 20
            status = client.call("STATUS").rows[0]
            self.assertEqual(status["tokens_back"], "0")
            self.assertGreater(self.token(client, "x"), max(given, before))
            # Of y it knows nothing, but that the table is an old one.
            self.assertGreater(self.token(client, "y"), before)
            status = client.call("STATUS").rows[0]
            self.assertNotEqual(status["tokens_back"], "0")
        daemon.wait_log('lock "x" has token .*restored from a backup.*'
                        "raise-tokens")
        self.assertIn("records had lower tokens than before",
                      ddblock(daemon, "status")[1])
        status, out, err = ddblock(daemon, "--json", "check")
        self.assertEqual([c["state"] for c in json.loads(out)["findings"]
                          if c["check"] == "tokens"], ["warning"], (out, err))

    def test_under_a_hold(self):
        """The backup has an earlier block of the same hold's tokens."""
        daemon = self.daemon(more="handover_max = 4\n")
        with Client(daemon) as client, Client(daemon) as other:
            held = client.acquire("x", wait="60s")
            backup = scan(self.table)
            for _ in range(8):
                held = self.hand_on(client, held, other)
                client, other = other, client
            self.assertGreater(tokens(self.table)["x"],
                               int(backup_token(backup, "x")))
            restore(self.table, backup)
            daemon.wait_log('lock "x" has token .*restored from a backup')
            until = time.monotonic() + harness.TIMEOUT_S
            while tokens(self.table)["x"] < int(held["token"]):
                self.assertLess(time.monotonic(), until)
            self.assertTrue(client.release(held).ok)

    def test_raise_tokens(self):
        daemon = self.daemon()
        with Client(daemon) as client:
            for i in range(150):
                self.token(client, f"k{i}")
            held = client.acquire("held", wait="60s")
            shared = client.acquire("shared", wait="60s", mode="shared")
            before = tokens(self.table)
            status, out, err = ddblock(daemon, "raise-tokens", "--dry-run",
                                       f"--to={1 << 52}")
            self.assertEqual((status, out, err), (
                0, "152 of 152 records would be raised\n", ""))
            self.assertEqual(tokens(self.table), before)
            status, out, err = ddblock(daemon, "--json", "raise-tokens",
                                       "--prefix=k1")
            self.assertEqual((status, err), (0, ""))
            self.assertEqual(json.loads(out), {
                "records": 61, "low": 61, "raised": 61, "enough": 0,
                "gone": 0, "failed": 0})
            raised = (1 << 52) - 77     # up to the next whole number
            status, out, err = ddblock(daemon, "raise-tokens",
                                       f"--to={raised}")
            self.assertEqual((status, out, err), (
                0, "152 of 152 records were raised\n", ""))
            self.assertEqual(set(tokens(self.table).values()), {1 << 52})
            # Twice does no harm.
            self.assertEqual(ddblock(daemon, "raise-tokens",
                                     f"--to={raised}")[1],
                             "0 of 152 records were raised\n")
            # Holds go on, and what comes next is above.
            self.assertTrue(client.call(f"RENEW id={held['id']}").ok)
            self.assertTrue(client.release(held).ok)
            self.assertTrue(client.release(shared).ok)
            for key in ("held", "shared", "k7"):
                self.assertGreater(self.token(client, key), 1 << 52)

    def test_a_holder_hands_on_nothing_below(self):
        daemon = self.daemon()
        with Client(daemon) as client, Client(daemon) as other:
            held = client.acquire("x", wait="60s")
            to = (int(held["token"]) >> 20) + 1000 << 20
            reply = client.call(f"RAISE x to={to}")
            self.assertEqual((reply["token"], reply["raised"]),
                             (str(to), "yes"))
            reply = client.call(f"RAISE x to={to}")
            self.assertEqual((reply["token"], reply["raised"]),
                             (str(to), "no"))
            given = [int(held["token"])]
            for _ in range(250):
                held = self.hand_on(client, held, other)
                client, other = other, client
                given.append(int(held["token"]))
            self.assertEqual(given, sorted(set(given)))
            self.assertFalse([token for token in given
                              if given[0] + 1024 <= token < to])
            self.assertGreater(given[-1], to)

    def test_refusals(self):
        daemon = self.daemon()
        with Client(daemon) as client:
            self.assertEqual(client.call("RAISE none to=1").code,
                             "NO_SUCH_LOCK")
            self.assertEqual(client.call(f"RAISE none to={2 ** 53 - 1}").code,
                             "BAD_REQUEST")
            self.assertEqual(client.call("RAISE none to=0").code,
                             "BAD_REQUEST")
        self.assertEqual(ddblock(daemon, "raise-tokens", "--to=x")[0], 64)
        self.assertEqual(ddblock(daemon, "raise-tokens", "x")[0], 64)


class OneHost(unittest.TestCase):
    @unittest.skipUnless(os.geteuid() == 0,
                         "only root can be somebody else")
    def test_a_stranger(self):
        with Daemon() as daemon:
            self.assertIn(" ERR DENIED ",
                          ask_as(daemon, "RAISE x", STRANGER, STRANGER))
            daemon.wait_log("may not say RAISE")

    def test_embedded(self):
        """A file is restored as well."""
        with Daemon() as daemon, Client(daemon) as client:
            grant = client.try_("x")
            self.assertTrue(client.release(grant).ok)
            reply = client.call("RAISE x")
            self.assertEqual(reply["raised"], "yes")
            self.assertEqual(int(reply["token"]) % (1 << 20), 0)


if __name__ == "__main__":
    unittest.main()
