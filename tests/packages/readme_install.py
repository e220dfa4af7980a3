#!/usr/bin/env python3
"""What README.md says of the installation, with the packages of a release, on a
bare Debian of each kind that the release is for.

$DDBLOCK_RELEASE_FOLDER is what `make release` has made. In a host (host.py)
that boots the bare Debian (root), with sudo, a user and the languages of that
Debian, each block is run as it is printed, in the folder of the release for it,
or in a project of the user.
"""
import os
import signal
import shutil
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
for folder in "integration", "systemd":
    sys.path.insert(0, os.path.join(HERE, os.pardir, folder))
# pylint: disable=wrong-import-position
import debian
import harness
import printed
from host import Host

RELEASE = os.path.abspath(os.environ.get("DDBLOCK_RELEASE_FOLDER", "release"))
THERE = "/srv/release"  # in the host
USER = "deploy"
LANGUAGES = ("python3-venv", "npm", "golang-go", "default-jdk-headless",
             "maven", "cargo", "gcc", "libc6-dev", "pkgconf")
APT_S = 1200
# For a person apt waits for a yes.
ASKS_NOTHING = ("apt install", "apt-get install -qq -y")
ENV = {**debian.ENV, "RELEASE": THERE}

PYTHON = """
import ddblock
with ddblock.Client(name="report") as client:
    with client.acquire("jobs/nightly", wait="30s") as hold:
        print("token", hold.token)
"""
JAVASCRIPT = """
const ddblock = require('ddblock');
(async () => {
    const client = await ddblock.connect({ name: 'report' });
    const hold = await client.acquire('jobs/nightly', { wait: '30s' });
    console.log('token', hold.token);
    await hold.release();
    client.close();
})();
"""


def blocks():
    """Those of the section Install."""
    text = printed.read("README.md")
    begin = text.index("## Install\n")
    section = text[begin:text.index("\n## ", begin + 1)]
    return list(printed.of_markdown(section))


class Install:
    """On the release of Debian that a test case names."""

    debian = None

    @classmethod
    def setUpClass(cls):
        if not os.path.isdir(os.path.join(RELEASE, cls.debian)):
            raise unittest.SkipTest(f"there is no {cls.debian} in {RELEASE}: "
                                    "make release")
        cls.host = Host(debian.bare(cls.debian))
        cls.addClassCleanup(cls.host.stop)
        cls.host.start()
        shutil.copytree(RELEASE, cls.host.path(THERE))
        debian.apt(cls.host, APT_S, "update")
        debian.apt(cls.host, APT_S, "install", "sudo", *LANGUAGES)
        cls.host.exec("useradd", "--create-home", "--shell", "/bin/bash", USER)
        (cls.sums, cls.packages, cls.first, cls.more,
         cls.others) = blocks()

    def bash(self, script, folder, user=None):
        """What it says, of a login of the user."""
        done = self.host.exec(
            "bash", "-ec", f"cd {folder}\n{script}", user=user, check=False,
            timeout=APT_S,
            env={**ENV, "HOME": f"/home/{user}" if user else "/root"})
        self.assertEqual(done.returncode, 0,
                         f"{script}\n{done.stdout}{done.stderr}")
        return done.stdout

    def test_as_printed(self):
        """One after the other, as somebody does it."""
        debs, home = f"{THERE}/{self.debian}", f"/home/{USER}"
        self.bash(self.sums, THERE)
        self.bash(self.packages.replace(*ASKS_NOTHING), debs)
        said = self.bash(self.first, home, user=USER)
        self.assertIn("no other client has it", said)
        self.bash(self.more.replace(*ASKS_NOTHING), debs)
        self.host.write(f"{home}/c.c", next(
            block for block in printed.of("README.md")
            if block.startswith("#include")))
        said = self.bash("cc c.c -o c $(pkg-config --cflags --libs libddblock) "
                         "&& ./c", home, user=USER)
        self.assertRegex(said, r"token \d+")
        self.host.write(f"{home}/report.py", PYTHON)
        said = self.bash("/usr/bin/python3 report.py", home, user=USER)
        self.assertRegex(said, r"token \d+")

        # An empty project of each language.
        self.bash("npm init -y >/dev/null; go mod init example.org/project",
                  home, user=USER)
        self.bash(self.others, home, user=USER)
        said = self.bash("venv/bin/python report.py", home, user=USER)
        self.assertRegex(said, r"token \d+")
        self.host.write(f"{home}/report.js", JAVASCRIPT)
        self.assertRegex(self.bash("node report.js", home, user=USER),
                         r"token \d+")
        self.bash("grep ddblockd.example/ddblock go.mod; ls .m2/repository/"
                  "example/ddblockd/ddblock; ls ddblock-*/target/debug",
                  home, user=USER)


class Bookworm(Install, unittest.TestCase):
    debian = "bookworm"


class Trixie(Install, unittest.TestCase):
    debian = "trixie"


if __name__ == "__main__":
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: sys.exit(1))
    harness.main()
