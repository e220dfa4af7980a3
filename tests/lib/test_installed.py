"""The library as others get it: what it shows, and that they can build on it.

Installs into a directory of its own, compiles the examples of libddblock(3) and
README.md with what pkg-config says, shared and static, and runs them against a
daemon.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, os.path.join(TOP, "tests", "integration"))

import harness  # noqa: E402
import printed  # noqa: E402
from harness import Daemon  # noqa: E402

CC = os.environ.get("CC", "cc").split()


def output(*command, **more):
    return subprocess.run(command, check=True, text=True, **more,
                          stdout=subprocess.PIPE,
                          timeout=harness.TIMEOUT_S).stdout


def cxx():
    if shutil.which("c++") is None:
        raise unittest.SkipTest("c++ is missing (Debian: g++)")
    return "c++"


# What the programs print, in their order.
SAID = (r"token \d+\n", "one of three\n", "step 0\nstep 1\nstep 2\n")


def examples():
    """The programs in README.md and the manual."""
    return [block for path in ("README.md", "man/libddblock.3")
            for block in printed.of(path) if block.startswith("#include")]


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.mkdtemp(prefix="ddblock-installed-")
        cls.addClassCleanup(shutil.rmtree, cls.directory)
        env = {k: v for k, v in os.environ.items()
               if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "DESTDIR")}
        output("make", "install-libLTLIBRARIES", "install-includeHEADERS",
               "install-pkgconfigDATA", f"DESTDIR={cls.directory}", env=env)
        for folder, _, files in os.walk(cls.directory):
            if "libddblock.pc" in files:
                cls.pkgconfig = folder
        cls.library = os.path.dirname(cls.pkgconfig)
        cls.static = os.path.join(cls.library, "libddblock.a")
        if harness.sanitized():
            raise unittest.SkipTest("built with sanitizers")

    def names(self, *command):
        return [line.split()[-1] for line in output(*command).splitlines()
                if len(line.split()) >= 3]

    def test_only_our_names_are_seen(self):
        shared = self.names("nm", "-D", "--defined-only",
                            os.path.join(self.library, "libddblock.so"))
        with open(os.path.join(TOP, "include", "ddblock.h"),
                  encoding="utf-8") as f:
            promised = set(re.findall(r"\b(ddblock_\w+)\(", f.read()))
        promised = {n for n in promised if not n.endswith("_function")}
        self.assertEqual({n.partition("@")[0] for n in shared}
                         - {"DDBLOCK_0"}, promised)
        self.assertIn("ddblock_open@@DDBLOCK_0", shared)

    def need_static(self):
        if not os.path.exists(self.static):
            self.skipTest("built without libddblock.a")

    def test_static_names_have_our_prefix(self):
        self.need_static()
        static = self.names("nm", "-g", "--defined-only", self.static)
        self.assertEqual([n for n in static if not n.startswith("ddblock_")],
                         [])

    def compile(self, name, program, *more, language="c"):
        env = dict(os.environ, PKG_CONFIG_PATH=self.pkgconfig,
                   PKG_CONFIG_SYSROOT_DIR=self.directory)
        flags = output("pkg-config", "--cflags", "--libs", "libddblock",
                       env=env).split()
        source = os.path.join(self.directory, f"example.{language}")
        with open(source, "w", encoding="utf-8") as f:
            f.write(program)
        path = os.path.join(self.directory, name)
        compiler = CC if language == "c" else [cxx()]
        subprocess.run([*compiler, "-Wall", "-Wextra", "-Werror", "-o", path,
                        source, *more, *flags], check=True,
                       timeout=harness.TIMEOUT_S)
        return path

    def run_examples(self, name, *more, language="c"):
        """Run them all, and return their paths."""
        programs = examples()
        self.assertEqual(len(programs), len(SAID))
        paths = [self.compile(f"{name}{i}", program, *more,
                              language=language)
                 for i, program in enumerate(programs)]
        with Daemon() as daemon:
            env = dict(os.environ, DDBLOCK_SOCKET=daemon.socket,
                       LD_LIBRARY_PATH=self.library)
            for path, said in zip(paths, SAID):
                self.assertRegex(output(path, env=env), rf"\A{said}\Z")
        return paths

    def test_shared(self):
        self.run_examples("shared")

    def test_static(self):
        self.need_static()
        for path in self.run_examples("static", "-Wl,-Bstatic",
                                      f"-L{self.library}", "-lddblock",
                                      "-Wl,-Bdynamic"):
            self.assertNotIn("libddblock", output("ldd", path))

    def test_cxx(self):
        """These programs are C++ as well."""
        self.run_examples("cxx", "-std=c++17", language="cc")

    def header(self, compiler, *flags):
        """It needs nothing before it, and keeps to the language."""
        header = os.path.join(TOP, "include", "ddblock.h")
        subprocess.run([compiler, *flags, "-pedantic", "-Wall", "-Wextra",
                        "-Werror", "-fsyntax-only", header], check=True,
                       timeout=harness.TIMEOUT_S)

    def test_header_is_c(self):
        self.header(CC[0], "-std=c11", "-xc")

    def test_header_is_cxx(self):
        self.header(cxx(), "-std=c++11", "-xc++")


if __name__ == "__main__":
    sys.exit(harness.main())
