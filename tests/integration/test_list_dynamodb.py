"""LIST on DynamoDB: pages, several namespaces, and what it may consume."""
import json
import os
import unittest

import harness
from harness import Client, Daemon
from runner import ddblock
from test_daemon_dynamodb import config, create_table, dynamodb

PAGE = 100
LOCKS = 450
HOLDER = "0" * 31 + "1." + "0" * 31 + "2.20000.-"


def fill(table, padding=0):
    """Each fifth of the locks is held, in a session that is over."""
    requests = [{"key": {"S": "session:" + "0" * 31 + "1"},
                 "beat": {"N": "1"}, "lease_ms": {"N": "20000"},
                 "dead": {"S": "self"}}]
    for i in range(LOCKS):
        item = {"key": {"S": f"lock:{'ab'[i % 2]}/{i:03}"},
                "token": {"N": "7"}, "mode": {"S": "x"},
                "note": {"S": "x" * padding}}
        if i % 5 == 0:
            item["holders"] = {"SS": [HOLDER]}
        requests.append(item)
    for at in range(0, len(requests), 25):
        left = dynamodb("BatchWriteItem", RequestItems={table: [
            {"PutRequest": {"Item": item}} for item in requests[at:at + 25]]})
        assert not left["UnprocessedItems"], left


class Listing(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        harness.need_dynamodb()
        cls.tables = [f"list-{os.getpid()}-{n}" for n in range(2)]
        for table, padding in zip(cls.tables, (0, 1000)):
            create_table(table, "key")
            fill(table, padding)

    def daemon(self, table, **settings):
        lines = "".join(f"{k} = {v}\n" for k, v in settings.items())
        daemon = Daemon(config(table) + lines + "[namespace local]\n"
                        "store = sqlite\nfile = {dir}/local.db\n").start()
        self.addCleanup(daemon.close)
        # Its own session is in the table, and is read, too.
        daemon.wait_log("namespace default: the session is open")
        return daemon

    def test_pages(self):
        daemon = self.daemon(self.tables[0], list_capacity=0)
        with Client(daemon) as client:
            reply = client.call("LIST progress=0")
            self.assertEqual(sorted(row["key"] for row in reply.rows),
                             sorted(f"{'ab'[i % 2]}/{i:03}"
                                    for i in range(LOCKS)))
            shown = ddblock(daemon, "list", "--json").stdout
            self.assertEqual([row["key"] for row in json.loads(shown)],
                             sorted(row["key"] for row in reply.rows))
            # The sessions are looked at, too.
            self.assertGreater(int(reply["examined"]), LOCKS)
            self.assertGreater(int(reply["units"]), 4)
            told = sorted({int(e["examined"]) for e in client.events} -
                          {0})
            self.assertEqual(told[:4], [PAGE * i for i in range(1, 5)])
            for words, rows in (
                    ("prefix=a/", LOCKS // 2), ("state=held", LOCKS // 5),
                    ("state=free", LOCKS - LOCKS // 5), ("state=dead", 0),
                    ("prefix=b/ state=held,dead", LOCKS // 10)):
                listed = client.call("LIST " + words)
                self.assertEqual(len(listed.rows), rows, words)
                # For any filter, all items are read.
                self.assertEqual(listed["examined"], reply["examined"])
            self.assertTrue(client.acquire("a/000").ok)
            dead = client.call("LIST state=dead").rows
            self.assertEqual(len(dead), LOCKS // 5 - 1)

    def test_namespaces(self):
        daemon = self.daemon(self.tables[0], list_capacity=0)
        with Client(daemon) as client:
            self.assertTrue(client.try_("here", ns="local").ok)
            rows = client.call("LIST ns=local,default state=held").rows
            self.assertEqual([row["ns"] for row in rows],
                             ["default"] * (LOCKS // 5) + ["local"])

    def test_capacity(self):
        """One unit a second, and a page is many: no other client waits."""
        daemon = self.daemon(self.tables[1], list_capacity=1)
        with Client(daemon) as client:
            tag = client.send("LIST progress=0")
            told = client.event("LISTING")
            while told["examined"] == "0":
                told = client.event("LISTING")
            self.assertEqual(int(told["examined"]), PAGE)
            self.assertGreater(int(told["units"]), 20)
            # It tells while it waits, too.
            self.assertEqual(client.event("LISTING")["examined"],
                             told["examined"])
            with Client(daemon) as other:
                # Another one waits as well, and may leave.
                other.send("LIST prefix=a")
                self.assertTrue(other.release(other.try_("other")).ok)
                self.assertTrue(other.call("GET b/001").ok)
                self.assertEqual(len(other.call("LIST ns=local").rows), 0)
            self.assertEqual(client.call(f"CANCEL tag={tag}")["cancelled"],
                             "yes")
            reply = client.reply(tag)
            self.assertEqual(reply.code, "CANCELLED")
            # One of the two sessions may be in that page, or both.
            self.assertIn(len(reply.rows), range(PAGE - 2, PAGE + 1))

    def test_who_leaves_while_it_waits(self):
        daemon = self.daemon(self.tables[1], list_capacity=1)
        with Client(daemon) as client:
            with Client(daemon) as leaver:
                leaver.send("LIST progress=0")
                leaver.event("LISTING")
            while client.call("STATUS")["connections"] != "1":
                pass
            client.send("LIST")
        # A listing that waits does not hold up the end.


if __name__ == "__main__":
    harness.main(dynamodb=True)
