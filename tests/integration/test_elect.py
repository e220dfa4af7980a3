"""ddblock elect: a command while leader, and another campaign after a loss."""
import base64
import json
import os
import signal
import subprocess
import sys
import unittest

import harness
from harness import Daemon
from runner import environment

KEY = "leader"


class Elect(harness.WithDaemon, unittest.TestCase):
    def setUp(self):
        self.daemon = Daemon(args=[f"--admin-group={os.getgid()}"]
                             if os.getuid() else []).start()
        self.addCleanup(self.daemon.close)

    def elect(self, *args, command=("sh", "-c", "echo $DDBLOCK_TOKEN; exec "
                                    "sleep 600")):
        process = subprocess.Popen(
            [harness.program("ddblock"), "elect", *args, KEY, "--", *command],
            text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=environment(self.daemon))
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def depose(self):
        client = self.client()
        held = client.call(f"GET {KEY}")
        broken = client.call(f"BREAK {KEY} token={held['token']} reason=test")
        self.assertTrue(broken.ok, broken)

    def test_one_leads(self):
        """The next leads when the first has ended, with its status."""
        first = self.elect(command=("sh", "-c", "echo on; exec sleep 600"))
        self.assertEqual(first.stdout.readline(), "on\n")
        second = self.elect()
        watcher = self.client()
        while not watcher.call("WAITING").rows:
            pass
        first.kill()
        self.assertRegex(second.stdout.readline(), r"^\d+$")
        second.terminate()
        self.assertEqual(second.wait(harness.TIMEOUT_S), 128 + signal.SIGTERM)
        last = self.elect(command=("sh", "-c", "exit 7"))
        self.assertEqual(last.wait(harness.TIMEOUT_S), 7)

    def test_followers_find_the_leader(self):
        """Its data, however it came to lead; and there may be two."""
        watcher = self.client()
        shown = subprocess.Popen(
            [harness.program("ddblock"), "watch", "--data", "--json", KEY],
            text=True, stdout=subprocess.PIPE, env=environment(self.daemon))
        self.addCleanup(shown.stdout.close)
        self.addCleanup(shown.wait)
        self.addCleanup(shown.kill)
        self.assertEqual(json.loads(shown.stdout.readline())["state"], "free")
        first = self.elect("--once", "--data=first:80")
        data = base64.b64encode(b"first:80").decode()
        while json.loads(shown.stdout.readline()).get("data_base64") != data:
            pass
        self.assertTrue(first.stdout.readline())
        self.assertEqual(watcher.call(f"GET {KEY}")["data"], "first:80")
        self.depose()
        self.assertEqual(first.wait(harness.TIMEOUT_S), 4)
        leaders = [self.elect("-c", "2") for _ in range(3)]
        while watcher.call(f"GET {KEY}").get("holders") != "2" or \
                len(watcher.call("WAITING").rows) != 1:
            pass
        for leader in leaders:
            leader.kill()

    def test_again_after_a_loss(self):
        leader = self.elect()
        token = int(leader.stdout.readline())
        self.depose()
        self.assertGreater(int(leader.stdout.readline()), token)
        leader.terminate()
        self.assertEqual(leader.wait(harness.TIMEOUT_S), 128 + signal.SIGTERM)
        self.assertIn("lost the lock", leader.stderr.read())

    def test_once(self):
        leader = self.elect("--once")
        self.assertTrue(leader.stdout.readline())
        self.depose()
        self.assertEqual(leader.wait(harness.TIMEOUT_S), 4)

    def test_restart(self):
        """Also when the command ends by itself; until a signal comes."""
        once = os.path.join(self.daemon.directory, "once")
        leader = self.elect("--restart", command=(
            "sh", "-c", f"echo on; mkdir {once} 2>&- || exec sleep 600"))
        for _ in range(2):
            self.assertEqual(leader.stdout.readline(), "on\n")
        leader.terminate()
        self.assertEqual(leader.wait(harness.TIMEOUT_S), 128 + signal.SIGTERM)

    def test_daemon_comes_back(self):
        """Another one, that knows nothing of what this one held."""
        leader = self.elect()
        self.assertTrue(leader.stdout.readline())
        self.daemon.kill()
        self.daemon.args.append("--journal=no")
        self.daemon.start()
        self.assertTrue(any("lost the lock" in line
                            for line in leader.stderr))
        self.assertTrue(leader.stdout.readline())

    def test_signal_while_waiting(self):
        holder = self.client()
        self.assertTrue(holder.acquire(KEY).ok)
        waiting = self.elect()
        while not holder.call("WAITING").rows:
            pass
        waiting.send_signal(signal.SIGINT)
        self.assertEqual(waiting.wait(harness.TIMEOUT_S), 128 + signal.SIGINT)

    def test_bad_calls(self):
        for args in (["--once", "--restart"], ["--on-danger=NONE"],
                     ["-c0"], ["--data=x", "-c2"], ["--keep=x"]):
            refused = self.elect(*args)
            self.assertEqual(refused.wait(harness.TIMEOUT_S), 64)


if __name__ == "__main__":
    sys.exit(harness.main())
