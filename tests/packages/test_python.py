#!/usr/bin/env python3
"""The package of the Python client: what is in it, that it is the same when it
is built again, its types, and, installed alone, its README and all scenarios.

$DDBLOCK_PYTHON is the Python that it is installed for.
"""
import os
import re
import shutil
import sys
import tarfile
import tempfile
import unittest
import zipfile

import packages
from packages import attempt, read, run, tools

import harness  # noqa: E402 (packages knows where these are)
import test_clients  # noqa: E402
import test_parity  # noqa: E402

SOURCE = os.path.join(packages.CLIENTS, "python")
PYTHON = os.environ.get("DDBLOCK_PYTHON") or sys.executable
NAME = f"ddblock-{packages.version()}"
WHEEL = f"{NAME}-py3-none-any.whl"
FILES = {"ddblock/__init__.py": "ddblock.py",
         "ddblock/py.typed": "py.typed",
         "ddblock/python_dynamodb_lock.py": "ddblock_python_dynamodb_lock.py"}
PLACE = tempfile.mkdtemp(prefix="ddblock-python-")
DIST = os.path.join(PLACE, "first")


def build(name, builder="tools"):
    """A wheel and a source distribution."""
    dist = os.path.join(PLACE, name)
    run(os.path.join(packages.TOP, "scripts", "client-packages"), dist,
        "python", DDBLOCK_PYTHON_BUILDER=tools("python", builder, "bin",
                                               "python"))
    return dist


class Installed:
    """An environment of its own, in which there is only the package."""

    python = os.path.join(PLACE, "clean", "bin", "python")

    @classmethod
    def make(cls):
        wheel = os.path.join(build("first"), WHEEL)
        run(PYTHON, "-m", "venv", os.path.join(PLACE, "clean"))
        run(cls.python, "-I", "-m", "pip", "install", "--quiet", "--no-index",
            "--disable-pip-version-check", wheel)

    @classmethod
    def driver(cls, name, driver, has):
        """The language of test_clients.py, which has what is installed."""
        language = test_clients.Script(name, "python/ddblock.py", driver,
                                       cls.python, has=has)
        language.command = lambda: [cls.python, "-I", language.sources[1]]
        language.environment = {"DDBLOCK_CLIENT": "installed"}
        return language


LANGUAGES = [
    Installed.driver("python", "driver.py", test_clients.ALL),
    Installed.driver("asyncio", "driver_asyncio.py",
                     ("abandon", "holds", "nul", "reconnect")),
]


class Package(unittest.TestCase):
    """Files, before they are installed."""

    def test_wheel(self):
        with zipfile.ZipFile(os.path.join(DIST, WHEEL)) as wheel:
            names = {name for name in wheel.namelist()
                     if not name.startswith(f"{NAME}.dist-info/")}
            self.assertEqual(names, set(FILES))
            for name, source in FILES.items():
                self.assertEqual(wheel.read(name), read(
                    os.path.join(SOURCE, source), "rb"), name)
            about = wheel.read(f"{NAME}.dist-info/METADATA").decode()
        head = about.partition("\n\n")[0]
        for line in (f"Version: {packages.version()}",
                     "License-Expression: Apache-2.0",
                     "Requires-Python: >=3.8", "Classifier: Typing :: Typed"):
            self.assertIn(f"\n{line}\n", head)
        self.assertNotIn("Requires-Dist", head)

    def test_source_distribution(self):
        with tarfile.open(os.path.join(DIST, f"{NAME}.tar.gz")) as archive:
            names = set(archive.getnames())
        self.assertEqual(names, {f"{NAME}/{name}" for name in (
            *FILES.values(), "LICENSE", "PKG-INFO", "README.md",
            "pyproject.toml")})

    def test_same_again(self):
        again = build("again")
        for name in (WHEEL, f"{NAME}.tar.gz"):
            self.assertEqual(read(os.path.join(DIST, name), "rb"),
                             read(os.path.join(again, name), "rb"), name)

    def test_oldest_builder(self):
        dist = build("oldest", "oldest")
        with zipfile.ZipFile(os.path.join(dist, WHEEL)) as wheel:
            self.assertEqual({name for name in wheel.namelist()
                              if ".dist-info" not in name}, set(FILES))

    def test_oldest_python(self):
        said = run(tools("python", "tools", "bin", "vermin"), "--no-tips",
                   "-t=3.8-", "--violations", *FILES.values(), cwd=SOURCE)
        self.assertIn("3.8", said)


class Types(unittest.TestCase):
    """Of the source, and of what is installed."""

    def mypy(self, *files):
        return attempt(
            tools("python", "tools", "bin", "mypy"), "--strict",
            "--cache-dir", os.path.join(PLACE, "mypy"),
            "--python-executable", Installed.python, *files)

    def pyright(self, mode, *files):
        folder = tempfile.mkdtemp(dir=PLACE)
        for path in files:
            shutil.copy(path, folder)
        with open(os.path.join(folder, "pyrightconfig.json"), "w",
                  encoding="ascii") as f:
            f.write('{"typeCheckingMode": "%s", "pythonVersion": "3.8",'
                    '"reportPrivateUsage": false,'
                    '"reportUnusedExpression": false,'
                    '"reportUnknownVariableType": false}' % mode)
        return attempt(
            "node", tools("python", "node_modules", "pyright", "index.js"),
            "--pythonpath", Installed.python, cwd=folder)

    def source(self):
        return [os.path.join(SOURCE, name) for name in FILES.values()
                if name.endswith(".py")]

    def accepted(self, done):
        self.assertEqual(done[0], 0, done[1])

    def refused(self, done, path):
        """In these lines, each of them."""
        self.assertEqual(done[0], 1, done[1])
        self.assertEqual(
            {int(line) for line in re.findall(
                r"refused\.py:(\d+):(?:\d+ -)? error", done[1])},
            packages.lines_refused(path), done[1])

    def test_source(self):
        self.accepted(self.mypy(*self.source()))
        self.accepted(self.pyright("strict", *self.source()))

    def test_accepted(self):
        path = os.path.join(packages.HERE, "python", "accepted.py")
        self.accepted(self.mypy(path))
        self.accepted(self.pyright("strict", path))

    def test_refused(self):
        path = os.path.join(packages.HERE, "python", "refused.py")
        self.refused(self.mypy(path), path)
        self.refused(self.pyright("standard", path), path)


class Alone(unittest.TestCase):
    """In an environment that has nothing else."""

    def test_nothing_else(self):
        listed = run(Installed.python, "-I", "-m", "pip", "list",
                     "--disable-pip-version-check", "--format=freeze")
        self.assertEqual({line.split("==")[0] for line in listed.split()} -
                         {"pip", "setuptools"}, {"ddblock"})
        self.assertEqual(run(
            Installed.python, "-I", "-c", "import ddblock, importlib.metadata;"
            "print(importlib.metadata.version('ddblock'))").strip(),
            packages.version())

    def test_readme(self):
        programs = packages.fenced(os.path.join(SOURCE, "README.md"), "python")
        shown = (r"the report, with token \d+\n",
                 r"the report, with token \d+\n", "step 0\nstep 1\nstep 2\n")
        self.assertEqual(len(programs), len(shown))
        daemon = harness.Daemon()
        self.addCleanup(daemon.close)
        daemon.start()
        for program, lines in zip(programs, shown):
            self.assertRegex(run(Installed.python, "-I", "-c", program,
                                 DDBLOCK_SOCKET=daemon.socket),
                             rf"\A{lines}\Z")

    def test_installed_as_printed(self):
        """By the command in the README, from a checkout, with the oldest
        builder."""
        (command,) = packages.indented(os.path.join(SOURCE, "README.md"))
        checkout = os.path.join(PLACE, "checkout")
        shutil.copytree(SOURCE, os.path.join(checkout, "contrib", "clients",
                                             "python"))
        environment = os.path.join(PLACE, "printed")
        run(PYTHON, "-m", "venv", environment)
        run("bash", "-ec", command, cwd=checkout, PIP_NO_INDEX="1",
            PIP_FIND_LINKS=tools("python", "wheels"),
            PATH=f"{environment}/bin:{os.environ['PATH']}")
        run(os.path.join(environment, "bin", "python"), "-I", "-c",
            "import ddblock.python_dynamodb_lock")


class Moved(test_parity.Python):
    """The examples of python_dynamodb_lock, with what is installed."""

    language = LANGUAGES[0]


if __name__ == "__main__":
    packages.main("python", PLACE, Installed.make, LANGUAGES, globals())
