#!/usr/bin/env python3
"""The packages of the Python and the JavaScript client, as far as their files
tell: versions, what they need, what is in them, and that the types of
ddblock.js know what it has. tests/packages builds and installs them.
"""
import filecmp
import glob
import json
import os
import re
import sys
import tomllib
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "packages"))
from packages import CLIENTS, TOP, read, version  # noqa: E402

import harness  # noqa: E402 (packages knows where it is)

PYTHON = os.path.join(CLIENTS, "python")
JAVASCRIPT = os.path.join(CLIENTS, "javascript")


def names(folder, *patterns):
    return {os.path.basename(path) for pattern in patterns
            for path in glob.glob(os.path.join(folder, pattern))}


def needs(language):
    """The oldest version of it, by the table of contrib/clients."""
    (found,) = re.findall(rf"^\| {language}.*\| ([\d.]+) \|",
                          read(os.path.join(CLIENTS, "README.md")), re.M)
    return found


class Licence(unittest.TestCase):
    def test_copies(self):
        copies = glob.glob(os.path.join(CLIENTS, "*", "LICENSE"))
        self.assertGreaterEqual(len(copies), 2)
        for copy in copies:
            self.assertTrue(filecmp.cmp(copy, os.path.join(TOP, "LICENSE"),
                                        shallow=False), copy)


class Python(unittest.TestCase):
    def setUp(self):
        self.about = tomllib.loads(read(os.path.join(PYTHON,
                                                     "pyproject.toml")))
        self.readme = read(os.path.join(PYTHON, "README.md"))

    def test_project(self):
        project = self.about["project"]
        self.assertEqual(project["version"], version())
        self.assertEqual(project["license"], "Apache-2.0")
        self.assertNotIn("dependencies", project)
        self.assertEqual(project["requires-python"], f">={needs('Python')}")
        self.assertIn(f"Python {needs('Python')} and later", self.readme)

    def test_files(self):
        wanted = names(PYTHON, "*.py", "py.typed")
        targets = self.about["tool"]["hatch"]["build"]["targets"]
        self.assertEqual(set(targets["sdist"]["only-include"]), wanted)
        self.assertEqual(targets["wheel"]["force-include"], {
            "ddblock.py": "ddblock/__init__.py",
            **{name: re.sub("^(ddblock_)?", "ddblock/", name)
               for name in wanted - {"ddblock.py"}}})


class JavaScript(unittest.TestCase):
    def setUp(self):
        self.about = json.loads(read(os.path.join(JAVASCRIPT,
                                                  "package.json")))
        self.readme = read(os.path.join(JAVASCRIPT, "README.md"))

    def test_project(self):
        self.assertEqual(self.about["version"], version())
        self.assertEqual(self.about["license"], "Apache-2.0")
        self.assertNotIn("dependencies", self.about)
        oldest = needs("JavaScript")
        self.assertEqual(self.about["engines"], {"node": f">={oldest}"})
        self.assertIn(f"Node {oldest} and later", self.readme)
        for text in self.readme, read(os.path.join(CLIENTS, "README.md")):
            self.assertEqual(re.findall(r"/ddblock-(.*)\.tgz", text),
                             [version()])

    def test_files(self):
        wanted = names(JAVASCRIPT, "*.js", "*.ts")
        self.assertEqual(set(self.about["files"]), wanted)
        exports = dict(self.about["exports"])
        exports.pop("./package.json")
        named = {path for each in exports.values() for path in each.values()}
        self.assertEqual(named, {f"./{name}" for name in wanted})
        for each in exports.values():
            self.assertEqual(each["types"],
                             each["default"].replace(".js", ".d.ts"))

    def test_types(self):
        """What is exported has its declaration, and no more has one."""
        for name in names(JAVASCRIPT, "*.js"):
            path = os.path.join(JAVASCRIPT, name)
            source, types = read(path), read(path.replace(".js", ".d.ts"))
            (exported,) = re.findall(r"^module\.exports = \{([^}]*)\};$",
                                     source, re.M)
            self.assertEqual(
                set(re.findall(r"\w+", exported)),
                set(re.findall(r"^export (?:class|function) (\w+)", types,
                               re.M)), name)
            for kind in re.findall(r"^(?:export|declare) class (\w+)", types,
                                   re.M):
                self.assertEqual(self.methods(source, "", kind),
                                 self.methods(types, "(?:export|declare) ",
                                              kind), f"{name}: {kind}")

    def methods(self, text, before, kind):
        """Those that are for all."""
        body = re.search(rf"^{before}class {kind}\b.*?^\}}$", text,
                         re.M | re.S)[0]
        return set(re.findall(
            r"^    (?:async )?(?:get )?([a-z]\w*)\(.*[{,;)(:]$", body,
            re.M)) - {"constructor"}


if __name__ == "__main__":
    harness.main()
