#!/usr/bin/env python3
"""Does a test find every seeded defect outside the simulated code?

    product.py [--directory DIR] [--cc CC] [--jobs N] [NAME...]

The tables beside this file have the form of the simulation's (mutate.py), and
each entry names what must catch it: `by PROGRAM` is a test program,
`by FILE [CASE]` a Python test or one case of it.

DIR becomes a build of the whole product. make looks there before it looks
where the sources are, so that the sources with all the mutants, which are
written there, take the place of their originals; DDBLOCK_MUTANT says which
mutant is at work. Every test must pass without one, and fail with each of its
own. A line each says what failed first; the last line counts them.
"""
import argparse
import concurrent.futures
import glob
import os
import re
import signal
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(TOP, "tests", "sim"))

import mutate  # noqa: E402 (it is there)

SCENARIOS = os.path.join(TOP, "tests", "sim", "scenarios")
PATIENCE_S = 60  # a test that waits longer has noticed
SKIPPED = 77
# What Python tests start, by their folder.
PROGRAMS = {"tests/integration": ("ddblockd", "ddblock", "ddblock-judge"),
            "tests/sim": ("ddblock-sim",)}


# ---- the build -----------------------------------------------------------

def quoted(mutant):
    return f'"{mutant.name}"'


def catcher_path(test, case):
    """Where its text is. What is not there would fail for every mutant."""
    if test.endswith("/test_scenarios.py"):
        return os.path.join(SCENARIOS, f"{case}.plan")
    if test.endswith(".py"):
        return os.path.join(TOP, test)
    return os.path.join(TOP, "tests", "*", f"{test}.c")


def read_tables():
    mutants = mutate.read_tables(
        sorted(glob.glob(os.path.join(HERE, "*.mutants"))))
    for mutant in mutants:
        if not mutant.catchers and mutant.kind == "mutant":
            raise mutate.Bad(f"{mutant.place}: {mutant.name}: by what?")
        for test, case in mutant.catchers:
            path = catcher_path(test, case)
            if not glob.glob(path):
                raise mutate.Bad(f"{mutant.place}: there is no {path}")
    return mutants


def mutated(mutants):
    """{path: the source with all of its mutants}"""
    return {path: mutate.mutated(TOP, path, edits, quoted)
            for path, edits in mutate.edits_by_path(mutants).items()}


def write_sources(directory, mutants):
    """What changed is written, what has no mutant any more goes."""
    texts = {os.path.join(directory, path): text
             for path, text in mutated(mutants).items()}
    for path in glob.glob(os.path.join(directory, "src", "**", "*.c"),
                          recursive=True):
        if path not in texts:
            os.unlink(path)
    for path, text in texts.items():
        try:
            with open(path, encoding="utf-8") as f:
                if f.read() == text:
                    continue
        except FileNotFoundError:
            pass
        mutate.write(path, text)


def build(directory, mutants, options):
    if not os.path.exists(os.path.join(directory, "Makefile")):
        subprocess.run(
            [os.path.join(TOP, "configure"), "--quiet", "--disable-shared",
             # Before the folder of the simulation's mutant.h.
             f"CC={options.cc} -I{HERE}", "CFLAGS=-O1"],
            cwd=directory, check=True)
    programs = set()
    for test in {test for m in mutants for test, _ in m.catchers}:
        programs.update(PROGRAMS[os.path.dirname(test)]
                        if test.endswith(".py") else [test])
    subprocess.run(["make", "-s", f"-j{options.jobs}", *sorted(programs)],
                   cwd=directory, check=True)


# ---- tests ---------------------------------------------------------------

class Outcome:
    def __init__(self, status, output, seconds):
        self.status = status
        self.output = output
        self.seconds = seconds

    def found(self):
        return self.status not in (0, SKIPPED)

    def text(self):
        """What failed first, as far as that can be told."""
        if self.status is None:
            return f"no end after {PATIENCE_S} s"
        line = re.search(r":[FE]:[^:]*:(\w+:\d+: .*)$|^((?:FAIL|ERROR): .*)$",
                         self.output, flags=re.M)
        if line is None:
            return f"status {self.status}: {self.output[-200:]}".replace(
                "\n", " ")
        return line.group(1) or line.group(2)


def end_session(session):
    """All that a test started, in whatever groups."""
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(path, encoding="utf-8", errors="replace") as f:
                words = f.read().rpartition(")")[2].split()
            if int(words[3]) == session and words[0] != "Z":
                os.kill(int(path.split("/")[2]), signal.SIGKILL)
        except OSError:
            pass  # it has ended


def run(directory, test, case, mutant=None):
    """A test to its end, with all that it started."""
    environment = {
        **os.environ, "DDBLOCKD": os.path.join(directory, "ddblockd"),
        "DDBLOCK": os.path.join(directory, "ddblock"),
        "CK_DEFAULT_TIMEOUT": str(2 * PATIENCE_S),
        "DDBLOCK_TIMEOUT_S": str(PATIENCE_S // 3),
        "PYTHONDONTWRITEBYTECODE": "1"}
    environment.pop("DDBLOCK_MUTANT", None)
    if mutant is not None:
        environment["DDBLOCK_MUTANT"] = mutant.name
    command = [sys.executable, os.path.join(TOP, test)] \
        if test.endswith(".py") else [os.path.join(directory, test)]
    began = time.monotonic()
    process = subprocess.Popen(
        command + ([case] if case is not None else []), env=environment,
        cwd=directory, start_new_session=True, text=True, errors="replace",
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT)
    killer = threading.Timer(PATIENCE_S, end_session, (process.pid,))
    killer.start()
    output = process.communicate()[0]
    seconds = time.monotonic() - began
    killer.cancel()
    end_session(process.pid)
    return Outcome(None if seconds >= PATIENCE_S else process.returncode,
                   output, seconds)


def judge(directory, mutant, spoilt):
    """(passed, line): does every one of its tests find it?"""
    texts = []
    seconds = 0.0
    passed = True
    for test, case in mutant.catchers:
        name = os.path.basename(test) + (f" {case}" if case else "")
        if (test, case) in spoilt:
            passed = False
            texts.append(f"{name} fails without a mutant")
            continue
        outcome = run(directory, test, case, mutant)
        seconds += outcome.seconds
        if outcome.found() != (mutant.kind == "mutant"):
            passed = False
        texts.append(f"{name}: " + (outcome.text() if outcome.found() else
                                    "finds nothing"))
    word = "ok" if passed else "FAILED"
    return passed, (f"{word:6} {mutant.kind:10} {mutant.name:36} "
                    f"{seconds:5.1f} s  {'; '.join(texts)[:160]}")


def run_all(directory, mutants, options):
    began = time.monotonic()
    catchers = sorted({c for m in mutants for c in m.catchers},
                      key=lambda c: (c[0], c[1] or ""))
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        outcomes = pool.map(lambda c: run(directory, *c), catchers)
        spoilt = set()
        for catcher, outcome in zip(catchers, outcomes):
            if outcome.status != 0:
                spoilt.add(catcher)
                print(f"{' '.join(c for c in catcher if c)}: without a "
                      f"mutant: {outcome.text()}")
        for passed, line in pool.map(
                lambda m: judge(directory, m, spoilt), mutants):
            failed += not passed
            print(line, flush=True)
    print(f"mutants: {time.monotonic() - began:.0f} s on {options.jobs} "
          f"processes, {len(catchers)} tests")
    print(f"{len(mutants) - failed} passed, {failed} failed")
    return 1 if failed else 0


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--directory", default="product.d")
    parser.add_argument("--cc", default="cc")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("names", nargs="*")
    return parser.parse_args()


def main():
    options = arguments()
    mutants = read_tables()
    directory = os.path.abspath(options.directory)
    write_sources(directory, mutants)
    known = {mutant.name: mutant for mutant in mutants}
    unknown = [name for name in options.names if name not in known]
    if unknown:
        raise mutate.Bad(f"no such mutant: {' '.join(unknown)}")
    if options.names:
        mutants = [known[name] for name in options.names]
    build(directory, mutants, options)
    return run_all(directory, mutants, options)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except mutate.Bad as bad:
        sys.exit(f"product.py: {bad}")
