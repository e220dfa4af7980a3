"""The tables of older clients: made as they expect them, and told apart."""
import os
import unittest

import harness
from harness import Daemon
from test_daemon_dynamodb import dynamodb

JS = "key_attribute = id\n"


class Format:
    """What a namespace says, and the table that must come of it."""

    def __init__(self, name, lines, keys, ttl=None):
        self.name = name
        self.lines = f"format = {name}\n{lines}"
        self.keys = keys
        self.ttl = ttl

    def schema(self):
        kinds = ("HASH", "RANGE")
        return {
            "KeySchema": [{"AttributeName": name, "KeyType": kinds[i]}
                          for i, (name, _) in enumerate(self.keys)],
            "AttributeDefinitions": [
                {"AttributeName": name, "AttributeType": kind}
                for name, kind in self.keys]}

    def text(self):
        words = ("partition", "sort")
        return ", ".join(f'{words[i]} key "{name}" ({kind})'
                         for i, (name, kind) in enumerate(self.keys))


# As the clients' own helpers make them, or else as their documents say.
FORMATS = [
    Format("awslabs", "", [("key", "S")]),
    Format("awslabs", "sort_attribute = sortKey\n",
           [("key", "S"), ("sortKey", "S")]),
    Format("awslabs", "ttl_attribute = expires\n", [("key", "S")], "expires"),
    Format("python", "", [("lock_key", "S"), ("sort_key", "S")],
           "expiry_time"),
    Format("python", "key_attribute = k\nsort_attribute = s\n"
           "ttl_attribute = gone\n", [("k", "S"), ("s", "S")], "gone"),
    Format("js-fail-open", JS, [("id", "S")]),
    Format("js-fail-open", JS + "key_type = N\nsort_attribute = part\n"
           "sort_type = B\n", [("id", "N"), ("part", "B")]),
    Format("js-fail-closed", JS + "key_type = B\n", [("id", "B")]),
    Format("dlock", "", [("key", "S")]),
]


def task(table, lines, *args):
    daemon = Daemon(
        "[namespace default]\nstore = dynamodb\nregion = us-east-1\n"
        f"table = {table}\n"
        f"endpoint = {harness.endpoint()}\n"
        "access_key_id = AKIDEXAMPLE\nsecret_access_key = s\n" + lines,
        args=args)
    try:
        return daemon.run()
    finally:
        daemon.close()


def ordered(items):
    return sorted(items, key=lambda item: item["AttributeName"])


class Tables(unittest.TestCase):
    def setUp(self):
        harness.need_dynamodb()
        self.table = f"t-{os.getpid()}-{self._testMethodName}"

    def create(self, table, form):
        dynamodb("CreateTable", TableName=table,
                 BillingMode="PAY_PER_REQUEST", **form.schema())

    def made(self, form, table):
        status, out, err = task(table, form.lines, "--init-table")
        self.assertEqual((status, harness.not_waiting(err)), (0, ""))
        self.assertIn(f"created, on demand; {form.text()}, ", out)
        made = dynamodb("DescribeTable", TableName=table)["Table"]
        wanted = form.schema()
        self.assertEqual(made["KeySchema"], wanted["KeySchema"])
        self.assertEqual(ordered(made["AttributeDefinitions"]),
                         ordered(wanted["AttributeDefinitions"]))
        live = dynamodb("DescribeTimeToLive", TableName=table)
        self.assertEqual(
            live["TimeToLiveDescription"].get("AttributeName"), form.ttl)
        for args in ("--init-table", "--check-table"):
            status, out, err = task(table, form.lines, args)
            self.assertEqual((status, harness.not_waiting(err)), (0, ""))
            self.assertIn("as it must be", out)

    def test_made_as_its_clients_expect_it(self):
        for number, form in enumerate(FORMATS):
            with self.subTest(form.lines):
                self.made(form, f"{self.table}-{number}")

    def found(self, form, table):
        self.create(table, form)
        status, out, err = task(table, form.lines, "--check-table")
        if form.ttl is None:
            self.assertEqual((status, harness.not_waiting(err)), (0, ""))
            self.assertIn("as it must be", out)
            return
        self.assertEqual(status, 78)
        self.assertIn("has no time to live (DISABLED), but the namespace "
                      f'needs it on attribute "{form.ttl}", or records of '
                      'free locks are never removed; "ddblock init-table" '
                      'switches it on\n', err)
        self.assertEqual(task(table, form.lines, "--init-table")[0], 0)
        self.assertEqual(task(table, form.lines, "--check-table")[0], 0)

    def test_made_by_its_clients(self):
        """That needs nothing, but the time to live if they have none."""
        for number, form in enumerate(FORMATS):
            with self.subTest(form.lines):
                self.found(form, f"{self.table}-{number}")

    def test_another_table(self):
        """Of names, of types, with and without a sort key: each is told."""
        others = [Format("", "", keys) for keys in (
            [("key", "S")], [("key", "S"), ("sortKey", "S")], [("id", "S")],
            [("id", "N")], [("lock_key", "S")],
            [("lock_key", "N"), ("sort_key", "S")])]
        for number, other in enumerate(others):
            table = f"{self.table}-{number}"
            self.create(table, other)
            for form in FORMATS:
                if form.keys == other.keys:
                    continue
                with self.subTest(other.text() + "; " + form.lines):
                    for args in ("--check-table", "--init-table"):
                        status, _, err = task(table, form.lines, args)
                        self.assertEqual(status, 78)
                        self.assertIn(
                            f"table {table} has {other.text()}, but the "
                            f"namespace needs {form.text()} and no other",
                            err)


if __name__ == "__main__":
    harness.main(dynamodb=True)
