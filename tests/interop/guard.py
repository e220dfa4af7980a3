"""What a lock guards in the tests: it notices if two use it at a time.

    guard = Guard()
    with guard.inside("jobs", "ours", token=17):
        ...
    guard.overlaps, guard.stale

Whoever has a lock enters when it was told so, stays for long enough to be met,
and leaves before it begins to give it back; so two that meet here both believed
that they had it. A token
that is not greater than the one before is stale. Nothing is refused: whose
fault it was is for the test to say, so both sides are named.
"""
import collections
import contextlib
import select
import threading
import time

STAY_S = 0.005  # a request of somebody else takes less


class Visit:
    """One stay."""

    def __init__(self, key, who, token):
        self.key = key
        self.who = who
        self.token = token
        self.came_s = time.monotonic()
        self.left_s = None

    def __repr__(self):
        return f"<{self.who} in {self.key} with {self.token}>"


class Guard:
    def __init__(self):
        self.lock = threading.Lock()
        self.present = collections.defaultdict(list)
        self.last = {}  # of each key: the visit with the greatest token
        self.visits = []
        self.overlaps = []  # (who was there, who came)
        self.stale = []  # (who had the greater token, who came after it)

    def enter(self, key, who, token=None):
        with self.lock:
            visit = Visit(key, who, token)
            self.overlaps += [(other, visit) for other in self.present[key]]
            self.present[key].append(visit)
            self.visits.append(visit)
            last = self.last.get(key)
            if token is not None:
                if last is not None and token <= last.token:
                    self.stale.append((last, visit))
                else:
                    self.last[key] = visit
            return visit

    def leave(self, visit):
        with self.lock:
            visit.left_s = time.monotonic()
            self.present[visit.key].remove(visit)

    @contextlib.contextmanager
    def inside(self, key, who, token=None):
        visit = self.enter(key, who, token)
        try:
            yield visit
            select.select([], [], [], STAY_S)
        finally:
            self.leave(visit)

    def count(self, who):
        """How often somebody of that name was there."""
        with self.lock:
            return sum(visit.who == who for visit in self.visits)
