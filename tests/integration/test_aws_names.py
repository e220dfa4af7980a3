#!/usr/bin/env python3
"""ddblockd-aws(7) names every variable of AWS's that is read, and no other."""
import glob
import os
import re
import unittest

import harness

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")

# The differences from other clients that the page names.
NOT_READ = {"AWS_CREDENTIAL_FILE"}


def read(*path):
    with open(os.path.join(TOP, *path), encoding="utf-8") as f:
        return f.read()


class Names(unittest.TestCase):
    def test_variables(self):
        read_by_us = set()
        for path in glob.glob(os.path.join(TOP, "src", "*", "*.c")):
            read_by_us |= set(re.findall(r'"(AWS_[A-Z0-9_]+)"', read(path)))
        self.assertGreater(len(read_by_us), 20)
        page = read("man", "ddblockd-aws.7")
        environment = page.partition(".Sh ENVIRONMENT\n")[2].partition(
            ".Sh ")[0]
        listed = set(re.findall(r"\bAWS_[A-Z0-9_]+", "\n".join(
            line for line in environment.split("\n")
            if line.startswith(".It Ev"))))
        self.assertEqual(listed, read_by_us)
        self.assertEqual(set(re.findall(r"\bAWS_[A-Z0-9_]+", page)),
                         listed | NOT_READ)

    def test_settings(self):
        """Each setting of a namespace that it names exists."""
        page = read("man", "ddblockd-aws.7")
        settings = set(re.findall(
            r"^(?:NAMESPACE|STORE)\((\w+),",
            read("src", "store", "settings.def"), re.M))
        settings |= set(re.findall(r'\t\{ "(\w+)", (?:LIVE|START),',
                                   read("src", "daemon", "config_table.c")))
        self.assertGreater(len(settings), 30)
        named = set(re.findall(r"\.(?:Ic|Pq [\w ]* Ic) (\w+)", page))
        self.assertGreater(len(named), 5)
        self.assertEqual(named - settings, set())

    def test_checks(self):
        """So are the things that a check looks at."""
        words = set()
        for path in glob.glob(os.path.join(TOP, "src", "store", "*.c")):
            words |= set(re.findall(r'finding_set\(&?[\w>-]+, "(\w+)"',
                                    read(path)))
        told = set(re.findall(r"^\| (\w+) \| (?:DynamoDB|SQLite|both) \|",
                              read("proto", "protocol.md"), re.M))
        self.assertEqual(told, words)


if __name__ == "__main__":
    harness.main()
