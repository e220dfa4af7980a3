#!/usr/bin/env python3
"""Run gcc -fanalyzer and clang --analyze over src/, by make analyze.

    tests/analyze.py BUILD-DIRECTORY [FILE...]

Prints what they warn of that is not in KNOWN, and rows of KNOWN that say
nothing any more; the status is 1 if there is any. Versions differ in what they
find: the rows are those of Debian 12.
"""
import concurrent.futures
import glob
import os
import re
import signal
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

ANALYZERS = {
    "gcc": ["gcc", "-fanalyzer", "-c", "-o", "/dev/null"],
    "clang": ["clang", "--analyze", "-Xclang", "-analyzer-output=text",
              "-o", "/dev/null"],
}
FILE_SECONDS_MAX = 120
WARNING = re.compile(r"^(\S+?):(\d+):\d+: warning: (.*) \[([\w.+-]+)\]$")

# Why what they say is not so, where it is the same for many.
OWNED = "it belongs to the structure that it was put into"
REMOVED = "a macro of lists or tables has taken out what was freed"
NEGATIVE = "an error is negative, and after it nothing is read"
FIRST = "a structure begins with the one that it is used as"
VFORK = "meant: our memory is not copied, and the child says what it does"
ENDLESS = "the macros of uthash are too much for it"

# False alarms: analyzer, file, checker, how many, and why they are none.
KNOWN = (
    ("clang", "src/aws/lane.c", "unix.Malloc", 1, REMOVED),
    ("gcc", "src/aws/pool.c", "analyzer-malloc-leak", 1, OWNED),
    ("clang", "src/aws/sigv4.c", "core.UndefinedBinaryOperatorResult", 1,
     "a digest has the length that OpenSSL says"),
    ("clang", "src/aws/sigv4.c", "core.NullDereference", 1,
     "of the array only what was sorted into it is read"),
    ("clang", "src/cli/history/intervals.c", "core.NullDereference", 2,
     "what is in a table of uthash has one"),
    ("gcc", "src/cli/history/intervals.c", "analyzer-malloc-leak", 1, OWNED),
    ("clang", "src/cli/hold/child.c", "security.insecureAPI.vfork", 1, VFORK),
    ("clang", "src/cli/hold/child.c", "unix.Vfork", 1, VFORK),
    ("gcc", "src/core/client/hold.c", "analyzer-malloc-leak", 1, OWNED),
    ("gcc", "src/core/client/multi.c", "analyzer-malloc-leak", 1, OWNED),
    ("gcc", "src/core/client/request.c", "analyzer-null-dereference", 2,
     "the request is of its caller, who has one"),
    ("gcc", "src/core/configure.c", "analyzer-malloc-leak", 2, OWNED),
    ("clang", "src/core/lease/observe.c", "unix.Malloc", 1, REMOVED),
    ("clang", "src/core/lease/record_lease.c", "unix.MallocSizeof", 1, FIRST),
    ("clang", "src/core/lease/session.c", "unix.MallocSizeof", 1, FIRST),
    ("gcc", "src/core/lock/lock_saved.c", "analyzer-malloc-leak", 1, OWNED),
    ("gcc", "src/core/lock/submission.c", "analyzer-malloc-leak", 1, OWNED),
    ("gcc", "src/core/lock/tokens.c", "analyzer-malloc-leak", 1, OWNED),
    ("gcc", "src/core/reads/listing.c", "analyzer-malloc-leak", 1, OWNED),
    ("gcc", "src/core/reads/watch.c", "time", 1, ENDLESS),
    ("clang", "src/core/reads/watch.c", "unix.Malloc", 2, REMOVED),
    ("clang", "src/core/reads/watch.c",
     "core.UndefinedBinaryOperatorResult", 1,
     "a key of uthash, which is initialised whole"),
    ("clang", "src/core/reads/watch.c", "core.NullDereference", 2,
     "the lock is the one that was found before"),
    ("clang", "src/core/reads/watch_poll.c", "core.NullDereference", 1,
     "a list of utlist that has an element has a tail"),
    ("gcc", "src/core/succession.c", "analyzer-null-dereference", 1,
     "the entries were counted before"),
    ("clang", "src/daemon/config.c", "core.NullDereference", 2,
     "settings have a place in both tables (config_table.c)"),
    ("gcc", "src/daemon/config_reload.c", "analyzer-malloc-leak", 1, OWNED),
    ("clang", "src/daemon/config_reload.c", "core.NullDereference", 1,
     "settings have a place in both tables (config_table.c)"),
    ("clang", "src/daemon/journal_file.c", "core.NonNullParamChecker", 1,
     "what is open has a path"),
    ("gcc", "src/daemon/keeper.c", "analyzer-malloc-leak", 1, OWNED),
    ("gcc", "src/identity/identity_files.c", "analyzer-malloc-leak", 3, OWNED),
    ("gcc", "src/identity/profile_ini.c", "analyzer-malloc-leak", 1, OWNED),
    ("clang", "src/identity/provider_run.c", "unix.Vfork", 1, VFORK),
    ("clang", "src/identity/provider_run.c", "security.insecureAPI.vfork", 1,
     VFORK),
    ("gcc", "src/ipc/answer/change.c", "analyzer-malloc-leak", 1, OWNED),
    ("clang", "src/ipc/connection/process.c", "unix.Malloc", 1, REMOVED),
    ("gcc", "src/ipc/server/inherit.c", "analyzer-malloc-leak", 1, OWNED),
    ("clang", "src/ipc/server/inherit.c", "core.CallAndMessage", 1,
     "there is a wire only if there is a place to keep it"),
    ("gcc", "src/ipc/verbs/request.c", "analyzer-null-dereference", 2,
     NEGATIVE),
    ("clang", "src/ipc/verbs/request.c", "core.NullDereference", 2, NEGATIVE),
    ("gcc", "src/ipc/verbs/verbs_check.c", "analyzer-null-dereference", 1,
     NEGATIVE),
    ("clang", "src/ipc/verbs/verbs_check.c", "core.NullDereference", 1,
     NEGATIVE),
    ("gcc", "src/ipc/verbs/verbs_list.c", "analyzer-null-dereference", 3,
     NEGATIVE),
    ("clang", "src/ipc/verbs/verbs_list.c", "core.NullDereference", 1,
     NEGATIVE),
    ("clang", "src/lib/acquire.c", "core.UndefinedBinaryOperatorResult", 1,
     NEGATIVE),
    ("gcc", "src/lib/parts.c", "analyzer-malloc-leak", 1, OWNED),
    ("gcc", "src/lib/request.c", "analyzer-use-of-uninitialized-value", 7,
     NEGATIVE),
    ("gcc", "src/lib/request.c", "analyzer-malloc-leak", 1, OWNED),
    ("clang", "src/lib/request.c", "core.uninitialized.Assign", 1, NEGATIVE),
    ("clang", "src/lib/request.c", "unix.Malloc", 1, REMOVED),
    ("clang", "src/lib/watch.c", "unix.Malloc", 1, REMOVED),
    ("clang", "src/store/sqlite_file.c", "unix.Malloc", 1,
     "what was opened is closed by sqlite_file_close()"),
    ("clang", "src/store/store_dynamodb.c", "core.NonNullParamChecker", 2,
     "the format has a default for each name"),
    ("clang", "src/store/store_dynamodb.c", "unix.Malloc", 1, REMOVED),
)


def setting(text, name):
    found = re.search(rf"^{name} = ?(.*)$", text, flags=re.M)
    return found.group(1).split() if found else []


def flags(build):
    with open(os.path.join(build, "Makefile"), encoding="utf-8") as f:
        text = f.read()
    packages = [flag for name in re.findall(r"^(\w+_CFLAGS) = ", text,
                                            flags=re.M)
                if name.split("_")[0] in (
                    "CRYPTO", "CURL", "INIH", "JSON", "LIBEDIT", "LIBEVENT",
                    "NCURSES", "SQLITE", "SYSTEMD", "ZLIB")
                for flag in setting(text, name)]
    return ["-std=gnu17", "-O2", "-DHAVE_CONFIG_H", f"-I{build}",
            f"-I{TOP}/src", f"-I{TOP}/include", '-DCONFIG_PATH=""',
            '-DSBINDIR=""', '-DPKGLIBEXECDIR=""', *packages]


def run(command):
    """Its status and what it says; None: it found no end. The compiler's own
    children end with it."""
    with subprocess.Popen(command, text=True, errors="replace", cwd=TOP,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT,
                          start_new_session=True) as child:
        try:
            said, _ = child.communicate(timeout=FILE_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            return None, ""
        return child.returncode, said


def analyze(tool, path, options):
    status, said = run([*ANALYZERS[tool], *options, path])
    if status is None:
        return [(tool, path, "time", 0,
                 f"no end in {FILE_SECONDS_MAX} seconds")]
    found = []
    for line in said.splitlines():
        match = WARNING.match(line)
        if match:
            where, number, text, checker = match.groups()
            found.append((tool, os.path.relpath(where, TOP)
                          if os.path.isabs(where) else where,
                          checker.lstrip("-W"), int(number), text))
    if status != 0 and not found:
        found.append((tool, path, "failure", 0,
                      (said.strip().splitlines() or ["?"])[-1]))
    return found


def main():
    build = os.path.abspath(sys.argv[1])
    paths = sys.argv[2:] or sorted(glob.glob("src/**/*.c", root_dir=TOP,
                                             recursive=True))
    options = flags(build)
    left = {row[:3]: row[3] for row in KNOWN}
    new = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [pool.submit(analyze, tool, path, options)
                for path in paths for tool in ANALYZERS]
        for job in jobs:
            for tool, path, checker, line, text in dict.fromkeys(job.result()):
                if left.get((tool, path, checker), 0) > 0:
                    left[tool, path, checker] -= 1
                    continue
                new += 1
                print(f"{path}:{line}: {tool}: {text} [{checker}]", flush=True)
    stale = [row for row in left if left[row] > 0 and row[1] in paths]
    for tool, path, checker in stale:
        print(f"{path}: {tool} has fewer warnings of {checker} than KNOWN")
    print(f"analyze: {len(paths)} files, {new} warnings, {len(stale)} rows "
          "that are not needed")
    return 1 if new or stale else 0


if __name__ == "__main__":
    sys.exit(main())
