#!/usr/bin/env python3
"""Any one allocation of a core fails in the middle of a scenario, each in turn,
until there are no more of them. What is refused for it is said to be, and no
rule is broken.
"""
import os
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.abspath(__file__))
SIM = os.environ.get("DDBLOCK_SIM", "./ddblock-sim")
SCENARIOS = ("lingers-and-is-lost", "lingers-and-is-resumed",
             "resumed-from-who-is-there")


def run(plan):
    """The trace of a plan, or None after a violation."""
    with tempfile.NamedTemporaryFile("w", suffix=".plan") as f:
        f.write(plan)
        f.flush()
        done = subprocess.run([SIM, "--plan", f.name, "--trace"], text=True,
                              stdin=subprocess.DEVNULL, capture_output=True)
    if done.returncode == 0:
        return done.stdout
    sys.stdout.write(plan + done.stdout[-3000:] + done.stderr)
    return None


def starve(name):
    """How many allocations there were; None after a violation."""
    with open(os.path.join(TOP, "scenarios", name + ".plan"),
              encoding="ascii") as f:
        plan = f.read().split("--- trace\n")[0]
    step = "at 500ms A starve {} 1\n"
    never = run(plan + step.format(10 ** 6))
    n = 0
    differs = True
    while never is not None and differs:
        # A core that had to do without is heard to say so, or to act later;
        # some allocations nobody misses.
        n += 1
        trace = [run(plan + step.format(n + i)) for i in range(16)]
        if None in trace:
            return None
        differs = any(t.replace(f"starve {n + i} 1", "starve 1000000 1") !=
                      never for i, t in enumerate(trace))
        n += 15
    return None if never is None else n


def main():
    counts = [starve(name) for name in SCENARIOS]
    if None in counts:
        sys.exit(1)
    print(f"{sum(counts)} allocations, each of them failed")


main()
