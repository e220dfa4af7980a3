"""The effect of older clients' format settings on records. Two daemons on one
table: what one of them writes is looked at in the table, and the other one
must understand it.
"""
import base64
import os
import re
import unittest

import harness
from harness import Client, Daemon, encode
from test_daemon_dynamodb import dynamodb

UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
MILLISECONDS = r"1[0-9]{12}"
JS = "format = js-fail-open\nkey_attribute = id\n"
DLOCK = "format = dlock\ntrust_clock = yes\n"
OWNER = ".*/.*:[0-9]+ .+"
UUID_OF_THEIRS = "1b4e28ba-2fa1-41d2-883f-0016d3cca427"
GUID = base64.b64encode(bytes(range(64))).decode()


def guid(text):
    return len(base64.b64decode(text)) == 64


class Case:
    """Settings, a key, and the record that they must make of it: attributes
    with their type and the form of their value."""

    def __init__(self, lines, record, key="k", sort=None):
        self.lines = lines
        self.record = record
        self.key = key
        self.sort = sort


AWSLABS = {"key": ("S", "k"), "ownerName": ("S", OWNER),
           "leaseDuration": ("S", "20000"),
           "recordVersionNumber": ("S", UUID)}
PYTHON = {"lock_key": ("S", "k"), "sort_key": ("S", "-"),
          "owner_name": ("S", OWNER), "lease_duration": ("N", "20"),
          "record_version_number": ("S", UUID),
          "expiry_time": ("N", "[0-9]{10}")}
JS_OPEN = {"id": ("S", "k"), "owner": ("S", OWNER), "guid": ("B", guid),
           "leaseDurationMs": ("N", "20000"), "fencingToken": ("N", "1")}
DLOCKED = {"key": ("S", "k"), "owner": ("S", OWNER + "-[0-9a-f]{32}"),
           "until": ("N", MILLISECONDS)}

CASES = {
    "awslabs": Case("format = awslabs\n", AWSLABS),
    "awslabs-go": Case("format = awslabs\nlease_text = go\n", {
        **AWSLABS, "leaseDuration": ("S", "20s")}),
    "awslabs-go-minutes": Case(
        "format = awslabs\nlease_text = go\nlease = 90s\n", {
            **AWSLABS, "leaseDuration": ("S", "1m30s")}),
    "awslabs-sort": Case(
        "format = awslabs\nsort_attribute = s\n",
        {**AWSLABS, "s": ("S", "part 1")}, sort="part 1"),
    "awslabs-names": Case(
        "format = awslabs\nkey_attribute = name\nprefix = p/\n"
        "rename = ownerName:who, recordVersionNumber:v\n", {
            "name": ("S", "p/k"), "who": ("S", OWNER), "v": ("S", UUID),
            "leaseDuration": ("S", "20000")}),
    "python": Case("format = python\n", PYTHON),
    "python-fraction": Case("format = python\nlease = 2500ms\n", {
        **PYTHON, "lease_duration": ("N", r"2\.5")}),
    "python-names": Case(
        "format = python\nttl_attribute = gone\nrename = owner_name:who\n", {
            **{name: PYTHON[name] for name in PYTHON
               if name not in ("owner_name", "expiry_time")},
            "who": ("S", OWNER), "gone": ("N", "[0-9]{10}")}),
    "js-fail-open": Case(JS, JS_OPEN),
    "js-fail-open-time": Case(JS + "local_time = yes\ntrust_clock = yes\n", {
        **JS_OPEN, "lockAcquiredTimeUnixMs": ("N", MILLISECONDS)}),
    "js-fail-open-number": Case(JS + "key_type = N\n", {
        **JS_OPEN, "id": ("N", "17")}, key="17"),
    "js-fail-open-bytes": Case(
        JS + "key_type = B\nsort_attribute = part\nsort_type = N\n", {
            **JS_OPEN, "id": ("B", "azE="), "part": ("N", "-3.5")},
        key="k1", sort="-3.5"),
    "js-fail-closed": Case(
        "format = js-fail-closed\nkey_attribute = id\n", {
            name: JS_OPEN[name] for name in ("id", "owner", "guid")}),
    "dlock": Case(DLOCK, DLOCKED),
    "dlock-fencing": Case(DLOCK + "fencing = yes\nprefix = nyc-\n", {
        **DLOCKED, "key": ("S", "nyc-k"), "fencingToken": ("B", "AQ==")}),
}

# The record that each release leaves.
STAYS = {"js-fail-open", "js-fail-open-time", "js-fail-open-number",
         "js-fail-open-bytes", "dlock-fencing"}


def config(table, lines):
    return ("[namespace default]\nstore = dynamodb\nregion = us-east-1\n"
            f"table = {table}\n"
            f"endpoint = {harness.endpoint()}\n"
            f"access_key_id = AKIDEXAMPLE\nsecret_access_key = s\n{lines}")


class Settings(unittest.TestCase):
    def setUp(self):
        harness.need_dynamodb()

    def daemons(self, name, lines):
        table = f"t-{os.getpid()}-{name}"
        text = config(table, lines)
        task = Daemon(text, args=["--init-table"])
        self.addCleanup(task.close)
        self.assertEqual(task.run()[0::2], (0, ""))
        daemons = Daemon(text), Daemon(text)
        for daemon in daemons:
            self.enterContext(daemon)
            daemon.wait_log(re.search(
                "^format = (.*)$", lines, re.M)[0].replace(" ", ""))
        return table, *(self.enterContext(Client(d)) for d in daemons)

    def items(self, table):
        return dynamodb("Scan", TableName=table,
                        ConsistentRead=True)["Items"]

    def expect(self, item, record):
        self.assertEqual(set(item), set(record), item)
        for name, (kind, form) in record.items():
            self.assertEqual(list(item[name]), [kind], name)
            value = item[name][kind]
            if callable(form):
                self.assertTrue(form(value), item)
            else:
                self.assertRegex(value, re.compile(f"^(?:{form})$"), name)

    def case(self, name):
        case = CASES[name]
        table, a, b = self.daemons(name, case.lines)
        where = {"sort": case.sort} if case.sort else {}
        grant = a.acquire(case.key, wait="60s", **where)
        self.assertTrue(grant.ok, grant)
        item, = self.items(table)
        self.expect(item, case.record)
        self.assertEqual(b.try_(case.key, **where).code, "LOCK_BUSY")
        self.assertEqual([row["key"] for row in b.call("LIST").rows],
                         [case.key])
        for client in (a, b):  # what never ends has no lease
            seen = client.call(f"GET {case.key}" + (
                f" sort={encode(case.sort)}" if case.sort else ""))
            self.assertEqual("lease" in seen.arguments,
                             name != "js-fail-closed", seen)
        self.assertTrue(a.release(grant).ok)
        self.assertEqual(len(self.items(table)), name in STAYS)
        second = b.acquire(case.key, wait="60s", **where)
        self.assertTrue(second.ok, second)
        self.assertEqual(a.try_(case.key, **where).code, "LOCK_BUSY")
        if name in STAYS:
            self.assertGreater(int(second["token"]), int(grant["token"]))

    def test_released_is_kept(self):
        table, a, b = self.daemons("kept", "format = awslabs\n"
                                   "released = keep\n")
        grant = a.acquire("k", wait="60s", data="x")
        self.assertTrue(grant.ok, grant)
        self.assertTrue(a.release(grant).ok)
        item, = self.items(table)
        self.assertEqual(item["isReleased"], {"S": "1"})
        second = b.acquire("k", wait="60s")
        self.assertTrue(second.ok, second)
        item, = self.items(table)
        self.assertNotIn("isReleased", item)
        self.assertEqual(item["data"], {"B": "eA=="})

    def left_after(self, name, lines, **arguments):
        """What others left in a released record, once it is acquired."""
        table, a, _ = self.daemons(name, "format = awslabs\n"
                                   "released = keep\n" + lines)
        self.assertTrue(a.release(a.acquire("k", wait="60s")).ok)
        dynamodb("UpdateItem", TableName=table, Key={"key": {"S": "k"}},
                 UpdateExpression="SET note = :n, #d = :d",
                 ExpressionAttributeNames={"#d": "data"},
                 ExpressionAttributeValues={":n": {"S": "theirs"},
                                            ":d": {"B": "b2xk"}})
        grant = a.acquire("k", wait="60s", **arguments)
        self.assertTrue(grant.ok, grant)
        item, = self.items(table)
        kept = {name: list(item[name].values())[0]
                for name in ("note", "data") if name in item}
        return kept, grant.get("data")

    def test_what_is_kept(self):
        """As updateExistingLockRecord and replaceData have it in Java."""
        note, data, new = {"note": "theirs"}, {"data": "b2xk"}, \
            {"data": "bmV3"}
        keeps_not = "keep_attributes = no\n"
        for number, (lines, arguments, kept, told) in enumerate((
                ("", {}, {**note, **data}, "old"),
                ("", {"data": "new"}, {**note, **new}, None),
                ("", {"data": "new", "replace_data": "no"},
                 {**note, **data}, "old"),
                ("", {"data": "new", "keep": "no"}, new, None),
                ("", {"data": "new", "keep": "no", "replace_data": "no"},
                 data, "old"),
                (keeps_not, {}, {}, None),
                (keeps_not, {"data": "new"}, new, None),
                (keeps_not, {"data": "new", "replace_data": "no"},
                 {**note, **data}, "old"),
                (keeps_not, {"data": "new", "replace_data": "no",
                             "keep": "no"}, data, "old"))):
            with self.subTest(f"{lines}{arguments}"):
                self.assertEqual(self.left_after(
                    f"left-{number}", lines, **arguments), (kept, told))

    def test_what_is_held_does_not_expire(self):
        """A time to live that the last holder set is not inherited."""
        record = {
            "awslabs": {"ownerName": {"S": "o"}, "isReleased": {"S": "1"},
                        "leaseDuration": {"S": "20000"},
                        "recordVersionNumber": {"S": UUID_OF_THEIRS}},
            "js-fail-open": {"owner": {"S": "o"}, "guid": {"B": GUID},
                             "leaseDurationMs": {"N": "1"},
                             "fencingToken": {"N": "1"}},
            "dlock": {"owner": {"S": "o"}, "until": {"N": "5000"}},
            "dlock-fencing": {"owner": {"S": "o"}, "until": {"N": "5000"},
                              "fencingToken": {"B": "AQ=="}},
        }
        for name, theirs in record.items():
            with self.subTest(name):
                lines = f"format = {name}\nkey_attribute = id\n"
                if name.startswith("dlock"):
                    lines = DLOCK + "key_attribute = id\n"
                if name == "dlock-fencing":
                    lines += "fencing = yes\n"
                table, a, _ = self.daemons(
                    f"expires-{name}", lines + "ttl_attribute = expires\n")
                dynamodb("PutItem", TableName=table, Item={
                    "id": {"S": "k"}, "expires": {"N": "1900000000"},
                    "note": {"S": "theirs"}, **theirs})
                grant = a.acquire("k", wait="60s")
                self.assertTrue(grant.ok, grant)
                item, = self.items(table)
                self.assertNotIn("expires", item)
                self.assertIn("note", item)


def add_cases():
    for name in CASES:
        def test(self, name=name):
            self.case(name)
        setattr(Settings, "test_" + name.replace("-", "_"), test)


add_cases()

if __name__ == "__main__":
    harness.main(dynamodb=True)
