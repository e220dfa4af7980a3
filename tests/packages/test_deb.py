#!/usr/bin/env python3
"""Debian's packages, under a real systemd: what a user of Debian expects.

They are taken from $DDBLOCK_PACKAGES, else from packages/ in the build, where
`make deb` puts them, and installed by apt in a host (host.py) that boots a bare
Debian (root) of the release $DDBLOCK_RELEASE, by default this machine's. Other
versions of a package are the same files under another number; so what is tried
of an upgrade is what dpkg and the packages' scripts do.

All cases have one host. Each begins with the packages purged.
"""
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
for folder in "integration", "systemd":
    sys.path.insert(0, os.path.join(HERE, os.pardir, folder))
# pylint: disable=wrong-import-position
import debian
import harness
import packages
import succession
from host import Host

BUILD = os.path.dirname(os.path.abspath(harness.program("ddblockd")))
PACKAGES = os.path.abspath(os.environ.get("DDBLOCK_PACKAGES") or
                           os.path.join(BUILD, "packages"))
SOCKET = "/run/ddblockd/ddblockd.sock"
CONFIG = "/etc/ddblockd/ddblockd.conf"
PROFILE = "/etc/apparmor.d/usr.sbin.ddblockd"
USERS = {"alice": 1501, "mallory": 1503}
DEBS = "/debs"  # in the host
APT_S = 300
HOST = None

# So many locks are held while a package is upgraded; by each kind of client.
HOLDS = {"run": 40, "c": 30, "python": 30}

# Holds the locks of its arguments, each by a connection of its own, and ends
# with 3 as soon as one is lost.
C_PROGRAM = """
#include <ddblock.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

static void
on_event(void *arg, struct ddblock *d, const struct ddblock_event *event)
{
	(void)arg;
	(void)d;
	if (event->kind == DDBLOCK_EVENT_LOST)
		exit(3);
}

int
main(int argc, char **argv)
{
	struct ddblock *d[64];
	struct pollfd polls[64];
	uint64_t id;

	for (int i = 1; i < argc; i++) {
		if (ddblock_open(NULL, "c", &d[i]) < 0 ||
		    ddblock_acquire(d[i], argv[i], NULL, &id) < 0)
			return 2;
		ddblock_on_event(d[i], on_event, NULL);
		polls[i] = (struct pollfd){ ddblock_fd(d[i]), POLLIN, 0 };
	}
	puts("ready");
	fflush(stdout);
	while (poll(polls + 1, (nfds_t)argc - 1, -1) > 0)
		for (int i = 1; i < argc; i++)
			if (ddblock_dispatch(d[i]) < 0)
				return 3;
	return 2;
}
"""
PYTHON_PROGRAM = """
import sys
import ddblock
holds = []
for key in sys.argv[1:]:
    client = ddblock.Client(name="python")
    holds.append(client.acquire(key))
print("ready", flush=True)
for line in sys.stdin:
    print(sum(hold.is_valid() for hold in holds), flush=True)
"""
RUN_PROGRAM = """
for key; do
    ddblock run "$key" -- sleep infinity &
done
wait -n
exit 3
"""


def release_of_this_machine():
    with open("/etc/os-release", encoding="utf-8") as f:
        found = re.search("^VERSION_CODENAME=(.*)$", f.read(), re.M)
    return found[1] if found else "none"


RELEASE = os.environ.get("DDBLOCK_RELEASE") or release_of_this_machine()


def package(name):
    """The file of the package that was built."""
    found = [path for path in glob.glob(f"{PACKAGES}/{name}_*.deb")]
    if len(found) != 1:
        raise AssertionError(f"{name} is not, or more than once, in {PACKAGES}"
                             ": make deb")
    return found[0]


def fields(path, *names):
    done = subprocess.run(["dpkg-deb", "-f", path, *names], check=True,
                          stdout=subprocess.PIPE, text=True)
    return done.stdout.strip()


def repack(name, version, change=None):
    """The package once more in the host, as another @version. @change: of its
    files, in a folder, before."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["dpkg-deb", "-R", package(name), folder + "/new"],
                       check=True)
        control = folder + "/new/DEBIAN/control"
        with open(control, encoding="utf-8") as f:
            text = f.read()
        before = fields(package(name), "Version")
        with open(control, "w", encoding="utf-8") as f:
            f.write(text.replace(before, version))
        if change is not None:
            change(folder + "/new")
        file = f"{DEBS}/{name}_{version}.deb"
        subprocess.run(["dpkg-deb", "--root-owner-group", "-Znone", "-b",
                        folder + "/new", HOST.path(file)], check=True,
                       stdout=subprocess.PIPE)
    return file


def later(n=2):
    """A version above that of the packages: another packaging of it."""
    return f"{packages.version()}-{n}"


def append(path, text):
    with open(path, "a", encoding="utf-8") as f:
        f.write(text)


def built(name):
    """The package as it was built, in the host."""
    return f"{DEBS}/{os.path.basename(package(name))}"


def apt(*arguments):
    return debian.apt(HOST, APT_S, *arguments)


def dpkg(*arguments, **more):
    return HOST.exec("dpkg", *arguments, timeout=APT_S, **more)


def show(unit, name):
    return HOST.exec("systemctl", "show", "-P", name, unit).stdout.strip()


def compile_program():
    """The C program, against libddblock-dev and with libddblock0, as they were
    built."""
    with tempfile.TemporaryDirectory() as folder:
        for name in "libddblock-dev", "libddblock0":
            subprocess.run(["dpkg-deb", "-x", package(name), folder],
                           check=True)
        append(folder + "/program.c", C_PROGRAM)
        libraries = glob.glob(f"{folder}/usr/lib/*-linux-*")[0]
        subprocess.run(["gcc", "-Wall", "-Werror", "-o", folder + "/program",
                        f"-I{folder}/usr/include", folder + "/program.c",
                        f"-L{libraries}", "-lddblock"], check=True)
        shutil.copy(folder + "/program", HOST.path("/usr/local/bin/c-holder"))


def setUpModule():
    global HOST  # pylint: disable=global-statement
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: sys.exit(1))
    Host().need()
    if not glob.glob(PACKAGES + "/ddblockd_*.deb"):
        raise unittest.SkipTest(f"there are no packages in {PACKAGES}: "
                                "make deb")
    HOST = Host(debian.bare(RELEASE))
    unittest.addModuleCleanup(HOST.stop)
    HOST.start()
    os.mkdir(HOST.path(DEBS))
    for path in glob.glob(PACKAGES + "/*.deb"):
        shutil.copy(path, HOST.path(DEBS))
    lines = [f'u {name} {uid} "" /tmp' for name, uid in USERS.items()]
    HOST.exec("systemd-sysusers", "-", stdin=None, input="\n".join(lines))
    apt("update")
    # What they depend on; and each case installs them for the first time.
    apt("install", "python3", built("ddblockd"), built("ddblock-client"),
        built("libddblock0"), built("python3-ddblock"))
    dpkg("-P", "ddblockd", "ddblock-client")
    compile_program()


class Holders:
    """Clients of each kind that hold locks."""

    def __init__(self, case):
        self.case = case
        keys = {kind: [f"{kind}/{n}" for n in range(count)]
                for kind, count in HOLDS.items()}
        self.processes = [
            self.start("bash", "-c", RUN_PROGRAM, "run", *keys["run"]),
            self.start("c-holder", *keys["c"]),
            self.start("python3", "-c", PYTHON_PROGRAM, *keys["python"])]
        for process in self.processes[1:]:
            case.assertEqual(process.stdout.readline(), "ready\n")
        case.await_(lambda: len(self.held()) == sum(HOLDS.values()))
        self.tokens = self.held()

    def start(self, *command):
        process = subprocess.Popen(
            HOST.command(*command, user="alice"), stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

        def end():
            with process:
                process.kill()
        self.case.addCleanup(end)
        self.case.addCleanup(HOST.exec, "pkill", "-KILL", "-u", "alice",
                             check=False)
        return process

    @staticmethod
    def held():
        """{key: token} of all that is held."""
        rows = json.loads(HOST.exec("ddblock", "held", "--json").stdout)
        return {row["key"]: row["token"] for row in rows}

    def check(self):
        """No lock was lost, by what the daemon says and what the clients
        believe."""
        self.case.assertEqual(self.held(), self.tokens)
        for process in self.processes:
            self.case.assertIsNone(process.poll())
        sleeping = HOST.exec("pgrep", "-c", "-u", "alice", "-x", "sleep")
        self.case.assertEqual(int(sleeping.stdout), HOLDS["run"])
        python = self.processes[2]
        python.stdin.write("valid?\n")
        python.stdin.flush()
        self.case.assertEqual(int(python.stdout.readline()), HOLDS["python"])
        for kind in HOLDS:
            done = HOST.exec("ddblock", "run", "-n", f"{kind}/0", "--", "true",
                             check=False)
            self.case.assertEqual(done.returncode, 1, done.stderr)


class Case(unittest.TestCase):
    def setUp(self):
        self.addCleanup(self.tell)
        HOST.exec("sh", "-c", "pkill -KILL -u alice; "
                  "systemctl stop ddblockd.socket ddblockd.service; "
                  "dpkg -P ddblockd ddblock-client ddblock-doc; "
                  "rm -rf /etc/systemd/system/ddblockd*; "
                  "systemctl daemon-reload; systemctl reset-failed",
                  check=False, timeout=APT_S)

    def tell(self):
        failed = [text for case, text in self._outcome.result.errors
                  + self._outcome.result.failures if case is self]
        if failed:
            print(HOST.exec("journalctl", "-b", "-n", "60").stdout,
                  file=sys.stderr)

    def await_(self, what):
        end = time.monotonic() + harness.TIMEOUT_S
        while not what():
            self.assertLess(time.monotonic(), end)

    def install(self):
        dpkg("-i", built("ddblockd"), built("ddblock-client"))
        HOST.exec("usermod", "-a", "-G", "ddblockd", "alice")

    def token(self, key="k", user="alice"):
        """Of a lock, which is free again."""
        return int(HOST.exec("ddblock", "run", "-w", "10", key, "--", "sh",
                             "-c", "echo $DDBLOCK_TOKEN", user=user).stdout)


class Files(unittest.TestCase):
    def test_lintian(self):
        """No word of it that is not overridden, with a reason."""
        log = os.path.join(PACKAGES, "lintian.log")
        if os.path.exists(log):  # of the release that they were built in
            with open(log, encoding="utf-8") as f:
                said = f.read()
        else:
            if shutil.which("lintian") is None:
                self.skipTest("lintian is missing")
            changes = glob.glob(PACKAGES + "/*.changes")
            self.assertEqual(len(changes), 1)
            said = subprocess.run(
                ["lintian", "--pedantic", "-E", "--allow-root", *changes],
                check=False, stdout=subprocess.PIPE, text=True).stdout
        self.assertEqual(re.findall("^[A-Z]: .*", said, re.M), [])

    def test_apparmor_knows_the_profile(self):
        if shutil.which("apparmor_parser") is None:
            self.skipTest("apparmor_parser is missing (apparmor)")
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["dpkg-deb", "-x", package("ddblockd"), folder],
                           check=True)
            command = ["apparmor_parser", "-Q", "-K", "--base",
                       "/etc/apparmor.d"]
            subprocess.run([*command, folder + PROFILE], check=True,
                           stderr=subprocess.PIPE)
            append(folder + PROFILE, "profile x { /y zzz, }\n")
            done = subprocess.run([*command, folder + PROFILE], check=False,
                                  stderr=subprocess.PIPE)
            self.assertNotEqual(done.returncode, 0)

    def test_one_version(self):
        """Of all packages: that of configure.ac."""
        version = packages.version()
        for path in glob.glob(PACKAGES + "/*.deb"):
            self.assertEqual(fields(path, "Version").rsplit("-", 1)[0],
                             version, path)


class Life(Case):
    def test_installation(self):
        """It runs, and serves the locks of this host to the group."""
        self.install()
        for unit in "ddblockd.service", "ddblockd.socket":
            self.assertEqual(show(unit, "ActiveState"), "active")
            self.assertEqual(show(unit, "UnitFileState"), "enabled")
        self.assertGreater(self.token(), 0)
        done = HOST.exec("ddblock", "run", "k", "--", "true", user="mallory",
                         check=False)
        self.assertEqual(done.returncode, 77, done.stderr)
        self.assertEqual(dpkg("-V", "ddblockd", "ddblock-client").stdout, "")
        self.assertIn("ddblockd", HOST.exec(
            "journalctl", "--list-catalog").stdout)
        done = HOST.exec("systemd-analyze", "security", "--no-pager",
                         "ddblockd.service")
        self.assertRegex(done.stdout, r"for ddblockd.service: 1\.[0-5] OK")

    def test_configuration(self):
        """That of the administrator stays, whatever the new one has."""
        self.install()
        before = HOST.exec("cat", CONFIG).stdout
        changed = before.replace("[daemon]\n", "[daemon]\nstop_wait = 7s\n", 1)
        HOST.write(CONFIG, changed)
        dpkg("-i", repack("ddblockd", later()))
        self.assertEqual(HOST.exec("cat", CONFIG).stdout, changed)

        def other(folder):
            append(folder + CONFIG, "; new\n")
        dpkg("-i", "--force-confdef", "--force-confold",
             repack("ddblockd", later(3), other))
        self.assertEqual(HOST.exec("cat", CONFIG).stdout, changed)
        self.assertEqual(HOST.exec("cat", CONFIG + ".dpkg-dist").stdout,
                         before + "; new\n")
        self.assertEqual(show("ddblockd", "ActiveState"), "active")

    def change_version(self, holders, *files):
        """The daemon is another, its socket is not, and nothing was lost."""
        pid = show("ddblockd", "MainPID")
        socket = os.stat(HOST.path(SOCKET)).st_ino
        dpkg("-i", *files)
        self.assertNotEqual(show("ddblockd", "MainPID"), pid)
        self.assertEqual(os.stat(HOST.path(SOCKET)).st_ino, socket)
        holders.check()

    def test_upgrade_and_downgrade_with_holds(self):
        self.install()
        holders = Holders(self)
        names = "ddblockd", "ddblock-client", "libddblock0"
        self.change_version(holders, *[repack(name, later())
                                       for name in names])
        self.change_version(holders, *[built(name) for name in names])

    def test_upgrade_from_the_journal_before(self):
        """The daemon of a package whose journal has the format before leaves
        its holds to this one's, which writes its own."""
        before = harness.program("ddblockd-before")

        def older(folder):
            shutil.copy(before, folder + "/usr/sbin/ddblockd")
        self.install()
        dpkg("-i", repack("ddblockd", "0.0.1-1", older))
        holders = Holders(self)
        journal = HOST.path(SOCKET + ".journal")
        self.assertEqual(succession.journal_version(journal), 1)
        self.change_version(holders, built("ddblockd"))
        self.assertEqual(succession.journal_version(journal), 2)

    def test_a_stop_would_be_seen(self):
        """A package that stops and starts is one that loses what is held."""
        self.install()
        HOST.write(CONFIG, "[daemon]\nstop_wait = 0\n")
        HOST.exec("systemctl", "restart", "ddblockd.service")

        def stop(folder):
            path = folder + "/DEBIAN/preinst"
            append(path, "#!/bin/sh\nsystemctl stop ddblockd.service\n")
            os.chmod(path, 0o755)
        holders = Holders(self)
        with self.assertRaises(AssertionError):
            self.change_version(holders, repack("ddblockd", later(), stop))

    def test_the_configuration_is_refused(self):
        """By the program of the upgrade: the one before goes on, with all that
        is held."""
        self.install()
        holders = Holders(self)
        right = HOST.exec("cat", CONFIG).stdout
        HOST.write(CONFIG, right + "[daemon]\nno_such_setting = 1\n")
        pid = show("ddblockd", "MainPID")
        done = dpkg("-i", repack("ddblockd", later()))
        self.assertIn("refuses the configuration", done.stderr)
        self.assertEqual(show("ddblockd", "MainPID"), pid)
        holders.check()
        HOST.write(CONFIG, right)
        self.change_version(holders, repack("ddblockd", later(3)))

    def test_stopped_by_the_administrator(self):
        """An upgrade starts nothing that is disabled or masked."""
        self.install()
        HOST.exec("systemctl", "disable", "--now", "ddblockd.service",
                  "ddblockd.socket")
        dpkg("-i", repack("ddblockd", later()))
        for unit in "ddblockd.service", "ddblockd.socket":
            self.assertEqual(show(unit, "ActiveState"), "inactive")
            self.assertEqual(show(unit, "UnitFileState"), "disabled")

    def test_removal_and_return(self):
        """The state stays, and what was held is held by the next."""
        self.install()
        self.token()
        HOST.write(CONFIG, "[daemon]\nstop_wait = 0\n")
        dpkg("-r", "ddblockd")
        for unit in "ddblockd.service", "ddblockd.socket":
            self.assertEqual(show(unit, "ActiveState"), "inactive")
        self.assertFalse(os.path.exists(HOST.path(SOCKET)))
        for path in CONFIG, "/var/lib/ddblockd/default.db":
            self.assertTrue(os.path.exists(HOST.path(path)), path)
        self.assertEqual(HOST.exec("pgrep", "-x", "ddblockd",
                                   check=False).returncode, 1)
        dpkg("-i", built("ddblockd"))
        self.assertEqual(HOST.exec("cat", CONFIG).stdout,
                         "[daemon]\nstop_wait = 0\n")
        self.assertGreater(self.token(), 0)

    def test_purge(self):
        """Nothing is left but the user; a token never comes back."""
        self.install()
        before = self.token()
        dpkg("-P", "ddblockd")
        for path in ("/var/lib/ddblockd", "/run/ddblockd", "/etc/ddblockd",
                     PROFILE, "/etc/apparmor.d/local/usr.sbin.ddblockd",
                     "/etc/systemd/system/multi-user.target.wants/"
                     "ddblockd.service"):
            self.assertFalse(os.path.lexists(HOST.path(path)), path)
        HOST.exec("getent", "passwd", "ddblockd")
        # The first token of a lock is the clock's second, and 20 bits.
        self.await_(lambda: int(time.time()) > before >> 20)
        dpkg("-i", built("ddblockd"))
        self.assertGreater(self.token(), before)


if __name__ == "__main__":
    harness.main()
