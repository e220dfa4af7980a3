"""What the tests of the client packages have in common."""
import os
import re
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
CLIENTS = os.path.join(TOP, "contrib", "clients")
for folder in "integration", "clients":
    sys.path.insert(0, os.path.join(TOP, "tests", folder))

TIMEOUT_S = 300  # so long that only a real hang meets it


def read(path, mode="r"):
    with open(path, mode, encoding=None if "b" in mode else "utf-8") as f:
        return f.read()


def version():
    """Of the project, which is that of all packages."""
    (found,) = re.findall(r"^AC_INIT\(\[ddblockd\], \[([^]]+)\]",
                          read(os.path.join(TOP, "configure.ac")), re.M)
    return found


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


def attempt(*command, cwd=None, **env):
    """(status, both outputs together) of a command."""
    done = subprocess.run(
        command, cwd=cwd, env=dict(os.environ, **env), check=False, text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, timeout=TIMEOUT_S)
    return done.returncode, done.stdout


def run(*command, cwd=None, **env):
    """What it says; it ends well."""
    status, said = attempt(*command, cwd=cwd, **env)
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
