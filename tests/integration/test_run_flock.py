"""ddblock run beside flock(1): the same calls, and what differs."""
import fcntl
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

import harness
from harness import Client, Daemon
from runner import PAUSE, READY, Run, ddblock, environment, python

KEY = "jobs/nightly"
SHELL = "#!/bin/sh\necho \"shell $*\"\nexit 9\n"
# Leaves a process in another session, which says that it is ready.
LEAVES = ("import os, signal\nready, done = os.pipe()\n"
          "if os.fork() == 0:\n"
          "    os.setsid()\n"
          "    print('ready', os.getpid(), flush=True)\n"
          "    os.write(done, b'x')\n"
          "    signal.pause()\n"
          "os.read(ready, 1)\n")


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon().start()
        cls.addClassCleanup(cls.daemon.close)
        cls.place = cls.enterClassContext(tempfile.TemporaryDirectory())
        cls.client = Client(cls.daemon)
        cls.addClassCleanup(cls.client.close)

    def run_(self, *args, **more):
        return ddblock(self.daemon, "run", *args, **more)

    def refused(self, *args, why):
        done = self.run_(*args)
        self.assertEqual([done.returncode, done.stdout], [64, ""], args)
        self.assertIn(why, done.stderr)


class Same(Case):
    """Both are called in the same way."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.flock = shutil.which("flock")
        if cls.flock is None:
            raise unittest.SkipTest("flock is missing (Debian: util-linux)")
        cls.file = os.path.join(cls.place, "lock")
        cls.shell = os.path.join(cls.place, "shell")
        with open(cls.shell, "w", encoding="utf-8") as f:
            f.write(SHELL)
        os.chmod(cls.shell, 0o755)

    def both(self, options, command, **more):
        """Status and output, after it is seen that both have the same."""
        env = environment(self.daemon, **more)
        theirs = subprocess.run(
            [self.flock, *options, self.file, *command], env=env,
            capture_output=True, text=True, check=False,
            timeout=harness.TIMEOUT_S)
        ours = self.run_(*options, KEY, *command, env=env)
        self.assertEqual([ours.returncode, ours.stdout],
                         [theirs.returncode, theirs.stdout],
                         (options, command, ours.stderr))
        return ours.returncode, ours.stdout

    def test_free(self):
        for options in ([], ["-x"], ["-e"], ["--exclusive"], ["-s"],
                        ["--shared"], ["-n"], ["--nb"], ["--nonblock"],
                        ["-w", "0"], ["-w", "2.5"], ["--wait=5"],
                        ["--timeout", "5"], ["-o"], ["--close"], ["-ox"],
                        ["-E7"], ["--conflict-exit-code=7"], ["-xn"],
                        ["--"]):
            self.assertEqual(self.both(options, ["sh", "-c", "exit 3"])[0], 3)
        self.assertEqual(self.both([], ["sh", "-c", "kill -9 $$"])[0], 137)

    def test_shell(self):
        for words in (["-c", "echo a b; exit 5"],
                      ["--command", "echo a b; exit 5"]):
            self.assertEqual(self.both([], words), (5, "a b\n"))
            self.assertEqual(self.both([], words, SHELL="/bin/sh"),
                             (5, "a b\n"))
            self.assertEqual(self.both(["-n"], words, SHELL=self.shell),
                             (9, "shell -c echo a b; exit 5\n"))

    def test_busy(self):
        grant = self.client.acquire(KEY)
        with open(self.file, "wb") as f:
            fcntl.flock(f, fcntl.LOCK_EX)
            for options, status in ((["-n"], 1), (["--nb"], 1),
                                    (["-nx"], 1), (["-ne"], 1), (["-sn"], 1),
                                    (["-nE", "42"], 42), (["-n", "-E0"], 0),
                                    (["-w", "0"], 1), (["-w", "0.1"], 1),
                                    (["-E", "9", "-w", "0"], 9)):
                self.assertEqual(self.both(options, ["echo", "ran"]),
                                 (status, ""))
        self.assertTrue(self.client.release(grant).ok)

    def test_shared(self):
        grant = self.client.acquire(KEY, mode="shared")
        with open(self.file, "wb") as f:
            fcntl.flock(f, fcntl.LOCK_SH)
            for options, status in ((["-sn"], 3), (["-n"], 1), (["-xn"], 1),
                                    (["-en"], 1), (["--exclusive", "-n"], 1)):
                self.assertEqual(self.both(options, ["-c", "exit 3"])[0],
                                 status)
        self.assertTrue(self.client.release(grant).ok)

    def test_calls_that_make_no_sense(self):
        for options, words in (([], []), (["-w", "soon"], ["true"]),
                               (["-E", "256"], ["true"]), ([], ["-c"]),
                               (["-E", "-1"], ["true"]), ([], ["--command"]),
                               ([], ["-c", "true", "more"]),
                               (["--no-such"], ["true"])):
            self.assertEqual(self.both(options, words), (64, ""))


class Differs(Case):
    """What the manual says of that."""

    def test_contradictions(self):
        for options in (["-n", "-w", "5"], ["-w5", "-n"], ["-nw", "0"],
                        ["--nb", "--timeout=5"], ["--wait", "forever", "-n"]):
            self.refused(*options, KEY, "echo", "ran", why="-n does not wait")
            done = ddblock(self.daemon, "acquire", *options,
                           f"--for-pid={os.getpid()}", KEY)
            self.assertEqual([done.returncode, done.stdout], [64, ""])
        for options in (["-xs"], ["-s", "-e"], ["-x", "-c3"],
                        ["--limit=3", "--exclusive"]):
            self.refused(*options, KEY, "echo", "ran",
                         why="-x has the lock alone")

    def held(self, *args):
        """Mode and limit while it runs."""
        with Run(self.daemon, "run", *args) as run:
            run.ready()
            fields = self.client.call(f"GET {KEY}")
            run.process.stdin.close()
            self.assertEqual(run.end(), 5)
        return fields.get("mode"), fields.get("limit")

    def test_each_position_has_one_meaning(self):
        text = "echo ready $$; read line; exit 5"
        for before, after, held in (
                (["-c", "2"], ["sh", "-c", text], ("shared", "2")),
                (["-c2"], ["--", "sh", "-c", text], ("shared", "2")),
                (["--limit=2"], ["-c", text], ("shared", "2")),
                (["-c2"], ["-c", text], ("shared", "2")),
                ([], ["-c", text], ("exclusive", None)),
                ([], [f"--command={text}"], ("exclusive", None)),
                (["--command", text], [], ("exclusive", None)),
                (["-c", "2", f"--command={text}"], [], ("shared", "2"))):
            self.assertEqual(self.held(*before, KEY, *after), held)
        for words, held in ((["-c2", "--command", text], ("shared", "2")),
                            (["--command", text], ("exclusive", None)),
                            (["-c2", "--", "sh", "-c", text],
                             ("shared", "2"))):
            self.assertEqual(self.held("-k", KEY, *words), held)
        for words in ([KEY, "--", "-c", "true"], ["-k", KEY, "--", "-c"]):
            done = self.run_(*words)
            self.assertEqual(done.returncode, 127)
            self.assertIn("cannot run -c: ", done.stderr)
        for words in (["-c", "true", KEY], ["-k", KEY, "-c", "true"]):
            self.refused(*words, why="how many may share the lock")
        for word in ("-c2", "-n", "--limit=2", "--commands", "-"):
            self.refused(KEY, word, "true", why=f'"{word}" stands after the')
            done = ddblock(self.daemon, "elect", KEY, word, "true")
            self.assertEqual(done.returncode, 64, done.stderr)

    def test_one_command(self):
        for words in (["--command=true", KEY, "true"],
                      ["--command=true", KEY, "-c", "true"],
                      ["-k", KEY, "--command=true", "true"],
                      [KEY, "--command=true", "true"]):
            done = self.run_(*words)
            self.assertEqual(done.returncode, 64, (words, done.stderr))

    def test_leader(self):
        for words in ([KEY, "-c", "exit 5"], ["--command=exit 5", KEY]):
            done = ddblock(self.daemon, "elect", *words)
            self.assertEqual([done.returncode, done.stderr], [5, ""])

    def test_no_fork(self):
        for option in "-F", "--no-fork", "-nF":
            self.refused(option, KEY, "echo", "ran",
                         why="process that watches the command")

    def test_what_leaves_the_session(self):
        """It does not keep the lock, with -o and without."""
        for options in [], ["-o"]:
            with Run(self.daemon, "run", *options, KEY, "--",
                     *python(LEAVES)) as run:
                left = run.ready()
                self.addCleanup(os.kill, left, signal.SIGKILL)
                self.assertEqual(run.end(), 0)
                grant = self.client.try_(KEY)
                self.assertTrue(grant.ok, options)
                os.kill(left, 0)
                self.assertTrue(self.client.release(grant).ok)

    def test_what_cannot_be_run(self):
        for path, status in ("/nowhere/at/all", 127), ("/etc/passwd", 126):
            self.assertEqual(self.run_(KEY, path).returncode, status)

    def test_exclusive_for_a_process(self):
        with Run(self.daemon, "run", "-s", KEY, "--",
                 *python(READY, PAUSE)) as run:
            run.ready()
            for option in "-x", "-e", "--exclusive":
                done = ddblock(self.daemon, "acquire", "-n", option,
                               f"--for-pid={os.getpid()}", KEY)
                self.assertEqual([done.returncode, done.stdout], [1, ""])


if __name__ == "__main__":
    sys.exit(harness.main())
