#!/usr/bin/env python3
"""A few simulated histories, in every build: with sanitizers, they are also
looked at for what a judge cannot see. `make sim` runs many more."""
import os
import subprocess
import sys

SEEDS = os.environ.get("DDBLOCK_SIM_SEEDS", "1-150")

sys.exit(subprocess.call(["./ddblock-sim", "--seeds", SEEDS, "--jobs", "2"]))
