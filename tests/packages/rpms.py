#!/usr/bin/env python3
"""The release's tarball becomes RPMs as a Fedora would make them (rpmbuild
-ta), with Debian's rpm: build dependencies are not asked for, and
fedora.macros stands for what Debian has not. Then the packages are looked at.
(make check-rpm)
"""
import collections
import glob
import os
import re
import shutil
import subprocess
import tempfile
import unittest

import packages
from packages import HERE, version

import harness  # packages knows where it is

BUILD_S = 1800
UNITS = "ddblockd.socket ddblockd.service"
SCRIPTS = {
    "postinstall": ["sysusers_create ddblockd.conf",
                    "tmpfiles_create ddblockd.conf", f"systemd_post {UNITS}"],
    "preuninstall": [f"systemd_preun {UNITS}"],
    "postuninstall": [f"systemd_postun {UNITS}"],
}
PACKAGES = {"ddblockd", "ddblock", "libddblock", "libddblock-devel"}


def run(*command):
    return packages.run(*command, timeout=BUILD_S)


class Packages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        for program in "rpmbuild", "rpmlint":
            if shutil.which(program) is None:
                raise unittest.SkipTest(f"{program} is missing")
        cls.directory = tempfile.mkdtemp(prefix="ddblock-rpm-")
        cls.addClassCleanup(shutil.rmtree, cls.directory)
        cls.build = build = os.path.dirname(os.path.abspath(
            harness.program("ddblockd")))
        run("make", "-C", build, "dist-xz")
        tarball, = glob.glob(build + "/ddblockd-*.tar.xz")
        cls.addClassCleanup(os.unlink, tarball)
        run("rpmbuild", "-ta", "--nodeps", "--without", "check",
            "--define", f"_topdir {cls.directory}/rpm",
            f"--load={HERE}/fedora.macros", tarball)
        cls.rpms = {cls.ask(path, "-q", "--qf", "%{NAME}"): path
                    for path in glob.glob(cls.directory + "/rpm/RPMS/*/*.rpm")}
        cls.source, = glob.glob(cls.directory + "/rpm/SRPMS/*.rpm")

    @classmethod
    def ask(cls, path, *question):
        return run("rpm", *question, "-p", path)

    def test_names(self):
        self.assertEqual(set(self.rpms), PACKAGES)

    def test_files_are_those_of_make_install(self):
        """None is lost, and none is in two packages."""
        build = os.path.join(self.directory, "installed")
        run("make", "-C", self.build, "install", f"DESTDIR={build}",
            "prefix=/usr", "exec_prefix=/usr", "sysconfdir=/etc",
            "libdir=/usr/lib64")
        installed = set()
        for where, _, names in os.walk(build):
            installed.update(os.path.join(where, name)[len(build):]
                             for name in names)
        installed = {path for path in installed
                     if not path.endswith((".a", ".la"))}
        packed = collections.Counter()
        for path in self.rpms.values():
            # Fedora's rpm compresses manuals, Debian's does not.
            packed.update(
                line.split()[0].removesuffix(".gz") for line in self.ask(
                    path, "-q", "--qf", "[%{FILENAMES} %{FILEMODES:perms}\n]")
                .splitlines() if not line.split()[1].startswith("d"))
        self.assertEqual({p for p, n in packed.items() if n > 1}, set())
        own = {path for path in packed
               if re.match("/usr/(share/(doc|licenses)|lib/.build-id)/",
                           path)}
        self.assertEqual(set(packed) - own, installed)
        for name in self.rpms:
            if name != "libddblock-devel":
                self.assertTrue(any(re.fullmatch(
                    f"/usr/share/licenses/{name}(-[0-9.]+)?/LICENSE", path)
                    for path in own), name)

    def test_configuration_is_the_administrator_s(self):
        path = self.rpms["ddblockd"]
        flags = dict(line.rsplit(" ", 1) for line in self.ask(
            path, "-q", "--qf", "[%{FILENAMES} %{FILEFLAGS:fflags}\n]")
            .splitlines())
        self.assertEqual([p for p, f in flags.items() if "c" in f],
                         ["/etc/ddblockd/ddblockd.conf"])
        self.assertIn("n", flags["/etc/ddblockd/ddblockd.conf"])

    def test_scripts_restart_and_never_stop(self):
        said = collections.defaultdict(list)
        own = collections.defaultdict(list)
        for line in self.ask(self.rpms["ddblockd"], "-q", "--scripts") \
                .splitlines():
            kind = re.match(r"(\w+) scriptlet", line)
            if kind:
                name = kind[1]
            elif line.startswith(": "):
                said[name].append(line[2:])
            elif line.strip():
                own[name].append(line)
        self.assertEqual(dict(said), SCRIPTS)
        self.assertEqual(set(own), {"posttrans"})
        self.restarts("\n".join(own["posttrans"]))
        for name in PACKAGES - {"ddblockd"}:
            self.assertEqual(self.ask(self.rpms[name], "-q", "--scripts"), "")

    def restarts(self, script):
        """The daemon that runs is restarted, if the new one would start."""
        folder = os.path.join(self.directory, "systemctl")
        os.mkdir(folder)
        with open(folder + "/systemctl", "w", encoding="utf-8") as f:
            f.write('#!/bin/sh\necho "$@"\n[ "$1" != "$REFUSED" ]\n')
        os.chmod(folder + "/systemctl", 0o755)
        script = script.replace("/run/systemd/system", folder)
        for refused, said, last in (
                ("--quiet", "--quiet is-active ddblockd.service", ""),
                ("reload", "reload", "refuses the configuration"),
                ("", "restart ddblockd.service", "")):
            with self.subTest(refused=refused):
                done = subprocess.run(
                    ["sh", "-ec", script], check=True, text=True,
                    stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                    env={"PATH": f"{folder}:{os.environ['PATH']}",
                         "REFUSED": refused})
                self.assertIn(said, done.stdout.splitlines()[-1])
                self.assertIn(last, done.stderr)
                self.assertNotIn("stop", done.stdout)

    def test_programs_run(self):
        root = os.path.join(self.directory, "unpacked")
        os.mkdir(root)
        for path in self.rpms.values():
            run("sh", "-c", f"cd {root} && rpm2cpio {path} | cpio -id --quiet")
        self.assertIn(version(), run(root + "/usr/sbin/ddblockd", "--version"))
        self.assertIn(version(), run(root + "/usr/bin/ddblock", "--version"))

    def test_lint(self):
        print(run("rpmlint", "-c", f"{HERE}/rpmlint.toml", self.source,
                  *self.rpms.values()))


if __name__ == "__main__":
    harness.main()
