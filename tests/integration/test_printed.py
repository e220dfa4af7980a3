"""What README.md, man/ and contrib/ print is what works: each block of commands
runs here as it is printed, unless another test runs it, or none can.

A block that is in no row of the table is a failure. They run in a mount table
of their own, in which /run and /var/lib are empty: so sockets and files have
the places of an installed daemon. Of the text, only the names of tables and
/tmp are changed: all tests have one DynamoDB, and one /tmp.
"""
import os
import re
import shutil
import subprocess
import tempfile
import unittest

import harness
import printed

TOP = printed.TOP
BUILD = os.path.dirname(os.path.abspath(harness.program("ddblockd")))
AWS = "it needs an account of AWS"
FRAGMENT = "a part of a program"
LOG = "a line of the log"
GUIDE = "tests/systemd/test_guide.py"
UNITS = "tests/systemd/test_unit.py"
INSTALL = "tests/packages/readme_install.py"
LIBRARY = "tests/lib/test_installed.py"
TOUR = "tests/integration/test_readme.py"


class Runs:
    """It ends with 0, and shows lines that fit @seen, in this order. @options:
    of the daemon that runs meanwhile; None: there is none. @before: what was
    done before. @table: in DynamoDB. @serves: it ends when it is stopped, and
    before `ddblock status` has seen it with these options."""

    def __init__(self, *seen, options="", before="", table=False, serves=None):
        self.seen = seen
        self.options = options if serves is None else None
        self.before = before
        self.table = table
        self.serves = serves

    def script(self, block):
        if self.serves is not None:
            # Its shell may end by the signal, too.
            block = f"({block}) & daemon=$!\n" \
                f"ddblock status {self.serves} --wait-daemon=20s\n" \
                "kill -- -$daemon; wait $daemon || [ $? -eq 143 ]; daemon=\n"
        if self.options is None:
            return f"{self.before}\n{block}"
        # It does not wait for what the shell itself still holds.
        return "ddblockd --log-level=error --stop-wait=0 " \
            f"{self.options} & daemon=$!\n" \
            "ddblock status --wait-daemon=20s >waited 2>&1\n" \
            f"{self.before}\n{block}\n" \
            "kill -- -$daemon; wait $daemon; daemon="


class By:
    """Another test runs it."""

    def __init__(self, path):
        self.path = path


class Settings:
    """--check-config accepts them."""


class Not:
    """Nothing that can be run here, and why."""

    def __init__(self, why):
        self.why = why


OLD = "--store=dynamodb --format=awslabs --table=lockTable"
# (the file, how a block begins, what becomes of it); in the order of the files.
TABLE = (
    ("README.md", "ddblock run -w 30 jobs", Runs("./nightly.sh .*")),
    ("README.md", "sha256sum", By(INSTALL)),
    ("README.md", "sudo apt install", By(INSTALL)),
    ("README.md", "ddblock run jobs/nightly -- echo", By(INSTALL)),
    ("README.md", "sudo apt install ./lib", By(INSTALL)),
    ("README.md", "python3 -m venv", By(INSTALL)),
    ("README.md", "./scripts/try", By("tests/integration/test_set_up.py")),
    ("README.md", "PATH=$PWD", By(TOUR)),
    ("README.md", "ddblock run jobs/nightly -- sh", By(TOUR)),
    ("README.md", "ddblock acquire jobs", By(TOUR)),
    ("README.md", "ddblock acquire -s", By(TOUR)),
    ("README.md", "(for i in", By(TOUR)),
    ("README.md", "ddblock run -k", By(TOUR)),
    ("README.md", "ddblock elect", By(TOUR)),
    ("README.md", "ddblock run jobs/nightly -- ddblock", By(TOUR)),
    ("README.md", "echo TRY", By(TOUR)),
    ("README.md", "PYTHONPATH=", By(TOUR)),
    ("README.md", "tests/integration/dynamodb-local", By(TOUR)),
    ("README.md", "PATH=$PWD", By(TOUR)),
    ("README.md", "ddblock acquire jobs", By(TOUR)),
    ("README.md", "kill $(jobs -p)", By(TOUR)),
    ("README.md", "exit", By(TOUR)),
    ("README.md", "#include", By(LIBRARY)),
    ("README.md", "ddblockd --check-table", Runs(
        ".*: as it must be; .*", options=None, table=True,
        before=f"ddblockd --init-table {OLD} >made")),
    ("contrib/aws/README.md", "aws cloudformation", Not(AWS)),
    ("contrib/aws/README.md", 'module "ddblockd"', Not(
        "it needs Terraform, and an account of AWS")),
    ("contrib/aws/README.md", "ddblockd --init-table", Runs(
        ".*: created, on demand; .*", options=None, table=True)),
    ("contrib/aws/README.md", "sed -e", Runs(
        "create-policy --policy-name ddblockd --policy-document "
        "file://policy.json",
        '.*arn:aws:dynamodb:eu-central-1:123456789012:table/locks"',
        options=None,
        # The policy is real, who takes it is not.
        before='aws() { shift; echo "$@"; cat "${5#file://}"; }; '
        'cd contrib/aws')),
    ("contrib/aws/README.md", "aws ec2", Not(AWS)),
    ("contrib/aws/README.md", "sudo ddblock check", Runs(
        r"\d+ findings: 0 errors, 0 warnings")),
    ("contrib/aws/cloudformation.yaml", "aws cloudformation", Not(AWS)),
    ("contrib/clients/bash/ddblock.sh", ". ./ddblock.sh", Runs(
        r"report with \d+", before="cd contrib/clients/bash; "
        'write_report() { echo "report with $1"; }')),
    ("contrib/clients/bash/ddblock.sh", "ddblock_rows_of", Runs(
        "jobs/nightly", before=". contrib/clients/bash/ddblock.sh; "
        "ddblock_open; ddblock_try jobs/nightly")),
    ("contrib/clients/go/README.md", "go mod edit",
     By("tests/packages/test_go.py")),
    ("contrib/clients/java/README.md", "mvn -f",
     By("tests/packages/test_java.py")),
    ("contrib/clients/javascript/README.md", "npm pack", By(
        "tests/packages/test_javascript.py")),
    ("contrib/clients/python/README.md", "pip install", By(
        "tests/packages/test_python.py")),
    ("contrib/clients/rust/README.md", "cargo add",
     By("tests/packages/test_rust.py")),
    ("contrib/container/Containerfile", "docker build",
     By("tests/packages/image.py")),
    ("contrib/ddblockd.conf", "ddblockd --check-config", Runs(
        r"\(no file\): ok", options=None)),
    ("contrib/examples/access.conf", "ddblockd --check-config", Runs(
        "access.conf: ok", ".*web.*", table=True,
        options="--config=access.conf")),
    ("contrib/examples/older-clients.conf", "ddblockd --check-config", Runs(
        "older-clients.conf: ok", "namespace java: .*: as it must be; .*",
        options=None, table=True,
        before="ddblockd --init-table --config=older-clients.conf "
        "--namespace=java >made")),
    ("contrib/kubernetes/ddblockd.yaml", "aws eks", Not(AWS)),
    ("contrib/systemd/examples/leader.service", "ddblock watch", By(UNITS)),
    ("contrib/systemd/examples/once-a-day", "once-a-day KEY", Not(
        "a synopsis")),
    ("man/ddblock-formats.7", "[namespace default]", Settings()),
    ("man/ddblock-protocol.7", "request  =", Not("a grammar")),
    ("man/ddblock-protocol.7", "$ printf 'TRY", Runs(
        r"OK id=1 token=\d+ mode=exclusive remaining=[\d.]+s "
        r"until_boot_ms=\d+ margin=1s")),
    ("man/ddblock.1", "0 3 * * *", By("tests/integration/test_every.py")),
    ("man/ddblock.1", "ddblock history", By("tests/systemd/test_history.py")),
    ("man/ddblock.1", "ddblock run -n", Runs("./nightly.sh .*")),
    ("man/ddblock.1", "ddblock run -c 3", Runs("./convert.sh in.mkv .*")),
    ("man/ddblock.1", "ddblock run -k", Runs("./transfer.sh 3 7 .*")),
    ("man/ddblock.1", "eval", Runs(r"./deploy --token (\d+) held")),
    ("man/ddblockd-aws.7", "credential_process", Not(
        "a line of a profile, with a program of the site's own")),
    ("man/ddblockd-aws.7", "[Service]", By(UNITS)),
    ("man/ddblockd-aws.7", "aws ec2", Not(AWS)),
    ("man/ddblockd-aws.7", "default\n", Not("what a check shows")),
    ("man/ddblockd.8", "systemd-sysusers", By(GUIDE)),
    ("man/ddblockd.8", "install -D", By(GUIDE)),
    ("man/ddblockd.8", "ddblock drain", By(GUIDE)),
    ("man/ddblockd.8", "journalctl", By(GUIDE)),
    ("man/ddblockd.8", "ddblockd --socket=/tmp", Runs(
        "default +sqlite +open.*", serves="--socket=/tmp/locks.sock")),
    ("man/ddblockd.8", "ddblockd --store=dynamodb", Runs(
        ".*: table locks-.*: (?:created|as it must be).*",
        "default +dynamodb .*", serves="", table=True)),
    ("man/ddblockd.conf.5", "this user's programs", Not(LOG)),
    ("man/ddblockd.conf.5", "rule", Not(LOG)),
    ("man/ddblockd.conf.5", "docker run", Not("it needs an image")),
    ("man/ddblockd.conf.5", "[access billing]", Settings()),
    ("man/ddblockd.conf.5", "ddblockd.conf:12", Not(LOG)),
    ("man/ddblockd.conf.5", "[daemon]", Settings()),
    ("man/ddblockd.conf.5", "[namespace default]", Settings()),
    ("man/libddblock.3", "#include", By(LIBRARY)),
    ("man/libddblock.3", "struct ddblock *again", Not(FRAGMENT)),
    ("man/libddblock.3", "struct ddblock_connect_options", Not(FRAGMENT)),
    ("man/libddblock.3", "#include", By(LIBRARY)),
)

# What the examples run, and say with which lock.
PROGRAM = """#!/bin/sh
echo "$0 $*$(ddblock held | sed -n 's/.* held .*/ held/p')"
"""
# A machine with nothing of ddblockd on it, and a group of its own.
ROOM = r"""
mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs /var/lib
mkdir /run/ddblockd /var/lib/ddblockd
{ cat /etc/group; echo deploy:x:2001:; } >group
mount --bind group /etc/group
config=$(ddblockd --help | sed -n 's|.*(\(/.*\)/ddblockd.conf)$|\1|p')
[ ! -d "$config" ] || mount -t tmpfs tmpfs "$config"
set -m
daemon=
trap '[ -z "$daemon" ] || kill -- -"$daemon"' EXIT
"""


def of_our_own(text):
    """With tables that no other test has."""
    return re.sub(r"(table ?= ?)([\w-]+)", rf"\1\2-{os.getpid()}", text)


class Printed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.confined = harness.confined()
        cls.directory = tempfile.mkdtemp(prefix="ddblock-printed-")
        cls.addClassCleanup(shutil.rmtree, cls.directory)
        for name in "nightly.sh", "convert.sh", "transfer.sh", "deploy":
            cls.write(name, PROGRAM)
        cls.write("bin/sudo", '#!/bin/sh\nexec "$@"\n')
        shutil.copytree(os.path.join(TOP, "contrib"),
                        os.path.join(cls.directory, "contrib"))
        for name in "access.conf", "older-clients.conf":
            cls.write(name, of_our_own(printed.read(
                f"contrib/examples/{name}")))

    @classmethod
    def write(cls, name, text):
        path = os.path.join(cls.directory, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(path, 0o755)

    def run_script(self, script):
        """(status, what it says, both outputs together)"""
        env = {name: value for name, value in os.environ.items()
               if not name.startswith("DDBLOCK")}
        env.update(PATH=f"{BUILD}:{self.directory}/bin:{os.environ['PATH']}",
                   AWS_REGION="us-east-1", HOME=self.directory)
        done = subprocess.run(
            [*self.confined, "bash", "-ec", f"{ROOM}\n{script}"],
            cwd=self.directory, env=env, check=False, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, timeout=harness.TIMEOUT_S)
        return done.returncode, done.stdout

    def runs(self, how, block):
        if how.table:
            harness.need_dynamodb()
        # As on a terminal: what begins with no prompt is an answer.
        if block.startswith("$ "):
            block = "\n".join(re.findall(r"^[$>] (.*)$", block, re.M))
        script = of_our_own(how.script(block.rstrip("\n"))).replace(
            "/tmp/", self.directory + "/")
        status, said = self.run_script(script)
        self.assertEqual(status, 0, f"{script}\n{said}")
        rest = iter(said.splitlines())
        for pattern in how.seen:
            self.assertTrue(any(re.fullmatch(pattern, line) for line in rest),
                            f"{pattern!r} is not seen in:\n{said}")

    def rows(self):
        """(file, block, what becomes of it): each block has a row."""
        blocks = printed.blocks()
        for (path, block), row in zip(blocks, TABLE):
            self.assertEqual(path, row[0], f"has no row:\n{block}")
            self.assertTrue(block.startswith(row[1]),
                            f"{path}: has no row:\n{block}")
        self.assertEqual(len(blocks), len(TABLE))
        return [(path, block, row[2])
                for (path, block), row in zip(blocks, TABLE)]

    def test_other_tests_are_there(self):
        for path, block, how in self.rows():
            if isinstance(how, By):
                self.assertTrue(os.path.exists(os.path.join(TOP, how.path)),
                                f"{path}: {block}")

    def test_blocks(self):
        for path, block, how in self.rows():
            with self.subTest(f"{path}: {block}"):
                if isinstance(how, Runs):
                    self.runs(how, block)
                elif isinstance(how, Settings):
                    self.settings(block)

    def settings(self, block):
        self.write("printed.conf", block)
        self.runs(Runs("printed.conf: ok", options=None),
                  "ddblockd --check-config --config=printed.conf")


if __name__ == "__main__":
    harness.main()
