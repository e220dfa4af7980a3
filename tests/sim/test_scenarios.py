#!/usr/bin/env python3
"""Each scenario gives its golden trace, and no violation.

    tests/sim/test_scenarios.py [--keep] [NAME...]

--keep writes the traces anew: read each as a specification, line by line,
before it is committed.
"""
import difflib
import glob
import os
import subprocess
import sys

TOP = os.path.dirname(os.path.abspath(__file__))
FOLDER = os.path.join(TOP, "scenarios")
SIM = os.environ.get("DDBLOCK_SIM", "./ddblock-sim")


def names_of(suffix):
    return {os.path.basename(path)[:-len(suffix)]
            for path in glob.glob(os.path.join(FOLDER, "*" + suffix))}


def trace_of(name):
    """The trace; a violation is its last line."""
    plan = os.path.join(FOLDER, name + ".plan")
    run = subprocess.run([SIM, "--plan", plan, "--trace"], text=True,
                         stdin=subprocess.DEVNULL, capture_output=True)
    if run.returncode not in (0, 3):
        sys.exit(f"{name}: status {run.returncode}: {run.stderr}")
    return run.stdout, run.returncode == 3


def compare(name, trace):
    path = os.path.join(FOLDER, name + ".trace")
    golden = ""
    if os.path.exists(path):
        with open(path, encoding="ascii") as f:
            golden = f.read()
    if trace == golden:
        return True
    sys.stdout.writelines(difflib.unified_diff(
        golden.splitlines(True), trace.splitlines(True),
        name + ".trace", "what happens now"))
    return False


def main():
    keep = "--keep" in sys.argv
    names = set(sys.argv[1:]) - {"--keep"}
    plans = names_of(".plan")
    good = True
    if not plans:
        sys.exit("there are no scenarios")
    for name in sorted(names or plans):
        trace, guilty = trace_of(name)
        if guilty:
            print(f"{name}: {trace.splitlines()[-1]}")
            good = False
        if keep:
            path = os.path.join(FOLDER, name + ".trace")
            with open(path, "w", encoding="ascii") as f:
                f.write(trace)
        elif not compare(name, trace):
            good = False
    for name in sorted(names_of(".trace") - plans):
        print(f"{name}.trace is of no plan")
        good = False
    print(f"{len(names or plans)} scenarios, "
          + ("as they should be" if good else "not as they should be"))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
