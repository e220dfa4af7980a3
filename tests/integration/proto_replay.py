#!/usr/bin/env python3
"""Replay every example of proto/protocol.md against a real daemon.

An example is a block fenced as ```example. Its lines:

    C: request          the client sends it; C1, C2.. if there are several
    S: line             the next line that the daemon sends to that client
    C1 closes           also: C1 half-closes
    C1 begins: half     the beginning of its next line
    S1 closes           the daemon closes the connection
    The daemon gets SIGTERM
    The daemon is killed
    The next one starts, with the connections
                        also: without them; see RESTARTS, too
    The daemon stands still for TIME
                        as on a host that is suspended, or out of memory

A block fenced as ```session is one that was recorded. Its ids and tokens are
others today, but the same where they were; times, names and the like are any.

In a line of the daemon `<n>` is a number, `<duration>`, `<word>` what they
say and `<...>` the rest of the line. Any other `<name>` is a value without
spaces that is remembered: where it stands again, it is the same. `+ <rows>` are
rows, as many as there are.

An unexpected !RENEWED is skipped, because it may come at any time. Nothing
else is. What the daemon says must be what src/ipc/protocol.def says that it
may, field by field; the parts of the documents that are made from that and the
error table, as they would be made now; and each of their rows must have an
example.
"""
import collections
import importlib.machinery
import importlib.util
import os
import re
import signal
import unittest

import harness
from manager import Managed

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.join(HERE, "..", "..")
DOCUMENT = os.path.join(TOP, "proto", "protocol.md")
SCRIPT = os.path.join(TOP, "scripts", "protocol-reference")

# Short times, so that an example with a heartbeat or a loss ends soon.
CONFIG = """
[daemon]
stop_wait = 20s
[namespace default]
store = sqlite
file = {dir}/default.db
lease = 6s
"""

# Codes that an embedded store in good health cannot be made to say, with the
# tests that see them.
CODES_WITHOUT_EXAMPLE = {
    "LOCK_STOLEN": "needs a record changed by hand",
    "UNREACHABLE": "needs a store that is away",
    "THROTTLED": "DynamoDB only",
    "ACCESS_DENIED": "DynamoDB only",
    "NO_CREDENTIALS": "DynamoDB only",
    "NO_TABLE": "DynamoDB only",
    "WRONG_TABLE": "DynamoDB only",
    "DENIED": "needs another user; test_break.py, test_check.py",
    "LIMIT": "test_bad_clients.py",
    "NOT_RENEWED": "the reason of a danger, half a lease after a grant",
    "INTERNAL": "a defect",
    "BAD_RECORD": "needs a broken record",
    "STORE_FULL": "needs a full disk",
    "STORE_BROKEN": "needs a damaged database",
    "NOMEM": "needs a host without memory",
    "SYSTEM": "needs a host without resources",
}
# What a field of each type looks like; a text is any.
TYPES = {
    "NUMBER": r"\d+",
    "TIME": r"\d+ms|\d+(\.\d)?s",
    "BOOLEAN": r"yes|no",
    "CODE": r"[A-Z_]+",
    "WORD": r"\S+",
    "TEXT": r".*",
    "ANY": r"\d+|\d+ms|\d+(\.\d)?s",
}

KINDS = {
    "<n>": r"\d+",
    "<duration>": r"(?:\d+ms|\d+(?:\.\d)?s)",
    "<word>": r"[^ ]+",
    "<...>": r".*",
}


def script():
    """scripts/protocol-reference, whose name cannot be imported."""
    loader = importlib.machinery.SourceFileLoader("reference", SCRIPT)
    spec = importlib.util.spec_from_loader("reference", loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


reference = script()
tables = reference.Tables()


def document():
    with open(DOCUMENT, encoding="utf-8") as f:
        return f.read()


def general(line):
    """A line of a recorded session as one of an example."""
    def replace(match):
        name, value = match.groups()
        if name in ("id", "token"):
            return f" {name}=<{name}{value}>"
        if name in ("until_boot_ms", "pid"):
            return f" {name}=<n>"
        if name in ("host", "owner", "version"):
            return f" {name}=<word>"
        if re.fullmatch(TYPES["TIME"], value) and line.startswith("S"):
            return f" {name}=<duration>"
        return match[0]
    return re.sub(r" (\w+)=(\S+)", replace, line)


def examples():
    """(line number, lines) of each example."""
    found = []
    block = None
    for number, line in enumerate(document().split("\n"), 1):
        if line in ("```example", "```session"):
            session = line == "```session"
            block = (number, [])
            found.append(block)
        elif line.startswith("```"):
            block = None
        elif block is not None and line:
            block[1].append((number, general(line) if session else line))
    return found


def table(heading):
    """The first cells of the table under a heading, without back quotes."""
    section = re.search(rf"^## {heading}$(.*?)(?=^## |\Z)", document(),
                        re.M | re.S).group(1)
    rows = re.findall(r"^\| (`[^|]*?) \|(.*)\|$", section, re.M)
    return {first.strip("`"): rest for first, rest in rows}


def check_fields(line, allowed):
    """Does the line have these fields only, each as its type says?"""
    for name, value in re.findall(r" ([^ =:]+)=(\S*)", line.split(" :")[0]):
        name = re.sub(r"^attr\..*", "attr.NAME", name)
        if name not in allowed:
            raise AssertionError(f"protocol.def knows no {name} in {line!r}")
        field = tables.fields.get(name)
        if field and not re.fullmatch(TYPES[field.type], value):
            raise AssertionError(f"{name} is no {field.type} in {line!r}")


class Asked:
    """Which verbs of a client have no reply yet, by their tags."""

    def __init__(self):
        self.verbs = collections.defaultdict(list)

    def ask(self, line):
        tag, verb = re.match(r"(#\S+ +)?(\S+)", line).groups()
        self.verbs[(tag or "").strip()].append(verb)

    def answered(self, line):
        """A line of the daemon: does it agree with the table of the verb?"""
        tag, kind = re.match(r"(#\S+ )?(\S+)", line).groups()
        if kind.startswith("!"):
            event, = [e for e in tables.events if "!" + e.word == kind]
            check_fields(line, tables.expand(event.fields))
            return
        asked = self.verbs[(tag or "").strip()]
        known = [v for v in tables.verbs if asked and v.word == asked[0]]
        if kind != "+" and asked:
            asked.pop(0)
        fields = {"+": "row", "OK": "ok", "ERR": "err"}[kind]
        for verb in known[:1]:
            check_fields(line, tables.expand(getattr(verb, fields)))


RESTARTS = "The daemon is killed, and the next one starts"
STARTS = "The next one starts, with the connections"
STARTS_ALONE = "The next one starts, without the connections"


class Replay:
    """One example against a daemon of its own."""

    def __init__(self, daemon):
        self.daemon = daemon
        self.clients = {}
        self.asked = collections.defaultdict(Asked)
        self.begun = collections.defaultdict(str)  # lines, by client
        self.values = {}
        self.rows = False  # some may come

    def client(self, name):
        if name not in self.clients:
            self.clients[name] = harness.Client(self.daemon)
        return self.clients[name]

    def close(self):
        for client in self.clients.values():
            client.close()

    def fill(self, line):
        return re.sub(r"<(\w+)>", lambda m: self.values[m[0]], line)

    def pattern(self, line):
        """The line as a regular expression, new values in named groups."""
        pattern = ""
        fresh = []
        for part in re.split(r"(<[^>]+>)", line):
            if part in KINDS:
                pattern += KINDS[part]
            elif part in self.values:
                pattern += re.escape(self.values[part])
            elif re.fullmatch(r"<\w+>", part):
                pattern += r"([^ ]+)"
                fresh.append(part)
            else:
                pattern += re.escape(part)
        # "<...>" may also be nothing at all.
        pattern = pattern.replace(r"\ .*", r"(?:\ .*)?")
        return pattern, fresh

    def expect(self, client, line):
        if line == "+ <rows>":
            self.rows = True
            return
        pattern, fresh = self.pattern(line)
        while True:
            got = client.read_line()
            self.asked[client].answered(got)
            match = re.fullmatch(pattern, got)
            if match is not None:
                self.values.update(zip(fresh, match.groups()))
                self.rows = False
                return
            if self.rows and got.startswith("+ "):
                continue
            if not got.startswith("!RENEWED"):
                raise AssertionError(f"expected {line!r}, got {got!r}")

    def expect_end(self, client):
        try:
            raise AssertionError(f"expected the end, got "
                                 f"{client.read_line()!r}")
        except harness.Ended as ended:
            assert str(ended) == "", f"half a line at the end: {ended}"

    def run(self, line):
        said = re.fullmatch(r"([CS])(\d?)(: | )(.*)", line)
        if said is None:
            self.run_around(line)
            return
        side, name, colon, rest = said.groups()
        client = self.client(name)
        if colon == ": " and side == "C":
            self.asked[client].ask(self.begun.pop(client, "") + rest)
            client.send_raw(self.fill(rest).encode() + b"\n")
        elif colon == ": ":
            self.expect(client, rest)
        elif side == "C" and rest.startswith("begins: "):
            self.begun[client] = rest.partition(": ")[2]
            client.send_raw(self.begun[client].encode())
        elif (side, rest) == ("C", "closes"):
            client.close()
        elif (side, rest) == ("C", "half-closes"):
            client.half_close()
        elif (side, rest) == ("S", "closes"):
            self.expect_end(client)
        else:
            raise AssertionError(f"what is {line!r}?")

    def run_around(self, line):
        still = re.fullmatch(r"The daemon stands still for (\d+)ms", line)
        if line == "The daemon gets SIGTERM":
            self.daemon.signal(signal.SIGTERM)
        elif line == RESTARTS:
            self.daemon.restart()
        elif line == "The daemon is killed":
            self.daemon.kill()
        elif line in (STARTS, STARTS_ALONE):
            self.daemon.start()
        elif still is not None:
            self.daemon.freeze()
            harness.pass_boot_ms(harness.boot_ms() + int(still[1]))
            self.daemon.thaw()
        else:
            raise AssertionError(f"what is {line!r}?")


class ReplayTest(unittest.TestCase):
    def replay(self, lines):
        kind = harness.Daemon
        if {RESTARTS, STARTS} & {line for _, line in lines}:
            harness.need_processor("qemu knows no SO_COOKIE")
            kind = Managed
        with kind(config=CONFIG) as daemon:
            replay = Replay(daemon)
            try:
                for number, line in lines:
                    try:
                        replay.run(line)
                    except Exception as e:
                        raise AssertionError(
                            f"protocol.md:{number}: {e!r}") from e
            finally:
                replay.close()


def add_examples():
    for number, lines in examples():
        def test(self, lines=lines):
            self.replay(lines)
        setattr(ReplayTest, f"test_line_{number:04}", test)


class TablesTest(unittest.TestCase):
    """The tables are complete, and every row has an example."""

    def setUp(self):
        self.lines = [line for _, block in examples() for _, line in block]

    def lines_of(self, side):
        return [line.partition(": ")[2] for line in self.lines
                if re.match(rf"{side}\d?: ", line)]

    def test_verbs_are_those_of_the_daemon(self):
        verbs = {}
        for verb, rest in table("Verbs").items():
            arguments = rest.split("|")[0]
            verbs[verb] = (re.findall(r"KEY[.]*", arguments),
                           re.findall(r"`([\w.]+)`", arguments))
        with harness.Daemon() as daemon, harness.Client(daemon) as client:
            known = {row["verb"]: (re.findall(r"\S+", row.get("subject")
                                              or ""),
                                   row.get("arguments", "").split(",")
                                   if row.get("arguments") else [])
                     for row in client.call("HELP").rows}
        self.assertEqual(verbs, known)

    def test_codes_are_those_of_the_error_table(self):
        self.assertEqual(list(table("Codes")),
                         [code.word for code in tables.codes])

    def test_parts_are_what_the_tables_say(self):
        self.assertEqual(reference.stale(tables), [],
                         "run scripts/protocol-reference")

    def test_every_field_has_a_row(self):
        lists = [v.row + " " + v.ok + " " + v.err for v in tables.verbs] + \
            [e.fields for e in tables.events]
        used = {name for fields in lists for name in tables.expand(fields)}
        own = set(tables.expand("+namespace"))  # its section explains them
        self.assertEqual(used - own - set(tables.fields), set())
        self.assertEqual(set(tables.fields) - used, set())

    def test_every_verb_has_an_example(self):
        sent = {re.sub(r"^#\w+ ", "", line).split(" ")[0]
                for line in self.lines_of("C")}
        self.assertEqual(set(table("Verbs")) - sent, set())

    def test_every_event_has_an_example(self):
        got = {line.split(" ")[0] for line in self.lines_of("S")}
        self.assertEqual(set(table("Events")) - got, set())

    def test_every_code_has_an_example(self):
        got = set(re.findall(r"\bERR (\w+)", "\n".join(self.lines_of("S"))))
        without = set(table("Codes")) - got
        self.assertEqual(without, set(CODES_WITHOUT_EXAMPLE))


add_examples()
if __name__ == "__main__":
    harness.main()
