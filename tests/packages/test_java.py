#!/usr/bin/env python3
"""The Java client as a jar, as `mvn install` puts it into a repository, an
empty one. Its README, all scenarios, and the examples of
amazon-dynamodb-lock-client, in a project that has it by its coordinates.
"""
import os
import re

import packages
import registries
from registries import run

import test_parity  # noqa: E402 (registries knows where it is)

PACKAGE = registries.Jar()
LANGUAGE = registries.Installed(PACKAGE, ["Driver.java", "Old.java"])


class Jar(registries.Built, registries.Case):
    package = PACKAGE

    def test_jars(self):
        """A name for each class of the sources, a page for each of them."""
        names = set(self.package.open(self.first))
        pages = set(self.package.open(self.first, "-javadoc"))
        for path in self.package.sources():
            name = re.sub(r"^src/main/java/|\.java$", "", path)
            if path.endswith(".java"):
                self.assertIn(f"{name}.class", names)
            if path.endswith(".java") and not name.endswith("-info"):
                self.assertIn(f"ddblock/{name}.html", pages)
        self.assertIn("META-INF/LICENSE", names)

    def test_every_public_name_has_a_sentence(self):
        """Tags that would only repeat it are not asked for."""
        directory = os.path.join(PACKAGE.directory, "sentences")
        registries.copy("java", directory)
        said = run(directory, "javadoc", "-quiet", "-public", "-Xdoclint:all",
                   "-Xmaxwarns", "1000", "-d", "pages",
                   *[path for path in PACKAGE.sources()
                     if path.endswith(".java")])
        found = re.findall(r"^.*: warning: (?!no @).*$", said, re.M)
        self.assertEqual(found, [])
        self.assertIn("warning: no @return", said)  # so it looked


class Used(registries.Used, registries.Case):
    package = PACKAGE
    kind = "java"
    once = '''import ddblock.DdblockClient;
import java.util.Map;

final class Once {
    public static void main(String[] arguments) throws Exception {
        try (var client = DdblockClient.connect(Map.of())) {
            LINE            hold.release();
            System.out.println("this host");
        } catch (DdblockClient.DdblockException e) {
            System.out.println(e.code());
        }
    }
}
'''

    def test_module(self):
        """A project with modules has it, too."""
        words = PACKAGE.project("module", registries.shown("java", "java")[0])
        said = run(PACKAGE.directory, "java", "--module-path", words[-2],
                   "--describe-module", "ddblock")
        self.assertIn(f"ddblock@{PACKAGE.version} ", said)
        for name in "ddblock", "ddblock.dynamodbv2", "ddblock.dynamodbv2.model":
            self.assertIn(f"exports {name}\n", said)
        self.assertNotIn("requires ddb", said)


class Moved(test_parity.Java):
    """The examples of amazon-dynamodb-lock-client, with what is installed."""

    language = LANGUAGE


if __name__ == "__main__":
    if not PACKAGE.missing():
        PACKAGE.install()
    packages.scenarios([LANGUAGE], globals())
