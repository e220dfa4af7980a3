#!/usr/bin/env python3
"""The budget of repetitions is botocore's.

Both are told of the same answers to operations that go side by side, and are to
grant the same repetitions, with as much left.

    test_budget.py [SEED]
"""
import random
import subprocess
import sys
import types
import unittest

import sdk

from botocore.retries import quota, standard

ANSWERS = 50_000
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


def ours(told):
    run = subprocess.run([sdk.program("aws_budget")], text=True, check=True,
                         input="\n".join(f"{i} {a}" for i, a in told),
                         capture_output=True)
    return [tuple(map(int, line.split())) for line in run.stdout.splitlines()]


class Budget(unittest.TestCase):
    seed = SEED

    def test_same_budget(self):
        told = list(answers(self.seed))
        expected = list(theirs(told))
        self.assertIn((0, 0), [(granted, answer == 0) for (granted, _),
                               (_, answer) in zip(expected, told)],
                      "nothing was refused")
        self.assertEqual(ours(told), expected, f"seed {self.seed}")


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1].isdigit():
        Budget.seed = int(sys.argv.pop(1))
    sdk.main()
