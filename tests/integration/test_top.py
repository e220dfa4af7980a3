"""ddblock top --once: a snapshot for files and programs."""
import json
import os
import subprocess
import unittest

import harness
from harness import Client, Daemon, WithDaemon
from runner import ddblock, environment


class Once(WithDaemon, unittest.TestCase):
    def setUp(self):
        self.daemon = Daemon().start()
        self.addCleanup(self.daemon.close)

    def top(self, *args, **more):
        done = ddblock(self.daemon, "top", "--once", *args, **more)
        self.assertEqual([done.returncode, done.stderr], [0, ""])
        return done.stdout

    def test_text(self):
        holder, waiter = self.client(), self.client()
        holder.hello(name="nightly")
        waiter.hello(name="weekly")
        holder.acquire("jobs/a")
        holder.acquire("jobs/b")
        waiter.send("ACQUIRE jobs/b")
        self.assertTrue(waiter.call("PING").ok)
        text = self.top()
        parts = [part.splitlines() for part in text.split("\n\n")]
        self.assertRegex(parts[0][0], r"^ddblockd \S+ on \S+, pid "
                         rf"{self.daemon.pid}, up \S+, connections: \d+$")
        self.assertRegex(parts[0][2], r"^default +sqlite +ok .* 2 +1 +- +-")
        self.assertEqual([part[0] for part in parts[1:]],
                         ["Keys by WAITERS", "Holds by HELD",
                          "Waits by WAITED"])
        self.assertRegex(parts[1][2],
                         r"^jobs/b +1 +- +\S+ +\S+  \S+/nightly:\d+")
        self.assertRegex(parts[1][3],
                         r"^jobs/a +0 +- +- +\S+  \S+/nightly:\d+")
        self.assertRegex(parts[2][2], r"^jobs/a +\S+ +\d\d:\d\d:\d\d +\S+  "
                         rf"held +{os.getpid()}  \S+/nightly:\d+")
        self.assertRegex(parts[3][2], r"^jobs/b .* 0 +\d+  weekly ")
        self.assertFalse([line for line in text.splitlines()
                          if line != line.rstrip()])

    def test_json(self):
        holder = self.client()
        holder.hello(name="nightly")
        token = int(holder.acquire("jobs/j", sort="7")["token"])
        told = json.loads(self.top("--json", "--filter=JOBS/J"))
        self.assertEqual(told["daemon"]["pid"], self.daemon.pid)
        self.assertIs(told["namespaces"][0]["grants_per_s"], None)
        self.assertLessEqual(told["namespaces"][0]["danger_ms"], 10000)
        hold, = told["holds"]
        self.assertEqual((hold["ns"], hold["key"], hold["sort"],
                          hold["token"], hold["pid"], hold["state"]),
                         ("default", "jobs/j", "7", token, os.getpid(),
                          "held"))
        self.assertIn("/nightly:", hold["holder"])
        self.assertEqual([key["key"] for key in told["keys"]], ["jobs/j"])
        self.assertEqual((told["waits"], told["partial"]), ([], False))

    def test_rates(self):
        """With an interval it looks twice, and has rates."""
        busy = self.client()
        for _ in range(3):
            busy.release(busy.acquire("busy"))
        told = json.loads(self.top("--json", "--interval=100ms"))
        self.assertEqual(told["namespaces"][0]["grants_per_s"], 0)
        self.assertGreaterEqual(told["namespaces"][0]["requests_per_s"], 0)

    def test_what_would_drive_a_terminal(self):
        """Names of others come out as text, whatever is in them."""
        evil = self.client()
        evil.hello(name="\x1b]0;title\x07")
        self.assertTrue(evil.call("TRY a%1B%5B31mb%C2%9Bc owner=x").ok)
        waiter = self.client()
        waiter.hello(name="\u202eturned")
        waiter.send("ACQUIRE a%1B%5B31mb%C2%9Bc")
        self.assertTrue(waiter.call("PING").ok)
        text = self.top()
        self.assertIn(r"a\x1b[31mb\xc2\x9bc", text)
        self.assertIn(r"\xe2\x80\xaeturned", text)
        for bad in ("\x1b", "\x07", "\x9b", "\u202e"):
            self.assertNotIn(bad, text)
        self.assertNotIn("\x1b", self.top("--json"))

    def test_many(self):
        """No more rows than are kept, the first of all; said."""
        clients = [self.client() for _ in range(3)]
        for i, client in enumerate(clients):
            for tag in client.send_all([f"TRY many/{i}/{k}"
                                        for k in range(300)]):
                self.assertTrue(client.reply(tag).ok)
        told = json.loads(self.top("--json", "--filter=many/"))
        self.assertEqual(len(told["holds"]), 500)
        self.assertGreaterEqual(told["n_holds"], 900)
        self.assertTrue(all(hold["key"].startswith(("many/0/", "many/1/"))
                            for hold in told["holds"]))
        text = self.top("--filter=many/")
        self.assertRegex(text, r"(?m)^Holds by HELD, the first 500 of \d+$")

    def test_calls_that_make_no_sense(self):
        for args, words in (((), "--once"), (("--json",), "--json goes with"),
                            (("--once", "more"), "too much"),
                            (("--interval=1ms", "--once"), "100ms to 7d"),
                            (("--filter=" + "x" * 256, "--once"), "256"),
                            (("--ns=none", "--once"), "none")):
            done = ddblock(self.daemon, "top", *args)
            self.assertNotIn(done.returncode, (0, 71), done)
            self.assertIn(words, done.stderr)
        done = subprocess.run([harness.program("ddblock") + "-top"],
                              capture_output=True, check=False, text=True,
                              timeout=harness.TIMEOUT_S)
        self.assertEqual(done.returncode, 64)
        self.assertIn("ddblock top", done.stderr)

    def test_output_that_cannot_be_written(self):
        with open("/dev/full", "w", encoding="ascii") as full:
            done = subprocess.run(
                [harness.program("ddblock"), "top", "--once"], stdout=full,
                env=environment(self.daemon), stderr=subprocess.PIPE,
                check=False, timeout=harness.TIMEOUT_S)
        self.assertEqual(done.returncode, 74)


class NoDaemon(unittest.TestCase):
    def test_nobody_there(self):
        done = ddblock(None, "--socket=/nonexistent/sock", "top", "--once")
        self.assertEqual(done.returncode, 69)
        self.assertIn("no daemon at /nonexistent/sock", done.stderr)


class Hidden(unittest.TestCase):
    def test_what_rules_of_access_hide(self):
        """It is not shown, and that is no failure."""
        config = ("[namespace default]\nstore = memory\n"
                  f"[access none]\nuser = {os.getuid()}\nallow = none\n")
        with Daemon(config=config) as daemon:
            done = ddblock(daemon, "top", "--once", "--json")
            self.assertEqual(done.returncode, 0, done)
            told = json.loads(done.stdout)
            self.assertNotIn("held", told["namespaces"][0])
            self.assertEqual(told["holds"], [])


if __name__ == "__main__":
    harness.main()
