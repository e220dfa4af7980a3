"""Cases whose leases are as short as a machine may stand still.

A lease of two seconds is lost, as it has to be, on a machine that stands still
for two seconds; an assertion about its holder then does not test us. So how
long this machine stood still is measured, and where it was so long that it may
have decided, a failure is no verdict: the case is judged again, some times.
One that fails though the machine ran, or every time, has failed.

    class Cases(Undisturbed, unittest.TestCase):
        LEASE_MS = 2000  # the shortest that matters

A case has to be able to run again in the same process: its names are its own
(`self.serial`), and what its class has is made again.
"""
import itertools
import os
import threading
import unittest

import harness

TICK_MS = 20
PART = 20  # what part of the lease may be gone without harm
TRIES = 10


class Meter:
    """How long nothing ran here, on CLOCK_BOOTTIME."""

    def __init__(self):
        self.lock = threading.Lock()
        self.gaps = []  # (when it was over, how long)
        self.last_ms = harness.boot_ms()
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self):
        while True:
            before = harness.boot_ms()
            harness.pass_boot_ms(before + TICK_MS)
            with self.lock:
                self.last_ms = harness.boot_ms()
                gap = self.last_ms - before - TICK_MS
                if gap > TICK_MS:
                    self.gaps.append((self.last_ms, gap))

    def longest_ms(self, since_ms):
        """The longest pause that ended since then, or goes on."""
        with self.lock:
            now = harness.boot_ms() - self.last_ms - TICK_MS
            return max([now, 0] + [gap for over_ms, gap in self.gaps
                                   if over_ms >= since_ms])


_meters = {}


def meter():
    """That of this process."""
    if os.getpid() not in _meters:
        _meters[os.getpid()] = Meter()
    return _meters[os.getpid()]


class Trial(unittest.TestResult):
    """The result of one run, to be reported unchanged."""

    def __init__(self):
        super().__init__()
        self.calls = []

    def tell(self, result):
        for name, arguments in self.calls:
            getattr(result, name)(*arguments)


def _add_calls():
    def keeping(name):
        def keep(self, *arguments):
            self.calls.append((name, arguments))
            getattr(super(Trial, self), name)(*arguments)
        return keep

    for name in ("addSuccess", "addError", "addFailure", "addSkip",
                 "addSubTest", "addExpectedFailure", "addUnexpectedSuccess"):
        setattr(Trial, name, keeping(name))


_add_calls()


def judge(body, lease_ms, name):
    """Call @body, which raises if it failed, until its verdict counts."""
    for left in reversed(range(TRIES)):
        since_ms, watch = harness.boot_ms(), meter()
        try:
            return body()
        except Exception as e:
            still_ms = watch.longest_ms(since_ms)
            if not left or still_ms < lease_ms / PART:
                raise
            print(f"{name}: once more, for nothing ran for {still_ms} ms, and "
                  f"it failed: {e!r}", flush=True)


class Undisturbed:
    """Before unittest.TestCase among the bases."""
    LEASE_MS = 2000
    serials = itertools.count()

    def run(self, result):
        result.startTest(self)
        for left in reversed(range(TRIES)):
            since_ms, watch = harness.boot_ms(), meter()
            case, trial = type(self)(self._testMethodName), Trial()
            case.serial = next(self.serials)
            super(Undisturbed, case).run(trial)
            still_ms = watch.longest_ms(since_ms)
            if trial.wasSuccessful() or not left or \
                    still_ms < self.LEASE_MS / PART:
                break
            print(f"{self.id()}: once more, for nothing ran for {still_ms} "
                  "ms, and it failed:\n" + "\n".join(
                      text for _, text in trial.errors + trial.failures),
                  flush=True)
            type(self).doClassCleanups()
            type(self).setUpClass()
        trial.tell(result)
        result.stopTest(self)
        return result
