#!/usr/bin/env python3
"""What throttling does to the rate is what it does to botocore's.

Both are told of the same answers at the same times, and are to allow the same
rate, with the same tokens, to the last digits.

    test_adaptive.py [SEED]
"""
import random
import subprocess
import sys
import unittest

import sdk

from botocore.retries import adaptive, bucket, throttling

ANSWERS = 20_000
SEED = 20101110
START_MS = 1_000_000
NEAR = 1e-9


class Clock:
    now_ms = START_MS

    def current_time(self):
        return self.now_ms / 1000


class Detector:
    @staticmethod
    def is_throttling_error(throttled):
        return throttled


def answers(seed):
    """Times and whether it was throttling: calm, busy and in between."""
    random_ = random.Random(seed)
    now_ms = START_MS
    for i in range(ANSWERS):
        now_ms += random_.choice([0, 1, 3, 20, 100, 450, 2000])
        share = 0.3 if i // 50 % 3 == 0 else 0.02
        yield now_ms, random_.random() < share


def theirs(told):
    clock = Clock()
    tokens = bucket.TokenBucket(max_rate=1, clock=clock)
    rate = adaptive.RateClocker(clock)
    limiter = adaptive.ClientRateLimiter(
        throttling.CubicCalculator(starting_max_rate=0,
                                   start_time=clock.current_time()),
        rate, tokens, Detector(), clock)
    for now_ms, throttled in told:
        clock.now_ms = now_ms
        limiter.on_receiving_response(throttled=throttled)
        yield tokens.max_rate, tokens.available_capacity, rate.measured_rate


def ours(told):
    lines = [f"{START_MS}"] + [f"{ms} {int(t)}" for ms, t in told]
    run = subprocess.run([sdk.program("aws_limiter")], text=True, check=True,
                         input="\n".join(lines), capture_output=True)
    return [tuple(map(float, line.split()))
            for line in run.stdout.splitlines()]


class Adaptive(unittest.TestCase):
    seed = SEED

    def test_same_rates(self):
        seed = self.seed
        told = list(answers(seed))
        expected = list(theirs(told))
        found = ours(told)
        self.assertEqual(len(found), len(expected))
        for i, (a, b) in enumerate(zip(expected, found)):
            for x, y in zip(a, b):
                self.assertLessEqual(
                    abs(x - y), NEAR * max(1, abs(x)),
                    f"seed {seed}, answer {i}: {a} is {b} here")


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1].isdigit():
        Adaptive.seed = int(sys.argv.pop(1))
    sdk.main()
