"""What limits the harm of a defect in memory, in the files as they were built.

readelf says it of the programs and of libddblock.so. A build
with sanitizers, without optimisation, or for another processor lacks some of
it: then the test says what it leaves out. `check` of a plain build has all.
"""
import glob
import os
import re
import shutil
import subprocess
import sys
import unittest

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, os.path.join(TOP, "tests", "integration"))

import harness  # noqa: E402

# The last one is there unless it was configured --without-ncurses.
PROGRAMS = ("ddblockd", "ddblock", "ddblock-shell", *glob.glob("ddblock-top"))
LIBRARIES = glob.glob(".libs/libddblock.so.*.*")
BUILT = (*PROGRAMS, *LIBRARIES)
# An object of ours; what the linker adds may not have the processor's marks.
OBJECTS = ("src/core/core.o", "src/ipc/codec.o")
# Those that a build of each of them calls with the size of what they write to.
FORTIFIED = re.compile(r"__\w+_chk")


def readelf(path, *options):
    return subprocess.run(["readelf", "--wide", *options, path], check=True,
                          text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL,
                          timeout=harness.TIMEOUT_S).stdout


def setting(name):
    """Of the build's Makefile."""
    with open("Makefile", encoding="utf-8") as f:
        found = re.search(rf"^{name} =(.*)$", f.read(), flags=re.M)
    return found.group(1) if found else ""


def imports(path):
    """What it takes from the libraries."""
    return {line.split()[7].split("@")[0]
            for line in readelf(path, "--dyn-syms").splitlines()
            if " UND " in line and len(line.split()) > 7}


def left_out(what, why):
    print(f"left out: {what}: {why}", file=sys.stderr)


SANITIZED = "-fsanitize" in setting("SANITIZER_CFLAGS")
OPTIMISED = re.search(r"-O[1-3sz]", setting("CFLAGS")) is not None


@unittest.skipUnless(shutil.which("readelf"),
                     "readelf is missing (Debian: binutils)")
class Hardening(unittest.TestCase):
    def each(self, check, paths=BUILT):
        for path in paths:
            with self.subTest(path):
                check(path)

    def test_programs_have_no_fixed_address(self):
        def check(path):
            self.assertRegex(readelf(path, "-h"), r"Type: +DYN")
            self.assertRegex(readelf(path, "-d"), r"FLAGS_1.*\bPIE\b")
        self.each(check, PROGRAMS)

    def test_tables_of_the_linker_are_read_only(self):
        def check(path):
            self.assertIn("GNU_RELRO", readelf(path, "-l"))
            self.assertRegex(readelf(path, "-d"), r"BIND_NOW|FLAGS_1.*\bNOW\b")
        self.each(check)

    def test_stack_is_no_code(self):
        def check(path):
            stack = re.search(r"GNU_STACK.*?0x\w+ +([RWE]+) +0x",
                              readelf(path, "-l"))
            self.assertIsNotNone(stack)
            self.assertEqual(stack.group(1), "RW")
        self.each(check)

    def test_nothing_is_written_and_run(self):
        def check(path):
            loads = re.findall(r"LOAD .*?0x\w+ 0x\w+ 0x\w+ 0x\w+ 0x\w+ "
                               r"([RWE ]{3})", readelf(path, "-l"))
            self.assertGreater(len(loads), 1)
            for flags in loads:
                self.assertFalse("W" in flags and "E" in flags, flags)
        self.each(check)

    def test_stack_has_a_guard(self):
        if SANITIZED:
            left_out("__stack_chk_fail", "the sanitizer has its own")
            return
        self.each(lambda path: self.assertIn("__stack_chk_fail",
                                             imports(path)))

    def test_libc_knows_the_sizes(self):
        if SANITIZED or not OPTIMISED:
            left_out("_FORTIFY_SOURCE", "sanitizers exclude it"
                     if SANITIZED else "there is no optimisation")
            return
        self.assertIn("-D_FORTIFY_SOURCE=", setting("HARDENING_CFLAGS") +
                      setting("CFLAGS") + setting("CPPFLAGS"))
        self.each(lambda path: self.assertTrue(any(
            map(FORTIFIED.fullmatch, imports(path)))))

    def test_jumps_arrive_where_they_may(self):
        """Each of our objects says so; a program does if libc's do, too."""
        flags = setting("HARDENING_CFLAGS")
        if "-fcf-protection" in flags:
            marks = ("IBT", "SHSTK")
        elif "-mbranch-protection" in flags:
            marks = ("BTI", "PAC")
        else:
            left_out("IBT, BTI", "this compiler has none of them")
            return
        start = subprocess.run([*setting("CC").split(),
                                "-print-file-name=crt1.o"], check=True,
                               text=True, stdout=subprocess.PIPE,
                               timeout=harness.TIMEOUT_S).stdout.strip()
        paths = OBJECTS
        if marks[0] in readelf(start, "-n"):
            paths += BUILT
        else:
            left_out(f"{marks[0]} of whole programs", "libc has none of it")

        def check(path):
            found = readelf(path, "-n")
            for mark in marks:
                self.assertIn(mark, found)
        self.each(check, paths)


if __name__ == "__main__":
    harness.main()
