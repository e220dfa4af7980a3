"""What the tests of the packages have in common."""
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
CLIENTS = os.path.join(TOP, "contrib", "clients")
for folder in "integration", "clients":
    sys.path.insert(0, os.path.join(TOP, "tests", folder))
import harness  # noqa: E402
import test_clients  # noqa: E402

TIMEOUT_S = 300  # so long that only a real hang meets it
SETTINGS = ("CARGO_TARGET", "DESTDIR", "GOFLAGS", "MAKE", "MFLAGS")


def read(path, mode="r"):
    with open(path, mode, encoding=None if "b" in mode else "utf-8") as f:
        return f.read()


def version():
    """Of the project, which is that of all packages."""
    return run(os.path.join(TOP, "scripts", "version")).strip()


def tools(language, *path):
    """Where setup puts what a package is built and checked with."""
    return os.path.join(os.path.abspath(os.environ.get(
        "DDBLOCK_CLIENT_TOOLS", "client-tools.d")), language, *path)


def ensure(language):
    """Install them on first use."""
    done = subprocess.run(
        [os.path.join(HERE, "setup"), tools(""), language], check=False,
        text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT)
    if done.returncode != 0:
        raise unittest.SkipTest(f"no tools for {language}: {done.stdout}")


def attempt(*command, cwd=None, timeout=TIMEOUT_S, **env):
    """(status, both outputs together) of a command. Like a user's: no settings
    of this build."""
    own = {name: value for name, value in os.environ.items()
           if not name.startswith(SETTINGS)}
    done = subprocess.run(
        command, cwd=cwd, env={**own, **env}, check=False, text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, timeout=timeout)
    return done.returncode, done.stdout


def run(*command, **more):
    """What it says; it ends well."""
    status, said = attempt(*command, **more)
    if status != 0:
        raise AssertionError(f"{' '.join(command)}: {status}\n{said}")
    return said


def fenced(path, language):
    """The programs in a document."""
    return re.findall(rf"^```{language}\n(.*?)^```$", read(path), re.M | re.S)


def indented(path):
    """The commands in a document."""
    return [re.sub("^    ", "", block, flags=re.M) for block in re.findall(
        r"(?<=\n\n)((?:    .*\n)+)(?=\n)",
        re.sub(r"^```.*?^```$", "", read(path), flags=re.M | re.S))]


def lines_refused(path):
    """The numbers of the lines that a checker of types must refuse."""
    return {number for number, line in enumerate(read(path).splitlines(), 1)
            if line.endswith(" refused")}


def scenarios(languages, module):
    """All of them, and what there is besides in @module; then the end."""
    with concurrent.futures.ThreadPoolExecutor(test_clients.AT_ONCE) as pool:
        test_clients.add_tests(pool, languages, module)
        harness.main()


def main(language, place, install, languages, module):
    """The same, when @install has been called, with its tools; @place goes."""
    try:
        ensure(language)
        install()
        scenarios(languages, module)
    except unittest.SkipTest as e:
        print(e)
        harness.end([])
    finally:
        shutil.rmtree(place)
