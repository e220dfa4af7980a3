#!/usr/bin/env python3
"""The IAM policies of contrib/aws allow the daemon's requests, and no more.

The requests are recorded while the daemon does all that it can do, in each
format. The names of requests in its source show that none was left out.
"""
import fnmatch
import glob
import json
import os
import re
import unittest

import fault_proxy
import harness
from harness import Client, Daemon
from test_daemon_dynamodb import config

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
PREFIX = "team/"
# A transaction needs the permissions of its parts; ours has updates only.
PARTS = {"TransactWriteItems": "UpdateItem"}
CHECK = {"DescribeTable", "DescribeTimeToLive"}
OLDER = {
    "awslabs": "", "python": "",
    "js-fail-open": "key_attribute = mylocks\n",
    "js-fail-closed": "key_attribute = mylocks\n",
    "dlock": "trust_clock = yes\n",
}


def policy(name):
    path = os.path.join(TOP, "contrib", "aws", f"policy-{name}.json")
    with open(path, encoding="utf-8") as f:
        return json.load(f)["Statement"]


def allowed(name):
    return {action.removeprefix("dynamodb:")
            for statement in policy(name) for action in statement["Action"]}


def actions(requests):
    return {PARTS.get(r.operation, r.operation) for r in requests}


def keys(table, body):
    """The partition keys that a request is about, wherever they stand."""
    found = []
    if isinstance(body, list):
        for part in body:
            found += keys(table, part)
    elif isinstance(body, dict):
        for name, part in body.items():
            if name in ("Key", "Item"):
                found.append(part)
            elif name == "Keys":
                found += part
            else:
                found += keys(table, part)
    return found


class Policies(unittest.TestCase):
    def setUp(self):
        harness.need_dynamodb()
        self.table = f"t-{os.getpid()}-{self._testMethodName[5:]}"

    def text(self, proxy, more, table):
        # Not every format has leases.
        return config(table, endpoint=proxy.url).replace(
            "lease = 20s\n", "") + more

    def init(self, proxy, more, table):
        """What --init-table sends, a second time as well."""
        mark = proxy.mark()
        for _ in range(2):
            daemon = Daemon(self.text(proxy, more, table),
                            args=["--init-table"])
            try:
                status, _, err = daemon.run()
            finally:
                daemon.close()
            self.assertEqual((status, harness.not_waiting(err)), (0, ""))
        return proxy.seen(since=mark)

    def locks(self, proxy, more, table, native=False, lists=True):
        """What a daemon sends that does all it can."""
        mark = proxy.mark()
        text = self.text(proxy, more, table)
        with Daemon(text) as one, Daemon(text) as two, \
                Client(one) as a, Client(two) as b:
            grant = a.acquire("k", wait="60s")
            self.assertTrue(grant.ok, grant)
            self.assertEqual(b.try_("k").code, "LOCK_BUSY")
            self.assertTrue(b.call("GET k").ok)
            if lists:
                self.assertTrue(b.call("LIST").ok)
            self.assertTrue(a.release(grant).ok)
            again = b.acquire("k", wait="120s")
            self.assertTrue(again.ok, again)
            seen = a.call("GET k")
            what = f"token={seen['token']}" if native else \
                f"record={harness.encode(seen['record'])}"
            broken = a.call(f"BREAK k {what} reason=r")
            self.assertTrue(broken.ok, broken)
            kept = a.acquire("data", wait="60s", data="x")
            if kept.ok:  # not every format has data
                self.assertTrue(a.release(kept).ok)
            if native:
                shared = a.acquire("s", mode="shared", wait="60s")
                self.assertTrue(b.acquire("s", mode="shared",
                                          wait="60s").ok)
                self.assertTrue(a.release(shared).ok)
                self.assertTrue(a.call("ACQUIRE x y wait=60s").ok)
            self.assertTrue(a.call("CHECK").ok)
        return proxy.seen(since=mark)

    def test_native(self):
        with fault_proxy.Proxy() as proxy:
            made = actions(self.init(proxy, "", self.table))
            done = actions(self.locks(proxy, "", self.table, native=True))
        self.assertEqual(made, allowed("init-table"))
        self.assertEqual(done, allowed("daemon"))

    def test_older_formats(self):
        done = set()
        with fault_proxy.Proxy() as proxy:
            for form, more in OLDER.items():
                more = f"format = {form}\n{more}"
                table = f"{self.table}-{form}"
                made = actions(self.init(proxy, more, table))
                self.assertEqual(made - allowed("init-table"), set(), form)
                some = actions(self.locks(proxy, more, table))
                self.assertEqual(some - allowed("older-formats"), set(),
                                 form)
                done |= some
        self.assertEqual(done, allowed("older-formats"))

    def test_prefix(self):
        """Every key is one that the policy lets through."""
        statements = {s["Sid"]: s for s in policy("prefix")}
        patterns = [pattern.replace("PREFIX", PREFIX) for pattern in
                    statements["Lock"]["Condition"]
                    ["ForAllValues:StringLike"]["dynamodb:LeadingKeys"]]
        self.assertEqual({a.removeprefix("dynamodb:")
                          for a in statements["Look"]["Action"]}, CHECK)
        done = set()
        n_keys = 0
        with fault_proxy.Proxy() as proxy:
            for form in ("awslabs", "python"):
                more = f"format = {form}\nprefix = {PREFIX}\n"
                table = f"{self.table}-{form}"
                self.init(proxy, more, table)
                for request in self.locks(proxy, more, table, lists=False):
                    done |= actions([request])
                    for key in keys(table, request.body):
                        texts = [next(iter(value.values()))
                                 for value in key.values()]
                        self.assertTrue(any(
                            fnmatch.fnmatchcase(str(text), pattern)
                            for text in texts for pattern in patterns), key)
                        n_keys += 1
        self.assertGreater(n_keys, 20)
        # It looks whether it may list, which no such condition can narrow.
        self.assertEqual(done - {"Scan"}, allowed("prefix"))

    def test_observer_only_reads(self):
        self.assertEqual(allowed("observer"),
                         {a for a in allowed("daemon")
                          if not a.startswith(("Put", "Update"))})

    def test_nothing_was_left_out(self):
        """Each request that the source can name is in a policy."""
        named = set()
        for folder in ("dialect", "store"):
            for path in glob.glob(os.path.join(TOP, "src", folder, "*.c")):
                with open(path, encoding="utf-8") as f:
                    named |= set(re.findall(
                        r'"((?:Batch|Transact)?(?:Get|Write|Put|Update|Delete)'
                        r'Items?|Scan|Query|Describe\w+|CreateTable'
                        r'|DeleteTable|UpdateTimeToLive|UpdateTable)"',
                        f.read()))
        self.assertEqual({PARTS.get(name, name) for name in named},
                         allowed("daemon") | allowed("older-formats")
                         | allowed("init-table"))

    def test_each_is_for_one_table(self):
        for path in glob.glob(os.path.join(TOP, "contrib/aws/policy-*.json")):
            with open(path, encoding="utf-8") as f:
                document = json.load(f)
            self.assertEqual(document["Version"], "2012-10-17")
            for statement in document["Statement"]:
                self.assertEqual(statement["Effect"], "Allow")
                self.assertEqual(
                    statement["Resource"],
                    "arn:aws:dynamodb:REGION:ACCOUNT:table/TABLE", path)


if __name__ == "__main__":
    harness.main(dynamodb=True)
