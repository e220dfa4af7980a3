#!/usr/bin/env python3
"""The image of contrib/container is built by buildah, without a registry: its
base is the bare Debian of tests/packages/root. The daemon runs in it, and
gives a lock to a client outside. Then kubernetes-validate (setup) looks at the
manifests with Kubernetes' own schemas. (make check-containers)

What buildah's isolation by chroot does not show: an engine's namespaces, its
seccomp filter, and its volumes.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import debian
import packages
import pods
import harness

TOP = pods.TOP
BASE = "localhost/debian:test"
IMAGE = "localhost/ddblockd:test"
BUILD_S = 1800
RELEASE = os.environ.get("DDBLOCK_RELEASE", "trixie")


class Image(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if os.geteuid() != 0:
            raise unittest.SkipTest("a bare Debian needs root")
        if shutil.which("buildah") is None:
            raise unittest.SkipTest("buildah is missing")
        cls.directory = tempfile.mkdtemp(prefix="ddblock-image-")
        cls.addClassCleanup(shutil.rmtree, cls.directory)
        root = debian.bare(RELEASE)
        base = cls.buildah("from", "scratch").strip()
        where = cls.buildah("mount", base).strip()
        cls.run_("cp", "-a", root + "/.", where)
        cls.buildah("umount", base)
        cls.buildah("commit", "--quiet", "--rm", base, BASE)
        cls.buildah("bud", "--isolation", "chroot", "--format", "docker",
                    "--build-arg", f"DEBIAN={BASE}", "--tag", IMAGE,
                    "--file", pods.CONTAINERFILE, TOP)

    @classmethod
    def run_(cls, *command):
        done = subprocess.run(command, check=False, text=True,
                              stdin=subprocess.DEVNULL, timeout=BUILD_S,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if done.returncode != 0:
            raise AssertionError(f"{' '.join(command)}\n{done.stdout[-3000:]}"
                                 f"{done.stderr[-3000:]}")
        return done.stdout

    @classmethod
    def command(cls, *arguments):
        return ["buildah", "--root", cls.directory + "/root", "--runroot",
                cls.directory + "/run", "--storage-driver", "vfs", *arguments]

    @classmethod
    def buildah(cls, *arguments):
        return cls.run_(*cls.command(*arguments))

    def test_what_an_engine_is_told(self):
        told = json.loads(self.buildah("inspect", "--type", "image", IMAGE))[
            "Docker"]["config"]
        self.assertEqual(told["User"], "10001:10001")
        self.assertEqual(told["StopSignal"], "SIGUSR2")
        self.assertEqual(told["Healthcheck"]["Test"],
                         ["CMD", "ddblock", "status"])
        self.assertEqual(set(told["Volumes"]), {
            "/run/ddblockd", "/run/ddblockd-journal", "/var/lib/ddblockd"})

    def test_it_serves(self):
        container = self.buildah("from", IMAGE).strip()
        daemon = subprocess.Popen(
            self.command("run", "--isolation", "chroot", container, "--",
                         *json.loads(pods.instruction("ENTRYPOINT"))),
            stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.addCleanup(daemon.stderr.close)
        for line in daemon.stderr:
            if "ready on" in line:
                break
        pid = self.daemon_below(daemon.pid)
        with open(f"/proc/{pid}/status", encoding="ascii") as f:
            self.assertIn("Uid:\t10001\t10001\t10001\t10001", f.read())
        socket = f"/proc/{pid}/root" + "/run/ddblockd/ddblockd.sock"
        own = [harness.program("ddblock")]
        self.assertIn("image", self.run_(
            *own, "run", f"--socket={socket}", "image", "--",
            *own, "held", f"--socket={socket}"))
        # The image's own command needs no library of its build.
        self.assertIn(packages.version(), self.buildah(
            "run", "--isolation", "chroot", container, "--",
            "ddblock", "--version"))
        os.kill(pid, getattr(pods.signal, pods.instruction("STOPSIGNAL")))
        self.assertEqual(daemon.wait(harness.TIMEOUT_S), 0)

    def daemon_below(self, pid):
        """The process of ddblockd among those that this one began."""
        with open(f"/proc/{pid}/comm", encoding="ascii") as f:
            if f.read() == "ddblockd\n":
                return pid
        found = None
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children",
                      encoding="ascii") as f:
                for child in f.read().split():
                    found = found or self.daemon_below(int(child))
        return found


class Schemas(unittest.TestCase):
    def test_manifests(self):
        packages.ensure("kubernetes")
        names = [os.path.join(pods.KUBERNETES, name)
                 for name in sorted(os.listdir(pods.KUBERNETES))]
        program = packages.tools("kubernetes", "tools", "bin",
                                 "kubernetes-validate")
        done = subprocess.run([program, "--strict", *names], check=False,
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    sys.stdout.reconfigure(line_buffering=True)
    harness.main()
