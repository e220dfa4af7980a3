#!/usr/bin/env python3
"""A daemon on the embedded store that is killed while it writes.

Clients use locks in every way there is, as fast as they can; after some grants
the daemon is killed with whatever it was writing, and started again on the same
file. No client is granted a lock that another may still hold, tokens only
grow, and in the end each lock can be acquired alone. What the daemon said that
it was asked and told, and what it took over from the one before, goes before
the judge of simulations, too.
"""
import collections
import json
import os
import random
import subprocess
import tempfile
import threading
import time
import unittest

import harness
from harness import Client, Daemon, Ended

LIVES = 4
GRANTS = 60  # of a life, at least
CONFIG = """[namespace default]
file = {dir}/default.db
lease = 3s
idle = 0
"""
USES = [
    ("a", {}), ("a", {"mode": "shared"}), ("a b", {}),
    ("b", {"mode": "shared", "limit": 2}),
    ("c", {"mode": "shared", "limit": 2}), ("b c", {"mode": "shared"}),
    ("d", {"data": "x" * 2000}), ("d", {"policy": "fail-closed"}),
    ("e", {"mode": "shared", "policy": "fail-closed"}),
]
# What is held when the daemon is killed, with keys of each life's own.
KEPT = [("f{}", {}), ("g{} h{}", {}), ("i{}", {"mode": "shared"}),
        ("j{}", {"policy": "fail-closed"}), ("k{}", {"on_close": "lease"})]


class Users:
    """Clients of one life of the daemon, each in a thread of its own."""

    def __init__(self, daemon, seed, n=6):
        self.daemon = daemon
        self.grants = 0
        self.tokens = collections.defaultdict(int)
        self.condition = threading.Condition()
        self.threads = [
            threading.Thread(target=self.use, args=(random.Random(seed + i),))
            for i in range(n)]
        for thread in self.threads:
            thread.start()

    def use(self, dice):
        try:
            with Client(self.daemon) as client:
                while True:
                    keys, arguments = dice.choice(USES)
                    self.use_once(client, keys, arguments)
        except (Ended, OSError):
            pass  # it was killed

    def use_once(self, client, keys, arguments):
        words = " ".join(f"{name}={value}"
                         for name, value in arguments.items())
        grant = client.call(f"ACQUIRE {keys} wait=200ms {words}")
        if not grant.ok:
            return
        with self.condition:
            self.grants += 1
            for one in grant.rows or [grant]:
                key = one.get("key", keys)
                self.tokens[key] = max(self.tokens[key], int(one["token"]))
            self.condition.notify()
        client.release(grant)

    def wait_grants(self, n):
        with self.condition:
            assert self.condition.wait_for(lambda: self.grants >= n,
                                           harness.TIMEOUT_S)

    def join(self):
        for thread in self.threads:
            thread.join()


class Killed(unittest.TestCase):
    def setUp(self):
        seed = int(os.environ.get("DDBLOCK_SEED", time.time_ns() % 10**9))
        print(f"DDBLOCK_SEED={seed}", flush=True)
        self.random = random.Random(seed)
        self.daemon = Daemon(CONFIG, args=(
            "--stop-wait=0", "--log=json", "--log-level=warning",
            "--history=yes"))
        self.addCleanup(self.daemon.close)

    def keep(self, life):
        client = Client(self.daemon)
        self.addCleanup(client.close)
        for keys, arguments in KEPT:
            words = " ".join(f"{name}={value}"
                             for name, value in arguments.items())
            grant = client.call(f"ACQUIRE {keys.format(life, life)} {words}")
            self.assertTrue(grant.ok, grant)

    def live(self, life, tokens):
        """A life, from its start to its violent end."""
        self.daemon.start()
        self.keep(life)
        users = Users(self.daemon, self.random.randrange(10**9))
        users.wait_grants(GRANTS + self.random.randrange(GRANTS))
        self.daemon.kill()
        users.join()
        for key, token in users.tokens.items():
            self.assertGreater(token, tokens[key], key)
            tokens[key] = token
        return users.grants

    def free(self, client, key):
        """Only a break ends a fail-closed hold."""
        held = client.call(f"GET {key}")
        if held.get("policy") == "fail-closed":
            done = client.call(f"BREAK {key} token={held['token']} "
                               "reason=test")
            self.assertTrue(done.ok, done)

    def judge(self):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as f:
            f.writelines(line + "\n" for line in self.daemon.lines)
            f.flush()
            done = subprocess.run([harness.program("ddblock-judge"), f.name],
                                  capture_output=True, text=True, check=False,
                                  timeout=harness.TIMEOUT_S)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_all_uses(self):
        tokens = collections.defaultdict(int)
        grants = sum(self.live(life, tokens) for life in range(LIVES))
        self.daemon.start()
        with Client(self.daemon) as client:
            for key in "abcde":
                self.free(client, key)
                grant = client.acquire(key)
                self.assertTrue(grant.ok, grant)
                self.assertGreater(int(grant["token"]), tokens[key], key)
        self.daemon.stop()
        said = collections.Counter(
            json.loads(line).get("DDBLOCK_EVENT")
            for line in self.daemon.lines if line.startswith("{"))
        self.assertEqual(said["inherited"], LIVES)
        self.assertGreaterEqual(said["kept"], LIVES * len(KEPT))
        print(f"{grants} grants in {LIVES} lives, "
              f"{said['kept']} holds kept; {self.judge()}", end="")


if __name__ == "__main__":
    harness.main()
