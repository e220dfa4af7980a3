#!/usr/bin/env python3
"""Run fuzz targets, two at a time, in a build with --enable-fuzzers.

    tests/fuzz/run.py [--seconds N] [--jobs N] [--runs N] [--keep] NAME...

Each begins with its seeds, tests/fuzz/corpus/NAME, and with what it found in
earlier runs, fuzz.d/NAME of the build; new inputs go there only. A run of a
minute or more also begins with what was kept, tests/fuzz/kept/NAME.tar.xz, and
--keep keeps from fuzz.d/NAME what reaches something new. An input that fails is
fuzz.d/NAME.failed-*: `./fuzz_NAME FILE` runs it. The words of a target's
dictionary are those of its sources.
"""
import argparse
import concurrent.futures
import glob
import os
import re
import shutil
import subprocess
import sys
import tarfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))

# Where the words are that an input may have.
WORDS = {
    "answers": ("src/aws/errors.c", "src/dialect/*.c", "src/dialect/*/*.c"),
    "codec": ("src/ipc/protocol.def", "src/common/err.def"),
    "config": ("src/daemon/config*.c", "src/store/settings.def",
               "src/store/kinds.def", "src/dialect/formats.def"),
    "credentials": ("src/identity/source*.c",),
    "errors": ("src/aws/errors.c",),
    "hints": ("tests/fuzz/fuzz_hints.c",),
    "journal": (),
    "library": ("src/ipc/protocol.def", "src/common/err.def"),
    "profile": ("src/identity/*.c",),
    "server": ("src/ipc/protocol.def",),
}
# A word: a string of the code, or the first name of a row of a table.
STRING = re.compile(r'"((?:[ !#-\[\]-~]|\\["\\]){2,40})"')
ROW = re.compile(r"^[A-Z_]+\((\w+),", flags=re.M)
# What libFuzzer says on its way.
PROGRESS = re.compile(r"#\d+\t|\tNEW_FUNC|INFO: |stat::")
# To choose inputs by how rare their features are costs more than to run them.
WITHOUT_ENTROPY = ("server",)
# More than this for one input is a failure, too.
INPUT_SECONDS_MAX = 20
INPUT_BYTES_MAX = 16384
# To run all that was kept takes most of a shorter run.
WITH_KEPT_SECONDS = 60


def dictionary(name):
    words = set()
    for pattern in WORDS[name]:
        for path in glob.glob(os.path.join(TOP, pattern)):
            with open(path, encoding="utf-8") as f:
                text = f.read()
            for found in STRING.findall(text):
                words.update(word for word in re.split(r"[| ]", found)
                             if re.fullmatch(r'(\\.|[^%\\]){2,}', word))
            words.update(ROW.findall(text))
    return "".join(f'"{word}"\n' for word in sorted(words))


def path_of_kept(name):
    return os.path.join(TOP, "tests/fuzz/kept", name + ".tar.xz")


def unpack(name, found):
    """What was kept, once for a build."""
    path = path_of_kept(name)
    if os.path.exists(path) and not os.path.exists(found + ".unpacked"):
        with tarfile.open(path) as archive:
            archive.extractall(found, filter="data")
        with open(found + ".unpacked", "wb"):
            pass


def keep(name):
    """No more inputs than it takes to reach what these reach. The archive is
    the same for the same inputs."""
    found = os.path.join("fuzz.d", name)
    least = found + ".least"
    unpack(name, found)
    shutil.rmtree(least, ignore_errors=True)
    os.makedirs(least)
    subprocess.run(["./fuzz_" + name, "-merge=1", "-rss_limit_mb=2048",
                    f"-max_len={INPUT_BYTES_MAX}", least,
                    os.path.join(TOP, "tests/fuzz/corpus", name), found],
                   check=True, capture_output=True)
    os.makedirs(os.path.dirname(path_of_kept(name)), exist_ok=True)
    with tarfile.open(path_of_kept(name), "w:xz", preset=9) as archive:
        for each in sorted(os.listdir(least)):
            info = tarfile.TarInfo(each)
            with open(os.path.join(least, each), "rb") as f:
                info.size = os.fstat(f.fileno()).st_size
                archive.addfile(info, f)
    return (f"{name:12} {len(os.listdir(least)):5} inputs kept, "
            f"{os.path.getsize(path_of_kept(name)) / 1024:.0f} KiB")


def run(name, options):
    found = os.path.join("fuzz.d", name)
    log = found + ".log"
    os.makedirs(found, exist_ok=True)
    if options.seconds >= WITH_KEPT_SECONDS:
        unpack(name, found)
    with open(found + ".dict", "w", encoding="utf-8") as f:
        f.write(dictionary(name) or '"none"\n')
    command = ["./fuzz_" + name, f"-max_total_time={options.seconds}",
               f"-runs={options.runs}", f"-timeout={INPUT_SECONDS_MAX}",
               f"-max_len={INPUT_BYTES_MAX}", "-rss_limit_mb=2048",
               f"-artifact_prefix={found}.failed-", "-print_final_stats=1",
               f"-dict={found}.dict",
               f"-entropic={0 if name in WITHOUT_ENTROPY else 1}", found,
               os.path.join(TOP, "tests/fuzz/corpus", name)]
    start = time.monotonic()
    with open(log, "wb") as f:
        status = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=f,
                                stderr=f, check=False).returncode
    with open(log, encoding="utf-8", errors="replace") as f:
        text = f.read()
    runs = re.search(r"number_of_executed_units: (\d+)", text)
    read = re.search(r"INITED.*corp: (\d+)", text)
    edges = re.findall(r" cov: (\d+) ", text)
    return name, status, text, (
        f"{name:12} {'ok' if status == 0 else 'FAILED':7}"
        f"{runs.group(1) if runs else '?':>10} runs, "
        f"{read.group(1) if read else '?':>5} inputs before, "
        f"{edges[-1] if edges else '?':>6} edges, "
        f"{time.monotonic() - start:4.0f} s")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--runs", type=int, default=-1)
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("names", nargs="+")
    options = parser.parse_args()
    os.makedirs("fuzz.d", exist_ok=True)
    if options.keep:
        for name in options.names:
            print(keep(name), flush=True)
        return 0
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for name, status, text, line in pool.map(
                lambda each: run(each, options), options.names):
            print(line, flush=True)
            if status == 0:
                continue
            failed += 1
            told = [line for line in text.splitlines()
                    if not PROGRESS.match(line)]
            print("    | " + "\n    | ".join(told[-60:]))
    print(f"{len(options.names) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
