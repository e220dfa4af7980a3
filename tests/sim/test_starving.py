#!/usr/bin/env python3
"""Any one allocation of a core fails in the middle of a scenario, each in turn,
or some in a row, or many. What is refused for it is said to be, no rule is
broken, nobody waits for ever when there is memory again, and nothing is left
behind.
"""
import os
import re
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.abspath(__file__))
SIM = os.environ.get("DDBLOCK_SIM", "./ddblock-sim")
SCENARIOS = {"starving/busy": "ABC", "lingers-and-is-lost": "A",
             "lingers-and-is-resumed": "A", "resumed-from-who-is-there": "A"}
STEP = "at 0s {} starve {} {}\n"
NEVER = 10 ** 6
IN_A_ROW = ((1, 1), (7, 3), (60, 17))  # how many, and from which on


def read(name):
    with open(os.path.join(TOP, "scenarios", name + ".plan"),
              encoding="ascii") as f:
        return f.read().split("--- trace\n")[0]


def write(folder, name, plan):
    path = os.path.join(folder, name + ".plan")
    with open(path, "w", encoding="ascii") as f:
        f.write(plan)
    return path


def count(folder, plan, host):
    """The allocations of a core in the whole scenario."""
    end = re.search(r"^end (\w+)$", plan, flags=re.M).group(1)
    path = write(folder, "count", plan + STEP.format(host, NEVER, 1)
                 + f"at {end} {host} tally\n")
    out = subprocess.run([SIM, "--plan", path, "--trace"], text=True,
                         stdin=subprocess.DEVNULL, capture_output=True,
                         check=True).stdout
    os.unlink(path)
    return int(re.findall(rf" {host} made (\d+) allocations", out)[-1])


def main():
    n = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, hosts in SCENARIOS.items():
            plan = read(name)
            for host in hosts:
                made = count(folder, plan, host)
                for many, each in IN_A_ROW:
                    for nth in range(1, made + 1, each):
                        n += 1
                        write(folder, f"{n}-{os.path.basename(name)}", plan
                              + STEP.format(host, nth, many))
        done = subprocess.run([SIM, "--scenarios", folder, "--jobs", "2"],
                              text=True, stdin=subprocess.DEVNULL,
                              capture_output=True)
    print(done.stdout + done.stderr, end="")
    if n < 500 or done.returncode != 0 or not done.stdout.startswith(f"{n} "):
        sys.exit(1)


main()
