"""Records that are not in the format of their table, written by hand.

A client that asks for such a lock is told the table, the key, the attribute and
what was expected; the record stays as it is, and other keys do not suffer.
"""
import base64
import os
import time
import unittest

import fault_proxy
import harness
from harness import Client, Daemon
from test_daemon_dynamodb import dynamodb

UUID = "1b4e28ba-2fa1-41d2-883f-0016d3cca427"
GUID = base64.b64encode(bytes(range(64))).decode()
SHORT_GUID = base64.b64encode(bytes(63)).decode()
LONG_TOKEN = base64.b64encode(bytes(16385)).decode()
ABSENT = None

# A value that is invalid in all formats, for any attribute.
NEVER = [{"BOOL": True}, {"NULL": True}, {"SS": ["1"]}, {"NS": ["1", "2"]},
         {"L": []}, {"M": {}}]
NO_TEXT = NEVER + [{"N": "1"}, {"B": "AQ=="}, {"S": "a\0b"}, ABSENT]
SEEN_TEXT = NEVER + [{"N": "1"}, {"B": "AQ=="}, ABSENT]
NO_NUMBER = NEVER + [{"S": "1"}, {"B": "AQ=="}, {"N": "-1"},
                     {"N": "99999999999999999999999999"}]
NO_BYTES = NEVER + [{"S": "AQ=="}, {"N": "1"}]
NO_GUID = NO_BYTES + [{"B": ""}, {"B": SHORT_GUID}, ABSENT]
NO_UUID = NO_TEXT + [{"S": ""}, {"S": "7"}, {"S": UUID + "0"},
                     {"S": UUID.replace("-", "0")}, {"S": UUID + "\0"}]


def epoch_ms(more_s):
    return int(time.time() * 1000) + more_s * 1000


class Format:
    """A namespace, a record that is in its format, and values that are not."""

    def __init__(self, lines, key, record, junk):
        self.lines = lines
        self.key = key
        self.record = record
        self.junk = junk

    def cases(self):
        for attribute, values in self.junk.items():
            for number, value in enumerate(values):
                record = {**self.record, attribute: value}
                if value is ABSENT:
                    del record[attribute]
                yield f"{attribute}-{number}", attribute, record


AWSLABS = {"ownerName": {"S": "theirs"}, "leaseDuration": {"S": "2000"},
           "recordVersionNumber": {"S": UUID}}
PYTHON = {"sort_key": {"S": "-"}, "owner_name": {"S": "theirs"},
          "lease_duration": {"N": "2.5"}, "record_version_number": {"S": UUID},
          "expiry_time": {"N": str(epoch_ms(3600) // 1000)}}
JS_OPEN = {"owner": {"S": "theirs"}, "guid": {"B": GUID},
           "leaseDurationMs": {"N": "2000"}, "fencingToken": {"N": "4"}}
JS_CLOSED = {"owner": {"S": "theirs"}, "guid": {"B": GUID}}
DLOCK = {"owner": {"S": "theirs"}, "until": {"N": str(epoch_ms(600))}}
JS = "key_attribute = id\n"
NO_LEASE_TEXT = NO_TEXT + [{"S": text} for text in (
    "", "0", "-5", "1.5", "2000 ", "0x10", "0s", "-1s", "s", "1y", "9" * 20,
    "31622400001", "9000h")]
NO_LEASE_MS = NO_NUMBER + [{"N": "0"}, {"N": "1.5"}, {"N": "31622400001"},
                           ABSENT]
NO_TOKEN = NO_NUMBER + [{"N": "9007199254740992"}, ABSENT]

FORMATS = {
    "awslabs": Format("format = awslabs\n", "key", AWSLABS, {
        "ownerName": NO_TEXT, "leaseDuration": NO_LEASE_TEXT,
        "recordVersionNumber": NO_UUID,
        "isReleased": NEVER + [{"S": "0"}, {"S": ""}, {"N": "1"}],
        "data": NO_BYTES, "na:me": [{"S": "x"}]}),
    "awslabs-go": Format("format = awslabs\nlease_text = go\n", "key", {
        **AWSLABS, "leaseDuration": {"S": "2s"},
        "recordVersionNumber": {"S": "any"}}, {
            "recordVersionNumber": NO_TEXT + [{"S": ""}]}),
    "python": Format("format = python\n", "lock_key", PYTHON, {
        "owner_name": NO_TEXT, "record_version_number": NO_UUID,
        "lease_duration": NO_NUMBER + [{"N": "0"}, {"N": "31622401"}, ABSENT],
        "expiry_time": NO_NUMBER + [{"N": "1.5"}, ABSENT]}),
    "js-fail-open": Format("format = js-fail-open\n" + JS, "id", JS_OPEN, {
        "owner": NO_TEXT, "guid": NO_GUID, "leaseDurationMs": NO_LEASE_MS,
        "fencingToken": NO_TOKEN + [{"N": "1.5"}]}),
    "js-fail-open-free": Format("format = js-fail-open\n" + JS, "id", {
        **JS_OPEN, "leaseDurationMs": {"N": "1"}}, {
            "owner": SEEN_TEXT, "guid": NO_GUID,
            "fencingToken": NO_TOKEN}),
    "js-fail-closed": Format("format = js-fail-closed\n" + JS, "id",
                             JS_CLOSED, {
        "owner": NO_TEXT, "guid": NO_GUID, "leaseDurationMs": [{"N": "1"}]}),
    "dlock": Format("format = dlock\ntrust_clock = yes\n", "key", DLOCK, {
        "owner": NO_TEXT, "until": NO_NUMBER + [{"N": "1e15"}, ABSENT]}),
    "dlock-fencing": Format(
        "format = dlock\ntrust_clock = yes\nfencing = yes\n", "key",
        {**DLOCK, "until": {"N": "1000"}, "fencingToken": {"B": "AQ=="}}, {
            "owner": NO_TEXT, "until": NO_NUMBER + [{"N": "1.5"}, ABSENT],
            "fencingToken": NO_BYTES + [{"B": ""}, {"B": LONG_TOKEN}]}),
}

# Formats in which a version counts: that of their record, and a long lease.
CROWDED = {
    "awslabs": (UUID, {"leaseDuration": {"S": "60000"}}),
    "python": (UUID, {"lease_duration": {"N": "60"}}),
    "js-fail-open": (GUID, {"leaseDurationMs": {"N": "60000"}}),
}


def table(name):
    return f"t-{os.getpid()}-{name}"


def namespace(name, lines):
    return (f"[namespace {name}]\nstore = dynamodb\nregion = us-east-1\n"
            f"table = {table(name)}\n"
            f"endpoint = {harness.endpoint()}\n"
            f"access_key_id = AKIDEXAMPLE\nsecret_access_key = s\n{lines}")


class Junk(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        harness.need_dynamodb()
        text = "[namespace default]\nstore = sqlite\nfile = {dir}/own.db\n"
        text += "".join(namespace(name, FORMATS[name].lines)
                        for name in FORMATS)
        for name in FORMATS:
            task = Daemon(text, args=["--init-table", f"--namespace={name}"])
            status, _, errors = task.run()
            task.close()
            assert status == 0, errors
        cls.daemon = Daemon(text)
        cls.addClassCleanup(cls.daemon.close)
        cls.daemon.start()

    def setUp(self):
        self.client = self.enterContext(Client(self.daemon))

    def put(self, name, key, record):
        dynamodb("PutItem", TableName=table(name),
                 Item={FORMATS[name].key: {"S": key}, **record})

    def item(self, name, key):
        keys = {FORMATS[name].key: {"S": key}}
        if name == "python":
            keys["sort_key"] = {"S": "-"}
        return dynamodb("GetItem", TableName=table(name), Key=keys,
                        ConsistentRead=True).get("Item")

    def refused(self, name, key, attribute, record):
        self.put(name, key, record)
        before = self.item(name, key)
        for request in ("TRY", "ACQUIRE", "GET"):
            wait = " wait=5s" if request == "ACQUIRE" else ""
            reply = self.client.call(f"{request} {key} ns={name}{wait}")
            self.assertEqual(reply.code, "BAD_RECORD", reply)
            self.assertIn(f'table {table(name)}, item "{key}"', reply.text)
            self.assertIn(f'attribute "{attribute}": expected ', reply.text)
        self.assertEqual(self.item(name, key), before)

    def format(self, name):
        for key, attribute, record in FORMATS[name].cases():
            with self.subTest(f"{attribute} = {record.get(attribute)}"[:80]):
                self.refused(name, key, attribute, record)
        grant = self.client.acquire("fine", ns=name, wait="60s")
        self.assertTrue(grant.ok, grant)
        self.assertTrue(self.client.release(grant).ok)

    def test_no_record_looks_like_that(self):
        """A client that names such a record for a break is told at once."""
        for name, form in FORMATS.items():
            self.put(name, "named", form.record)
            before = self.item(name, "named")
            for record in ("x", "%22", "=", "AAAA", "%C3%A4", UUID + "0",
                           GUID.replace("=", "%3D") + "0"):
                with self.subTest(f"{name}: {record}"):
                    reply = self.client.call(
                        f"BREAK named ns={name} record={record} reason=test")
                    self.assertIn(reply.code, (
                        "BAD_REQUEST", "WRONG_TOKEN", "NO_SUCH_LOCK"), reply)
            self.assertEqual(self.item(name, "named"), before)

    def test_no_room_for_a_token(self):
        """It can be read, but not acquired."""
        for lease_ms in ("1", "2000"):
            record = {**JS_OPEN, "leaseDurationMs": {"N": lease_ms},
                      "fencingToken": {"N": "9007199254740991"}}
            self.put("js-fail-open", lease_ms, record)
            before = self.item("js-fail-open", lease_ms)
            reply = self.client.call(
                f"ACQUIRE {lease_ms} ns=js-fail-open wait=60s")
            self.assertEqual(reply.code, "BAD_RECORD", reply)
            self.assertIn('attribute "fencingToken": expected a number (N) '
                          "that leaves room for more", reply.text)
            # A waiter marks a held record.
            after = self.item("js-fail-open", lease_ms)
            after.pop("ddblockd_marks", None)
            self.assertEqual(after, before)

    def test_more_marks_than_any_daemon_leaves(self):
        """A waiter for such a record looks, and does not try to mark it."""
        proxy = self.enterContext(fault_proxy.Proxy())
        text = "[namespace default]\nstore = sqlite\nfile = {dir}/own.db\n"
        text += "".join(namespace(name, FORMATS[name].lines)
                        for name in CROWDED)
        text = text.replace(harness.endpoint(), proxy.url)
        daemon = self.enterContext(Daemon(text))
        client = self.enterContext(Client(daemon))
        for name, (version, lease) in CROWDED.items():
            marks = [f"{n:032x}" for n in range(2500)] + [version]
            record = {**FORMATS[name].record, **lease,
                      "ddblockd_marks": {"SS": marks}}
            with self.subTest(name):
                self.put(name, "crowded", record)
                before = proxy.mark()
                reply = client.acquire("crowded", ns=name, wait="300ms")
                self.assertEqual(reply.code, "ACQUIRE_TIMEOUT", reply)
                self.assertEqual(proxy.count("mark", since=before), 0)
                self.assertGreater(proxy.count(since=before), 0)

    def test_records_that_look_the_same(self):
        """The time that one of them was watched does not count for another."""
        for name in ("awslabs", "awslabs-go", "python", "js-fail-open"):
            with self.subTest(name):
                record = FORMATS[name].record
                self.put(name, "watched", record)
                self.put(name, "other", record)
                reply = self.client.acquire("watched", ns=name, wait="60s")
                self.assertTrue(reply.ok, reply)
                sent_ms = harness.boot_ms()
                reply = self.client.try_("other", ns=name)
                self.assertEqual(reply.code, "LOCK_BUSY", reply)
                reply = self.client.acquire("other", ns=name, wait="60s")
                self.assertTrue(reply.ok, reply)
                self.assertGreaterEqual(harness.boot_ms(), sent_ms + 1900)

    def test_guids_of_any_kind(self):
        """A renewal may change any byte of it, however few."""
        for place in (0, 15, 16, 24, 63):
            with self.subTest(place):
                self.assertTrue(any(self.renewal_counts(place, n)
                                    for n in range(20)), "too late each time")

    def renewal_counts(self, place, n):
        """Renew before it can be over, which a busy machine may miss."""
        name, key = "js-fail-open", f"guid-{place}-{n}"
        self.put(name, key, JS_OPEN)
        sent_ms = harness.boot_ms()
        waiting = self.client.send(f"ACQUIRE {key} ns={name} wait=60s")
        busy = self.client.try_(key, ns=name).code == "LOCK_BUSY"
        harness.pass_boot_ms(sent_ms + 1000)
        guid = bytearray(range(64))
        guid[place] ^= 1
        renewing_ms = harness.boot_ms()
        self.put(name, key, {**JS_OPEN, "guid": {
            "B": base64.b64encode(guid).decode()}})
        renewed_ms = harness.boot_ms()
        reply = self.client.reply(waiting)
        self.assertTrue(reply.ok, reply)
        if renewed_ms >= sent_ms + 2000:
            return False
        self.assertTrue(busy)
        self.assertGreaterEqual(harness.boot_ms(), renewing_ms + 2000)
        return True

    def test_items_of_other_formats(self):
        """Each of them is junk to each other one with that key."""
        for name, form in FORMATS.items():
            for other, theirs in FORMATS.items():
                if other.split("-")[0:2] == name.split("-")[0:2] or \
                        other.split("-")[0] == name.split("-")[0] != "js":
                    continue
                key = f"of-{other}"
                with self.subTest(f"{other} in {name}"):
                    self.put(name, key, {**theirs.record,
                                         **({"sort_key": {"S": "-"}}
                                            if name == "python" else {})})
                    before = self.item(name, key)
                    reply = self.client.try_(key, ns=name)
                    self.assertEqual(reply.code, "BAD_RECORD", reply)
                    self.assertEqual(self.item(name, key), before)


def add_formats():
    for name in FORMATS:
        def test(self, name=name):
            self.format(name)
        setattr(Junk, "test_" + name.replace("-", "_"), test)


add_formats()

if __name__ == "__main__":
    harness.main(dynamodb=True)
