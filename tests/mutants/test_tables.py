#!/usr/bin/env python3
"""Every entry of the tables beside this file is about a text that is there.
What finds the mutants is seen by `make product-mutants`, which takes longer.
"""
import sys

import product

try:
    product.mutated(product.read_tables())
except product.mutate.Bad as bad:
    sys.exit(f"test_tables.py: {bad}")
