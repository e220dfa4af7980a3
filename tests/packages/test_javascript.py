#!/usr/bin/env python3
"""The package of the JavaScript client: what is in it, that it is the same when
it is packed again, its types, and, installed alone, its README and all
scenarios.

$DDBLOCK_NODE is the Node that it is installed for.
"""
import json
import os
import re
import shutil
import tarfile
import tempfile
import unittest

import packages
from packages import attempt, read, run, tools

import harness  # noqa: E402 (packages knows where these are)
import test_clients  # noqa: E402
import test_parity  # noqa: E402

SOURCE = os.path.join(packages.CLIENTS, "javascript")
NODE = os.environ.get("DDBLOCK_NODE") or "node"
TARBALL = f"ddblock-{packages.version()}.tgz"
FILES = {"LICENSE", "README.md", "ddblock.d.ts", "ddblock.js",
         "dynamodb-lock-client.d.ts", "dynamodb-lock-client.js",
         "package.json"}
PLACE = tempfile.mkdtemp(prefix="ddblock-javascript-")
PROJECT = os.path.join(PLACE, "project")
INSTALL = ("npm", "install", "--loglevel=error", "--offline", "--no-audit",
           "--no-fund")
# As strict as it is. The types of Node are not the package's.
STRICT = ("--strict", "--exactOptionalPropertyTypes",
          "--noUncheckedIndexedAccess", "--target", "es2022",
          "--lib", "es2022,esnext.disposable", "--types", "node",
          "--pretty", "false")
MODULES = ("--module", "nodenext", "--moduleResolution", "nodenext")


def pack(name):
    """The tarball."""
    dist = os.path.join(PLACE, name)
    run(os.path.join(packages.TOP, "scripts", "client-packages"), dist,
        "javascript")
    return os.path.join(dist, TARBALL)


def new_project(path):
    os.makedirs(path)
    with open(os.path.join(path, "package.json"), "w", encoding="ascii") as f:
        f.write('{"private": true}\n')


def program(name, text):
    """A file of the project that has the package."""
    path = os.path.join(PROJECT, name)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    return path


def modules(*path):
    return tools("javascript", "node_modules", *path)


def compiler(*arguments, version="typescript", types=modules("@types")):
    """With the types of Node in that folder."""
    return attempt("node", modules(version, "bin", "tsc"), *STRICT,
                   "--typeRoots", types, *arguments, cwd=PROJECT)


LANGUAGE = test_clients.Script(
    "javascript", "javascript/ddblock.js", "driver.js", NODE,
    has=("abandon", "holds", "nul", "reconnect"))
LANGUAGE.environment = {"DDBLOCK_CLIENT": PROJECT}


class Package(unittest.TestCase):
    """Files, before they are installed."""

    def test_tarball(self):
        with tarfile.open(os.path.join(PLACE, "first", TARBALL)) as archive:
            found = {member.name: archive.extractfile(member).read()
                     for member in archive.getmembers()}
        self.assertEqual(set(found), {f"package/{name}" for name in FILES})
        for name in FILES:
            self.assertEqual(found[f"package/{name}"], read(
                os.path.join(SOURCE, name), "rb"), name)

    def test_same_again(self):
        self.assertEqual(read(os.path.join(PLACE, "first", TARBALL), "rb"),
                         read(pack("again"), "rb"))


class WithDaemon(test_clients.WithDaemon):
    maxDiff = None

    def node(self, *arguments):
        return run(NODE, *arguments, cwd=PROJECT,
                   DDBLOCK_SOCKET=self.daemon.socket)


class Types(WithDaemon):
    def test_accepted(self):
        text = read(os.path.join(packages.HERE, "javascript", "accepted.ts"))
        # As Node looks for modules, as older programs do, and as bundlers do.
        for name, *how in (
                ("accepted.mts", *MODULES), ("accepted.cts", *MODULES),
                ("accepted.ts", "--module", "commonjs", "--esModuleInterop"),
                ("accepted.ts", "--module", "esnext", "--moduleResolution",
                 "bundler")):
            status, said = compiler(*how, "--noEmit", program(name, text))
            self.assertEqual((status, said), (0, ""), how)

    def test_oldest_types(self):
        """The first types of each Node that package.json names do, too, with
        a compiler of their time."""
        oldest = re.findall(r"\^((\d+)[\d.]+)", json.loads(read(os.path.join(
            SOURCE, "package.json")))["peerDependencies"]["@types/node"])
        self.assertEqual([line for _, line in oldest], ["18", "20"])
        text = read(os.path.join(packages.HERE, "javascript", "accepted.ts"))
        for version, line in oldest:
            folder = modules(f"types-node-{line}")
            self.assertEqual(json.loads(read(os.path.join(
                folder, "package.json")))["version"], version)
            types = os.path.join(PLACE, f"types-{line}")
            os.makedirs(types)
            os.symlink(folder, os.path.join(types, "node"))
            status, said = compiler(
                *MODULES, "--noEmit", program("oldest.mts", text),
                version="typescript-5.3", types=types)
            self.assertEqual((status, said), (0, ""), version)

    def test_refused(self):
        path = os.path.join(packages.HERE, "javascript", "refused.ts")
        status, said = compiler(*MODULES, "--noEmit",
                                program("refused.mts", read(path)))
        self.assertEqual(status, 2, said)
        self.assertEqual(
            {int(line) for line in re.findall(r"refused\.mts\((\d+),", said)},
            packages.lines_refused(path), said)

    def test_names(self):
        """What the types declare is there, and what is there is declared."""
        said = json.loads(self.node(
            os.path.join(packages.HERE, "javascript", "names.js"), PROJECT,
            modules("typescript")))
        self.assertEqual(len(said), 2)
        for module, names in said.items():
            for name, (declared, there) in names.items():
                self.assertTrue(there, name)
                self.assertEqual(declared, there, f"{module}: {name}")


class Alone(WithDaemon):
    """In a project that has nothing else."""

    def test_nothing_else(self):
        self.assertEqual([name for name in os.listdir(
            os.path.join(PROJECT, "node_modules")) if name[0] != "."],
            ["ddblock"])

    def test_imports(self):
        """Each name by itself, all as one, and by require."""
        said = self.node(program("imports.mjs", """
            import { createRequire } from 'node:module';
            import ddblock, * as all from 'ddblock';
            import moved, { FailClosed, FailOpen, Lock }
                from 'ddblock/dynamodb-lock-client';
            import { Client, connect, DdblockError, decode, encode, Hold }
                from 'ddblock';
            const required = createRequire(import.meta.url)('ddblock');
            console.log(ddblock === required, Client === required.Client,
                Object.keys(required).every((name) => name in all),
                moved.FailOpen === FailOpen, [connect, DdblockError, decode,
                    encode, FailClosed, Hold, Lock].every(Boolean));
            """))
        self.assertEqual(said, "true true true true true\n")

    def test_readme(self):
        readme = os.path.join(SOURCE, "README.md")
        report = r"\Athe report, with token \d+\n\Z"
        for language, name, shown in (("js", "readme.cjs", report),
                                      ("mjs", "readme.mjs", r"\Adone\n\Z")):
            (text,) = packages.fenced(readme, language)
            self.assertRegex(self.node(program(name, text)), shown)
        # As TypeScript makes it for a Node without `await using`; and as it is.
        (text,) = packages.fenced(readme, "ts")
        status, said = compiler(*MODULES, program("using.mts", text))
        self.assertEqual((status, said), (0, ""))
        self.assertNotIn("await using", read(f"{PROJECT}/using.mjs"))
        self.assertRegex(self.node("using.mjs"), report)
        if self.knows_await_using():
            self.assertRegex(self.node(program("as_it_is.mjs", text)), report)

    def knows_await_using(self):
        return attempt(NODE, "--check", program(
            "knows.mjs", "await using nothing = null;\n"))[0] == 0

    def test_installed_as_printed(self):
        """By the commands in the README, from a checkout."""
        (commands,) = packages.indented(os.path.join(SOURCE, "README.md"))
        checkout = os.path.join(PLACE, "checkout")
        new_project(checkout)
        shutil.copytree(SOURCE, os.path.join(checkout, "contrib", "clients",
                                             "javascript"))
        run("bash", "-ec", commands, cwd=checkout, npm_config_offline="true")
        run(NODE, "-e", "require('ddblock/dynamodb-lock-client')",
            cwd=checkout)


class Moved(test_parity.JavaScript):
    """The examples of dynamodb-lock-client, with what is installed."""

    language = LANGUAGE


def install():
    new_project(PROJECT)
    run(*INSTALL, pack("first"), cwd=PROJECT)


if __name__ == "__main__":
    packages.main("javascript", PLACE, install, [LANGUAGE], globals())
