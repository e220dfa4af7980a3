#!/usr/bin/env python3
"""Ours beside each of the older clients: same format, endpoint and keys.

    peers.py [Java|Dynamolock|Python|...]...          all, if none is named

Needs a DynamoDB endpoint in its environment (`make bench-peers` starts one).
Both sides take turns within one run, so that other load of the machine hits
both. For each:

requests    of one acquire and release of a free lock
cycle       how long that takes, straight to the endpoint: the median of the
            rounds, with the extremes
writes      in a heartbeat period, with 1,000 locks held
contended   acquisitions a second of three clients (of ours: three daemons with
            one client each) on one key, who try again every 20 ms; then the
            same with 2 % of the answers lost

Their process is spoken to by a pipe and ours by its socket, from this one.
"""
import contextlib
import os
import statistics
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "tests", "interop"))
import ours  # noqa: E402
import peers  # noqa: E402
from recorder import WRITES, Recorder  # noqa: E402

import harness  # noqa: E402 (peers knows where it is)

ROUNDS = 10
CYCLES = 50  # of each side in a round
LOCKS = 1000
LEASE_MS = 20000
PERIODS = 2  # of heartbeats that are counted
CONTENDED_S = 12  # of each side, in so many turns
CONTENDED_TURNS = 4
CONTENDED_LEASE_MS = 1000
LOSE = 0.02


class Theirs:
    """One of theirs, as a side of the comparison."""

    def __init__(self, kind, table, endpoint=None, lease_ms=LEASE_MS):
        self.name = kind.__name__
        self.peer = kind(table, endpoint=endpoint, lease_ms=lease_ms,
                         poll_ms=20).start()

    def cycle(self, key, wait_ms=60000):
        """False if it failed, or another client held the lock."""
        try:
            if self.peer.acquire(key, wait_ms) is None:
                return False
            self.peer.release(key)
        except peers.Failed:
            return False
        return True

    def hold(self, key):
        if self.peer.acquire(key, 60000) is None:
            raise AssertionError(f"{key} is busy")

    def close(self):
        self.peer.close()


class Ours:
    """A daemon with one client."""

    name = "ours"

    def __init__(self, kind, table, endpoint=None, lease_ms=LEASE_MS):
        self.daemon = harness.Daemon(
            ours.config(kind, table, endpoint, lease_ms, poll="20ms"),
            log_level="warning").start()
        self.client = ours.Client(self.daemon, kind)

    def cycle(self, key, wait_ms=60000):
        grant = self.client.reply(
            self.client.send_acquire(key, f"{wait_ms}ms"))
        return grant.ok and \
            self.client.call(f"RELEASE id={grant['id']}").ok

    def hold(self, key):
        self.client.take(key)

    def close(self):
        self.client.close()
        self.daemon.close(check=False)


@contextlib.contextmanager
def started(sides):
    """All of them, also if one of them does not start."""
    with contextlib.ExitStack() as stack:
        found = []
        for side in sides:
            one = side()
            stack.callback(one.close)
            found.append(one)
        yield found


def count_requests(kind, table):
    """Of a cycle, when nothing but cycles is going on."""
    found = []
    for side in (Theirs, Ours):
        with Recorder() as proxy, \
                started([lambda: side(kind, table, proxy.url)]) as (one,):
            one.cycle("requests")  # connections, sessions and the like
            since = proxy.mark()
            for _ in range(CYCLES):
                one.cycle("requests")
            found.append(proxy.count(since=since) / CYCLES)
    return found


def time_cycles(kind, table):
    """In ms: (median, least, greatest) of the rounds, of both."""
    rounds = ([], [])
    with started([lambda: Theirs(kind, table),
                  lambda: Ours(kind, table)]) as sides:
        for turn in range(ROUNDS + 2):
            for side, times in zip(sides, rounds):
                start = time.perf_counter()
                for n in range(CYCLES):
                    if not side.cycle(f"time-{n % 5}"):
                        raise AssertionError(f"{side.name} failed")
                if turn >= 2:  # compiled by now, and cached
                    times.append((time.perf_counter() - start) * 1000 / CYCLES)
    return [(statistics.median(t), min(t), max(t)) for t in rounds]


def count_beats(kind, table):
    """Writes in a period, of both, with LOCKS held by each."""
    with Recorder() as a, Recorder() as b, \
            started([lambda: Theirs(kind, table, a.url),
                     lambda: Ours(kind, table, b.url)]) as sides:
        for n in range(LOCKS):
            for side in sides:
                side.hold(f"{side.name}-{n}")
        period_s = LEASE_MS / 4000
        marks = a.mark(), b.mark()
        end = harness.boot_ms() + int(PERIODS * period_s * 1000)
        harness.pass_boot_ms(end)
        return [sum(r.operation in WRITES for r in proxy.seen(since=mark))
                / PERIODS for proxy, mark in zip((a, b), marks)]


def run_together(clients, key, seconds):
    """How often they had it, all of them."""
    counts = [0] * len(clients)
    end = time.monotonic() + seconds

    def turns(n, client):
        while time.monotonic() < end:
            if client.cycle(key, wait_ms=500):
                counts[n] += 1

    threads = [threading.Thread(target=turns, args=pair)
               for pair in enumerate(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts)


def contend(kind, table, lose):
    """Acquisitions a second, of both."""
    with Recorder(lose=lose) as a, Recorder(lose=lose) as b, \
            started([lambda: Theirs(kind, table, a.url,
                                    CONTENDED_LEASE_MS)] * 3) as theirs, \
            started([lambda: Ours(kind, table, b.url,
                                  CONTENDED_LEASE_MS)] * 3) as us:
        totals = [0, 0]
        for turn in range(CONTENDED_TURNS + 1):
            for n, clients in enumerate((theirs, us)):
                count = run_together(clients, f"contended-{lose}-{n}",
                                     CONTENDED_S / CONTENDED_TURNS)
                if turn > 0:  # the first is for warming up
                    totals[n] += count
        return [total / CONTENDED_S for total in totals]


def measure(kind):
    table = f"bench-{kind.__name__}-{os.getpid()}"
    with kind(table) as peer:
        peer.create()
    requests = count_requests(kind, table)
    cycles = time_cycles(kind, table)
    beats = count_beats(kind, table)
    calm = contend(kind, table, 0.0)
    lossy = contend(kind, table, LOSE)
    for n, name in enumerate((kind.__name__, "ours")):
        median, least, greatest = cycles[n]
        print(f"{kind.format:<15}{name:<14}{requests[n]:>9.2f}"
              f"{median:>8.2f} ({least:.2f} to {greatest:.2f})".ljust(64)
              + f"{beats[n]:>7.0f}{calm[n]:>11.1f}{lossy[n]:>11.1f}",
              flush=True)


def main():
    if not os.environ.get("AWS_ENDPOINT_URL_DYNAMODB"):
        print("peers.py: there is no DynamoDB endpoint", file=sys.stderr)
        return 1
    names = sys.argv[1:] or [kind.__name__ for kind in peers.ALL]
    kinds = {kind.__name__: kind for kind in peers.ALL}
    peers.Java.flags = ()  # it has time to be compiled
    print(f"{'format':<15}{'client':<14}{'requests':>9}{'cycle, ms':>11}"
          .ljust(64) + f"{'writes':>7}{'contended':>11}{'2 % lost':>11}")
    for name in names:
        measure(kinds[name])
    return 0


if __name__ == "__main__":
    sys.exit(main())
