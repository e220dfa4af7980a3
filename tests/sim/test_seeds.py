#!/usr/bin/env python3
"""A few simulated histories, in every build: of fleets, and of one daemon that
has the store for itself. With sanitizers, they are also looked at for what a
judge cannot see. `make sim` runs many more."""
import os
import subprocess
import sys

SEEDS = os.environ.get("DDBLOCK_SIM_SEEDS", "1-150")
SIM = ["./ddblock-sim", "--jobs", "2", "--seeds", SEEDS]

sys.exit(subprocess.call(SIM) or subprocess.call(SIM + ["--alone"]))
