#!/usr/bin/env python3
"""Each scenario gives its golden trace, and no violation.

    tests/sim/test_scenarios.py [--keep] [NAME...]

A scenario's file is its plan, a line "--- trace", and its trace; its name is
NAME, or THEME/NAME in a folder of a theme. --keep writes the trace as it is
now: read each as a specification, line by line, before it is committed.
"""
import difflib
import glob
import os
import subprocess
import sys

TOP = os.path.dirname(os.path.abspath(__file__))
FOLDER = os.path.join(TOP, "scenarios")
SIM = os.environ.get("DDBLOCK_SIM", "./ddblock-sim")


FOLLOWS = "--- trace\n"


def path_of(name):
    return os.path.join(FOLDER, name + ".plan")


def read(name):
    """Its plan and its golden trace."""
    with open(path_of(name), encoding="ascii") as f:
        plan, _, trace = f.read().partition(FOLLOWS)
    return plan, trace


def trace_of(name):
    """The trace; a violation is its last line."""
    run = subprocess.run([SIM, "--plan", path_of(name), "--trace"], text=True,
                         stdin=subprocess.DEVNULL, capture_output=True)
    if run.returncode not in (0, 3):
        sys.exit(f"{name}: status {run.returncode}: {run.stderr}")
    return run.stdout, run.returncode == 3


def compare(name, trace):
    golden = read(name)[1]
    if trace == golden:
        return True
    sys.stdout.writelines(difflib.unified_diff(
        golden.splitlines(True), trace.splitlines(True),
        name + ".plan", "what happens now"))
    return False


def main():
    keep = "--keep" in sys.argv
    names = set(sys.argv[1:]) - {"--keep"}
    there = [os.path.relpath(os.path.join(folder, name), FOLDER)
             for folder, _, files in os.walk(FOLDER) for name in files]
    plans = {name[:-5] for name in there if name.endswith(".plan")}
    good = True
    if not plans:
        sys.exit("there are no scenarios")
    for name in sorted(names or plans):
        trace, guilty = trace_of(name)
        if guilty:
            print(f"{name}: {trace.splitlines()[-1]}")
            good = False
        if keep:
            plan = read(name)[0]
            with open(path_of(name), "w", encoding="ascii") as f:
                f.write(plan + FOLLOWS + trace)
        elif not compare(name, trace):
            good = False
    for name in sorted(there):
        if not name.endswith(".plan"):
            print(f"{name}: a scenario is one file, NAME.plan")
            good = False
    print(f"{len(names or plans)} scenarios, "
          + ("as they should be" if good else "not as they should be"))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
