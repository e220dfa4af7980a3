#!/usr/bin/env python3
"""Files of profiles are read as botocore reads them: every setting of files by
chance, with all that configparser lets be one; and the same are refused.

    test_profiles.py [SEED]
"""
import json
import os
import random
import subprocess
import sys
import tempfile
import unittest

import sdk

import botocore.session
from botocore.exceptions import ConfigParseError

SEED = 1987
FILES = 4000

NAMES = ["default", "profile a", "profile b", 'profile "a"', "profile 'b c'",
         "profile b\\ c", "profile  a", "profile default", "a", "preview",
         "sso-session s", "sso-session 's'", "services s", "services t",
         "DEFAULT", "profile", "profile 'open", "profilex y", "profile a b",
         "profile [x]", "", "profile \u00e4", "profile ''"]
KEYS = ["region", "Region", "REGION", "output", "dynamodb", "s3", "a b", "k",
        "\u00e4", "k.1", "[x"]
VALUES = ["", "", "x", "a = b", "a: b", "'quoted' # no comment", "  padded  ",
          "\u00a0x\u00a0", "x\u3000y", "; no", "x ; y", "[no section]",
          "\u00e4", "x\x0by", "x\x0cy\x1c", "x\u2028y", "x\x85"]
NESTED = ["endpoint_url = http://x", "Key=v", "k = 1 = 2", "k =", "= v",
          "# comment", "", "\u00a0k\u00a0= v\u00a0", "k = a\x0bl = b",
          "k = 1\u2028l = 2"]
ENDS = ["\n"] * 30 + ["\r\n", "\r", "\n\n", "\n \n"]
JUNK = ["junk", "= v", "\ufeff", "\x00", "[", "]", "[]", "[x", " indented = 1",
        "\tindented", "[default] x", "[profile z]]", ":", "a"]


class Text:
    """A file by chance."""

    def __init__(self, random_):
        self.random = random_
        self.parts = []

    def line(self, text):
        self.parts.append(text + self.random.choice(ENDS))

    def setting(self):
        r = self.random
        self.line(r.choice(["", "", "", " ", "\u00a0"]) + r.choice(KEYS) +
                  r.choice([" = ", "=", ":", " : "]) + r.choice(VALUES))
        if r.random() < 0.25:
            for _ in range(r.randint(1, 4)):
                self.line(r.choice(["  ", "    ", "\t", "\u00a0\u00a0"]) +
                          r.choice(NESTED + VALUES[:4]))

    def make(self):
        r = self.random
        names = list(NAMES) if r.random() < 0.85 else NAMES + NAMES
        r.shuffle(names)
        if r.random() < 0.5:
            self.line(r.choice(["# comment", "", "; comment", "  "]))
        for name in names[:r.randint(1, 6)]:
            self.line(f"[{name}]" + r.choice(["", "", "", " ", " # x"]))
            for _ in range(r.randint(0, 3)):
                self.setting()
            if r.random() < 0.15:
                self.line(r.choice(["# comment", "  # comment", "", " "]))
            if r.random() < 0.02:
                self.line(r.choice(JUNK))
        text = "".join(self.parts)
        return text if r.random() < 0.8 else text.rstrip("\r\n")


def all_values(config):
    """The questions about all of what botocore has, and its answers; and some
    about what may not be there."""
    wanted, values = [], []

    def take(kind, name, key, value):
        if isinstance(value, dict):
            wanted.append([kind, name, key, None])
            values.append(None)
            for inner, text in value.items():
                wanted.append([kind, name, inner, key])
                values.append(text)
        else:
            wanted.append([kind, name, key, None])
            values.append(value)

    for kind, sections in enumerate((config["profiles"],
                                     config.get("sso_sessions", {}),
                                     config.get("services", {}))):
        for name in list(sections) + ["a", "b c", "s", "preview", "z]"]:
            section = sections.get(name, {})
            for key in sorted(set(section) | {"region", "dynamodb", "k"}):
                take(kind, name, key, section.get(key))
    return wanted, values


class ProfilesTest(unittest.TestCase):
    seed = SEED

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.session = botocore.session.Session()
        self.paths = {}
        for key, variable in (("config", "AWS_CONFIG_FILE"),
                              ("credentials", "AWS_SHARED_CREDENTIALS_FILE")):
            self.paths[key] = os.path.join(directory.name, key)
            os.environ[variable] = self.paths[key]

    def theirs(self, case):
        for key, path in self.paths.items():
            with open(path, "w", encoding="utf-8", newline="") as f:
                f.write(case[key])
        self.session._config = None  # to read them again
        try:
            return self.session.full_config
        except ConfigParseError as e:
            return e

    def test_as_botocore_reads_them(self):
        r = random.Random(self.seed)
        cases, expected = [], []
        for _ in range(FILES):
            case = {"environment": {}, "config": Text(r).make(),
                    "credentials": Text(r).make() if r.random() < 0.3 else ""}
            theirs = self.theirs(case)
            values = None
            if not isinstance(theirs, ConfigParseError):
                case["values"], values = all_values(theirs)
            cases.append(case)
            expected.append((theirs, values))
        out = subprocess.run(
            [sdk.program("aws_endpoints")], check=True, text=True,
            input="".join(json.dumps(case) + "\n" for case in cases),
            stdout=subprocess.PIPE).stdout.split("\n")[:-1]
        self.assertEqual(len(out), FILES)
        counts = {"read": 0, "refused": 0, "values": 0, "NUL": 0}
        for number, line in enumerate(out):
            self.compare(number, cases[number], json.loads(line),
                         *expected[number], counts)
        print(counts)
        self.assertGreater(counts["read"], FILES / 3)
        self.assertGreater(counts["refused"], FILES / 20)

    def compare(self, number, case, ours, theirs, values, counts):
        where = f"seed {self.seed}, file {number}: {case}: {ours}, {theirs}"
        if "\0" in case["config"] + case["credentials"]:
            # No setting of ours can have one: we refuse what they would read.
            self.assertIn("error", ours, where)
            counts["NUL"] += 1
        elif values is None:
            self.assertIn("error", ours, where)
            counts["refused"] += 1
        else:
            self.assertNotIn("error", ours, where)
            for wanted, mine, value in zip(case["values"], ours["values"],
                                           values):
                self.assertEqual(mine, value, f"{wanted} of {where}")
            counts["read"] += 1
            counts["values"] += len(values)


if __name__ == "__main__":
    sdk.without_environment()
    if len(sys.argv) > 1 and sys.argv[1].isdigit():
        ProfilesTest.seed = int(sys.argv.pop(1))
    sdk.main()
