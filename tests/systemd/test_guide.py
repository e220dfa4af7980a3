#!/usr/bin/env python3
"""doc/install.md, as somebody follows it under a real systemd, and what
ddblockd(8) says there.

Each block of commands is run in a host (host.py) as it is printed, from the
build that is tested in the place of build/default: by root, where it says sudo,
or by a user who was put into the group. One with settings is put into the
configuration. The table is in the DynamoDB that a test is run beside, which the
host's profile of AWS names, with its credentials.
"""
import os
import pwd
import re
import shutil
import signal
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(HERE, os.pardir, "integration"))
# pylint: disable=wrong-import-position
import harness
import printed
from host import PATH, Host
from test_daemon_dynamodb import dynamodb

BUILD = os.path.dirname(os.path.abspath(harness.program("ddblockd")))
HOST = Host(folders=sorted({TOP, BUILD}))
CONFIG = "/usr/local/etc/ddblockd/ddblockd.conf"
TREE = "/srv/ddblockd"  # the clone of somebody who follows
USER = "deploy"
ADMINISTRATOR = pwd.getpwuid(0).pw_dir

# Whose profile of AWS it is: root's, and that of the daemon.
PROFILE = """[default]
aws_access_key_id = AKIDEXAMPLE
aws_secret_access_key = not-a-secret
endpoint_url = {endpoint}
"""
CREDENTIALS = """[Service]
LoadCredential=aws_config:{home}/.aws/config
LoadCredential=aws_credentials:{home}/.aws/config
"""
PREPARE = """#!/bin/sh
echo prepared
"""


def no_table():
    if "fleet-locks" in dynamodb("ListTables")["TableNames"]:
        dynamodb("DeleteTable", TableName="fleet-locks")


def setUpModule():
    harness.need_dynamodb()
    no_table()
    unittest.addModuleCleanup(no_table)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: sys.exit(1))
    unittest.addModuleCleanup(HOST.stop)
    HOST.start()
    HOST.exec("systemd-sysusers", "-", stdin=None,
              input=f'u {USER} 1501 "" /home/{USER}\n')
    HOST.exec("install", "-d", "-o", USER, f"/home/{USER}")
    HOST.exec("mkdir", "-p", f"{TREE}/build")
    HOST.exec("ln", "-s", BUILD, f"{TREE}/build/default")
    HOST.write(f"{TREE}/prepare.sh", PREPARE, 0o755)
    if shutil.which("sudo") is None:  # a machine whose only user is root
        HOST.write("/usr/local/bin/sudo", '#!/bin/sh\nexec "$@"\n', 0o755)
    # As a role is there on a machine of AWS.
    HOST.write(f"{ADMINISTRATOR}/.aws/config", PROFILE.format(
        endpoint=harness.endpoint()), 0o600)
    HOST.write("/etc/systemd/system/ddblockd.service.d/aws.conf",
               CREDENTIALS.format(home=ADMINISTRATOR))


class Guide(unittest.TestCase):
    def run_block(self, block, user=None, check=True):
        home = ADMINISTRATOR if user is None else f"/home/{user}"
        done = HOST.exec(
            "bash", "-ec", f"cd {TREE}\n{block}", user=user, check=False,
            env={"PATH": PATH, "HOME": home, "LANG": "C.UTF-8"},
            stderr=subprocess.STDOUT)
        if check:
            self.assertEqual(done.returncode, 0, f"{block}\n{done.stdout}")
        return done.stdout

    def sees(self, block, *patterns, user=None):
        out = self.run_block(block, user)
        for pattern in patterns:
            self.assertRegex(out, f"(?m)^{pattern}$")

    def held_beside(self, key):
        """Somebody's lock, until the end."""
        process = subprocess.Popen(
            HOST.command("ddblock", "run", key, "--", "sh", "-c",
                         "echo ready; exec sleep 1000", user=USER),
            stdout=subprocess.PIPE, text=True)

        def end():
            with process:
                process.kill()
        self.addCleanup(end)
        self.assertEqual(process.stdout.readline(), "ready\n")
        return process

    def configure(self, lines):
        """An editor at work in [namespace default]."""
        with open(HOST.path(CONFIG), encoding="utf-8") as f:
            text = f.read()
        head = "[namespace default]\n"
        self.assertEqual(text.count("\n" + head), 1)
        HOST.write(CONFIG, text.replace(head, head + lines))

    def at_boot(self, block):
        """It waits for a daemon that comes after it."""
        HOST.exec("systemctl", "stop", "ddblockd.socket", "ddblockd.service")
        waiting = subprocess.Popen(
            HOST.command("bash", "-ec", f"cd {TREE}\n{block}", user=USER),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        with waiting:
            self.assertIn("waiting", waiting.stderr.readline())
            HOST.exec("systemctl", "start", "ddblockd.socket")
            out, errors = waiting.communicate(timeout=harness.TIMEOUT_S)
            self.assertEqual((out, waiting.returncode), ("prepared\n", 0),
                             errors)

    def upgrade(self, block):
        """No lock is lost, and no configuration."""
        holder = self.held_beside("jobs/long")
        with open(HOST.path(CONFIG), encoding="utf-8") as f:
            before = f.read()
        self.sees(block, rf"{CONFIG} is kept; .*")
        with open(HOST.path(CONFIG), encoding="utf-8") as f:
            self.assertEqual(f.read(), before)
        self.sees("ddblock held", r"\d+ +default +jobs/long +.*", user=USER)
        self.assertIsNone(holder.poll())
        HOST.exec("pkill", "-TERM", "-u", USER, "-x", "sleep")
        holder.wait(harness.TIMEOUT_S)

    def test_as_it_is_printed(self):
        # The first is followed by tests/packages/test_deb.py.
        _packages, install, first, lines, table, check, boot, upgrade, away = \
            printed.of("doc/install.md")
        units, drop_in, drain, who, *_ = printed.of("man/ddblockd.8")
        self.run_block(install)
        self.run_block(units)
        self.sees(first, r"default +sqlite +open.*",
                  "no other client has it", user=USER)
        self.sees(who, r'.* lock "jobs/nightly", token \d+, is granted to .*')
        self.configure(lines)
        self.sees(table, rf"{CONFIG}: ok", "store = dynamodb",
                  r"namespace default: table fleet-locks: created, .*")
        self.sees(check, r" +ok +table .*", r"\d+ findings: 0 errors, .*")
        self.sees(first, r"default +dynamodb +open.*", user=USER)
        self.at_boot(boot)
        self.run_block(drop_in)
        self.assertIn("clock.conf", HOST.exec(
            "systemctl", "show", "-P", "DropInPaths", "ddblockd").stdout)
        self.upgrade(upgrade)
        self.run_block(drain)
        self.assertEqual(HOST.exec(
            "systemctl", "show", "-P", "ActiveState", "ddblockd").stdout,
                         "inactive\n")
        self.sees(away, rf"{CONFIG} is kept: .*")
        self.assertTrue(os.path.exists(HOST.path(CONFIG)))
        self.assertNotEqual(HOST.exec(
            "systemctl", "cat", "ddblockd.service", check=False).returncode, 0)


if __name__ == "__main__":
    harness.main()
