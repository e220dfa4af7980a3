#!/usr/bin/env python3
"""Does the simulator find every seeded defect, and what finds it?

    mutants.py [--program P] [--scenarios DIR] [--seeds N] [--equivalents N]
        [--jobs N] [NAME...]

Each mutant of the tables runs by itself: the scenarios, then the seeds of an
ordinary run, up to the first violation. A line each says which invariant it
broke and where, or that it survived. `equivalent` ones are run, too, for a
few seeds: one that is caught has a wrong proof. The last line counts them.
"""
import argparse
import concurrent.futures
import glob
import os
import re
import subprocess
import sys
import time

import mutate

HERE = os.path.dirname(os.path.abspath(__file__))
FOUND = 3  # the simulator's status: there is a violation
SEEDS = 10000  # of an ordinary run
SEEDS_OF_EQUIVALENTS = 200
PATIENCE_S = 300


class Verdict:
    def __init__(self, mutant):
        self.mutant = mutant
        self.caught = False
        self.by = "-"
        self.where = "-"
        self.text = ""
        self.seconds = 0.0

    def passed(self):
        return self.caught == (self.mutant.kind == "mutant") and \
            self.by != "?"

    def line(self):
        word = "ok" if self.passed() else "FAILED"
        how = f"by {self.by}" if self.caught else "survives"
        return (f"{word:6} {self.mutant.kind:10} {self.mutant.name:34} "
                f"{how:12} {self.where:24} {self.seconds:5.1f} s  "
                f"{self.text[:100]}").rstrip()


def read_finding(verdict, output):
    """violation invariant=1 seed=17 scenario=- time=12345 text"""
    found = re.search(r"^violation invariant=(\S+) seed=(\S+) scenario=(\S+) "
                      r"time=\d+ ?(.*)$", output, flags=re.M)
    if found is None:
        return False
    invariant, seed, scenario, verdict.text = found.groups()
    verdict.caught = True
    verdict.by = invariant
    verdict.where = f"seed {seed}" if scenario == "-" else scenario
    return True


def run(mutant, options):
    verdict = Verdict(mutant)
    seeds = options.seeds if mutant.kind == "mutant" else \
        options.equivalents
    command = [options.program, "--mutant", mutant.name, "--until-violation",
               "--jobs", "1", "--seeds", f"1-{seeds}"]
    if options.scenarios:
        command += ["--scenarios", options.scenarios]
    began = time.monotonic()
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, text=True,
                              capture_output=True, timeout=PATIENCE_S,
                              errors="replace", check=False)
        read = read_finding(verdict, done.stdout)
        if done.returncode not in (0, FOUND) or \
                read != (done.returncode == FOUND):
            verdict.by = "?"
            verdict.text = (f"status {done.returncode}: "
                            f"{done.stdout}{done.stderr}").replace("\n", " ")
    except subprocess.TimeoutExpired:
        verdict.by = "?"
        verdict.text = f"no end after {PATIENCE_S} s"
    verdict.seconds = time.monotonic() - began
    return verdict


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--program", default="./ddblock-sim-mutants")
    parser.add_argument("--scenarios", default=os.path.join(HERE, "scenarios"))
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--equivalents", type=int, metavar="SEEDS",
                        default=SEEDS_OF_EQUIVALENTS)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("names", nargs="*")
    return parser.parse_args()


def main():
    options = arguments()
    mutants = mutate.read_tables(
        sorted(glob.glob(os.path.join(HERE, "mutants", "*.mutants"))))
    known = {mutant.name: mutant for mutant in mutants}
    unknown = [name for name in options.names if name not in known]
    if unknown:
        sys.exit(f"mutants.py: no such mutant: {' '.join(unknown)}")
    if options.names:
        mutants = [known[name] for name in options.names]
    began = time.monotonic()
    verdicts = []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for verdict in pool.map(lambda m: run(m, options), mutants):
            verdicts.append(verdict)
            print(verdict.line(), flush=True)
    failed = [v for v in verdicts if not v.passed()]
    survivors = [v.mutant.name for v in failed if v.mutant.kind == "mutant"]
    if survivors:
        print(f"survivors: {' '.join(survivors)}")
    print(f"mutants: {time.monotonic() - began:.0f} s on {options.jobs} "
          "processes")
    print(f"{len(verdicts) - len(failed)} passed, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
