#!/usr/bin/env python3
"""Check doc/parity.md: every name of the older clients' documents has a row.

    tests/parity.py

The names are in tests/clients/parity/*.names, one a line; their tables are the
sections of that name in doc/parity.md, with the columns "before", "here" and
"test". A name has exactly one row there, or one under "Not yet", which has the
columns "client", "before" and "waits for", and is counted. A test is
`CLASS.test_NAME` of tests/clients/test_parity.py, or `SCRIPT::CLASS.test_NAME`;
it must exist. Instead of one there may be "differs: WHAT", but only for what
DIFFERS has. And each test of test_parity.py is in some row.

It looks at some tables first that are wrong, and fails if it accepts one.
"""
import ast
import glob
import os
import re
import sys

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
NAMES = os.path.join(TOP, "tests", "clients", "parity")
TABLE = os.path.join(TOP, "doc", "parity.md")
OWN_SCRIPT = "test_parity.py"
NOT_YET = "Not yet"
DIFFERS = ("executor", "logger", "SDK object", "request metrics")


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def read_names():
    """{client: [name]}, by the names of the files."""
    found = {}
    for path in sorted(glob.glob(os.path.join(NAMES, "*.names"))):
        lines = [line.strip() for line in read(path).splitlines()]
        client = os.path.basename(path)[:-len(".names")]
        found[client] = [line for line in lines
                         if line and not line.startswith("#")]
    return found


def read_tests():
    """{"SCRIPT::CLASS.test_NAME"} of all scripts; those inherited, too."""
    found = set()
    for path in glob.glob(os.path.join(TOP, "tests", "*", "test_*.py")):
        script = os.path.basename(path)
        methods = {}
        for node in ast.parse(read(path)).body:
            if not isinstance(node, ast.ClassDef):
                continue
            own = {each.name for each in node.body
                   if isinstance(each, ast.FunctionDef)
                   and each.name.startswith("test_")}
            for base in node.bases:
                own |= methods.get(getattr(base, "id", None), set())
            methods[node.name] = own
            found |= {f"{script}::{node.name}.{name}" for name in own}
    return found


def read_rows(text):
    """(section, [cell]) of each row of a table."""
    section = None
    for line in text.splitlines():
        if line.startswith("## "):
            section = line[3:].strip()
        elif line.startswith("|"):
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            if not set(cells[0]) <= set("-: ") and \
                    cells[0] not in ("before", "client"):
                yield section, cells


class Check:
    """One text against the names and the tests there are."""

    def __init__(self, text, names, tests):
        self.names = names
        self.tests = tests
        self.problems = []
        self.had = {client: set() for client in names}
        self.used = set()
        self.differ = 0
        self.not_yet = []
        for section, cells in read_rows(text):
            self.row(section, cells)
        for client in names:
            for name in names[client]:
                if name not in self.had[client]:
                    self.complain(f"{client}: {name} has no row")
        for test in sorted(tests - self.used):
            if test.startswith(OWN_SCRIPT + "::"):
                self.complain(f"{test} is in no row")

    def complain(self, text):
        self.problems.append(text)

    def row(self, section, cells):
        if len(cells) != 3 or not all(cells):
            self.complain(f"{section}: a row of other cells: {cells}")
            return
        client, name = section.lower(), cells[0]
        if section == NOT_YET:
            client, name = cells[0].lower(), cells[1]
        name = name.strip("`")
        if name not in self.names.get(client, ()):
            self.complain(f"{client}: no list has the name {name}")
        elif name in self.had[client]:
            self.complain(f"{client}: {name} has two rows")
        else:
            self.had[client].add(name)
        if section == NOT_YET:
            self.not_yet.append(f"{client}: {name}: {cells[2]}")
        else:
            self.test(f"{client}: {name}", cells[2])

    def test(self, where, cell):
        if cell.startswith("differs"):
            self.differ += 1
            what = cell.partition(": ")[2]
            if what not in DIFFERS:
                self.complain(f"{where}: {what or 'nothing'} may not differ, "
                              f"only: {', '.join(DIFFERS)}")
            return
        for test in cell.split(", "):
            test = test.strip("`")
            test = test if "::" in test else f"{OWN_SCRIPT}::{test}"
            self.used.add(test)
            if test not in self.tests:
                self.complain(f"{where}: there is no test {test}")


# Tables that are wrong, each with what must be said of it.
WRONG_HEAD = "## Old\n| before | here | test |\n|---|---|---|\n"
WRONG_NAMES = {"old": ["a", "b"]}
WRONG_TESTS = {"test_parity.py::T.test_x", "test_other.py::T.test_y"}
ROW_A = "| `a` | x | `T.test_x` |\n"
ROW_B = "| `b` | x | `test_other.py::T.test_y` |\n"
WRONG = (
    ("", "old: a has no row"),
    (ROW_A, "old: b has no row"),
    (ROW_A + ROW_B + "| `c` | x | `T.test_x` |\n", "no list has the name c"),
    (ROW_A + ROW_B + ROW_B, "old: b has two rows"),
    (ROW_A + ROW_B + "## Not yet\n| Old | `b` | x |\n", "b has two rows"),
    (ROW_A + "| `b` | x | `T.test_z` |\n",
     "there is no test test_parity.py::T.test_z"),
    (ROW_A + "| `b` | x | `test_other.py::T.test_x` |\n",
     "there is no test test_other.py::T.test_x"),
    (ROW_A + "| `b` | x | differs: the name |\n", "the name may not differ"),
    (ROW_A + "| `b` | x | differs |\n", "nothing may not differ"),
    (ROW_A + "| `b` | x | |\n", "a row of other cells"),
    (ROW_A + "| `b` | x |\n", "a row of other cells"),
    (ROW_A + "| `b` | | `T.test_x` |\n", "a row of other cells"),
    ("| `a` | x | differs: logger |\n" + ROW_B,
     "test_parity.py::T.test_x is in no row"),
)


def check_wrong():
    """What is wrong is seen, and what is right is not."""
    for rows in (ROW_A + ROW_B, ROW_A + "## Not yet\n| Old | `b` | x |\n",
                 ROW_A + "| `b` | x | differs: executor |\n"):
        for problem in Check(WRONG_HEAD + rows, WRONG_NAMES,
                             WRONG_TESTS).problems:
            yield f"a table that is right: {problem}"
    for rows, wanted in WRONG:
        problems = Check(WRONG_HEAD + rows, WRONG_NAMES, WRONG_TESTS).problems
        if not any(wanted in problem for problem in problems):
            yield f"not seen: {wanted!r}, only {problems}"


def main():
    problems = list(check_wrong())
    check = Check(read(TABLE), read_names(), read_tests())
    problems += check.problems
    for problem in problems:
        print(problem)
    for each in check.not_yet:
        print(f"not yet: {each}")
    rows = sum(len(had) for had in check.had.values())
    print(f"parity: {len(check.had)} clients, {rows} names, "
          f"{len(check.used)} tests, {check.differ} differ, "
          f"{len(check.not_yet)} not yet, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
