#!/usr/bin/env python3
"""The model of DynamoDB against DynamoDB Local: the same requests to both.

    test_dynamo.py [SEED [COUNT]]

Several threads, each with tables and a model of its own, send to both what is
random (dynamo_random.py), what is at the limits (dynamo_limits.py), what our
own record format writes (dynamo_native.c) and what older clients do
(dynamo_recorded.py), and compare the status, the name of the error and what
the answer shows of items. Sets have no order, and
numbers no spelling.

Where the two may differ is listed below, each with its reason; what differs
in another way is a failure. The same seed makes the same requests.
"""
import collections
import decimal
import http.client
import json
import os
import re
import secrets
import subprocess
import sys
import threading
import unittest
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "integration"))
import harness  # noqa: E402  (after its path is known)
import dynamo_limits  # noqa: E402
import dynamo_recorded  # noqa: E402
from dynamo_random import Maker, Table  # noqa: E402

THREADS = 4
COUNT = 20000
NATIVE = 0.3  # of all requests
RECORDED = 0.2
BROKEN = 0.2  # of the random ones
SHOWN_MAX = 10  # mismatches

Answer = collections.namedtuple("Answer", "status body")
Difference = collections.namedtuple("Difference", "name reason fits")
Request = collections.namedtuple("Request", "operation body changes broken")


def error_name(answer):
    return answer.body.get("__type", "").split("#")[-1]


# -- what may differ --------------------------------------------------------

def nested_part(part, whole):
    """Is @part what some nested paths show of @whole?"""
    if part == whole:
        return True
    if not (isinstance(part, dict) and isinstance(whole, dict)):
        return False
    if "L" in part and "L" in whole:
        left = list(whole["L"])
        for element in part["L"]:
            while left and not nested_part(element, left[0]):
                left.pop(0)
            if not left:
                return False
            left.pop(0)
        return True
    return all(k in whole and nested_part(v, whole[k])
               for k, v in part.items())


def is_nested_return(request, local, model):
    if not (request.operation == "UpdateItem" and
            isinstance(request.body, dict) and
            str(request.body.get("ReturnValues")).startswith("UPDATED_") and
            local.status == model.status == 200):
        return False
    return nested_part(model.body.get("Attributes", {}),
                       local.body.get("Attributes", {}))


def only_takes_away(update):
    """Has this expression neither SET nor ADD?"""
    return isinstance(update, str) and \
        not re.search(r"(^|\s)(SET|ADD)\s", update, re.IGNORECASE)


def actions(request):
    """Those of a transaction."""
    if request.operation != "TransactWriteItems" or \
            not isinstance(request.body, dict):
        return []
    items = request.body.get("TransactItems")
    return items if isinstance(items, list) else []


def is_idle(request):
    """Does it hold an update that only takes away?"""
    if not isinstance(request.body, dict):
        return False
    if request.operation == "UpdateItem":
        return only_takes_away(request.body.get("UpdateExpression"))
    return any(only_takes_away(a["Update"].get("UpdateExpression"))
               for a in actions(request) if "Update" in a)


def is_idle_answer(request, local, model):
    return (request.operation == "UpdateItem" and is_idle(request) and
            local.status == model.status == 200 and
            "Attributes" not in model.body and
            local.body["Attributes"] == plain_item(request.body["Key"]))


def is_idle_item(request, local, model):
    """The look at an item after such an update."""
    return (request.operation == "GetItem" and
            isinstance(request.broken, Request) and
            is_idle(request.broken) and "Item" not in model.body and
            local.body.get("Item") == plain_item(request.body["Key"]))


def is_reason(request, local, model):
    return (request.operation == "TransactWriteItems" and
            error_name(local) == "ValidationException" and
            any(code == "ValidationError" for code, _ in
                model.body.get("CancellationReasons", [])))


def is_item_twice(request, _, model):
    keys = [json.dumps(key) for _, key in request.changes]
    return (len(keys) > len(set(keys)) and actions(request) and
            error_name(model) == "ValidationException")


def is_early_judgement(request, local, model):
    return (request.broken == "table" and
            error_name(local) == "ResourceNotFoundException" and
            error_name(model) == "ValidationException")


def is_update_of_nothing(request, _, model):
    return (error_name(model) == "ValidationException" and
            any("UpdateExpression" not in a["Update"]
                for a in actions(request) if "Update" in a))


def is_empty_word(request, _, model):
    return (request.broken in ("word", "json") and
            error_name(model) == "ValidationException" and
            "" in request.body.values())


def is_capacity_word(request, _, model):
    return (request.broken == "word" and
            error_name(model) == "ValidationException" and
            request.body.get("ReturnConsumedCapacity") not in
            (None, "NONE", "TOTAL", "INDEXES"))


DIFFERENCES = [
    Difference(
        "nested UPDATED_OLD and UPDATED_NEW",
        "the service returns the elements that were updated, Local the whole "
        "attribute that they are in", is_nested_return),
    Difference(
        "the answer to an update that only takes away",
        "the service makes no item where there was none", is_idle_answer),
    Difference(
        "the item after an update that only takes away",
        "the service makes no item where there was none", is_idle_item),
    Difference(
        "an update in a transaction that the item's types do not allow",
        "the service cancels the transaction with a reason ValidationError "
        "(TransactWriteItems in its reference), Local refuses it", is_reason),
    Difference(
        "two actions of a transaction on one item",
        "the service refuses that, Local does not if one is a "
        "ConditionCheck", is_item_twice),
    Difference(
        "an Update in a transaction without an UpdateExpression",
        "the service requires it (Update in its reference)",
        is_update_of_nothing),
    Difference(
        "an invalid request for a table that is not there",
        "the service judges a request before it looks for the table, Local "
        "types and unused names only after", is_early_judgement),
    Difference(
        "an empty word, such as ReturnValues",
        "the service knows some words, Local takes an empty one for none",
        is_empty_word),
    Difference(
        "a ReturnConsumedCapacity that is none",
        "the service knows three words, Local takes any", is_capacity_word),
    Difference(
        "JSON of a wrong form",
        "the service answers SerializationException; Local takes what Java "
        "can convert, or fails with InternalFailure",
        lambda request, local, model:
        request.broken in ("json", "text") and
        error_name(model) == "SerializationException"),
    Difference(
        "JSON of a wrong form, and something else wrong",
        "the model does not read all before it judges",
        lambda request, local, model:
        request.broken == "json" and local.status == 500 and
        error_name(model) == "ValidationException"),
]


# -- the two sides ----------------------------------------------------------

class Local:
    def __init__(self):
        url = urllib.parse.urlparse(harness.endpoint())
        self.connection = http.client.HTTPConnection(
            url.hostname, url.port, timeout=harness.TIMEOUT_S)

    def ask(self, operation, text):
        self.connection.request("POST", "/", text.encode(), {
            "X-Amz-Target": "DynamoDB_20120810." + operation,
            "Content-Type": "application/x-amz-json-1.0",
            "Authorization":
                "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20260101/us-east-1/"
                "dynamodb/aws4_request, SignedHeaders=host, Signature=0"})
        answer = self.connection.getresponse()
        return Answer(answer.status, json.loads(answer.read()))

    def close(self):
        self.connection.close()


class Model:
    def __init__(self):
        self.process = subprocess.Popen(
            [harness.program("dynamo_pipe")], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE)

    def ask(self, operation, text):
        self.process.stdin.write(f"{operation}\t{text}\n".encode())
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError(f"the model ended at {operation} {text}")
        status, body = line.decode().split("\t", 1)
        return Answer(int(status), json.loads(body))

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        if self.process.wait() != 0:
            raise AssertionError(f"the model ended with "
                                 f"{self.process.returncode}")


# -- comparing --------------------------------------------------------------

def plain_number(text):
    return format(decimal.Decimal(text).normalize(
        decimal.Context(prec=50)), "f") if decimal.Decimal(text) else "0"


def plain(value):
    """A value of an attribute, in one spelling."""
    if not isinstance(value, dict) or len(value) != 1:
        return value
    (kind, content), = value.items()
    if kind == "N":
        return {kind: plain_number(content)}
    if kind == "NS":
        return {kind: sorted(map(plain_number, content))}
    if kind in ("SS", "BS"):
        return {kind: sorted(content)}
    if kind == "L":
        return {kind: [plain(v) for v in content]}
    if kind == "M":
        return {kind: plain_item(content)}
    return value


def plain_item(item):
    return {name: plain(value) for name, value in item.items()}


def plain_items(items):
    return sorted(map(plain_item, items),
                  key=lambda i: json.dumps(i, sort_keys=True))


def plain_answer(answer, request):
    """What is compared of an answer, in one spelling."""
    body = {}
    metered = isinstance(request.body, dict) and request.body.get(
        "ReturnConsumedCapacity") in ("TOTAL", "INDEXES")
    for name, member in answer.body.items():
        if name in ("Item", "Attributes"):
            body[name] = plain_item(member)
        elif name == "Items":
            body[name] = plain_items(member)
        elif name == "Responses":
            body[name] = {t: plain_items(i) for t, i in member.items()}
        elif name == "CancellationReasons":
            body[name] = [(r["Code"], plain_item(r.get("Item") or {}))
                          for r in member]
        elif name == "ConsumedCapacity" and metered:
            body[name] = True  # Local sometimes tells it unasked
        elif name == "__type":
            body[name] = error_name(answer)
        elif name in ("Count", "ScannedCount", "UnprocessedKeys"):
            body[name] = member
    return Answer(answer.status, body)


class Pair(threading.Thread):
    """One thread's share: both sides, and what became of the requests."""

    def __init__(self, number, seed, count, results):
        super().__init__()
        self.number = number
        self.seed = seed * THREADS + number
        self.count = count
        self.results = results
        self.error = None
        prefix = f"d{os.getpid()}-{number}-"
        self.native = prefix + "native"
        self.prefix = prefix
        self.tables = [
            Table(prefix + "s", ("id", "S")),
            Table(prefix + "sn", ("id", "S"), ("at", "N")),
            Table(prefix + "nb", ("id", "N"), ("at", "B")),
            Table(prefix + "bs", ("id", "B"), ("at", "S"))]

    def run(self):
        self.local = self.model = None
        try:
            self.local = Local()
            self.model = Model()
            self.run_random(int(self.count * (1 - NATIVE - RECORDED)))
            self.run_native(int(self.count * NATIVE))
            self.run_recorded(int(self.count * RECORDED))
            if self.number == 0:
                self.run_limits()
        except Exception as e:  # told by the main thread
            self.error = e
        finally:
            for side in (self.local, self.model):
                if side is not None:
                    side.close()

    def both(self, operation, body):
        text = body if isinstance(body, str) else json.dumps(body)
        return [side.ask(operation, text)
                for side in (self.local, self.model)]

    def pages(self, side, body):
        """All pages of a scan, as if they were one."""
        total = {"Count": 0, "ScannedCount": 0, "Items": []}
        body = dict(body)
        while True:
            answer = side.ask("Scan", json.dumps(body))
            if answer.status != 200:
                return answer
            for name, sum_ in total.items():
                total[name] = sum_ + answer.body.get(name, type(sum_)())
            if "LastEvaluatedKey" not in answer.body:
                return Answer(200, total)
            if "Limit" in body and \
                    answer.body["ScannedCount"] > body["Limit"]:
                raise AssertionError("a page is beyond its limit")
            body["ExclusiveStartKey"] = answer.body["LastEvaluatedKey"]

    def compare(self, request):
        if request.operation == "Scan" and isinstance(request.body, dict):
            answers = [self.pages(side, request.body)
                       for side in (self.local, self.model)]
        else:
            answers = self.both(request.operation, request.body)
        local, model = (plain_answer(a, request) for a in answers)
        if local == model:
            self.results.agree(model)
            return
        if self.results.differ(self, request, local, model, answers):
            return
        # They go on from the same again, also if Local has made something
        # of a key that is none.
        for table, key in request.changes:
            self.both("DeleteItem", {"TableName": table.name, "Key": key})
            if request.broken and isinstance(request.body, dict):
                item = request.body.get("Item") or request.body.get("Key")
                self.both("DeleteItem", {"TableName": table.name, "Key": {
                    a: item[a] for a, _ in table.parts
                    if isinstance(item, dict) and a in item}})

    def check_item(self, request):
        """Have both done the same to the items?"""
        for table, key in request.changes:
            self.compare(Request(
                "GetItem", {"TableName": table.name, "Key": key,
                            "ConsistentRead": True},
                [(table, key)], request))

    def run_random(self, count):
        maker = Maker(self.seed, self.tables)
        for table in self.tables:
            for answer in self.both("CreateTable", table.create()):
                assert answer.status == 200, answer
        for _ in range(count):
            if maker.maybe(BROKEN):
                request = Request(*maker.broken())
            else:
                request = Request(*maker.valid(), None)
            self.compare(request)
            if is_idle(request) or maker.maybe(0.3):
                self.check_item(request)

    def run_limits(self):
        for operation, body in dynamo_limits.all_of(self.tables[0].name):
            self.compare(Request(operation, body, [], "limit"))

    def run_native(self, count):
        native = subprocess.run(
            [harness.program("dynamo_native"), self.native, str(self.seed),
             str(count)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            check=True, text=True)
        lines = native.stdout.splitlines()
        for answer in self.both(*lines[0].split("\t", 1)):
            assert answer.status == 200, answer
        for line in lines[1:]:
            operation, text = line.split("\t", 1)
            self.compare(Request(operation, json.loads(text), [], None))
        self.compare(Request("Scan", {"TableName": self.native}, [], None))

    def run_recorded(self, count):
        """What older clients do: as it was recorded, and then at random."""
        recorded = dynamo_recorded.Recorded(self.prefix, self.seed)
        for table in recorded.tables:
            for answer in self.both("CreateTable", table):
                assert answer.status == 200, answer
        for operation, body in recorded.rows():
            self.compare(Request(operation, body, [], None))
        for _ in range(count):
            look = recorded.look()
            shown = self.model.ask("GetItem", json.dumps(look))
            self.compare(Request(
                *recorded.variation(look, shown.body.get("Item", {})),
                [], None))
        for body in recorded.views():
            self.compare(Request(*body, [], None))


class Results:
    def __init__(self):
        self.lock = threading.Lock()
        self.kinds = collections.Counter()
        self.listed = collections.Counter()
        self.mismatches = 0

    def agree(self, answer):
        with self.lock:
            name = error_name(answer)
            self.kinds["succeeded" if answer.status == 200 else
                       "failed conditions" if name in (
                           "ConditionalCheckFailedException",
                           "TransactionCanceledException") else
                       "were invalid"] += 1

    def differ(self, pair, request, local, model, answers):
        """True, if the two answers mean the same after all."""
        with self.lock:
            for difference in DIFFERENCES:
                if difference.fits(request, local, model):
                    self.listed[difference] += 1
                    return False
            self.mismatches += 1
            if self.mismatches > SHOWN_MAX:
                return False
            print(f"MISMATCH in thread {pair.number}: {request.operation}, "
                  f"broken: {request.broken}")
            print(f"  request {json.dumps(request.body)}")
            for name, answer in zip(("Local", "model"), answers):
                print(f"  {name}   {answer.status} {json.dumps(answer.body)}")
        return False

    def tell(self):
        for difference, count in self.listed.items():
            print(f"listed: {count} times {difference.name}: "
                  f"{difference.reason}")
        total = sum(self.kinds.values()) + sum(self.listed.values())
        print(f"{total + self.mismatches} operations compared: " + ", ".join(
            f"{self.kinds[k]} {k}" for k in (
                "succeeded", "failed conditions", "were invalid")) +
            f", {sum(self.listed.values())} differ as listed, "
            f"{self.mismatches} do not agree")


def main():
    try:
        harness.program("dynamo_pipe")
        harness.program("dynamo_native")
        harness.beside_dynamodb()
        harness.need_dynamodb()
    except unittest.SkipTest as e:
        print(e)
        return 1 if os.environ.get("DDBLOCK_MUST_RUN") == "1" else 77
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else secrets.randbelow(10**9)
    count = int(sys.argv[2]) if len(sys.argv) > 2 else COUNT
    print(f"test_dynamo.py {seed} {count}", flush=True)
    results = Results()
    pairs = [Pair(i, seed, count // THREADS, results)
             for i in range(THREADS)]
    for pair in pairs:
        pair.start()
    for pair in pairs:
        pair.join()
    results.tell()
    for pair in pairs:
        if pair.error is not None:
            raise pair.error
    return 1 if results.mismatches > 0 else 0


if __name__ == "__main__":
    sys.exit(main())
