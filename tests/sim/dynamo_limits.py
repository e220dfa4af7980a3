"""Requests at the limits of DynamoDB, and just beyond them.

Each is (operation, body). They need a table with the partition key `id` (S).
"""
ITEM_MAX = 400 * 1024
# Values, and how many bytes of an item they are.
SIZED = [
    ({"S": "\u00e4\U0001f512"}, 6), ({"B": "YWJj"}, 3), ({"B": ""}, 0),
    ({"N": "0"}, 1), ({"N": "1"}, 2), ({"N": "-1"}, 3), ({"N": "12"}, 2),
    ({"N": "123"}, 3), ({"N": "1234"}, 3), ({"N": "100"}, 2),
    ({"N": "0.5"}, 2), ({"N": "12345678901234567890123456789012345678"}, 20),
    ({"BOOL": True}, 1), ({"NULL": True}, 1), ({"SS": ["ab", "c"]}, 3),
    ({"NS": ["1", "22", "333"]}, 7), ({"BS": ["YQ==", "YWI="]}, 3),
    ({"L": []}, 3), ({"L": [{"S": "a"}, {"NULL": True}]}, 7), ({"M": {}}, 3),
    ({"M": {"ab": {"S": "c"}, "d": {"L": [{"S": "e"}]}}}, 14)]


def nested(depth, kind="L", leaf=None):
    value = leaf or {"S": "x"}
    for _ in range(depth):
        value = {"L": [value]} if kind == "L" else {"M": {"a": value}}
    return value


def items(table):
    """Items of just 400 KB, one byte less and one more."""
    for value, size in SIZED:
        for more in (-1, 0, 1):
            pad = ITEM_MAX - len("id") - 1 - len("v") - size - len("x")
            yield "PutItem", {"TableName": table, "Item": {
                "id": {"S": "a"}, "v": value,
                "x": {"S": "x" * (pad + more)}}}
    yield "UpdateItem", {
        "TableName": table, "Key": {"id": {"S": "a"}},
        "UpdateExpression": "SET y = :v",
        "ExpressionAttributeValues": {":v": {"S": "x" * ITEM_MAX}}}
    for kind in ("L", "M"):
        empty = {"L": []} if kind == "L" else {"M": {}}
        for depth in range(29, 35):
            for leaf in ({"S": "x"}, empty):
                value = nested(depth, kind, leaf)
                key = {"id": {"S": "deep"}}
                yield "PutItem", {"TableName": table,
                                  "Item": dict(key, v=value)}
                yield "UpdateItem", {
                    "TableName": table, "Key": key,
                    "UpdateExpression": "SET w = :v",
                    "ExpressionAttributeValues": {":v": value}}
                yield "UpdateItem", {
                    "TableName": table, "Key": key,
                    "ConditionExpression": "v = :v",
                    "ExpressionAttributeValues": {":v": value}}


def keys(table):
    for size in (0, 1, 1023, 1024, 1025, 2047, 2048, 2049):
        key = {"id": {"S": "k" * size}}
        yield "GetItem", {"TableName": table, "Key": key}
        yield "PutItem", {"TableName": table, "Item": key}
        yield "DeleteItem", {"TableName": table, "Key": key}


def conditions():
    for n in (99, 100, 101):
        yield f"a IN ({', '.join([':v'] * n)})"
    for n in (149, 150, 151):
        yield " AND ".join(["a = :v"] * n)
        yield " OR ".join(["attribute_exists(a)"] * n) + " OR a = :v"
        yield " AND ".join(["size(a) > :v"] * (n // 3 * 2))
        yield " AND ".join(["a BETWEEN :v AND :v"] * n)
        yield " AND ".join(["a IN (:v)"] * n)
    for n in (298, 299, 300):
        yield "NOT " * n + "a = :v"
    for n in (4095, 4096, 4097):
        yield "a = :v" + " " * (n - 6)
    for n in (30, 31, 32, 33):
        yield "a" + ".b" * n + " = :v"
        yield "a" + "[0]" * n + " = :v"
    for n in (0, 2 ** 31 - 2, 2 ** 31 - 1, 2 ** 31, 2 ** 32, 10 ** 30):
        yield f"a[{n}] = :v"
    for n in (254, 255, 256, 257):
        yield "b" * n + " <> :v"


def updates():
    for n in (149, 150, 151, 299, 300, 301, 302):
        yield "SET " + ", ".join(f"x{i}=:v" for i in range(n))
        yield "SET " + ", ".join(f"x{i}=:v+:v" for i in range(n))
        yield "ADD " + ", ".join(f"x{i} :v" for i in range(n))
        yield "SET " + ", ".join(f"x{i}=if_not_exists(a,:v)"
                                 for i in range(min(n, 160)))
    for n in (4095, 4096, 4097):
        yield "SET a = :v" + " " * (n - 10)


def expressions(table):
    key = {"id": {"S": "e"}}
    values = {":v": {"N": "1"}}
    for text in conditions():
        yield "DeleteItem", {"TableName": table, "Key": key,
                             "ConditionExpression": text,
                             "ExpressionAttributeValues": values}
    for text in updates():
        yield "DeleteItem", {"TableName": table, "Key": key}
        yield "UpdateItem", {"TableName": table, "Key": key,
                             "UpdateExpression": text,
                             "ExpressionAttributeValues": values}
    yield "DeleteItem", {"TableName": table, "Key": key}
    for n in (1, 255, 256, 1000):
        yield "UpdateItem", {
            "TableName": table, "Key": key, "UpdateExpression": "SET #a = :v",
            "ExpressionAttributeNames": {"#a": "n" * n},
            "ExpressionAttributeValues": values}
    for n in (1, 253, 254, 255):
        alias = "a" * n
        yield "UpdateItem", {
            "TableName": table, "Key": key,
            "UpdateExpression": f"SET #{alias} = :{alias}",
            "ExpressionAttributeNames": {"#" + alias: "n"},
            "ExpressionAttributeValues": {":" + alias: {"N": "1"}}}


def numbers(table):
    nines = "9" * 38
    for a, b in ((nines, "1"), (nines, "0.1"), ("1e125", "1"), (nines, nines),
                 ("9e125", "1e125"), ("1e125", "-1e-130"), ("1e37", "0.1"),
                 ("1e36", "0.1"), ("1e-130", "1e-130"), ("-" + nines, nines),
                 ("1.1e-130", "-1e-130"), ("0.1", "0.2"), ("-1e38", "1")):
        for sign in "+-":
            yield "UpdateItem", {
                "TableName": table, "Key": {"id": {"S": "n"}},
                "UpdateExpression": f"SET a = :a {sign} :b",
                "ReturnValues": "ALL_NEW",
                "ExpressionAttributeValues": {":a": {"N": a},
                                              ":b": {"N": b}}}


def many(table):
    """Batches, transactions and pages."""
    for n in (0, 1, 99, 100, 101):
        ids = [{"id": {"S": f"k{i}"}} for i in range(n)]
        yield "BatchGetItem", {"RequestItems": {table: {"Keys": ids}}}
        yield "TransactWriteItems", {"TransactItems": [
            {"Put": {"TableName": table, "Item": i}} for i in ids]}
    for i in range(4):
        yield "PutItem", {"TableName": table, "Item": {
            "id": {"S": f"k{i}"}, "x": {"S": "x" * 390000}}}
    yield "Scan", {"TableName": table, "Select": "COUNT"}
    for i in range(100):
        yield "DeleteItem", {"TableName": table,
                             "Key": {"id": {"S": f"k{i}"}}}


def all_of(table):
    for part in (items, keys, expressions, numbers, many):
        yield from part(table)
