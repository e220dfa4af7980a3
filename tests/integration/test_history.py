#!/usr/bin/env python3
"""What real daemons write of their histories, before the judge of simulations.

Three daemons on one table, with everything at random for a minute, as in
test_fleet.py: daemons killed and stopped beyond the lease, clients killed and
stopped, answers lost, networks cut. ddblock-judge reads what the daemons said
they were asked and told, and finds nothing; and it finds the daemon that takes
over without a kill.
"""
import json
import os
import shutil
import subprocess
import tempfile
import unittest

import harness
import test_fleet
import undisturbed
from fleet import boot_now

MINUTE_S = float(os.environ.get("DDBLOCK_HISTORY_S", "60"))
LATENESS_MS = 1000


class Judged(test_fleet.Base):
    """A fleet whose history is recorded."""
    ARGS = ("--stop-wait=0", "--log=json", "--log-level=warning",
            "--history=yes")

    def setUp(self):
        super().setUp()
        self.meter, self.since_ms = undisturbed.meter(), harness.boot_ms()
        self.script = []  # the actions on daemons
        self.directory = tempfile.mkdtemp(prefix="ddblock-history-")
        self.addCleanup(shutil.rmtree, self.directory)

    def host(self, **changes):
        daemon, proxy = super().host(**changes)
        freeze, thaw = daemon.freeze, daemon.thaw

        def frozen():
            self.tell(daemon, "paused")
            freeze()

        def thawed():
            self.tell(daemon, "resumed")
            thaw()
        daemon.freeze, daemon.thaw = frozen, thawed
        return daemon, proxy

    def tell(self, daemon, event):
        self.script.append(json.dumps({
            "DDBLOCK_EVENT": event, "DDBLOCK_PID": str(daemon.pid),
            "DDBLOCK_BOOT_US": str(int(boot_now() * 1e6))}))

    def write(self, name, lines):
        path = os.path.join(self.directory, name)
        with open(path, "w", encoding="utf-8") as f:
            f.writelines(line + "\n" for line in lines)
        return path

    def judge(self):
        """End the daemons, and judge: (status, output)."""
        for daemon in self.daemons:
            if daemon.alive():
                daemon.thaw()
                daemon.stop()
        paths = [self.write(f"{number}.json", daemon.lines)
                 for number, daemon in enumerate(self.daemons)]
        paths.append(self.write("script.json", self.script))
        # A warning cannot come while the machine stands still.
        late_ms = LATENESS_MS + self.meter.longest_ms(self.since_ms)
        done = subprocess.run(
            [harness.program("ddblock-judge"), f"--lateness={late_ms}",
             *paths], capture_output=True, text=True, check=False,
            timeout=harness.TIMEOUT_S)
        said = done.stdout + done.stderr
        print(said, end="", flush=True)
        return done.returncode, said


class Minute(Judged, test_fleet.Chaos):
    """Everything at random, of all uses, and the network is cut now and
    then."""
    HARM = {**test_fleet.Chaos.HARM, "networks cut": 1}

    def setUp(self):
        super().setUp()
        self.begin = boot_now()
        self.later(test_fleet.CUT_EVERY_S, self.cut)

    def more_guards(self):
        """Both kinds of use of a lock, and a semaphore."""
        for daemon in self.daemons:
            self.new_guard(daemon, "both")
            self.new_guard(daemon, "both", "--shared")
            self.new_guard(daemon, "both", "--shared")
            self.new_guard(daemon, "two", "--limit=2")
            self.new_guard(daemon, "two", "--limit=2")

    def is_over(self):
        """Not before a minute."""
        return super().is_over() and boot_now() - self.begin > MINUTE_S

    def test_no_overlap(self):
        super().test_no_overlap()
        self.failed = True
        status, said = self.judge()
        self.assertEqual(status, 0, said)
        self.assertIn("nothing is wrong", said)
        self.assertGreaterEqual(int(said.split(" grants")[0].split()[-1]),
                                test_fleet.GRANTS)
        self.failed = False

    def test_a_line_is_missing(self):
        """Such a history is refused, wherever the line was."""
        daemon, _ = self.host()
        with harness.Client(daemon) as client:
            self.assertTrue(client.acquire("k").ok)
            self.assertTrue(client.acquire("l").ok)
        self.assertEqual(self.judge()[0], 0)
        lines = [n for n, line in enumerate(daemon.lines)
                 if "DDBLOCK_EVENT" in line]
        for number in lines[:-1]:
            kept = daemon.lines
            daemon.lines = kept[:number] + kept[number + 1:]
            status, said = self.judge()
            self.assertEqual(status, 2, said)
            daemon.lines = kept
        self.failed = False


class Defect(undisturbed.Undisturbed, Judged):
    """An observer that sees no beat (test_fleet.py has the picture)."""
    LEASE_MS = 1000 * test_fleet.LEASE_S

    def test_sound(self):
        _, other, proxy, _ = test_fleet.Defects.blind_observer(self)
        proxy.wait_seen("kill")
        self.assertIsNone(self.resource.find(other.pid, "enter"))
        self.close_guards()
        status, said = self.judge()
        self.assertEqual(status, 0, said)
        self.failed = False

    def test_no_kill(self):
        test_fleet.Defects.blind_observer(self, "no-kill")
        self.resource.wait(lambda: self.resource.overlaps, "an overlap")
        self.close_guards()
        status, said = self.judge()
        self.assertEqual(status, 1, said)
        self.assertRegex(said, r"at \d+: 1: c\d+ is granted k, which c\d+ has")
        self.failed = False


if __name__ == "__main__":
    unittest.TestCase.maxDiff = None
    harness.main(dynamodb=True)
