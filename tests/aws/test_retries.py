#!/usr/bin/env python3
"""What is repeated, and when, is botocore's choice.

The budget: both are told of the same answers to operations that go side by
side, and are to grant the same repetitions, with as much left. The waits: both
get the same dice, and wait as long, to the millisecond.

    test_retries.py [SEED]
"""
import random
import subprocess
import sys
import types
import unittest

import sdk

from botocore.retries import quota, standard

ANSWERS = 50_000
WAITS = 20_000
OPERATIONS = 16
SEED = 20101110


def answers(seed):
    """Whose it is, and what: calm, an outage, and in between."""
    random_ = random.Random(seed)
    for i in range(ANSWERS):
        share = (0.02, 0.5, 0.95)[i // 300 % 3]
        yield random_.randrange(OPERATIONS), random_.choice([1, 2]) \
            if random_.random() < share else 0


class Context(dict):
    """Of one operation: the request's, and the attempt's."""

    throttled = False

    @property
    def request_context(self):
        return self

    def add_retry_metadata(self, **_):
        pass


def theirs(told):
    bucket = quota.RetryQuota()
    checker = standard.RetryQuotaChecker(bucket, types.SimpleNamespace(
        is_throttling_error_from_context=lambda context: context.throttled))
    contexts = [Context() for _ in range(OPERATIONS)]
    for i, answer in told:
        contexts[i].throttled = answer == 2
        granted = answer != 0 and checker.acquire_retry_quota(contexts[i])
        checker.release_retry_quota(contexts[i], types.SimpleNamespace(
            status_code=400 if answer else 200))
        if not granted:
            contexts[i] = Context()
        yield int(granted), bucket.available_capacity


def ours(what, told):
    run = subprocess.run([sdk.program("aws_retries"), what], text=True,
                         input="\n".join(" ".join(map(str, line))
                                         for line in told),
                         check=True, capture_output=True)
    return [tuple(map(int, line.split())) for line in run.stdout.splitlines()]


def failures(seed):
    """Throttled or not, how many before it, the dice, and a wait asked for."""
    random_ = random.Random(seed)
    for _ in range(WAITS):
        yield (random_.randrange(2), random_.randint(1, 40),
               random_.choice([0, 2**32 - 1, random_.getrandbits(32)]),
               random_.choice([0, random_.randrange(60_000)]))


def their_wait_ms(throttled, failed, dice, asked_ms):
    backoff = standard.ExponentialBackoff(
        random=lambda: dice / 2**32, service_name="dynamodb",
        throttling_detector=types.SimpleNamespace(
            is_throttling_error_from_context=lambda _: throttled))
    headers = {"x-amz-retry-after": str(asked_ms)} if asked_ms else {}
    return 1000 * backoff.delay_amount(types.SimpleNamespace(
        attempt_number=failed,
        http_response=types.SimpleNamespace(headers=headers)))


class Retries(unittest.TestCase):
    seed = SEED

    def test_same_budget(self):
        told = list(answers(self.seed))
        expected = list(theirs(told))
        self.assertIn((0, 0), [(granted, answer == 0) for (granted, _),
                               (_, answer) in zip(expected, told)],
                      "nothing was refused")
        self.assertEqual(ours("budget", told), expected, f"seed {self.seed}")

    def test_same_waits(self):
        told = list(failures(self.seed))
        waits = ours("waits", told)
        self.assertEqual(len(waits), len(told))
        for failure, (wait_ms,) in zip(told, waits):
            # Ours are whole: what is asked for is added to what is rounded.
            self.assertAlmostEqual(wait_ms, their_wait_ms(*failure), delta=1,
                                   msg=f"seed {self.seed}: {failure}")
        self.assertGreater(len(set(waits)), WAITS // 10)


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1].isdigit():
        Retries.seed = int(sys.argv.pop(1))
    sdk.main()
