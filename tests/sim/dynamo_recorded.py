"""Requests of older clients, for the differential test of the model of
DynamoDB: those of the recordings (tests/traces), and variations of them.

A variation is a recorded request of any of these clients for one of few keys,
with other attributes in the written item, and mostly with comparisons that
hold for the present item; so clients of all kinds meet in one record, of which
each knows only a part.
"""
import copy
import glob
import json
import os
import random
import re

KEYS = ["a", "b"]
INFORMED = 0.8  # of the values that are compared
OTHER_COMPARISON = 0.15
TRACES = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                      "..", "traces")


def read(name):
    with open(name, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


class Recorded:
    def __init__(self, prefix, seed):
        self.random = random.Random(seed)
        self.prefix = prefix
        self.recordings = [row for name in sorted(
            glob.glob(os.path.join(TRACES, "*.jsonl"))) for row in read(name)]
        if not self.recordings:
            raise AssertionError(f"there are no recordings in {TRACES}")
        self.values = {}  # of each attribute
        self.keys = {}  # of each table: its attributes
        for row in self.recordings:
            body = row["request"]
            if "Key" in body:
                self.keys[body["TableName"]] = list(body["Key"])
            for name, value in body.get("Item", {}).items():
                self.values.setdefault(name, []).append(value)
        self.tables = [self.create(t) for t in sorted(self.keys)]

    def maybe(self, chance):
        return self.random.random() < chance

    def create(self, table):
        names = self.keys[table]
        return {
            "TableName": self.prefix + table,
            "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [
                {"AttributeName": n, "AttributeType": "S"} for n in names],
            "KeySchema": [
                {"AttributeName": n, "KeyType": k}
                for n, k in zip(names, ("HASH", "RANGE"))]}

    def rows(self):
        for row in self.recordings:
            body = dict(row["request"])
            body["TableName"] = self.prefix + body["TableName"]
            yield row["operation"], body

    def look(self):
        """A read of one of the items that variations are about."""
        table = self.random.choice(sorted(self.keys))
        names = self.keys[table]
        key = {names[0]: {"S": self.random.choice(KEYS)}}
        key.update((n, {"S": "-"}) for n in names[1:])
        return {"TableName": self.prefix + table, "Key": key,
                "ConsistentRead": True}

    def variation(self, look, item):
        """(operation, request) for the item that @look shows."""
        table = look["TableName"][len(self.prefix):]
        row = self.random.choice([
            r for r in self.recordings if r["request"]["TableName"] == table])
        body = copy.deepcopy(row["request"])
        body["TableName"] = look["TableName"]
        if "Key" in body:
            body["Key"] = look["Key"]
        if "Item" in body:
            self.vary_item(body["Item"])
            body["Item"].update(look["Key"])
        if "ConditionExpression" in body:
            self.vary_condition(body, item)
            if self.maybe(0.5):
                body["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
        if row["operation"] != "GetItem" and self.maybe(0.3):
            body["ReturnValues"] = "ALL_OLD"
        return row["operation"], body

    def vary_item(self, item):
        for name in list(item):
            if self.maybe(0.2):
                item[name] = self.random.choice(self.values[name])
        if self.maybe(0.2):
            item["isReleased"] = {"S": "1"}
        if self.maybe(0.1):
            item["data"] = {"B": "AAEC"}

    def vary_condition(self, body, item):
        names = body["ExpressionAttributeNames"]
        values = body.get("ExpressionAttributeValues", {})
        text = body["ConditionExpression"]
        for name, value in re.findall(r"([#\w]+) <?= (:\w+)", text):
            current = item.get(names.get(name, name))
            if current is not None and self.maybe(INFORMED):
                values[value] = current
        body["ConditionExpression"] = re.sub(
            r"([#\w]+) <?= (:\w+)", self.vary_comparison, text)

    def vary_comparison(self, match):
        if not self.maybe(OTHER_COMPARISON):
            return match.group(0)
        name, value = match.groups()
        return self.random.choice([
            "%s <> %s", "%s < %s", "%s <= %s", "%s > %s", "%s >= %s",
            "%s IN (%s)", "NOT %s = %s"]) % (name, value) if self.maybe(
                0.8) else f"{name} BETWEEN {value} AND {value}"

    def views(self):
        """Looks at all that is there."""
        for table in sorted(self.keys):
            names = self.keys[table]
            yield "Scan", {"TableName": self.prefix + table,
                           "ConsistentRead": True}
            yield "BatchGetItem", {"RequestItems": {self.prefix + table: {
                "ConsistentRead": True,
                "Keys": [dict(zip(names, ({"S": k}, {"S": "-"})))
                         for k in KEYS + ["k1", "k2", "h0", "none"]]}}}
