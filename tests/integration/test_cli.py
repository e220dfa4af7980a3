"""ddblock: what it lists, what it says, and locks held for processes."""
import json
import os
import signal
import subprocess
import sys
import unittest

import harness
from harness import Client, Daemon
from runner import (PAUSE, READY, FakeDaemon, Run, ddblock, environment,
                    python, runs)

KEY = "jobs/nightly"


class Listings(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon().start()
        cls.addClassCleanup(cls.daemon.close)

    def json(self, *args):
        done = ddblock(self.daemon, "--json", *args)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_all_of_them(self):
        with Client(self.daemon) as client, Client(self.daemon) as waiter:
            client.hello("holder")
            grant = client.try_("123")
            tag = waiter.send("ACQUIRE 123")
            while not client.call("WAITING").rows:
                pass
            got = self.json("get", "123")
            self.assertEqual(got["key"], "123")
            self.assertEqual(got["state"], "held")
            self.assertEqual(got["token"], int(grant["token"]))
            self.assertIs(got["here"], True)
            held, = self.json("held", "123")
            self.assertEqual(held["id"], int(grant["id"]))
            self.assertEqual(held["key"], "123")
            self.assertEqual(held["name"], "holder")
            self.assertEqual(held["pid"], os.getpid())
            self.assertGreater(held["remaining_ms"], 0)
            waiting, = self.json("waiting")
            self.assertEqual(waiting["key"], "123")
            self.assertIn("ahead", waiting)
            keys = [row["key"] for row in self.json("list", "--prefix=12")]
            self.assertEqual(keys, ["123"])
            self.assertEqual(self.json("list", "--state=free"), [])
            for args, text in ((["get", "123"], "state        held"),
                               (["list"], "KEY  STATE"),
                               (["held"], "holder"), (["waiting"], "AHEAD")):
                done = ddblock(self.daemon, *args)
                self.assertEqual(done.returncode, 0)
                self.assertIn(text, done.stdout)
            client.release(grant)
            self.assertTrue(waiter.reply(tag).ok)

    def test_shared(self):
        with Client(self.daemon) as one, Client(self.daemon) as two, \
                Client(self.daemon) as waiter:
            for client in (one, two):
                self.assertTrue(client.try_("some", mode="shared",
                                            limit=2).ok)
            tag = waiter.send("ACQUIRE some mode=shared limit=2")
            while not one.call("WAITING key=some").rows:
                pass
            got = self.json("get", "some")
            self.assertEqual([got["mode"], got["limit"], got["holders"]],
                             ["shared", 2, 2])
            for args, heading in ((["list", "--prefix=some"],
                                   "KEY   STATE  MODE    LIMIT  HOLDERS"),
                                  (["held", "some"], "MODE    LIMIT"),
                                  (["waiting", "some"], "HOLDERS")):
                row = self.json(*args)[0]
                self.assertEqual([row["mode"], row["limit"]], ["shared", 2])
                done = ddblock(self.daemon, *args)
                self.assertIn(heading, done.stdout)
            one.close()
            self.assertTrue(waiter.reply(tag).ok)

    def test_status(self):
        status = self.json("status")
        self.assertEqual(status["daemon"]["pid"], self.daemon.pid)
        row, = status["namespaces"]
        self.assertEqual([row["ns"], row["store"], row["scope"]],
                         ["default", "sqlite", "host"])
        self.assertIn("held", row)
        done = ddblock(self.daemon, "status")
        self.assertIn(f"pid {self.daemon.pid}", done.stdout)

    def test_nothing(self):
        done = ddblock(self.daemon, "waiting")
        self.assertEqual([done.returncode, done.stdout, done.stderr],
                         [0, "", "Nobody waits.\n"])
        self.assertEqual(self.json("waiting"), [])

    def test_long_list(self):
        with Client(self.daemon) as client:
            tags = [client.send(f"TRY long/{i:04}") for i in range(450)]
            for tag in tags:
                self.assertTrue(client.reply(tag).ok)
            done = ddblock(self.daemon, "list", "--prefix=long/")
            lines = done.stdout.splitlines()
            self.assertEqual(len(lines), 451)
            self.assertEqual(len({line.index("held") for line in lines[1:]}),
                             1)
            self.assertEqual(len(self.json("list", "--prefix=long/")), 450)

    def test_odd_bytes(self):
        with FakeDaemon() as fake:
            with Run(fake, "--json", "list") as run:
                fake.accept()
                tag = fake.expect()[0]
                fake.say(f"{tag} + key=%1B[2J%22%5C%FF%C3%A4 token=x9 held=3")
                fake.say(f"{tag} OK rows=1")
                row, = json.loads(run.process.stdout.read())
                self.assertEqual(row, {"key": "\x1b[2J\"\\\ufffdä",
                                       "token": "x9", "held": 3})
            with Run(fake, "list") as run:
                fake.accept()
                tag = fake.expect()[0]
                fake.say(f"{tag} + key=%1B[2J%FFä%C2%85 state=a%0Ab")
                fake.say(f"{tag} OK rows=1")
                self.assertIn("\\x1b[2J\\xffä\\xc2\\x85  a\\x0ab  -",
                              run.process.stdout.read())

    def test_failures(self):
        for args, status in ((["list", "--ns=nowhere"], 64),
                             (["list", "--state=odd"], 64),
                             (["get"], 64), (["get", "a", "b"], 64),
                             (["get", ""], 64), (["no-such"], 64), ([], 64),
                             (["--no-such", "get"], 64), (["help"], 0),
                             (["help", "run"], 0), (["get", "--help"], 0),
                             (["help", "no-such"], 64), (["--version"], 0)):
            done = ddblock(self.daemon, *args)
            self.assertEqual(done.returncode, status, (args, done.stderr))
            self.assertEqual(bool(done.stderr), status != 0, done.stderr)

    def test_output_that_cannot_be_written(self):
        with open("/dev/full", "w", encoding="ascii") as full:
            done = subprocess.run(
                [harness.program("ddblock"), "status"], stdout=full,
                env=environment(self.daemon), stderr=subprocess.PIPE,
                check=False, timeout=harness.TIMEOUT_S)
        self.assertEqual(done.returncode, 74)


class ForProcess(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon().start()
        cls.addClassCleanup(cls.daemon.close)

    def acquire(self, pid, *args):
        return ddblock(self.daemon, "acquire", f"--for-pid={pid}", *args)

    def test_acquire_and_release(self):
        done = self.acquire(os.getpid(), KEY)
        self.assertEqual(done.returncode, 0, done.stderr)
        fields = dict(f.split("=") for f in done.stdout.split())
        with Client(self.daemon) as client:
            self.assertEqual(client.try_(KEY).code, "LOCK_BUSY")
            row, = client.call(f"HELD key={KEY}").rows
            self.assertEqual(row["token"], fields["token"])
            self.assertEqual(row["name"], f"for-pid:{os.getpid()}")
            self.assertEqual(row["pid"], fields["helper"])
            again = self.acquire(os.getpid(), "-n", "-E9", KEY)
            self.assertEqual(again.returncode, 9)
            self.assertEqual(ddblock(self.daemon, "release",
                                     KEY).returncode, 0)
            self.assertFalse(runs(int(fields["helper"])))
            self.assertTrue(client.try_(KEY).ok)
            done = ddblock(self.daemon, "release", KEY)
            self.assertEqual(done.returncode, 5)
            self.assertIn("a connection of its own", done.stderr)

    def test_ends_with_the_process(self):
        with Run(self.daemon, "run", "other", "--",
                 *python(READY, PAUSE)) as run:
            pid = run.ready()
            self.assertEqual(self.acquire(pid, KEY).returncode, 0)
            with Client(self.daemon) as client:
                tag = client.send(f"ACQUIRE {KEY}")
                while not client.call("WAITING").rows:
                    pass
                os.kill(pid, signal.SIGKILL)
                self.assertTrue(client.reply(tag).ok)

    def test_in_a_script(self):
        program = harness.program("ddblock")
        script = (f"eval \"$({program} acquire {KEY} --for-pid $$)\" || exit\n"
                  f"{program} run -n {KEY} true && exit 50\n"
                  f"{program} release {KEY} || exit 51\n"
                  f"{program} run -n {KEY} true || exit 52\n"
                  "test \"$token\" -gt 0\n")
        done = subprocess.run(["sh", "-c", script], check=False,
                              env=environment(self.daemon),
                              timeout=harness.TIMEOUT_S)
        self.assertEqual(done.returncode, 0)

    def test_calls_that_make_no_sense(self):
        done = ddblock(self.daemon, "acquire", KEY)
        self.assertEqual(done.returncode, 64)
        self.assertIn("--for-pid=$$", done.stderr)
        self.assertEqual(self.acquire("0", KEY).returncode, 64)
        self.assertEqual(self.acquire("1").returncode, 64)
        with subprocess.Popen(["true"]) as gone:
            pass
        self.assertEqual(self.acquire(gone.pid, KEY).returncode, 71)

    def test_shared(self):
        for args in (["-s"], ["--limit=3"]):
            self.assertEqual(self.acquire(os.getpid(), *args,
                                          KEY).returncode, 0)
            with Client(self.daemon) as client:
                row, = client.call(f"HELD key={KEY}").rows
                self.assertEqual(row["mode"], "shared")
            self.assertEqual(ddblock(self.daemon, "release",
                                     KEY).returncode, 0)

    def test_release_of_one_who_shares(self):
        """Nobody ends what another began because both share a lock."""
        pids = [os.getpid(), os.getppid()]
        for pid in pids:
            self.assertEqual(self.acquire(pid, "-s", KEY).returncode, 0)
        done = ddblock(self.daemon, "release", KEY)
        self.assertEqual(done.returncode, 64)
        self.assertIn("--for-pid", done.stderr)
        with Client(self.daemon) as client:
            for n, pid in enumerate(pids, 1):
                rows = client.call(f"HELD key={KEY}").rows
                self.assertEqual(len(rows), 3 - n)
                done = ddblock(self.daemon, "release", f"--for-pid={pid}", KEY)
                self.assertEqual(done.returncode, 0, done.stderr)
                names = [row["name"] for row in
                         client.call(f"HELD key={KEY}").rows]
                self.assertNotIn(f"for-pid:{pid}", names)
            self.assertTrue(client.try_(KEY).ok)
        done = ddblock(self.daemon, "release", "--for-pid=0", KEY)
        self.assertEqual(done.returncode, 64)

    def test_interrupted_while_waiting(self):
        with Client(self.daemon) as client:
            grant = client.try_(KEY)
            with Run(self.daemon, "acquire", f"--for-pid={os.getpid()}",
                     KEY) as run:
                while not client.call("WAITING").rows:
                    pass
                run.kill()
                while client.call("WAITING").rows:
                    pass
            client.release(grant)

    def test_loss(self):
        # Blocked, or it might come before the wait for it.
        code = ("import signal; "
                "signal.pthread_sigmask(signal.SIG_BLOCK, [10]); ", READY,
                "signal.sigwait([10]); print('lost', flush=True)")
        with subprocess.Popen(python(*code), text=True,
                              stdout=subprocess.PIPE) as process:
            pid = int(process.stdout.readline().split()[1])
            with FakeDaemon() as fake:
                with Run(fake, "acquire", f"--for-pid={pid}",
                         "--on-lost=USR1", KEY) as run:
                    fake.accept()
                    fake.grant(fake.expect()[0])
                    self.assertEqual(run.end(), 0)
                fake.hang_up()
                self.assertEqual(process.stdout.readline(), "lost\n")


class Tables(unittest.TestCase):
    def test_the_daemon_s_program_does_it(self):
        with Daemon() as daemon:
            pass
        done = ddblock(None, "init-table", "--version",
                       env=environment(None))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("ddblockd", done.stdout)
        done = ddblock(None, "check-table", "--no-such-option",
                       env=environment(None))
        self.assertEqual(done.returncode, 64, done.stderr)


if __name__ == "__main__":
    sys.exit(harness.main())
