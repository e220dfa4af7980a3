"""The sample of the configuration: it has every setting, says the defaults, and
each of its examples is accepted when its signs of a comment are removed.

A paragraph of it is an example: a comment, and lines that begin with #. The
first ones of the sections are there when others are tried.
"""
import os
import re
import subprocess
import sys
import unittest

import harness

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
SETTING = re.compile(r"^#(?:(\w+) = .+|\[[\w -]+\])$")


def sample():
    with open(os.path.join(TOP, "contrib/ddblockd.conf"),
              encoding="utf-8") as f:
        return f.read()


class Example:
    """@head: those of the sections are in all others."""

    def __init__(self, text):
        self.text = text
        self.lines = [line for line in text.splitlines()
                      if line.startswith("#")]
        self.names = [SETTING.fullmatch(line)[1] for line in self.lines]
        self.head = bool(self.lines) and self.lines[0].startswith("#[n")
        self.is_default = "Example:" not in text and None not in self.names

    def without_signs(self):
        return re.sub("^#", "", self.text, flags=re.M)


def examples():
    return [Example(text) for text in sample().split("\n\n")]


def run(program, *arguments):
    return subprocess.run([program, *arguments], capture_output=True,
                          text=True, check=False, timeout=harness.TIMEOUT_S)


class Sample(unittest.TestCase):
    def check(self, config):
        """What --check-config says: the settings, without where they are
        from."""
        daemon = harness.Daemon(config, raw=True, args=["--check-config"])
        self.addCleanup(daemon.close)
        status, out, err = daemon.run()
        self.assertEqual((status, err), (0, ""), config)
        return re.sub(r"\t;.*", "", out).partition("\n\n")[2]

    def test_it_is_what_the_tables_say(self):
        done = run(sys.executable, os.path.join(TOP, "scripts/sample-config"),
                   "--check")
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_it_has_every_setting(self):
        """As the daemon knows them: the flags, and the secrets."""
        flags = re.findall(r"^  --([\w-]+)=", run(
            harness.program("ddblockd"), "--help").stdout.partition(
                "Settings of the daemon:")[2], re.M)
        self.assertGreater(len(flags), 50)
        names = {name for each in examples() for name in each.names
                 if name is not None}
        self.assertEqual({flag.replace("-", "_") for flag in flags}
                         - names, set())
        self.assertIn("secret_access_key", names)

    def test_its_commands(self):
        """They are there, with their options: those in quotation marks."""
        text = re.sub("\n; ", " ", sample())
        commands = re.findall('"(ddblock[^"]*)"', text)
        self.assertGreaterEqual(len(commands), 3)
        for command in commands:
            name, *arguments = command.split()
            done = run(harness.program(name), *arguments, "--help")
            self.assertEqual(done.returncode, 0, f"{command}: {done.stderr}")

    def test_as_it_is_it_changes_nothing(self):
        self.assertEqual(self.check(sample()), self.check(None))
        daemon = harness.Daemon(sample(), args=[
            "--file={dir}/default.db"])
        with daemon:
            done = run(harness.program("ddblock"), "run",
                       f"--socket={daemon.socket}", "k", "--", "true")
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_each_example(self):
        """What is said to be the default is it."""
        every = examples()
        heads = "\n\n".join(each.without_signs() if each.head else each.text
                            for each in every)
        before = self.check(heads)
        n_changes = 0
        for each in filter(lambda each: each.lines, every):
            if each.head:
                continue
            text = heads.replace(each.text, each.without_signs())
            self.assertNotEqual(text, heads)
            with self.subTest(each.text):
                after = self.check(text)
                if each.is_default and len(each.lines) == 1 and \
                        each.names != ["journal"]:  # shown when it is set
                    self.assertEqual(after, before)
                else:
                    self.assertNotEqual(after, before)
                    n_changes += 1
        self.assertGreater(n_changes, 10)


if __name__ == "__main__":
    harness.main()
