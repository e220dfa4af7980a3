#!/usr/bin/env python3
"""Each day of a fleet (ddblock-sim --fleet) of fifty hosts, as counts: what is
granted, lost and asked of the table. The same arguments give the same bytes,
and seeded defects of the core break an invariant here, too.
"""
import json
import os
import subprocess
import sys
import unittest

SIM = os.environ.get("DDBLOCK_SIM", "./ddblock-sim")
MUTANTS = os.environ.get("DDBLOCK_SIM_MUTANTS", "./ddblock-sim-mutants")
N = 50
LINE = 32  # of hosts that wait in order
VIOLATION = 3  # exit status
BEATS_MINUTE = 12  # of a host: a lease of 20 s, four beats in each


def run(day, *more, program=SIM, status=0):
    done = subprocess.run(
        [program, "--fleet", str(N), "--day", day, *more], text=True,
        stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if done.returncode != status:
        raise AssertionError(f"{day}: status {done.returncode}\n"
                             f"{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def figures(day, *more):
    found = json.loads(run(day, "--json", *more))
    found.pop("day")
    return found


class Days(unittest.TestCase):

    def expect(self, got, **counts):
        for name, count in counts.items():
            name = name.replace("__", ".")
            self.assertEqual(got.get(name, 0), count, name)

    def expect_calm(self, got):
        """No trouble of any kind; and what hosts cost at rest."""
        self.expect(got, losses=0, errors=0, all__throttled=0)
        for name, count in (
                ("rest.write_units_month", 30 * 24 * 60 * BEATS_MINUTE),
                ("session_beat.requests", N * BEATS_MINUTE * got["minutes"])):
            self.assertAlmostEqual(got[name], count, delta=count // 50)

    def test_cron(self):
        minutes = 2
        got = figures("cron", "--minutes", str(minutes))
        self.expect_calm(got)
        # One of all gets the common key, and each its own; who did not get
        # it looks at the holder's session, to say whether it is alive.
        self.expect(got, grants=(1 + N) * minutes,
                    refusals=(N - 1) * minutes,
                    acquire__requests=2 * N * minutes,
                    release__requests=(1 + N) * minutes,
                    acquire__write_units=2 * N * minutes,
                    read__requests=0, want__requests=0, handover__count=0)
        self.assertLessEqual(got["session_read.requests"],
                             (N - 1) * minutes)

    def test_leader(self):
        got = figures("leader", "--minutes", "2")
        self.expect(got, grants=2, deaths=1, losses=0, errors=0,
                    takeover__count=1, handover__count=0,
                    waiter_marks_most=LINE)
        self.assertGreaterEqual(got["want.requests"], LINE)
        self.assertGreaterEqual(got["session_kill.requests"], 1)

    def test_queue(self):
        got = figures("queue", "--minutes", "1")
        self.expect_calm(got)
        self.assertGreater(got["grants"], N)
        self.assertGreater(got["handover.count"], 0)
        self.assertLessEqual(got["handover.count"], got["grants"])
        self.assertGreaterEqual(got["acquire.requests"],
                                got["release.requests"])

    def test_restart(self):
        got = figures("restart", "--minutes", "2")
        # All that they had they have, and their waiters wait on, for what is
        # released in the end.
        self.expect(got, restarts=N, grants=11 * N, losses=0, errors=0,
                    takeover__count=0, handover__count=N,
                    session_open__requests=0, session_kill__requests=0,
                    release__requests=N, want__requests=N)

    def test_partition(self):
        got = figures("partition", "--minutes", "5")
        half = N // 2
        self.expect(got, grants=2 * half, losses=half, errors=0,
                    takeover__count=half)
        self.assertGreaterEqual(got["session_kill.requests"], half)

    def test_throttled(self):
        got = figures("throttled", "--minutes", "2")
        self.assertGreater(got["all.throttled"], 0)
        self.assertGreater(got["session_beat.throttled"], 0)
        self.assertGreater(got["grants"], N)

    def test_waiting(self):
        got = figures("waiting", "--minutes", "2")
        self.expect_calm(got)
        self.expect(got, grants=1, refusals=0, want__requests=LINE,
                    waiter_marks_most=LINE, release__requests=0)
        self.assertGreaterEqual(got["read.requests"], N)
        # One consistent read of a record of less than 4 KB is a unit.
        self.expect(got, read__read_units=got["read.requests"],
                    session_read__read_units=got["session_read.requests"])
        # Marks make the record larger than a KB, and so their writes.
        self.assertGreater(got["want.write_units"], got["want.requests"])

    def test_hot_partition_is_throttled(self):
        calm = figures("waiting", "--minutes", "1", "--partitions", "64")
        hot = figures("waiting", "--minutes", "1", "--partitions", "1",
                      "--burst", "0", "--poll", "10", "--line", "0")
        self.expect(calm, all__throttled=0)
        self.assertGreater(hot["all.throttled"], 0)

    def test_same_arguments_same_figures(self):
        one, two, other = (
            run("leader", "--minutes", "1", "--seed", seed).replace(seed, "")
            for seed in ("77777", "77777", "88888"))
        self.assertEqual(one, two)
        self.assertNotEqual(one, other)

    def test_seeded_defects_are_found(self):
        for day, mutant, invariant in (("partition", "beat-change-ignored", 1),
                                       ("queue", "handover-keeps-token", 2)):
            said = run(day, "--minutes", "2", "--mutant", mutant,
                       program=MUTANTS, status=VIOLATION)
            self.assertIn(f"violation invariant={invariant} day={day}", said)

    def test_usage(self):
        for wrong in (["--day", "none"], []):
            done = subprocess.run([SIM, "--fleet", "10", *wrong], text=True,
                                  stdin=subprocess.DEVNULL,
                                  capture_output=True, check=False)
            self.assertEqual(done.returncode, 1)
            self.assertIn("waiting", done.stderr)


if __name__ == "__main__":
    sys.exit(unittest.main())
