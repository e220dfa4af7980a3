#!/usr/bin/env python3
"""`ddblock run --every`: once per period in the whole fleet; with either count,
on each store, and in a file that an earlier daemon wrote.
"""
import os
import re
import signal
import sqlite3
import subprocess
import unittest

import harness
from harness import Client, Daemon
from runner import PAUSE, READY, Run, ddblock, environment, python

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
FILE = """
[namespace default]
file = {dir}/d.db
lease = 20s
margin = 1s
"""
MEMORY = """
[namespace default]
store = memory
"""
SAYS = r"it has run in this period already, by .+; it began at .*, the next"


class OneDaemon:
    """With each store."""

    def run_one(self, daemon, *args):
        run = ddblock(daemon, "run", *args)
        return run.returncode, run.stdout, run.stderr

    def every(self, daemon, *args):
        return self.run_one(daemon, "--every=1h", *args, "job", "--", "echo",
                            "runs")

    def test_once(self):
        with self.daemon() as daemon:
            self.assertEqual(self.every(daemon), (0, "runs\n", ""))
            # Cron sends no mail, for nothing is wrong.
            self.assertEqual(self.every(daemon), (0, "", ""))
            self.assertEqual(self.every(daemon, "-E", "7"), (7, "", ""))
            status, out, said = self.every(daemon, "-v")
            self.assertEqual((status, out), (0, ""))
            self.assertRegex(said, SAYS)
            # For others it is a lock like any other.
            self.assertEqual(self.run_one(daemon, "-n", "job", "--", "true"),
                             (0, "", ""))

    def test_period_is_over(self):
        with self.daemon() as daemon, Client(daemon) as one:
            grant = one.acquire("job", every="1s")
            self.assertTrue(one.release(grant).ok)
            while not one.try_("job", every="1s").ok:
                pass

    def test_success_counts(self):
        with self.daemon() as daemon:
            last = "--counts=succeeded"
            failed = self.run_one(daemon, "--every=1h", last, "job", "--",
                                  "sh", "-c", "exit 3")
            self.assertEqual(failed, (3, "", ""))
            with Run(daemon, "run", "--every=1h", last, "job", "--",
                     *python(READY, PAUSE)) as run:
                run.ready()
                os.kill(run.process.pid, signal.SIGKILL)
            self.assertEqual(self.every(daemon, last), (0, "runs\n", ""))
            self.assertEqual(self.every(daemon, last), (0, "", ""))

    def test_next_in_line(self):
        with self.daemon() as daemon, Client(daemon) as one, \
                Client(daemon) as two, Client(daemon) as three:
            grant = one.acquire("job", every="1h")
            asked = two.send("ACQUIRE job every=1h")
            waits = three.send("ACQUIRE job")
            self.assertTrue(one.release(grant).ok)
            late = two.reply(asked)
            self.assertEqual(late.code, "NOT_DUE", late)
            self.assertEqual(int(late["due_at"]) - int(late["ran_at"]), 3600)
            self.assertTrue(three.reply(waits).ok)

    def test_refused(self):
        with self.daemon() as daemon, Client(daemon) as one:
            for arguments, code in (
                    ("every=1h mode=shared", "BAD_REQUEST"),
                    ("every=1h reentrant=yes", "BAD_REQUEST"),
                    ("every=1h policy=fail-closed", "BAD_REQUEST"),
                    ("every=1h counts=succeeded at_least=1s", "BAD_REQUEST"),
                    ("counts=succeeded", "BAD_REQUEST"),
                    ("other every=1h", "UNSUPPORTED")):
                self.assertEqual(one.call(f"TRY job {arguments}").code, code,
                                 arguments)
            grant = one.acquire("job", every="1h")
            refused = one.call(f"DOWNGRADE id={grant['id']}")
            self.assertEqual(refused.code, "UNSUPPORTED", refused)


class Memory(OneDaemon, unittest.TestCase):
    def daemon(self):
        return Daemon(MEMORY)


class File(OneDaemon, unittest.TestCase):
    def daemon(self):
        return Daemon(FILE)

    def test_longer_than_the_record(self):
        with self.daemon() as daemon:
            status, _, said = self.run_one(daemon, "--every=8d", "job", "--",
                                           "true")
            self.assertEqual((status, "7 days" in said), (64, True), said)

    def test_runner_and_daemon_are_killed(self):
        with self.daemon() as daemon:
            with Run(daemon, "run", "--every=1h", "job", "--",
                     *python(READY, PAUSE)) as run:
                run.ready()
                daemon.kill()
                daemon.start()
            with Client(daemon) as other:
                while other.call("HELD").rows:
                    pass
            self.assertEqual(self.every(daemon), (0, "", ""))

    def test_file_of_an_earlier_daemon(self):
        with self.daemon() as daemon:
            self.run_one(daemon, "old", "--", "true")
            daemon.stop()
            path = os.path.join(os.path.dirname(daemon.socket), "d.db")
            with sqlite3.connect(path) as db:
                db.execute("ALTER TABLE lock DROP COLUMN ran")
                db.execute("ALTER TABLE lock DROP COLUMN ran_before")
            db.close()
            daemon.start()
            self.assertEqual(self.every(daemon), (0, "runs\n", ""))
            self.assertEqual(self.every(daemon), (0, "", ""))
            self.assertEqual(self.run_one(daemon, "-n", "old", "--", "true"),
                             (0, "", ""))


class Documented(unittest.TestCase):
    """The lines of doc/cron.md do what it says."""

    def lines(self):
        with open(os.path.join(TOP, "doc", "cron.md"), encoding="utf-8") as f:
            return [re.sub(r"^.*?(?=ddblock run )", "", line).strip()
                    for line in f if line.startswith("    ")
                    and "ddblock run" in line]

    def test_twice(self):
        lines = self.lines()
        self.assertEqual(len(lines), 4, lines)
        for line in lines:
            with self.subTest(line), Daemon(FILE) as daemon:
                command = re.sub(r" -- .*", " -- echo runs", line)
                path = os.path.dirname(os.path.abspath(
                    harness.program("ddblock")))
                env = environment(daemon, PATH=f"{path}:{os.environ['PATH']}")
                said = [subprocess.run(["sh", "-c", command], env=env,
                                       check=False, capture_output=True,
                                       text=True) for _ in range(2)]
                self.assertEqual([run.stdout for run in said],
                                 ["runs\n", ""])
                if "--every" in line:
                    self.assertEqual(said[1].returncode, 0)
                    self.assertEqual(said[1].stderr, "")


class Table(OneDaemon, unittest.TestCase):
    def daemon(self):
        return harness.on_new_table(f"e-{os.getpid()}-{self._testMethodName}")


if __name__ == "__main__":
    harness.main(dynamodb=True)
