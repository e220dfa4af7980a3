"""Nothing that ran under a lock works on when somebody else can have it."""
import contextlib
import fcntl
import os
import pty
import select
import signal
import sys
import termios
import time
import unittest

import harness
from harness import boot_ms
from runner import PAUSE, READY, STUBBORN, FakeDaemon, Run, python, runs
from undisturbed import Undisturbed

KEY = "jobs/nightly"
LEASE_MS = 300
MARGIN_MS = 4000
STILL = python(READY, STUBBORN, PAUSE)


def ends_by(pid, moment_ms):
    """Is any process at its end by then?"""
    try:
        process = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    with contextlib.closing(os.fdopen(process)):
        return bool(select.select([process], [], [], max(
            moment_ms - boot_ms(), 0) / 1000)[0])


def full_pipe():
    """Both ends of one that takes nothing any more."""
    ours, theirs = os.pipe()
    os.set_blocking(theirs, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(theirs, b"x" * 65536)
    os.set_blocking(theirs, True)
    return ours, theirs


def stopped_terminal():
    """Both ends of one on which somebody has typed ^S."""
    ours, theirs = pty.openpty()
    termios.tcflow(theirs, termios.TCOOFF)
    return ours, theirs


class Held(contextlib.ExitStack):
    """A command under a lock that is never renewed; the deadline is passed
    in silence."""

    def __init__(self, *args, margin_ms=MARGIN_MS, **more):
        super().__init__()
        self.fake = self.enter_context(FakeDaemon())
        self.run = self.enter_context(Run(self.fake, *args, **more))
        self.fake.accept()
        self.until_ms = self.fake.grant(self.fake.expect()[0], LEASE_MS,
                                        margin_ms)
        self.args = args
        self.pid = self.run.ready()
        self.next_ms = self.until_ms + margin_ms


class NobodyReads(Undisturbed, unittest.TestCase):
    """A message that cannot be said keeps no signal back."""
    LEASE_MS = MARGIN_MS

    def held(self, make, *args):
        ours, theirs = make()
        self.addCleanup(os.close, ours)
        self.addCleanup(os.close, theirs)
        held = Held(*args, KEY, "--", *STILL, stderr=theirs)
        self.addCleanup(held.close)
        return held

    def test_the_command_ends(self):
        all_held = [self.held(make, *args)
                    for make in (os.pipe, full_pipe, stopped_terminal)
                    for args in (["run"], ["elect", "--once"])]
        for held in all_held:
            self.assertTrue(ends_by(held.pid, held.next_ms), held.args)
        for held in all_held:
            self.assertEqual(held.run.end(), 4)

    def test_what_is_waited_for_comes(self):
        """Who waits says so; whether or not that is read, it is there when
        the lock is."""
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


if __name__ == "__main__":
    sys.exit(harness.main())
