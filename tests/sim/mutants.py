#!/usr/bin/env python3
"""Does the simulator find every seeded defect, and which history does?

    mutants.py [--program P] [--scenarios DIR] [--seeds N] [--equivalents]
        [--search] [--update] [--jobs N] [NAME...]

Each mutant of the tables runs by itself, up to the first violation: first the
history that mutants/killers has beside its name, and if that does not find it,
the scenarios and then more seeds than an ordinary run has. A line each says
which invariant it broke and where, or that it survived; the last line counts
them. A killer that no longer finds its mutant is stale: no failure if another
history does, and `--update` writes that one down. `--search` goes through all
histories though there is a killer. `equivalent` ones, with `--equivalents` or
named, must not be found, in the scenarios and a few seeds.
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
KILLERS = os.path.join(HERE, "mutants", "killers")
FOUND = 3  # the simulator's status: there is a violation
SEEDS = 10000  # tried until one shows a defect
SEEDS_OF_EQUIVALENTS = 200
PATIENCE_S = 900


class Verdict:
    def __init__(self, mutant):
        self.mutant = mutant
        self.caught = False
        self.by = "-"
        self.where = "-"
        self.text = ""
        self.seconds = 0.0
        self.stale = False

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


def read_killers():
    """By the mutants' names: a scenario, or "seed N"."""
    killers = {}
    if os.path.exists(KILLERS):
        with open(KILLERS, encoding="ascii") as f:
            for line in f:
                name, _, killer = line.strip().partition(" ")
                if name and name != "#":
                    killers[name] = killer.strip()
    return killers


def write_killers(killers):
    width = max(map(len, killers), default=0)
    with open(KILLERS, "w", encoding="ascii") as f:
        f.write("# Which history finds which mutant: what mutants.py tries "
                "first, and --update writes.\n")
        for name, killer in sorted(killers.items()):
            f.write(f"{name:{width}}  {killer}\n")


def histories(killer, options):
    """The simulator's arguments for this history; None: there is none."""
    kind, _, seed = (killer or "").partition(" ")
    if kind == "seed":
        return ["--seed", seed]
    path = os.path.join(options.scenarios, kind + ".plan")
    return ["--plan", path] if os.path.exists(path) else None


def try_histories(verdict, chosen, options):
    command = [options.program, "--mutant", verdict.mutant.name,
               "--until-violation", "--jobs", "1"] + chosen
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


def run(mutant, killer, options):
    began = time.monotonic()
    verdict = Verdict(mutant)
    must_die = mutant.kind == "mutant"
    first = histories(killer, options)
    if must_die and first and not options.search:
        try_histories(verdict, first, options)
        # A plan's own name is without its theme.
        if verdict.caught:
            verdict.where = killer
    if not verdict.caught:
        seeds = options.seeds if must_die else SEEDS_OF_EQUIVALENTS
        verdict = Verdict(mutant)
        try_histories(verdict, ["--seeds", f"1-{seeds}", "--scenarios",
                                options.scenarios], options)
        verdict.stale = verdict.caught and must_die and not options.search
    verdict.seconds = time.monotonic() - began
    return verdict


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--program", default="./ddblock-sim-mutants")
    parser.add_argument("--scenarios", default=os.path.join(HERE, "scenarios"))
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--equivalents", action="store_true")
    parser.add_argument("--search", action="store_true")
    parser.add_argument("--update", action="store_true")
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
    kind = "equivalent" if options.equivalents else "mutant"
    mutants = [known[name] for name in options.names] or \
        [mutant for mutant in mutants if mutant.kind == kind]
    killers = read_killers()
    began = time.monotonic()
    verdicts = []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for verdict in pool.map(
                lambda m: run(m, killers.get(m.name), options), mutants):
            verdicts.append(verdict)
            print(verdict.line(), flush=True)
    failed = [v for v in verdicts if not v.passed()]
    survivors = [v.mutant.name for v in failed if v.mutant.kind == "mutant"]
    if survivors:
        print(f"survivors: {' '.join(survivors)}")
    stale = [v.mutant.name for v in verdicts if v.stale]
    if options.update:
        found = {v.mutant.name: v.where for v in verdicts
                 if v.caught and v.mutant.kind == "mutant"}
        write_killers({name: killer
                       for name, killer in dict(killers, **found).items()
                       if name in known})
    elif stale:
        print(f"without a killer, or with a stale one: {' '.join(stale)}\n"
              "make sim-killers writes down what found them")
    print(f"mutants: {time.monotonic() - began:.0f} s on {options.jobs} "
          "processes")
    print(f"{len(verdicts) - len(failed)} passed, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
