"""What `make install` puts where, and what the unit makes of it.

Installs into a directory of its own. What systemd has to say it says without
running: the unit under a real systemd is a test of its own.
"""
import os
import re
import shutil
import subprocess
import tempfile
import unittest

import harness

HERE = os.path.dirname(os.path.abspath(__file__))
MANUALS = {"ddblock.1", "ddblockd.8", "ddblockd.conf.5",
           "ddblockd-aws.7", "ddblock-formats.7", "ddblock-protocol.7",
           "libddblock.3"}


TOP = os.path.join(HERE, os.pardir, os.pardir)
SAMPLE = os.path.join(TOP, "contrib/ddblockd.conf")


def build():
    return os.path.dirname(harness.program("ddblockd"))


def make(*arguments):
    env = {k: v for k, v in os.environ.items()
           if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "DESTDIR")}
    return subprocess.run(["make", "-C", build(), *arguments], env=env,
                          check=True, stdout=subprocess.PIPE, text=True,
                          stderr=subprocess.STDOUT,
                          timeout=harness.TIMEOUT_S).stdout


def files(top):
    return {os.path.relpath(os.path.join(folder, name), top)
            for folder, _, names in os.walk(top) for name in names}


def tool(name):
    path = shutil.which(name)
    if path is None:
        raise unittest.SkipTest(f"{name} is missing (Debian: systemd)")
    return path


def seconds(text):
    number, unit = re.fullmatch(r"(\d+)(ms|s|m|h)?", text).groups()
    return int(number) * {"ms": 0.001, "m": 60, "h": 3600}.get(unit, 1)


class Install(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.root = tempfile.mkdtemp(prefix="ddblock-install-")
        cls.addClassCleanup(shutil.rmtree, cls.root)
        make("install", f"DESTDIR={cls.root}")
        daemon = next(f for f in files(cls.root)
                      if f.endswith("sbin/ddblockd"))
        cls.prefix = os.path.join(cls.root,
                                  daemon[:-len("/sbin/ddblockd")])

    def path(self, *parts):
        return os.path.join(self.prefix, *parts)

    def unit(self):
        with open(self.path("lib/systemd/system/ddblockd.service"),
                  encoding="utf-8") as f:
            return f.read()

    def test_everything_has_its_place(self):
        # A packager may have a folder for each processor.
        there = {re.sub(r"^lib/\w+-linux-gnu/", "lib/", f)
                 for f in files(self.prefix)}
        config = "etc/ddblockd/ddblockd.conf"
        if config not in there:  # of a system: beside /usr, not below it
            self.assertEqual(os.path.basename(self.prefix), "usr")
            self.assertTrue(os.path.exists(os.path.join(self.root, config)))
            there.add(config)
        pages = {os.path.basename(f): f for f in there
                 if f.startswith("share/man/")}
        self.assertEqual(set(pages), MANUALS)
        for name, path in pages.items():
            self.assertEqual(path, f"share/man/man{name[-1]}/{name}")
        libraries = {f for f in there if "/libddblock." in f and "pc" not in f
                     and f not in pages.values()}
        self.assertTrue(libraries & {"lib/libddblock.a", "lib/libddblock.so"},
                        libraries)
        self.assertEqual(
            there - set(pages.values()) - libraries,
            {"bin/ddblock", "libexec/ddblockd/ddblock-history",
             "libexec/ddblockd/ddblock-shell",
             "libexec/ddblockd/ddblock-top", "sbin/ddblockd",
             "include/ddblock.h",
             "share/bash-completion/completions/ddblock.bash",
             "share/zsh/site-functions/_ddblock",
             "lib/pkgconfig/libddblock.pc", "lib/sysusers.d/ddblockd.conf",
             "lib/tmpfiles.d/ddblockd.conf",
             "lib/systemd/catalog/ddblockd.catalog",
             "lib/systemd/system/ddblockd.service",
             "lib/systemd/system/ddblockd.socket",
             config, "share/ddblockd/ddblockd.conf",
             *self.shared()})

    @staticmethod
    def shared():
        """What people copy from."""
        top = os.path.join(HERE, os.pardir, os.pardir, "contrib", "systemd")
        return [f"share/ddblockd/systemd/{folder}/{name}"
                for folder in ("drop-ins", "examples")
                for name in os.listdir(os.path.join(top, folder))]

    def test_installed_programs_work(self):
        daemon = harness.Daemon()
        daemon.program = self.path("sbin/ddblockd")
        with daemon:
            done = subprocess.run(
                [self.path("bin/ddblock"), "run", "jobs/installed", "--",
                 "printenv", "DDBLOCK_KEY"],
                env=dict(os.environ, DDBLOCK_SOCKET=daemon.socket),
                stdout=subprocess.PIPE, text=True, check=True,
                timeout=harness.TIMEOUT_S)
            self.assertEqual(done.stdout, "jobs/installed\n")

    def verify(self, unit):
        """What systemd says of the unit, with the program in its place."""
        sbin = re.search(r"^ExecStart=(.*)/ddblockd$", unit, re.M)[1]
        path = os.path.join(self.root, "ddblockd.service")
        with open(path, "w", encoding="utf-8") as f:
            f.write(unit.replace(sbin, self.path("sbin")))
        done = subprocess.run(
            [tool("systemd-analyze"), "verify", "--man=no", path],
            env=dict(os.environ, SYSTEMD_LOG_TARGET="console",
                     SYSTEMD_LOG_LEVEL="warning"),
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            check=False, timeout=harness.TIMEOUT_S)
        return "".join(line for line in done.stdout.splitlines(True)
                       if "ddblockd" in line)

    def test_unit(self):
        self.assertEqual(self.verify(self.unit()), "")
        # And it would say so.
        self.assertIn("UMusk", self.verify(
            self.unit().replace("UMask", "UMusk")))

    def test_user(self):
        root = os.path.join(self.root, "users")
        os.makedirs(os.path.join(root, "etc"))
        subprocess.run([tool("systemd-sysusers"), f"--root={root}",
                        self.path("lib/sysusers.d/ddblockd.conf")],
                       stderr=subprocess.PIPE, check=True,
                       timeout=harness.TIMEOUT_S)
        for name in ("passwd", "group"):
            with open(os.path.join(root, "etc", name),
                      encoding="utf-8") as f:
                self.assertRegex(f.read(), r"(?m)^ddblockd:")
        unit = self.unit()
        self.assertIn("\nUser=ddblockd\nGroup=ddblockd\n", unit)

    def test_unit_fits_the_defaults(self):
        """Where the daemon goes by itself is what the unit makes for it."""
        daemon = harness.Daemon(raw=True, args=["--check-config"])
        self.addCleanup(daemon.close)
        status, out, err = daemon.run()
        self.assertEqual(status, 0, err)
        known = dict(re.findall(r"^(\w+) = (\S+)", out, re.M))
        unit = dict(re.findall(r"^(\w+)=(.*)$", self.unit(), re.M))
        self.assertEqual(unit["Type"], "notify")
        self.assertEqual(os.path.dirname(known["socket"]),
                         "/run/" + unit["RuntimeDirectory"])
        with open(self.path("lib/systemd/system/ddblockd.socket"),
                  encoding="utf-8") as f:
            made = dict(re.findall(r"^(\w+)=(.*)$", f.read(), re.M))
        self.assertEqual(made["ListenStream"], known["socket"])
        self.assertEqual(made["SocketMode"], known["socket_mode"])
        self.assertEqual(made["SocketGroup"], unit["Group"])
        self.assertEqual(os.path.dirname(known["file"]),
                         "/var/lib/" + unit["StateDirectory"])
        self.assertGreater(seconds(unit["TimeoutStopSec"]),
                           seconds(known["stop_wait"]))
        self.assertGreater(int(unit["LimitNOFILE"]),
                           int(known["connections_max"]))

    def test_uninstall(self):
        root = os.path.join(self.root, "again")
        make("install", f"DESTDIR={root}")
        make("uninstall", f"DESTDIR={root}")
        self.assertEqual(files(root), set())


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


class Sample(unittest.TestCase):
    """Of the configuration: nothing of an administrator's is lost."""

    def setUp(self):
        self.root = tempfile.mkdtemp(prefix="ddblock-sample-")
        self.addCleanup(shutil.rmtree, self.root)
        self.config = os.path.join(self.root, "etc/ddblockd/ddblockd.conf")
        self.known = os.path.join(self.root, "share/ddblockd/ddblockd.conf")

    def make(self, target):
        return make(f"{target}-local", f"DESTDIR={self.root}", "prefix=")

    def write(self, path, text):
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)

    def test_new(self):
        self.assertNotIn("is kept", self.make("install-data"))
        self.assertEqual(read(self.config), read(SAMPLE))
        self.assertEqual(os.stat(self.config).st_mode & 0o777, 0o644)
        self.assertNotIn("is kept", self.make("install-data"))
        self.make("uninstall")
        self.assertEqual(files(self.root), set())

    def test_changed_by_somebody(self):
        """Neither an installation nor its end takes it away; nor the modes of
        its folder."""
        self.make("install-data")
        self.write(self.config, "[daemon]\nlog_level = debug\n")
        os.chmod(os.path.dirname(self.config), 0o750)
        self.write(self.known, "; that of the version before\n")
        self.assertIn(f"{self.config} is kept; the new sample is "
                      f"{self.known}\n", self.make("install-data"))
        self.assertEqual(read(self.known), read(SAMPLE))
        self.assertIn(f"{self.config} is kept", self.make("uninstall"))
        self.assertEqual(read(self.config), "[daemon]\nlog_level = debug\n")
        self.assertEqual(os.stat(os.path.dirname(self.config)).st_mode
                         & 0o777, 0o750)

    def test_of_the_version_before(self):
        """Nobody has changed it: it is replaced, but not through a link."""
        self.make("install-data")
        for path in self.config, self.known:
            self.write(path, "; that of the version before\n")
        self.make("install-data")
        self.assertEqual(read(self.config), read(SAMPLE))
        own = os.path.join(self.root, "own.conf")
        os.replace(self.config, own)
        os.symlink(own, self.config)
        self.assertIn("is kept", self.make("install-data"))
        self.make("uninstall")
        self.assertTrue(os.path.islink(self.config))


class Directories(unittest.TestCase):
    """What configure makes of a prefix, with the answers of this build."""

    TEMPLATE = "@prefix@ @sysconfdir@ @localstatedir@"

    def status(self, directory, template=TEMPLATE):
        """The directories, as config.status there has them."""
        return subprocess.run(
            ["./config.status", "--quiet", "--file=-:-"], cwd=directory,
            input=template, stdout=subprocess.PIPE, text=True, check=True,
            timeout=harness.TIMEOUT_S).stdout.split()

    def configured(self, *arguments, template=TEMPLATE):
        said = {argument.partition("=")[0] for argument in arguments}
        if os.path.exists(os.path.join(TOP, "config.status")):
            self.skipTest("built in the source's folder: no other is "
                          "configured from it")
        with tempfile.TemporaryDirectory(prefix="ddblock-configure-") as here:
            known = re.findall(r"^\w+_cv_\w+=.*\n", read(
                os.path.join(build(), "config.log")).partition(
                    "\n## Cache variables.")[2], re.M)
            with open(os.path.join(here, "cache"), "w", encoding="utf-8") as f:
                f.writelines(line for line in known
                             if not line.startswith("ac_cv_env_"))
            given = re.findall(r"^ac_cv_env_(\w+)_value='?(.*?)'?$",
                               "".join(known), re.M)
            subprocess.run(
                [os.path.join(TOP, "configure"),
                 "--quiet", "--no-create", "--cache-file=cache", *arguments,
                 *(f"{name}={value}" for name, value in given if value and
                   name not in said and not name.endswith("_alias"))],
                cwd=here, check=True, stdout=subprocess.PIPE,
                timeout=harness.TIMEOUT_S)
            return self.status(here, template)

    def test_of_a_system(self):
        self.assertEqual(self.configured("--prefix=/usr"),
                         ["/usr", "/etc", "/var"])

    def test_a_packagers_flags(self):
        """They may choose which checks libc has, in CPPFLAGS, too."""
        for name in "CPPFLAGS", "CFLAGS":
            with self.subTest(name):
                flags = self.configured(f"{name}=-O2 -D_FORTIFY_SOURCE=2",
                                        template="@HARDENING_CFLAGS@")
                self.assertNotIn("-D_FORTIFY_SOURCE=3", flags)
        if not harness.sanitized():
            self.assertIn("-D_FORTIFY_SOURCE=3", self.configured(
                "CPPFLAGS=", "CFLAGS=-O2", template="@HARDENING_CFLAGS@"))

    def test_what_somebody_says(self):
        self.assertEqual(
            self.configured("--prefix=/usr", "--sysconfdir=/srv/etc"),
            ["/usr", "/srv/etc", "/var"])

    def test_of_another_prefix(self):
        prefix, config, state = self.status(build())
        if prefix == "/usr":
            self.skipTest("the build is a system's")
        self.assertEqual((config, state), ("${prefix}/etc", "${prefix}/var"))


if __name__ == "__main__":
    harness.main()
