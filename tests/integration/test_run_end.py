"""No process that ran under a lock works on when another client can hold
it."""
import contextlib
import os
import pty
import resource
import select
import signal
import subprocess
import sys
import termios
import unittest
from unittest import mock

import harness
from harness import Client, Daemon, boot_ms
from runner import FakeDaemon, Run, runs
from undisturbed import Undisturbed

KEY = "jobs/nightly"
LEASE_MS = 300
MARGIN_MS = 3000
PATIENCE_MS = 1000 * harness.TIMEOUT_S
STILL = "trap '' TERM; echo ready $$; exec sleep 600"
LISTENS = "trap 'echo danger' USR1; echo ready $$; sleep 600 & wait"
# In groups and sessions of their own, and one whose parent has ended.
BEFORE = ("timeout 600", "setsid", "setsid -f", "")
FAMILY = "trap '' TERM; " + "".join(
    f'{before} sh -c "$0" & ' for before in BEFORE) + STILL


def ends_by(pid, moment_ms):
    """Is any process at its end by then?"""
    try:
        process = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    with contextlib.closing(os.fdopen(process)):
        return bool(select.select([process], [], [], max(
            moment_ms - boot_ms(), 0) / 1000)[0])


def first_child(pid):
    """Of ddblock the one that watches the command; of that the command."""
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
        return int(f.read().split()[0])


def full_pipe():
    """Both ends of a full pipe."""
    ours, theirs = os.pipe()
    os.set_blocking(theirs, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(theirs, b"x" * 65536)
    os.set_blocking(theirs, True)
    return ours, theirs


def stopped_terminal():
    """Both ends of a terminal on which a user has typed ^S."""
    ours, theirs = pty.openpty()
    termios.tcflow(theirs, termios.TCOOFF)
    return ours, theirs


class Held(contextlib.ExitStack):
    """A command under a lock that is never renewed; the deadline is passed
    in silence. It, and what it starts, say that they are ready: @n lines."""

    def __init__(self, *args, n=1, lease_ms=LEASE_MS, **more):
        super().__init__()
        self.fake = self.enter_context(FakeDaemon())
        self.run = self.enter_context(Run(self.fake, *args, **more))
        self.fake.accept()
        # The last eighth of the margin is for a machine that is slow.
        self.last_ms = MARGIN_MS * 7 // 8 + self.fake.grant(
            self.fake.expect()[0], lease_ms, MARGIN_MS)
        self.args = args
        self.pids = [self.run.ready() for _ in range(n)]

    def all_end_in_time(self):
        return [ends_by(pid, self.last_ms) for pid in self.pids]

    def hung_up(self):
        """Wait until no process has the connection any more."""
        while self.fake.lines.readline():
            pass


class NobodyReads(Undisturbed, unittest.TestCase):
    """A message that cannot be said keeps no signal back."""
    LEASE_MS = MARGIN_MS

    def held(self, make, *args, command=STILL, **more):
        ours, theirs = make()
        self.addCleanup(os.close, ours)
        self.addCleanup(os.close, theirs)
        held = Held(*args, KEY, "--", "sh", "-c", command, stderr=theirs,
                    **more)
        self.addCleanup(held.close)
        return held

    def test_the_command_ends(self):
        all_held = [self.held(make, *args)
                    for make in (os.pipe, full_pipe, stopped_terminal)
                    for args in (["run"], ["elect", "--once"])]
        for held in all_held:
            self.assertTrue(all(held.all_end_in_time()), held.args)
        for held in all_held:
            self.assertEqual(held.run.end(), 4)

    def test_danger_is_told(self):
        all_held = [self.held(make, *args, "--on-danger=USR1",
                              command=LISTENS, lease_ms=60000)
                    for make in (full_pipe, stopped_terminal)
                    for args in (["run"], ["elect", "--once"])]
        for held in all_held:
            held.fake.say("!LOCK_IN_DANGER id=7 remaining=9s "
                          "until_boot_ms=1 reason=UNREACHABLE")
        for held in all_held:
            self.assertEqual(held.run.line(), "danger")

    def test_what_is_waited_for_comes(self):
        """A waiting command says so; whether or not that is read, it runs when
        it is granted the lock."""
        ours, theirs = full_pipe()
        self.addCleanup(os.close, ours)
        self.addCleanup(os.close, theirs)
        with contextlib.ExitStack() as stack:
            waiting = []
            for args in (["run", "-v", KEY, "echo", "token=41"],
                         ["acquire", "-v", f"--for-pid={os.getpid()}",
                          "--on-lost=0", KEY]):
                fake = stack.enter_context(FakeDaemon())
                run = stack.enter_context(Run(fake, *args, stderr=theirs))
                fake.accept()
                waiting.append((fake, run, fake.expect()[0]))
            for fake, _, _ in waiting:
                tag, verb = fake.expect()[:2]
                self.assertEqual(verb, "WAITING")
                fake.say(f"{tag} OK")
                tag, verb = fake.expect()[:2]
                self.assertEqual(verb, "GET")
                fake.say(f"{tag} OK state=held owner=somebody")
            for fake, run, tag in waiting:
                fake.grant(tag)
                self.assertRegex(run.line(), "^token=41")


class Family(Undisturbed, unittest.TestCase):
    """All that descends from the command, wherever it went."""
    LEASE_MS = MARGIN_MS

    def held(self, lease_ms):
        held = Held("run", KEY, "--", "sh", "-c", FAMILY, STILL,
                    n=len(BEFORE) + 1, lease_ms=lease_ms)
        self.addCleanup(held.close)
        return held

    def test_ends_in_time(self):
        """Also when one of the two processes that see to it stands still."""
        plain, front, behind = (self.held(1500) for _ in range(3))
        front.run.signal(signal.SIGSTOP)
        os.kill(first_child(behind.run.process.pid), signal.SIGSTOP)
        for held in plain, front, behind:
            self.assertEqual(held.all_end_in_time(),
                             [True] * len(held.pids))
        front.run.signal(signal.SIGCONT)
        for held in plain, front, behind:
            self.assertEqual(held.run.end(), 4)
        for held in plain, front:
            self.assertEqual(held.run.errors(), "ddblock: lost the lock "
                             f"{KEY}: its lease was not renewed; ending the "
                             "command\n")
        self.assertIn("was stopped", behind.run.errors())

    def test_ends_though_nothing_can_be_opened(self):
        """Seen by each of the two, when the other one stands still."""
        leaks = ":detect_leaks=0"  # which opens files
        with mock.patch.dict(os.environ, ASAN_OPTIONS=os.environ.get(
                "ASAN_OPTIONS", "") + leaks):
            front, behind = [self.held(1500) for _ in range(2)]
        for held in front, behind:
            pid = held.run.process.pid
            watcher = first_child(pid)
            for one in pid, watcher:
                resource.prlimit(one, resource.RLIMIT_NOFILE, (4, 4))
            os.kill(pid if held is front else watcher, signal.SIGSTOP)
        for held in front, behind:
            self.assertEqual(held.all_end_in_time(),
                             [True] * len(held.pids))
        front.run.signal(signal.SIGCONT)
        for held in front, behind:
            self.assertEqual(held.run.end(), 4)

    def test_ends_with_the_watching(self):
        """A process that can wait for no event any more does not end before
        all others have, though it does not see all at once."""
        held = self.held(60000)
        watcher = first_child(held.run.process.pid)
        resource.prlimit(watcher, resource.RLIMIT_NOFILE, (3, 3))
        os.kill(watcher, signal.SIGCONT)
        self.assertEqual(held.run.end(), 4)
        self.assertEqual([runs(pid) for pid in held.pids],
                         [False] * len(held.pids))

    def test_ends_with_who_watches(self):
        """No process has the connection any more, because none is left."""
        front, behind = (self.held(60000) for _ in range(2))
        front.run.kill()
        os.kill(first_child(behind.run.process.pid), signal.SIGKILL)
        for held in front, behind:
            held.hung_up()
            self.assertEqual([runs(pid) for pid in held.pids],
                             [False] * len(held.pids))
        self.assertEqual(behind.run.end(), 4)

    def test_keeps_the_lock(self):
        """Processes that are left without a watcher, because both were killed
        at once; -o, which closes it with flock(1), changes nothing."""
        for options in [], ["-o"]:
            with self.subTest(options=options), Daemon() as daemon, \
                    Client(daemon) as client, \
                    Run(daemon, "run", *options, KEY, "--", "sh", "-c",
                        FAMILY, STILL) as run:
                self.keeps_the_lock(client, run)

    def keeps_the_lock(self, client, run):
        pids = [run.ready() for _ in range(len(BEFORE) + 1)]
        both = first_child(run.process.pid), run.process.pid
        command = first_child(both[0])
        for number in signal.SIGSTOP, signal.SIGKILL:
            for pid in both:
                os.kill(pid, number)
        for pid in *both, command:
            self.assertTrue(ends_by(pid, boot_ms() + PATIENCE_MS))
        self.assertEqual(client.call(f"ACQUIRE {KEY} wait=200ms").code,
                         "ACQUIRE_TIMEOUT")
        pids.remove(command)
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        self.assertTrue(client.acquire(KEY).ok)

    def test_keeps_what_it_ends(self):
        """The lock, while it ends the processes left and does not keep it."""
        close = ("import os, sys; os.closerange(3, 1024); "
                 "os.execvp('sh', ['sh', '-c', sys.argv[1]])")
        with Daemon() as daemon, Client(daemon) as client, \
                Run(daemon, "run", KEY, "--", "setsid", "--wait",
                    sys.executable, "-c", close, STILL) as run:
            left = run.ready()
            watcher = first_child(run.process.pid)
            command = first_child(watcher)
            run.signal(signal.SIGSTOP)
            os.kill(watcher, signal.SIGKILL)
            for pid in watcher, command:
                self.assertTrue(ends_by(pid, boot_ms() + PATIENCE_MS))
            self.assertTrue(runs(left))
            self.assertEqual(client.call(f"ACQUIRE {KEY} wait=200ms").code,
                             "ACQUIRE_TIMEOUT")
            run.signal(signal.SIGCONT)
            self.assertEqual(run.end(), 4)
            self.assertFalse(runs(left))
            self.assertTrue(client.acquire(KEY).ok)


class Clock(unittest.TestCase):
    def test_boot_time(self):
        """The deadline is of a clock that no other one is like."""
        ahead_s = 1000000
        own = [] if os.geteuid() == 0 else ["--map-root-user"]
        other = ["unshare", "-T", *own, "--fork", "--kill-child",
                 f"--boottime={ahead_s}"]
        if subprocess.run([*other, "true"], check=False).returncode:
            self.skipTest("there are no time namespaces here")
        for depth in 1, 2:  # each process, when the other stands still
            with FakeDaemon() as fake, \
                    Run(fake, "run", KEY, "--", "sh", "-c", STILL,
                        before=other) as run:
                fake.accept()
                fake.grant(fake.expect()[0], LEASE_MS, LEASE_MS,
                           ahead_ms=ahead_s * 1000)
                command, pid = run.ready(), run.process.pid
                for _ in range(depth):
                    pid = first_child(pid)
                os.kill(pid, signal.SIGSTOP)
                self.assertTrue(ends_by(command, boot_ms() + PATIENCE_MS))
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)
                self.assertEqual(run.end(), 4)


class Container(unittest.TestCase):
    def test_session_from_outside(self):
        """Its number is 0 there, and no other session is meant by that."""
        own = [] if os.geteuid() == 0 else ["--map-root-user"]
        other = ["unshare", "--pid", *own, "--fork", "--kill-child",
                 "--mount-proc"]
        if subprocess.run([*other, "true"], check=False).returncode:
            self.skipTest("there are no process namespaces here")
        left = 'exec >&5; read line <&3; echo "$line"'
        command = 'exec 3<&0 5>&1; : "$(setsid -f sh -c "$0")"; exit 7'
        first = '"$@"; echo "ended $?"; exec sleep 600'
        with Daemon() as daemon, \
                Run(daemon, "run", KEY, "--", "sh", "-c", command, left,
                    before=[*other, "sh", "-c", first, "sh"]) as run:
            self.assertEqual(run.line(), "ended 7")
            run.process.stdin.write("on\n")
            run.process.stdin.flush()
            self.assertEqual(run.line(), "on")


if __name__ == "__main__":
    sys.exit(harness.main())
