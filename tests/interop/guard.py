"""What a lock guards in the tests: it notices if two use it at a time.

    guard = Guard()
    with guard.inside("jobs", "ours", token=17):
        ...
    guard.overlaps, guard.stale

A holder enters when it was told so, stays for long enough to be met,
and leaves before it begins to give it back; so two that meet here both believed
that they had it. A token
that is not greater than the one before is stale. Nothing is refused: whose
fault it was is for the test to say, so both sides are named.

Nothing is wrong where one of the two was there for longer than its lease, as
when the machine stood still: it could not know. So each says until when it was
sure, on CLOCK_BOOTTIME; whom that excuses is in guard.outstayed.
"""
import collections
import contextlib
import select
import threading
import time

import harness

STAY_S = 0.005  # a request of somebody else takes less


class Visit:
    """One stay."""

    def __init__(self, key, who, token, until_boot_ms):
        self.key = key
        self.who = who
        self.token = token
        self.until_boot_ms = until_boot_ms
        self.came_s = time.monotonic()
        self.left_s = None

    def __repr__(self):
        return (f"<{self.who} in {self.key} with {self.token} "
                f"until {self.until_boot_ms}>")

    def sure(self, boot_ms):
        """Has it still what it entered with?"""
        return self.until_boot_ms is None or boot_ms < self.until_boot_ms


class Guard:
    def __init__(self):
        self.lock = threading.Lock()
        self.present = collections.defaultdict(list)
        self.last = {}  # of each key: the visit with the greatest token
        self.visits = []
        self.overlaps = []  # (who was there, who came)
        self.stale = []  # (who had the greater token, who came after it)
        self.outstayed = []  # either, but one of the two was not sure any more

    def enter(self, key, who, token=None, until_boot_ms=None):
        with self.lock:
            now = harness.boot_ms()
            visit = Visit(key, who, token, until_boot_ms)
            for other in self.present[key]:
                sure = visit.sure(now) and other.sure(now)
                found = self.overlaps if sure else self.outstayed
                found.append((other, visit))
            self.present[key].append(visit)
            self.visits.append(visit)
            last = self.last.get(key)
            if token is not None:
                if last is not None and token <= last.token:
                    found = self.stale if visit.sure(now) else self.outstayed
                    found.append((last, visit))
                else:
                    self.last[key] = visit
            return visit

    def leave(self, visit):
        with self.lock:
            visit.left_s = time.monotonic()
            self.present[visit.key].remove(visit)

    @contextlib.contextmanager
    def inside(self, key, who, token=None, until_boot_ms=None):
        visit = self.enter(key, who, token, until_boot_ms)
        try:
            yield visit
            select.select([], [], [], STAY_S)
        finally:
            self.leave(visit)

    def count(self, who):
        """How often somebody of that name was there."""
        with self.lock:
            return sum(visit.who == who for visit in self.visits)
