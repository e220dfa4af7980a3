#!/usr/bin/env python3
"""Build and test where packagers do: releases, processors, compilers, flags.

    tests/packages/ports.py [--list | --check | --write] [NAME...]

Each row of ROWS is a bare Debian in a folder (tests/packages/root), with the
packages that scripts/install-deps names, in which tests/packages/port builds
the source and runs tests; without names all rows. It needs root, and
`scripts/install-deps ports`. Its logs are in build/ports, and the layers of
packages beside the roots, in build/roots: `rm -r` both to begin with newer
packages.

A row fails if a test does, or if a test program is skipped whose name is not
in WITHOUT: so nothing stops to run unseen.

--write puts the table of what is built and tested where into HACKING.md,
--check compares.
"""
import collections
import fnmatch
import glob
import os
import re
import shutil
import subprocess
import sys
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
OUT = os.path.join(TOP, "build", "ports")
ROOT = os.path.join(TOP, "tests", "packages", "root")

# What is made in a row, by its word in tests/packages/port.
RUNS = {
    "build": "build",
    "units": "unit tests, conformance",
    "sim=400": "simulation",
    "sim=60": "some simulation",
    "daemon": "a daemon and its clients",
    "check": "`make check`",
}
# Packages over a bare root: install-deps' word, and what only this needs (check
# is one of the tests' packages, but nearly all of them need it).
LAYERS = {
    "build": "scripts/install-deps build && $install check iproute2 ccache "
             "dpkg-dev",
    "clang": "scripts/install-deps build && $install check iproute2 ccache "
             "clang",
    "all": "scripts/install-deps packages && $install iproute2",
    "cross-arm64": "dpkg --add-architecture arm64 && apt-get -qq update && "
                   "scripts/install-deps cross arm64 && "
                   "$install iproute2 ccache",
}
Row = collections.namedtuple(
    "Row", "name release architecture layer compiler source words configure "
    "lacks")
CROSS = ("--host=aarch64-linux-gnu",)
# As Debian's dh calls it.
DH = ("--build=x86_64-linux-gnu", "--prefix=/usr",
      "--includedir=${prefix}/include", "--mandir=${prefix}/share/man",
      "--infodir=${prefix}/share/info", "--sysconfdir=/etc",
      "--localstatedir=/var", "--disable-option-checking",
      "--disable-silent-rules", "--libdir=${prefix}/lib/x86_64-linux-gnu",
      "--libexecdir=${prefix}/libexec", "--runstatedir=/run",
      "--disable-maintainer-mode", "--disable-dependency-tracking",
      "--disable-static")


def row(name, architecture, compiler, words, *configure, layer="build",
        source="release", lacks=("root", "java", "packages")):
    release = name.split("-")[0]
    if compiler != "gcc":
        configure += (f"CC={compiler}",)
    return Row(name, release, architecture, layer, compiler, source,
               words.split(), configure, lacks)


def of_release(release):
    """The rows that every release has."""
    # A packager has a release, and builds it beside its source or in it.
    yield row(f"{release}-in-tree", "amd64", "gcc", "in-tree check")
    yield row(f"{release}-debian", "amd64", "gcc", "debian read-only check",
              *DH)
    yield row(f"{release}-fast", "amd64", "gcc", "build", "CFLAGS=-O3")
    yield row(f"{release}-debug", "amd64", "gcc", "build", "CFLAGS=-Og -g")
    yield row(f"{release}-clang", "amd64", "clang", "build units sim=400",
              layer="clang")
    yield row(f"{release}-arm64", "arm64", "gcc", "build units sim=60 daemon",
              *CROSS, layer="cross-arm64",
              lacks=("root", "java", "packages", "processor"))
    yield row(f"{release}-i386", "i386", "gcc",
              "build units sim=400 daemon")


ROWS = (
    *of_release("bookworm"),
    *of_release("trixie"),
    # As in the gate, which runs on Debian 12.
    row("trixie-full", "amd64", "gcc", "as=root network check", layer="all",
        source="checkout", lacks=()),
)

# Of whose processor the compiler is, if it is not the row's.
BUILT_ON = {"arm64": "amd64"}
PROCESSORS = {"arm64": "arm64, built on amd64, run by qemu"}
# Words of a row that say how; without one it is an ordinary user, without a
# network, beside the source.
HOW = {
    "as=root": "as root",
    "network": "with a network and DynamoDB Local",
    "in-tree": "in the source's folder",
    "read-only": "the source read-only",
    "debian": "with Debian's flags, no home",
}
# What the gate does, on Debian 12: for the table in HACKING.md.
GATE = (
    ("bookworm", "amd64", "gcc",
     "all that `make check` has, simulation, older clients, AWS", "gate"),
    ("bookworm", "amd64", "clang",
     "the same with ASan and UBSan, but for texts, other languages and the "
     "longest histories; fuzzing", "gate"),
    ("bookworm", "amd64", "gcc", "what has threads, with TSan", "gate"),
)
VERSIONS = {"bookworm": "12", "trixie": "13"}
# What a row lacks, and the test programs that are skipped for it.
WITHOUT = {
    "root": ("check_server_root", "tests/integration/test_access.py",
             "tests/integration/test_boot_clock.py",
             "tests/integration/test_inherited.py",
             "tests/integration/test_printed.py",
             "tests/integration/test_shares.py",
             "tests/packages/test_pods.py", "tests/systemd/*.py"),
    "java": ("check_dynamodb_*", "check_store_dynamodb", "check_store_sorted",
             "tests/clients/test_parity_dynamodb.py",
             "tests/integration/test_aws_policies.py",
             "tests/integration/test_bad_store.py",
             "tests/integration/test_break_record.py",
             "tests/integration/test_bridge.py",
             "tests/integration/test_faults.py",
             "tests/integration/test_fleet.py",
             "tests/integration/test_formats_*.py",
             "tests/integration/test_hints.py",
             "tests/integration/test_hints_check.py",
             "tests/integration/test_history.py",
             "tests/integration/test_list_dynamodb.py",
             "tests/integration/test_readme.py",
             "tests/integration/test_requests.py", "tests/sim/test_dynamo.py"),
    # A processor of its own, and not qemu (TEST_NOT_EMULATED,
    # harness.need_processor()).
    "processor": ("check_descendants", "check_server_keep", "check_trim",
                  "tests/integration/test_replace.py",
                  "tests/integration/test_run.py"),
    # Of the tests (scripts/install-deps packages).
    "packages": ("tests/man.sh",),
}


def in_root(release, architecture, command, log, layer=None, keep=None):
    """Run it in a root, with what it says in a log of OUT; its status."""
    bind = [OUT, os.path.join(TOP, "scripts"), os.path.join(TOP, "tests")]
    modules = os.environ.get("DDBLOCK_NODE_MODULES",
                             os.path.join(TOP, "build/npm/node_modules"))
    if os.path.isdir(modules):
        bind.append(modules)
    env = {k: v for k, v in os.environ.items()
           if not k.startswith("DDBLOCK_") or k == "DDBLOCK_ROOTS"}
    env.update(DDBLOCK_BIND=" ".join(bind), DDBLOCK_NODE_MODULES=modules,
               DDBLOCK_LAYER=layer or "", DDBLOCK_KEEP=keep or "",
               CCACHE_DIR=os.path.join(OUT, "ccache"))
    path = os.path.join(OUT, log)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        return subprocess.run([ROOT, release, architecture, *command], env=env,
                              stdin=subprocess.DEVNULL, stdout=f, stderr=f,
                              check=False).returncode


def make_sources():
    """A tar of the checkout, and one of the release that it makes."""
    checkout = os.path.join(OUT, "checkout.tar")
    names = subprocess.run(["git", "ls-files", "-z"], cwd=TOP, check=True,
                           stdout=subprocess.PIPE).stdout
    subprocess.run(
        ["tar", "--null", "--files-from=-", "--transform=s|^|ddblockd/|",
         "-cf", checkout], cwd=TOP, check=True, input=names)
    make_layer(ROWS[0])
    return in_root(ROWS[0].release, ROWS[0].architecture, (
        "bash", "-exc", f"""
            mkdir /build && cd /build && tar --no-same-owner -xf {checkout}
            cd ddblockd && ./autogen.sh
            ./configure --quiet && make -s distdir
            tar -cf {OUT}/release.tar ddblockd-*/"""),
        "release.log", layer=ROWS[0].layer) == 0


def make_layer(one):
    """The packages of a row, once."""
    architecture = BUILT_ON.get(one.architecture, one.architecture)
    install = "apt-get -qq install -y --no-install-recommends"
    return in_root(one.release, architecture, (
        "bash", "-exc", f"export DEBIAN_FRONTEND=noninteractive; cd {TOP}; "
        f"apt-get -qq update; " +
        LAYERS[one.layer].replace("$install", install)),
        f"{one.release}-{architecture}-{one.layer}.log", keep=one.layer) == 0


def logs(one):
    return os.path.join(OUT, one.name)


def read(path):
    with open(path, encoding="utf-8", errors="replace") as f:
        return f.read()


def results(one):
    """The test programs of a row, by what became of them."""
    found = {"PASS": set(), "SKIP": set(), "FAIL": set()}
    for path in glob.glob(os.path.join(logs(one), "*.log")):
        for word, name in re.findall(
                r"^(PASS|FAIL|SKIP|ERROR|XPASS|XFAIL): (\S+)", read(path),
                re.M):
            found["FAIL" if word in ("ERROR", "XPASS", "XFAIL") else word].add(
                name)
    return found


def problems_of(one, found):
    """What the tests of a row did that they should not."""
    for name in sorted(found["FAIL"]):
        yield f"failed: {name}"
    known = [name for lack in one.lacks for name in WITHOUT[lack]]
    for name in sorted(found["SKIP"]):
        if not any(fnmatch.fnmatchcase(name, pattern) for pattern in known):
            yield f"skipped: {name}"
        elif not re.search("skip|missing|there|needs", why(one, name)):
            yield f"skipped without a reason: {name}"
    if not found["PASS"] and one.words[-1] != "build":
        yield "no test passed"


def why(one, name):
    """The log of a test program."""
    path = os.path.join(logs(one), "logs", re.sub(r"\.py$", "", name))
    return read(path + ".log") if os.path.exists(path + ".log") else ""


def cases_skipped(one):
    """Of the programs that ran, too, with their reasons."""
    for path in glob.glob(os.path.join(logs(one), "logs", "**", "*.log"),
                          recursive=True):
        yield from re.findall(r"skipped ['\"](.*)['\"]$", read(path), re.M)


def run(one):
    """Build and test; whether all is well."""
    start = time.monotonic()
    subprocess.run(["rm", "-rf", logs(one)], check=True)
    architecture = BUILT_ON.get(one.architecture, one.architecture)
    problems = []
    if not make_layer(one):
        problems.append("the packages cannot be installed")
    elif in_root(one.release, architecture, (
            os.path.join(TOP, "tests/packages/port"),
            os.path.join(OUT, f"{one.source}.tar"), logs(one), *one.words, "--",
            "--enable-werror", *one.configure), f"{one.name}/log",
            layer=one.layer):
        problems.append(f"see build/ports/{one.name}")
    found = results(one)
    problems += problems_of(one, found)
    cases = list(cases_skipped(one))
    print(f"{one.name:18} {'FAILED' if problems else 'ok':6} "
          f"{len(found['PASS'])} passed, {len(found['FAIL'])} failed, "
          f"{len(found['SKIP'])} skipped, and {len(cases)} cases of others; "
          f"{time.monotonic() - start:.0f} s", flush=True)
    for problem in problems:
        print(f"    {problem}", flush=True)
    return not problems


def table():
    """What is built and tested where, as the lines of HACKING.md."""
    lines = ["| Debian | processor | compiler | what runs | when |",
             "|---|---|---|---|---|"]
    for release, *rest in GATE:
        lines.append("| " + " | ".join((VERSIONS[release], *rest)) + " |")
    for one in ROWS:
        what = ", ".join(RUNS[word] for word in one.words if word in RUNS)
        how = [HOW[word] for word in one.words if word in HOW]
        flags = [f"`{word}`" for word in one.configure
                 if word.startswith("CFLAGS")]
        lines.append(
            f"| {VERSIONS[one.release]} | "
            f"{PROCESSORS.get(one.architecture, one.architecture)} | "
            f"{' '.join((one.compiler, *flags))} | "
            f"{what}{': ' if how else ''}{', '.join(how)} | "
            f"nightly, `{one.name}` |")
    return "\n".join(lines) + "\n"


PART = re.compile(r"(<!-- ports -->\n).*?(<!-- end -->\n)", re.S)


def document(write):
    path = os.path.join(TOP, "HACKING.md")
    old = read(path)
    new = PART.sub(lambda m: m.group(1) + "\n" + table() + "\n" + m.group(2),
                   old)
    if write:
        with open(path, "w", encoding="utf-8") as f:
            f.write(new)
    elif new != old or "<!-- ports -->" not in old:
        print("HACKING.md: what is built and tested where is not what "
              "tests/packages/ports.py has; --write")
        return 1
    return 0


def main():
    names = sys.argv[1:]
    if names[:1] == ["--list"]:
        print("\n".join(one.name for one in ROWS))
        return 0
    if names[:1] in (["--check"], ["--write"]):
        return document(names[0] == "--write")
    unknown = set(names) - {one.name for one in ROWS}
    if unknown:
        print(f"ports: there is no row {' '.join(sorted(unknown))}",
              file=sys.stderr)
        return 2
    os.makedirs(os.path.join(OUT, "ccache"), exist_ok=True)
    os.chmod(os.path.join(OUT, "ccache"), 0o1777)
    emulator = shutil.which("qemu-aarch64-static")
    if emulator:
        # A program that runs cannot be written to.
        copy = os.path.join(OUT, "qemu-aarch64-static")
        shutil.copy(emulator, copy + ".new")
        os.replace(copy + ".new", copy)
    if not make_sources():
        print("ports: no release is to be made, see build/ports/release.log")
        return 1
    rows = [one for one in ROWS if not names or one.name in names]
    bad = [one.name for one in rows if not run(one)]
    print(f"{len(rows) - len(bad)} passed, {len(bad)} failed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
