#!/usr/bin/env python3
"""Figures of the house: how large its parts are, and what goes in circles.

    tests/house.py [BUILD-DIRECTORY [SOURCE-DIRECTORY]]

A line for each folder of src/: files, lines, the share of comments, the median
and the longest function, the largest circle of calls between files. Below, how
often one uncontended ACQUIRE goes from a file of the core to another, and which
files it enters that it need not. What is above its bound is marked, and the
status is 1.
"""
import glob
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

import tidy

# 20 of them note what the next process must know, 7 keep places in order, and 8
# count for metrics
ACQUIRE_MOVES_MAX = 208
# What a client asked for one lock, exclusively, in the native format: these
# have no part in it.
ACQUIRE_WITHOUT = re.compile(
    r"core/(client/(multi|bridge|reenter|linger)|format|lease/record_lease"
    r"|reads/(watch|audit|listing|view))")
FUNCTION_LINES_MAX = 70


def sources(top, folder):
    return sorted(path for ending in ("c", "h") for path in
                  glob.glob(f"{top}/src/{folder}/**/*.{ending}",
                            recursive=True))


def functions(lines):
    """The lengths of those that open and close in the first column."""
    start = None
    for number, line in enumerate(lines):
        if line == "{":
            start = number
        elif line == "}" and start is not None:
            yield number - start - 1
            start = None


def measure(top, build, folder):
    lengths, n_lines, n_comments = [], 0, 0
    paths = sources(top, folder)
    for path in paths:
        with open(path, encoding="utf-8") as f:
            text = f.read()
        lines = text.split("\n")
        n_lines += len(lines)
        n_comments += sum(found.count("\n") + 1 for found in
                          re.findall(r"/\*.*?\*/", text, flags=re.S))
        lengths += functions(tidy.blank(text).split("\n"))
    circle = max((len(c) for c in tidy.circles(tidy.calls(build, folder))),
                 default=0)
    return (len(paths), n_lines, 100 * n_comments // max(n_lines, 1),
            statistics.median(lengths or [0]), max(lengths or [0]), circle)


def moves(top):
    """Of one ACQUIRE: calls, and how often the file changes by a call or a
    return, at -O0, through pointers too; inline functions by their file."""
    with tempfile.TemporaryDirectory() as where:
        program = os.path.join(where, "acquire")
        core = [path for path in sources(top, "core") if path.endswith(".c")]
        common = [path for path in sources(top, "common")
                  if path.endswith(".c") and "/log" not in path]
        flags = ["-std=gnu17", "-g", "-O0", "-no-pie", f"-I{top}/src",
                 f"-I{top}/include"]
        parts = []
        for path in core + common + [os.path.join(top, "tests/house/"
                                                  "acquire.c")]:
            part = os.path.join(where, f"{len(parts)}.o")
            instrument = [] if path in common else ["-finstrument-functions"]
            subprocess.run(["cc", "-c"] + flags + instrument +
                           ["-o", part, path], check=True)
            parts.append(part)
        subprocess.run(["cc", "-no-pie", "-o", program] + parts, check=True)
        trace = subprocess.run([program], check=True, text=True,
                               stdout=subprocess.PIPE).stdout.split()
        names = sorted({line[1:] for line in trace})
        found = subprocess.run(["addr2line", "-e", program] + names, text=True,
                               check=True, stdout=subprocess.PIPE).stdout
        files = dict(zip(names, (line.rsplit(":", 1)[0]
                                 for line in found.split("\n"))))
    stack, n_moves, n_calls, seen = [None], 0, 0, set()
    for line in trace:
        here = stack[-1]
        if line[0] == "+":
            n_calls += 1
            stack.append(files[line[1:]])
            seen.add(files[line[1:]])
        else:
            stack.pop()
        n_moves += None not in (here, stack[-1]) and here != stack[-1]
    return n_calls, sorted(seen), n_moves


def main():
    build = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else ".")
    top = os.path.abspath(sys.argv[2]) if len(sys.argv) > 2 else tidy.TOP
    bad = 0

    def within(value, most):
        nonlocal bad
        bad += value > most
        return f"{value}{' !' if value > most else ''}"

    print(f"{'folder':10} files  lines comments median longest circle")
    for folder in sorted(tidy.ARROWS):
        if not sources(top, folder):
            continue
        n, lines, share, median, longest, circle = measure(top, build, folder)
        print(f"{folder:10} {n:5} {lines:6} {share:6} % {median:6.0f} "
              f"{within(longest, FUNCTION_LINES_MAX):>7} "
              f"{within(circle, tidy.CIRCLE_FILES_MAX):>6}")
    if shutil.which("addr2line") is None:
        print("house: no addr2line: the moves of an ACQUIRE are not counted")
        return 77
    n_calls, seen, n_moves = moves(top)
    # Another compiler than ours puts other functions into their callers.
    counted = within(n_moves, ACQUIRE_MOVES_MAX) \
        if os.environ.get("DDBLOCK_MUST_RUN") else n_moves
    print(f"one ACQUIRE: {n_calls} calls in {len(seen)} files of the core, "
          f"{counted} moves between them "
          f"(at most {ACQUIRE_MOVES_MAX})")
    for path in filter(ACQUIRE_WITHOUT.search, seen):
        bad += 1
        print(f"one ACQUIRE: goes through {os.path.relpath(path, top)} !")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
