"""Random requests to DynamoDB, valid and invalid, from one seed.

Values come from a small stock, so that comparisons often hold; expressions
from their grammar, with names and values as they are needed. A part of the
requests is broken on purpose, each in one place.
"""
import base64
import json
import random

NAMES = ["a", "b", "c", "d", "nn", "ss", "e_1", "l", "m"]
SHY = ["name", "a.b", "x-y", "0", "a b", "\u00e4"]  # behind a #name only
USUAL = {"a": "S", "b": "B", "nn": "N", "ss": "SS", "l": "L", "m": "M"}
TYPES = ["S", "N", "B", "SS", "NS", "BS", "BOOL", "NULL", "L", "M"]
NUMBERS = [
    "0", "1", "2", "5", "-1", "10", "1.0", "0.5", "007", "1e2", "100",
    "-0", "12345678901234567890", "1e-3", "+3", ".5", "5.", "1E+5",
    "99999999999999999999999999999999999999", "0.1", "-2.50", "1e125",
    "9.9e125", "-9e125", "1e-130", "1e-129", "3.14159265358979323846264338",
    "9007199254740991", "1700000000000000000"]
BAD_NUMBERS = ["", "x", "1e126", "1e-131", "1" * 39, "0x1", " 1", "1 ",
               "1e", "--1", "1e200", "NaN", "Infinity", "1.2.3"]
STRINGS = ["", "a", "b", "ab", "abc", "x", "\u00e4", "\U0001f512", "S", "N",
           "0", "1", "10", "a" * 100, "he said \"no\"\\", "\ue000"]
FEW = ["a", "ab", "\u00e4", "\U0001f512"]
BYTES = [b"", b"a", b"ab", b"\x00", b"\xff", b"\xff\x00", b"abc"]
COMPARE = ["=", "<>", "<", "<=", ">", ">="]


def b64(data):
    return base64.b64encode(data).decode()


class Table:
    """A table, and its few keys."""

    def __init__(self, name, *parts):
        self.name = name
        self.parts = parts
        stock = {"S": [{"S": s} for s in ("a", "\u00e4", "c")],
                 "N": [{"N": n} for n in ("2.50", "-7", "1e3")],
                 "B": [{"B": b64(b)} for b in (b"a", b"\xff", b"bb")]}
        self.keys = [{}]
        for attribute, kind in parts:
            self.keys = [dict(k, **{attribute: v}) for k in self.keys
                         for v in stock[kind]]
        # Few, so that most of them are there.
        self.keys = self.keys[::2] if len(parts) > 1 else self.keys

    def create(self):
        return {
            "TableName": self.name, "BillingMode": "PAY_PER_REQUEST",
            "KeySchema": [
                {"AttributeName": a, "KeyType": "RANGE" if i else "HASH"}
                for i, (a, _) in enumerate(self.parts)],
            "AttributeDefinitions": [
                {"AttributeName": a, "AttributeType": t}
                for a, t in self.parts]}


class Names:
    """The names and values of one request's expressions."""

    def __init__(self, maker):
        self.maker = maker
        self.names = {}
        self.values = {}

    def name(self, attribute):
        r = self.maker.random
        if attribute in NAMES and r.random() < 0.6:
            return attribute
        for alias, known in self.names.items():
            if known == attribute:
                return alias
        alias = f"#n{len(self.names)}"
        self.names[alias] = attribute
        return alias

    def value(self, value):
        for alias, known in self.values.items():
            if known == value and self.maker.random.random() < 0.9:
                return alias
        alias = f":v{len(self.values)}"
        self.values[alias] = value
        return alias

    def into(self, body):
        if self.names:
            body["ExpressionAttributeNames"] = self.names
        if self.values:
            body["ExpressionAttributeValues"] = self.values


class Maker:
    def __init__(self, seed, tables):
        self.random = random.Random(seed)
        self.tables = tables

    def maybe(self, chance):
        return self.random.random() < chance

    def pick(self, stock):
        return self.random.choice(stock)

    # -- values -------------------------------------------------------------

    def number(self):
        return self.pick(NUMBERS) if self.maybe(0.6) else \
            str(self.random.randint(-3, 6))

    def scalar(self, kind):
        if kind == "N":
            return self.number()
        if kind == "S":
            return self.pick(FEW if self.maybe(0.6) else STRINGS)
        return b64(self.pick(BYTES))

    def value(self, kind=None, depth=0):
        kind = kind or self.pick(TYPES[:8] if depth > 2 else TYPES)
        if kind in ("S", "N", "B"):
            return {kind: self.scalar(kind)}
        if kind in ("SS", "NS", "BS"):
            some = {self.scalar(kind[0])
                    for _ in range(self.random.randint(1, 3))}
            if self.maybe(0.7) and kind == "SS":
                some = set(self.random.sample("xyz",
                                              self.random.randint(1, 3)))
            if kind == "NS":  # two texts may be the same number
                some = {str(self.random.randint(0, 9)) for _ in some}
            return {kind: sorted(some)}
        if kind == "BOOL":
            return {kind: self.maybe(0.5)}
        if kind == "NULL":
            return {kind: True}
        many = range(self.random.randint(0, 3))
        if kind == "L":
            return {kind: [self.value(depth=depth + 1) for _ in many]}
        return {kind: {self.pick(NAMES[:4]): self.value(depth=depth + 1)
                       for _ in many}}

    def attribute(self):
        return self.pick(NAMES) if self.maybe(0.93) else self.pick(SHY)

    def item(self, table):
        item = dict(self.pick(table.keys))
        for _ in range(self.random.randint(2, 9)):
            name = self.attribute()
            item.setdefault(name, self.value(
                USUAL.get(name) if self.maybe(0.85) else None))
        return item

    # -- expressions --------------------------------------------------------

    def path(self, names, plain=0.65):
        text = names.name(self.attribute())
        first = text
        while not self.maybe(plain):
            # An attribute that is often a map or a list is used as such.
            if (first in ("l",) or self.maybe(0.3)) and first != "m":
                text += f"[{self.random.randint(0, 3)}]"
            else:
                text += "." + names.name(self.pick(NAMES[:4]))
            first = ""
            plain = 0.7
        return text

    def operand(self, names, kind=None):
        if self.maybe(0.5):
            return self.path(names)
        if self.maybe(0.08):
            return f"size({self.path(names)})"
        text = names.value(self.value(kind or self.pick(
            TYPES[:3] * 3 + TYPES)))
        return f"({text})" if self.maybe(0.03) else text

    def usual_test(self, names):
        """An attribute and a value of its most frequent type."""
        name = self.pick(["a", "b", "nn", "nn", "ss"])
        value = names.value(self.value(USUAL[name]))
        text = names.name(name)
        shape = self.random.randrange(6)
        if shape == 0 and name in ("a", "b"):
            return f"begins_with({text}, {value})"
        if shape == 1 and name != "nn":
            value = names.value(self.value(USUAL[name][0]))
            return f"contains({text}, {value})"
        if shape == 2 and name != "nn":
            size = str(self.random.randint(0, 3))
            return (f"size({text}) {self.pick(COMPARE)} "
                    f"{names.value({'N': size})}")
        if shape == 3 and name == "nn":
            low = self.random.randint(-3, 6)
            high = low + self.random.randint(0, 2)
            return (f"{text} BETWEEN {names.value({'N': str(low)})} AND "
                    f"{names.value({'N': str(high)})}")
        if shape == 4:
            more = names.value(self.value(USUAL[name]))
            return f"{text} IN ({value}, {more})"
        few = COMPARE if name != "ss" else COMPARE[:2]
        return f"{text} {self.pick(few)} {value}"

    def test(self, names):
        if self.maybe(0.5):
            return self.usual_test(names)
        shape = self.random.randrange(12)
        path = self.path(names)
        if shape < 4:
            return (f"{self.operand(names)} {self.pick(COMPARE)} "
                    f"{self.operand(names)}")
        if shape == 4:
            low, high = sorted([self.random.randint(-9, 9),
                                self.random.randint(-9, 9)])
            if self.maybe(0.6):
                return (f"{path} BETWEEN {names.value({'N': str(low)})} AND "
                        f"{names.value({'N': str(high)})}")
            return (f"{path} between {self.operand(names)} and "
                    f"{self.operand(names)}")
        if shape == 5:
            among = ", ".join(self.operand(names)
                              for _ in range(self.random.randint(1, 4)))
            return f"{path} IN ({among})"
        if shape == 6:
            return f"attribute_exists({path})"
        if shape == 7:
            return f"attribute_not_exists({path})"
        if shape == 8:
            kind = self.pick(TYPES + ["X"] if self.maybe(0.1) else TYPES)
            return (f"attribute_type({path}, "
                    f"{names.value({'S': kind})})")
        if shape == 9:
            kind = self.pick(["S", "S", "B", "N"])
            return f"begins_with({path}, {self.operand(names, kind)})"
        if shape == 10:
            return f"contains({path}, {self.operand(names)})"
        return (f"size({path}) {self.pick(COMPARE)} "
                f"{names.value({'N': str(self.random.randint(0, 4))})}")

    def condition(self, names, depth=0):
        shape = self.random.randrange(10)
        if depth > 3 or shape < 6 - depth:
            return self.test(names)
        if shape <= 5:
            return f"NOT {self.condition(names, depth + 1)}"
        if shape == 6:
            return f"({self.condition(names, depth + 1)})"
        return (f"{self.condition(names, depth + 1)} "
                f"{self.pick(['AND', 'OR', 'and', 'Or'])} "
                f"{self.condition(names, depth + 1)}")

    def set_value(self, names):
        shape = self.random.randrange(10)
        if shape < 4:
            return names.value(self.value())
        if shape < 6:
            return (f"{self.number_operand(names)} {self.pick('+-')} "
                    f"{self.number_operand(names)}")
        if shape == 6:
            return (f"if_not_exists({self.path(names)}, "
                    f"{self.operand(names)})")
        if shape == 7:
            one, two = "l", names.value(self.value("L"))
            if self.maybe(0.3):
                one = f"if_not_exists({self.path(names)}, {two})"
            return "list_append(%s, %s)" % self.pick(
                [(one, two), (two, one), (two, two)])
        if shape == 8:
            return f"({self.number_operand(names)} - nn)"
        return self.path(names)

    def number_operand(self, names):
        shape = self.random.randrange(5)
        if shape < 2:
            return "nn"
        if shape == 2:
            return self.path(names)
        if shape == 3:
            return (f"if_not_exists({self.path(names)}, "
                    f"{names.value({'N': self.number()})})")
        return names.value({"N": self.number()})

    def update(self, names):
        sections = {}
        # Paths that touch each other are tried, too, but not always.
        used = set()
        for _ in range(self.random.randint(1, 4)):
            word = self.pick(["SET", "SET", "SET", "REMOVE", "ADD",
                              "DELETE"])
            path = self.path(names, 0.75)
            top = path.split(".")[0].split("[")[0]
            top = names.names.get(top, top)
            if top in used and self.maybe(0.9):
                continue
            used.add(top)
            if path == "l" and word in ("SET", "REMOVE"):
                text = ", ".join(
                    f"l[{i}]" + (f" = {self.set_value(names)}"
                                 if word == "SET" else "")
                    for i in self.random.sample(range(7), 3))
            elif word == "SET":
                text = f"{path} = {self.set_value(names)}"
            elif word == "REMOVE":
                text = path
            else:
                kind = self.pick(["SS", "SS", "NS", "BS"] +
                                 (["N"] * 4 if word == "ADD" else []))
                if top in ("nn", "ss") and self.maybe(0.8):
                    kind = {"nn": "N", "ss": "SS"}[top]
                    if word == "DELETE":
                        path, kind = names.name("ss"), "SS"
                text = f"{path} {names.value(self.value(kind))}"
            sections.setdefault(word, []).append(text)
        words = list(sections)
        self.random.shuffle(words)
        return " ".join(f"{w} {', '.join(sections[w])}" for w in words)

    def projection(self, names):
        paths = [self.path(names, 0.6)
                 for _ in range(self.random.randint(1, 3))]
        return ", ".join(paths)

    # -- requests -----------------------------------------------------------

    def returns(self, body, update):
        if self.maybe(0.7):
            body["ReturnValues"] = self.pick(
                ["NONE", "ALL_OLD"] + (["ALL_NEW"] * 4 + [
                    "UPDATED_OLD", "UPDATED_NEW"] if update else []))
        if self.maybe(0.5):
            body["ReturnValuesOnConditionCheckFailure"] = self.pick(
                ["NONE", "ALL_OLD", "ALL_OLD"])
        if self.maybe(0.2):
            body["ReturnConsumedCapacity"] = self.pick(
                ["NONE", "TOTAL", "INDEXES"])

    def write(self, table, kind):
        names = Names(self)
        body = {"TableName": table.name}
        if kind == "Put":
            body["Item"] = self.item(table)
        else:
            body["Key"] = dict(self.pick(table.keys))
        if kind == "ConditionCheck" or self.maybe(0.5):
            body["ConditionExpression"] = self.condition(names)
        if kind == "Update" and self.maybe(0.97):
            body["UpdateExpression"] = self.update(names)
        names.into(body)
        return body

    def transaction(self):
        table = self.pick(self.tables)
        actions = []
        keys = []
        for _ in range(self.random.randint(1, 4)):
            kind = self.pick(["Put", "Update", "Delete", "ConditionCheck"])
            action = self.write(table, kind)
            key = self.key_of(table, action)
            if key in keys and self.maybe(0.9):
                continue
            keys.append(key)
            if self.maybe(0.5):
                action["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
            actions.append({kind: action})
        return "TransactWriteItems", {"TransactItems": actions}, [
            (table, k) for k in keys]

    @staticmethod
    def key_of(table, body):
        source = body.get("Key") or body.get("Item")
        return {a: source[a] for a, _ in table.parts}

    def batch(self):
        body = {"RequestItems": {}}
        for table in self.random.sample(self.tables,
                                        self.random.randint(1, 2)):
            names = Names(self)
            part = {"Keys": self.random.sample(
                table.keys, self.random.randint(1, 3))}
            if self.maybe(0.4):
                part["ProjectionExpression"] = self.projection(names)
                names.into(part)
            if self.maybe(0.5):
                part["ConsistentRead"] = True
            body["RequestItems"][table.name] = part
        return "BatchGetItem", body, []

    def scan(self):
        names = Names(self)
        body = {"TableName": self.pick(self.tables).name,
                "ConsistentRead": True}
        if self.maybe(0.9):  # it is tried on every item
            body["FilterExpression"] = self.usual_test(names) if \
                self.maybe(0.6) else self.condition(names)
        if self.maybe(0.4):
            body["ProjectionExpression"] = self.projection(names)
        elif self.maybe(0.2):
            body["Select"] = self.pick(["COUNT", "ALL_ATTRIBUTES"])
        if self.maybe(0.5):
            body["Limit"] = self.random.randint(1, 7)
        names.into(body)
        return "Scan", body, []

    def get(self):
        table = self.pick(self.tables)
        names = Names(self)
        body = {"TableName": table.name, "Key": dict(self.pick(table.keys))}
        if self.maybe(0.7):
            body["ProjectionExpression"] = self.projection(names)
        if self.maybe(0.5):
            body["ConsistentRead"] = True
        names.into(body)
        return "GetItem", body, []

    def valid(self):
        """(operation, body, the keys that it may change)"""
        shape = self.random.randrange(20)
        if shape == 0:
            return self.transaction()
        if shape == 1:
            return self.batch()
        if shape in (2, 3, 4):
            return self.scan()
        if shape == 5:
            return self.get()
        kind = "Put" if shape < 9 else "Delete" if shape == 9 else "Update"
        table = self.pick(self.tables)
        body = self.write(table, kind)
        self.returns(body, kind == "Update")
        return kind + "Item", body, [(table, self.key_of(table, body))]

    # -- broken on purpose --------------------------------------------------

    def break_text(self, text):
        """Take out, double or put in a word, a sign or a letter."""
        at = self.random.randint(0, len(text))
        shape = self.random.randrange(5)
        if shape == 0:
            return text[:at] + self.pick(
                list("()[].,+-=<>#:!@0x\" ") + [" AND ", " NOT ", " SET "]
            ) + text[at:]
        if shape == 1:
            return text[:at] + text[at + 1:]
        words = text.split(" ")
        at = self.random.randrange(len(words))
        if shape == 2:
            del words[at]
        elif shape == 3:
            words.insert(at, words[at])
        else:
            words[at] = self.pick(["name", "key", ":none", "#none", "(",
                                   "size", "foo(a)", "l[00]", "a.b.", "=="])
        return " ".join(words)

    def bad_value(self):
        """(an invalid value, whether it is also invalid JSON)"""
        shape = self.random.randrange(12)
        if shape < 4:
            return {"N": self.pick(BAD_NUMBERS)}, False
        if shape == 4:
            return {self.pick(["SS", "NS", "BS"]): []}, False
        if shape == 5:
            return self.pick([{"SS": ["a", "a"]}, {"NS": ["1", "1.0"]},
                              {"BS": ["YQ==", "YQ=="]}]), False
        if shape == 6:
            return {"NULL": False}, False
        if shape == 7:
            return self.pick([{}, {"S": "a", "N": "1"}, {"X": "a"},
                              {"S": None}]), False
        if shape == 8:
            nested = {"S": "deep"}
            for _ in range(self.random.randint(31, 34)):
                nested = self.pick([{"L": [nested]}, {"M": {"a": nested}}])
            return nested, False
        if shape == 9:
            return {"NS": ["1", self.pick(BAD_NUMBERS)]}, False
        return self.pick([{"N": 1}, {"S": 5}, {"B": "a"}, {"BOOL": "true"},
                          {"L": {}}, {"M": []}, {"SS": "a"}, "x",
                          {"B": "YQ"}, {"B": "****"}]), True

    def broken(self):
        """(operation, body or text, what it may change, what is broken)"""
        operation, body, changes = self.valid()
        expressions = [e for e in body if e.endswith("Expression")]
        shape = self.random.randrange(14)
        if shape < 6 and expressions:
            name = self.pick(expressions)
            body[name] = self.break_text(body[name])
            return operation, body, changes, "expression"
        if shape == 6:
            body.setdefault("ExpressionAttributeNames", {})[
                self.pick(["#unused", "unused", "#", "#a-b"])] = "a"
            return operation, body, changes, "names"
        if shape == 7:
            body.setdefault("ExpressionAttributeValues", {})[
                self.pick([":unused", "unused", ":"])] = {"S": "a"}
            return operation, body, changes, "values"
        if shape in (8, 9, 10):
            value, malformed = self.bad_value()
            place = body.get("ExpressionAttributeValues") or \
                body.get("Item") or body.get("Key")
            if place is not None:
                place[self.pick(list(place) + ["extra"])] = value
                return (operation, body, changes,
                        "json" if malformed else "value")
        if shape == 11:
            return self.broken_key(operation, body, changes)
        if shape == 12:
            body[self.pick(["ReturnValues", "ReturnConsumedCapacity",
                            "ReturnValuesOnConditionCheckFailure",
                            "Select"])] = self.pick(["all_old", "DOG", "",
                                                     "UPDATED_NEW"])
            return operation, body, changes, "word"
        return self.broken_whole(operation, body, changes)

    def broken_key(self, operation, body, changes):
        for where in ("Key", "Item", "ExclusiveStartKey"):
            if where not in body:
                continue
            name = self.pick(list(body[where]))
            shape = self.random.randrange(5)
            if shape == 0:
                del body[where][name]
            elif shape == 1:
                body[where][name] = self.value()
            elif shape == 2:
                body[where][name] = self.pick([{"S": ""}, {"B": ""}])
            elif shape == 3:
                body[where][name] = self.pick([
                    {"S": "k" * 2049}, {"S": "k" * 1025},
                    {"B": b64(b"k" * 2049)}, {"S": "k" * 1024}])
            else:
                body[where]["another"] = {"S": "a"}
            for table, _ in changes:
                if all(a in body[where] for a, _ in table.parts):
                    changes = [(table, self.key_of(table, body))]
            return operation, body, changes, "key"
        return self.broken_whole(operation, body, changes)

    def broken_whole(self, operation, body, changes):
        shape = self.random.randrange(6)
        if shape == 0:
            body["TableName"] = "no-such-table"
            return operation, body, changes, "table"
        if shape == 1:
            member = self.pick(list(body))
            del body[member]
            return operation, body, changes, "absent"
        if shape == 2:
            return "Nonsense", body, changes, "operation"
        if shape == 3:
            body[self.pick(list(body))] = self.pick([5, [], {}, "", True])
            return operation, body, changes, "json"
        if shape == 4:
            body["UpdateExpression"] = "SET a = :v" + " " * self.pick(
                [4080, 4086, 4087, 5000])
            body["ExpressionAttributeValues"] = {":v": {"S": "a"}}
            body.pop("ConditionExpression", None)
            body.pop("ProjectionExpression", None)
            body.pop("FilterExpression", None)
            body.pop("ExpressionAttributeNames", None)
            return operation, body, changes, "long"
        text = json.dumps(body)
        at = self.random.randrange(len(text) - 1)
        return operation, text[:at], changes, "text"
