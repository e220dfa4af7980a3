#!/usr/bin/env python3
"""The packages of the Go, the Java and the Rust client, as far as it takes no
time and no network: their versions, what they need, what is in them, and that
they are the same when they are built again. tests/packages installs them and
plays everything.
"""
import os
import re
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "packages"))
import registries  # noqa: E402
from packages import read  # noqa: E402
from registries import readme, version  # noqa: E402


class Versions(unittest.TestCase):
    """configure.ac is their place, contrib/clients/README.md that of what each
    client needs."""

    def said(self, path, pattern):
        (found,) = re.findall(pattern, read(os.path.join(
            registries.CLIENTS, path)), re.M)
        return found

    def test_project(self):
        for path, pattern in (
                ("go/README.md", r"^    go get \S+@v(\S+)$"),
                ("java/README.md", r"^  <version>(.*)</version>$"),
                ("java/pom.xml", r"^  <version>(.*)</version>$"),
                ("rust/Cargo.toml", r'^version = "(.*)"$'),
                ("rust/README.md", r'^ddblock = "(.*)"$')):
            self.assertEqual(self.said(path, pattern), version(),
                             path)

    def test_oldest_language(self):
        for language, path, pattern in (
                ("Go", "go/go.mod", r"^go (.*)$"),
                ("Java", "java/pom.xml",
                 r"<maven.compiler.release>(.*)</maven.compiler.release>"),
                ("Rust", "rust/Cargo.toml", r'^rust-version = "(.*)"$')):
            needs = self.said("README.md", rf"^\| {language} .*\| ([\d.]+) \|")
            self.assertEqual(self.said(path, pattern), needs, path)
            self.assertRegex(read(readme(language.lower())),
                             rf"{language}\s{needs} or\slater")

    def test_one_client(self):
        """The READMEs say the same of what is the same."""
        one, *others = [re.findall(
            r"^\*\*The token\*\*.*?\n\n|^\*\*The daemon\*\*.*?\. Its\n.*?\. ?",
            read(readme(language)), re.M | re.S) for language in
            ("go", "java", "rust")]
        self.assertEqual(len(one), 2)
        for other in others:
            self.assertEqual(other, one)


class Module(registries.Built, registries.Case):
    package = registries.GoModule()


class Crate(registries.Built, registries.Case):
    package = registries.Crate()


if __name__ == "__main__":
    registries.harness.main()
