#!/usr/bin/env python3
"""The Go client as a module, which `go get` takes out of a module proxy: a
folder here. Its README, all scenarios, and the examples of dlock, in a project
that knows nothing but its path; and what Go's checkers say, the oldest Go among
them.
"""
import os
import re

import packages
import registries
from registries import read, run, shown

import test_parity  # noqa: E402 (registries knows where it is)

STATICCHECK = "honnef.co/go/tools/cmd/staticcheck@v0.7.0"
PACKAGE = registries.GoModule()
LANGUAGE = registries.Installed(PACKAGE, ["driver.go", "old.go"])


class Module(registries.Built, registries.Case):
    package = PACKAGE


class Checked(registries.Case):
    """The tree's, by what a Go programmer would ask."""

    package = PACKAGE

    def ask(self, *words, **env):
        return run(os.path.join(registries.CLIENTS, "go"), *words,
                   **{**PACKAGE.env, "GOFLAGS": "", "GOPROXY": "off", **env})

    def fetching(self):
        """As this machine has it."""
        proxy = run("/", "go", "env", "GOPROXY").strip()
        return {"GOPROXY": proxy, "GOMODCACHE": packages.tools(
            "go"), "GOFLAGS": "-modcacherw"}

    def test_format(self):
        self.assertEqual(self.ask("gofmt", "-l", "."), "")

    def test_vet(self):
        self.ask("go", "vet", "./...")

    def test_examples(self):
        said = self.ask("go", "test", "-count=1", "./...")
        self.assertRegex(said, r"(?m)^ok .*ddblock\s")

    def test_staticcheck(self):
        """But for names that are those of dlock."""
        self.ask("go", "run", STATICCHECK, "./...", **self.fetching())

    def test_oldest(self):
        """That of go.mod and of the README."""
        (oldest,) = re.findall(r"^go ([\d.]+)$", read(
            "contrib/clients/go/go.mod").decode(), re.M)
        self.assertIn(f"Go\n{oldest} or later", packages.read(
            registries.readme("go")))
        env = {**self.fetching(), "GOTOOLCHAIN": f"go{oldest}.13"}
        self.assertIn(f"go{oldest}.", self.ask("go", "version", **env))
        self.ask("go", "vet", "./...", **env)


class Used(registries.Used, registries.Case):
    package = PACKAGE
    kind = "go"
    once = '''package main

import (
	"context"
	"fmt"
	"log"

	"ddblockd.example/ddblock"
)

func main() {
	ctx := context.Background()
	client, err := ddblock.Dial(ctx, ddblock.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	LINE
	if err != nil {
		fmt.Println(ddblock.Code(err))
		return
	}
	fmt.Println("this host")
	if err = hold.Release(ctx); err != nil {
		log.Fatal(err)
	}
}
'''

    def test_checkout(self):
        """By the commands in the README, as they are printed."""
        directory = os.path.dirname(PACKAGE.project(
            "checkout", shown("go", "go")[0])[0])
        os.unlink(os.path.join(directory, "go.mod"))
        env = {**PACKAGE.env, "GOPROXY": "off", "HOME": PACKAGE.home()}
        run(directory, "go", "mod", "init", "example.org/project", **env)
        run(directory, "bash", "-ec", registries.commands("go"), **env)
        run(directory, "go", "build", ".", **env)

    def test_whole(self):
        """It is that version, and has the sum that the project knows."""
        (program,) = PACKAGE.project("whole", shown("go", "go")[0])
        directory = os.path.dirname(program)
        self.assertIn(f"{PACKAGE.path} v{PACKAGE.version}\n", run(
            directory, "go", "list", "-m", "all", **PACKAGE.env))
        self.assertIn("all modules verified", run(
            directory, "go", "mod", "verify", **PACKAGE.env))


class Moved(test_parity.Go):
    """The examples of dlock, with what is installed."""

    language = LANGUAGE


if __name__ == "__main__":
    if not PACKAGE.missing():
        PACKAGE.install()
    packages.scenarios([LANGUAGE], globals())
