#!/usr/bin/env python3
"""The Rust client as a crate, as `cargo package` makes it. Its README and all
scenarios, in a project that has the unpacked crate; and what Rust's checkers
say, the oldest Rust among them.
"""
import os
import re
import shutil

import packages
import registries
from registries import read

PACKAGE = registries.Crate()
LANGUAGE = registries.Installed(PACKAGE, ["driver.rs"])


class Crate(registries.Built, registries.Case):
    package = PACKAGE


class Checked(registries.Case):
    """By what a Rust programmer would ask."""

    package = PACKAGE

    def ask(self, *words, toolchain=(), **env):
        """Nothing is written into the tree."""
        directory = os.path.join(PACKAGE.directory, "checked")
        registries.copy("rust", directory)
        said = PACKAGE.cargo(directory, *words, toolchain=toolchain, **env)
        self.assertNotIn("warning", said)
        return said

    def test_clippy(self):
        """And each public name has a comment."""
        self.ask("clippy", "--quiet", "--", "-W", "missing_docs", "-D",
                 "warnings")

    def test_documentation(self):
        self.ask("doc", "--quiet", RUSTDOCFLAGS="-D warnings")

    def test_examples(self):
        self.assertIn("test result: ok. 2 passed", self.ask("test", "--doc"))

    def test_oldest(self):
        """That of Cargo.toml and of the README."""
        (oldest,) = re.findall(r'^rust-version = "([\d.]+)"$', read(
            "contrib/clients/rust/Cargo.toml").decode(), re.M)
        self.assertIn(f"Rust {oldest} or\nlater", packages.read(
            registries.readme("rust")))
        if shutil.which("rustup") is None:
            self.skipTest("rustup is not there")
        name = f"{oldest}.0"
        registries.run("/", "rustup", "toolchain", "install", "--profile",
                       "minimal", "--no-self-update", name)
        self.ask("test", toolchain=[f"+{name}"])


class Used(registries.Used, registries.Case):
    package = PACKAGE
    kind = "rust"
    once = '''fn main() -> ddblock::Result<()> {
    let client = ddblock::Client::connect("nightly")?;
    let once = || {
        LINE        hold.release()
    };
    match once() {
        Ok(()) => println!("this host"),
        Err(e) => println!("{}", e.code),
    }
    Ok(())
}
'''


    def test_checkout(self):
        """By the command in the README, as it is printed."""
        directory = os.path.join(PACKAGE.directory, "checkout")
        shutil.rmtree(directory, ignore_errors=True)
        PACKAGE.cargo(PACKAGE.directory, "new", "--quiet", "--vcs=none",
                      "checkout")
        registries.run(directory, "bash", "-ec", registries.commands("rust"),
                       HOME=PACKAGE.home(), CARGO_NET_OFFLINE="true",
                       **registries.rust_homes())
        registries.write(os.path.join(directory, "src", "main.rs"),
                         registries.shown("rust", "rust")[0])
        PACKAGE.cargo(directory, "build", "--quiet")


if __name__ == "__main__":
    if not PACKAGE.missing():
        PACKAGE.install()
    packages.scenarios([LANGUAGE], globals())
