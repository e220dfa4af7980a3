#!/usr/bin/env python3
"""The connection to the daemon ends: who connects again, and until when.

`ddblock run` and its kind go on until half a margin before their own deadline.
Against a daemon that a test plays, and against real ones that are killed.
"""
import ctypes
import os
import signal
import subprocess
import unittest

import harness
from harness import Client, Daemon
from runner import (PAUSE, READY, FakeDaemon, Run, ddblock, environment,
                    python, runs)
from succession import sleeper

KEY = "jobs/nightly"
BROKE = "the connection to the daemon broke"
BACK = "connected to the daemon again"
SECRET = "0123456789abcdef0123456789abcdef"
CONFIG = "[namespace default]\nfile = {dir}/default.db\nlease = 6s\n" \
    "margin = 500ms\n"
LEASE_MS, MARGIN_MS = 6000, 500
NO_JOURNAL = "[daemon]\njournal = no\n"
# The next daemon is there at once, as often as it dies.
LOOP = 'until "$@"; do :; done'


class Played(unittest.TestCase):
    def setUp(self):
        self.fake = self.enterContext(FakeDaemon(resumes=True))

    def run_(self, *args):
        return self.enterContext(Run(self.fake, "run", *args))

    def granted(self, run, **arguments):
        """It runs: the process of its command, and its deadline."""
        self.fake.accept()
        tag, verb = self.fake.expect()[:2]
        self.assertEqual(verb, "ACQUIRE")
        until_ms = self.fake.grant(tag, secret=SECRET, **arguments)
        return run.ready(), until_ms

    def asked_to_resume(self):
        """The tag of RESUME, on the next connection."""
        self.fake.accept()
        tag, *words = self.fake.expect()
        self.assertEqual(words, ["RESUME", f"secret={SECRET}"])
        return tag

    def resumed(self, lease_ms=60000):
        tag = self.asked_to_resume()
        until_ms = harness.boot_ms() + lease_ms
        self.fake.say(f"{tag} + id=7 ns=default key={KEY} token=41 "
                      f"state=held remaining={lease_ms}ms "
                      f"until_boot_ms={until_ms} margin=1s")
        self.fake.say(f"{tag} OK rows=1")

    def released(self):
        tag, *words = self.fake.expect()
        self.assertEqual(words, ["RELEASE", "id=7"])
        self.fake.say(f"{tag} OK")

    def test_goes_on(self):
        run = self.run_(KEY, "--", *python(
            READY, "sys.stdin.readline(); print('goes on', flush=True); "
            "sys.stdin.read()"))
        self.granted(run)
        for _ in range(2):
            self.fake.hang_up()
            self.resumed()
        run.process.stdin.write("\n")
        run.process.stdin.flush()
        self.assertEqual(run.line(), "goes on")
        run.process.stdin.close()
        self.released()
        self.assertEqual(run.end(), 0)
        errors = run.errors()
        self.assertEqual([errors.count(BROKE), errors.count(BACK)], [2, 2])

    def test_not_known_any_more(self):
        run = self.run_(KEY, "--", *python(READY, PAUSE))
        pid, _ = self.granted(run)
        self.fake.hang_up()
        self.fake.say(f"{self.asked_to_resume()} ERR NO_SUCH_LOCK")
        self.assertEqual(run.end(), 4)
        self.assertFalse(runs(pid))
        self.assertIn("the daemon is gone", run.errors())

    def test_until_its_own_deadline(self):
        """No daemon: it ends half a margin before, and not much earlier."""
        run = self.run_(KEY, "--", *python(READY, PAUSE))
        pid, until_ms = self.granted(run, lease_ms=2500)
        os.unlink(self.fake.socket)
        self.fake.hang_up()
        self.assertEqual(run.end(), 4)
        self.assertFalse(runs(pid))
        self.assertGreaterEqual(harness.boot_ms(), until_ms - 500)
        self.assertIn(BROKE, run.errors())

    def test_released_when_it_is_back(self):
        """The command ends in between."""
        run = self.run_(KEY, "--", *python(READY, "sys.stdin.read()"))
        pid, _ = self.granted(run)
        hidden = self.fake.socket + ".hidden"
        os.rename(self.fake.socket, hidden)
        self.fake.hang_up()
        run.process.stdin.close()
        while runs(pid):
            pass
        os.rename(hidden, self.fake.socket)
        self.resumed()
        self.released()
        self.assertEqual(run.end(), 0)

    def test_what_is_not_kept(self):
        """A grant without a secret; and an older daemon."""
        for resumes in (True, False):
            with FakeDaemon(resumes) as fake, Run(
                    fake, "run", KEY, "--", *python(READY, PAUSE)) as run:
                fake.accept()
                fake.grant(fake.expect()[0])
                pid = run.ready()
                fake.hang_up()
                self.assertEqual(run.end(), 4)
                self.assertFalse(runs(pid))

    def test_waits_on(self):
        run = self.run_("-w", "1h", KEY, "--", *python(READY, PAUSE))
        self.fake.accept()
        words = self.fake.expect()
        self.assertEqual(words[1:], ["ACQUIRE", KEY, "wait=3600000ms"])
        self.fake.accept()
        again = self.fake.expect()
        self.assertEqual(again[:3], words[:3])
        left = int(again[3].removeprefix("wait=").removesuffix("ms"))
        self.assertTrue(3500000 < left <= 3600000, left)
        self.fake.grant(again[0], secret=SECRET)
        run.ready()

    def test_both_processes_keep_it(self):
        """If the one that watches is killed, the other has the connection until
        the command has ended."""
        run = self.run_(KEY, "--", *python(READY, PAUSE))
        pid, _ = self.granted(run)
        with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
            behind = int(stat.read().rpartition(")")[2].split()[1])
        self.fake.hang_up()
        self.resumed()
        front = f"/proc/{run.process.pid}/fd"

        def sockets():
            return sum(os.readlink(os.path.join(front, fd)).startswith(
                "socket:") for fd in os.listdir(front))
        # The old connection, the one to the other process, and the new one.
        while sockets() < 3:
            pass
        os.kill(behind, signal.SIGKILL)
        self.assertEqual(run.end(), 4)
        self.assertFalse(runs(pid))


class ForProcess(unittest.TestCase):
    """The daemon goes on without the helper, which asks what it has."""

    def setUp(self):
        self.fake = self.enterContext(FakeDaemon(resumes=True))
        self.script = subprocess.Popen(["sleep", "3600"])
        self.addCleanup(self.script.wait)
        self.addCleanup(self.script.kill)
        with Run(self.fake, "acquire", KEY,
                 f"--for-pid={self.script.pid}") as run:
            self.fake.accept()
            tag, *words = self.fake.expect()
            self.assertIn("process=yes", words)
            self.until_ms = harness.boot_ms() + 2000
            self.fake.say(
                f"{tag} OK id=7 token=41 mode=exclusive remaining=2s "
                f"until_boot_ms={self.until_ms} margin=1s "
                f"process={self.script.pid} tells=yes")
            self.assertIn("token=41", run.line())
            self.assertEqual(run.end(), 0)
        self.fake.accept()

    def asked(self, *rows):
        tag, *words = self.fake.expect()
        self.assertEqual(words, ["HELD", f"key={KEY}"])
        for row in rows:
            self.fake.say(f"{tag} + {row} ns=default key={KEY} state=held "
                          f"left=yes process={self.script.pid}")
        self.fake.say(f"{tag} OK rows={len(rows)}")

    def told(self):
        self.assertEqual(self.script.wait(harness.TIMEOUT_S),
                         -signal.SIGTERM)

    def test_goes_on(self):
        """Longer than the deadline of its grant."""
        while harness.boot_ms() < self.until_ms + 100:
            self.asked("id=8 token=41 remaining=9s",
                       "id=7 token=41 remaining=2s")
        self.assertIsNone(self.script.poll())
        self.asked()
        self.told()

    def test_another_hold(self):
        self.asked("id=7 token=42 remaining=9s")
        self.told()

    def test_no_daemon(self):
        os.unlink(self.fake.socket)
        self.fake.hang_up()
        self.told()
        self.assertGreaterEqual(harness.boot_ms(), self.until_ms - 500)


class WaitDaemon(unittest.TestCase):
    def setUp(self):
        self.daemon = Daemon()
        self.addCleanup(self.daemon.close)

    def waiting(self, *args, **env):
        """A ddblock that waits for the daemon."""
        process = subprocess.Popen(
            [harness.program("ddblock"), *args], text=True,
            env=environment(self.daemon, **env), stdout=subprocess.PIPE,
            stderr=subprocess.PIPE)
        self.addCleanup(process.communicate)
        self.assertIn("waiting for one", process.stderr.readline())
        return process

    def test_waits(self):
        waiting = [
            self.waiting("--wait-daemon", "run", KEY, "echo", "ran"),
            self.waiting("run", "--wait-daemon=1h", "other", "echo", "ran"),
            self.waiting("status", DDBLOCK_WAIT_DAEMON="yes"),
            self.waiting("elect", "third", "echo", "ran",
                         DDBLOCK_WAIT_DAEMON="1h")]
        self.daemon.start()
        for process in waiting:
            out, errors = process.communicate(timeout=harness.TIMEOUT_S)
            self.assertEqual([process.returncode, errors], [0, ""])
            self.assertRegex(out, "ran|default")

    def test_not_for_ever(self):
        for args in (["--wait-daemon=50ms", "run", KEY, "true"],
                     ["--wait-daemon", "run", "-w", "50ms", KEY, "true"],
                     ["--wait-daemon=0.05", "get", KEY]):
            done = ddblock(self.daemon, *args)
            self.assertEqual(done.returncode, 69, done.stderr)
            self.assertEqual(done.stderr.count("waiting for one"), 1)
        for env in ({}, {"DDBLOCK_WAIT_DAEMON": "no"},
                    {"DDBLOCK_WAIT_DAEMON": "0"}):
            done = ddblock(self.daemon, "run", KEY, "true",
                           env=environment(self.daemon, **env))
            self.assertEqual(done.returncode, 69, done.stderr)
            self.assertNotIn("waiting", done.stderr)
        done = ddblock(self.daemon, "--wait-daemon=0", "get", KEY,
                       env=environment(self.daemon,
                                       DDBLOCK_WAIT_DAEMON="yes"))
        self.assertEqual(done.returncode, 69)

    def test_words(self):
        for args, env in ((["--wait-daemon=soon"], {}),
                          ([], {"DDBLOCK_WAIT_DAEMON": "soon"})):
            done = ddblock(self.daemon, *args, "get", KEY,
                           env=environment(self.daemon, **env))
            self.assertEqual(done.returncode, 64)
            self.assertIn('yes, or a time, such as 30s or 1d, not "soon"',
                          done.stderr)

    def test_interrupted(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            process = self.waiting("--wait-daemon", "run", KEY, "true")
            process.send_signal(number)
            self.assertEqual(process.wait(harness.TIMEOUT_S), 128 + number)


class ConnectOptions(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("path", ctypes.c_char_p),
                ("name", ctypes.c_char_p), ("resume", ctypes.c_int),
                ("wait_ms", ctypes.c_int64), ("interrupt_fd", ctypes.c_int),
                ("on_wait", ctypes.c_void_p), ("wait_arg", ctypes.c_void_p)]


class QueryOptions(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("ns", ctypes.c_char_p),
                ("key", ctypes.c_char_p), ("prefix", ctypes.c_char_p),
                ("state", ctypes.c_char_p), ("on_progress", ctypes.c_void_p),
                ("sort", ctypes.c_char_p)]


def load_library(test):
    path = os.path.abspath(".libs/libddblock.so")
    try:
        library = ctypes.CDLL(path)
    except OSError as e:  # none, or one that needs a sanitizer
        test.skipTest(f"no library to load: {e}")
    library.ddblock_token.restype = ctypes.c_uint64
    library.ddblock_remaining_ms.restype = ctypes.c_uint64
    return library


def connect(test, library, daemon):
    """One that comes back."""
    connection = ctypes.c_void_p()
    options = ConnectOptions(ctypes.sizeof(ConnectOptions),
                             daemon.socket.encode(), b"test", 1, 0, -1)
    test.assertEqual(library.ddblock_connect(
        ctypes.byref(options), ctypes.byref(connection)), 0)
    test.addCleanup(library.ddblock_close, connection)
    return connection


class Forgotten(unittest.TestCase):
    """A daemon that is killed and started again within the deadline, and does
    not know its holds."""

    def setUp(self):
        self.daemon = self.enterContext(Daemon(NO_JOURNAL + CONFIG))

    def restart(self):
        self.daemon.kill()
        self.daemon.start()

    def test_run(self):
        with Run(self.daemon, "run", KEY, "--", *python(READY, PAUSE)) as run:
            pid = run.ready()
            self.restart()
            self.assertEqual(run.end(), 4)
            self.assertFalse(runs(pid))
            self.assertIn("the daemon is gone", run.errors())

    def test_for_a_process(self):
        with sleeper() as script:
            done = ddblock(self.daemon, "acquire", KEY,
                           f"--for-pid={script.pid}")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.restart()
            self.assertEqual(script.wait(harness.TIMEOUT_S), -signal.SIGTERM)


class Looped(Daemon):
    """One that a shell starts, again and again."""

    def command(self):
        return ["sh", "-c", LOOP, "loop", *super().command()]

    def child(self):
        path = f"/proc/{self.pid}/task/{self.pid}/children"
        with open(path, encoding="ascii") as f:
            child, = map(int, f.read().split())
        return child

    def signal(self, number):
        try:
            os.kill(self.child(), number)
        except (ProcessLookupError, ValueError):
            if not self.ending:  # else the first of two has ended it
                raise
        self.ending |= number in (signal.SIGTERM, signal.SIGINT)

    def freeze(self):
        """Nobody looks for leaks in a shell."""

    def restart(self):
        self.signal(signal.SIGKILL)
        self.wait_ready()

    def kill(self):
        child = self.child()
        self.process.kill()
        os.kill(child, signal.SIGKILL)
        return self.wait()


class Restarted(unittest.TestCase):
    """kill -9, and the next one, which knows its holds: who comes back within
    its deadline has lost nothing."""
    RESTARTS = 3

    def setUp(self):
        self.daemon = self.enterContext(Looped(CONFIG))

    def restarts(self):
        """After each, whose hold it is; it is nobody else's."""
        for _ in range(self.RESTARTS):
            self.daemon.restart()
            with Client(self.daemon) as client:
                self.assertEqual(client.try_(KEY).code, "LOCK_BUSY")
                yield client

    def row(self, client):
        row, = client.call(f"HELD key={KEY}").rows
        return row

    def await_back(self, client):
        while self.row(client).get("left"):
            pass

    def test_run(self):
        with Run(self.daemon, "run", KEY, "--", *python(
                READY, "sys.stdin.read()")) as run:
            pid = run.ready()
            for client in self.restarts():
                self.await_back(client)
            self.assertTrue(runs(pid))
            run.process.stdin.close()
            self.assertEqual(run.end(), 0)
            self.assertEqual(run.errors().count(BACK), self.RESTARTS)
        with Client(self.daemon) as client:
            self.assertTrue(client.try_(KEY).ok)

    def test_it_waits_on(self):
        with Client(self.daemon) as holder:
            grant = holder.try_(KEY)
            self.assertTrue(grant.ok, grant)
            with Run(self.daemon, "run", "-w", "1h", KEY, "--",
                     *python(READY, PAUSE)) as run:
                while not holder.call("WAITING").rows:
                    pass
                self.daemon.restart()
                run.ready()

    def test_elect(self):
        """The leader leads on, and the other one follows when it ends."""
        elect = ("elect", KEY, "--", *python(READY, "sys.stdin.read()"))
        with Run(self.daemon, *elect) as leader:
            pid = leader.ready()
            with Run(self.daemon, *elect) as follower:
                for client in self.restarts():
                    self.await_back(client)
                    while not client.call("WAITING").rows:
                        pass
                self.assertTrue(runs(pid))
                self.assertIsNone(follower.process.poll())
                leader.process.stdin.close()
                self.assertEqual(leader.end(), 0)
                follower.ready()

    def test_for_a_process(self):
        with sleeper() as script:
            done = ddblock(self.daemon, "acquire", KEY,
                           f"--for-pid={script.pid}")
            self.assertEqual(done.returncode, 0, done.stderr)
            until_ms = harness.boot_ms() + LEASE_MS
            for client in self.restarts():
                self.assertEqual(self.row(client)["process"],
                                 str(script.pid))
            harness.pass_boot_ms(until_ms)  # of its grant
            self.assertIsNone(script.poll())
            script.kill()
            with Client(self.daemon) as client:
                self.assertTrue(client.acquire(KEY).ok)

    def test_the_library(self):
        library = load_library(self)
        connection = connect(self, library, self.daemon)
        hold = ctypes.c_uint64()
        self.assertEqual(library.ddblock_try(
            connection, KEY.encode(), None, ctypes.byref(hold)), 0)
        token = library.ddblock_token(connection, hold)
        for client in self.restarts():
            while self.row(client).get("left"):
                self.assertEqual(library.ddblock_dispatch(connection), 0)
            self.assertEqual(library.ddblock_token(connection, hold), token)
            self.assertGreater(
                library.ddblock_remaining_ms(connection, hold), 0)
        self.assertEqual(library.ddblock_release(connection, hold), 0)
        with Client(self.daemon) as client:
            self.assertTrue(client.try_(KEY).ok)

    def test_plain_clients(self):
        """The end of the connection is the loss; nobody else has the lock for
        a margin, and somebody has it then."""
        with Client(self.daemon) as plain:
            grant = plain.try_(KEY)
            begin_ms = harness.boot_ms()
            self.daemon.restart()
            plain.wait_end()
        with Client(self.daemon) as client:
            after = client.acquire(KEY, wait="1m")
            self.assertTrue(after.ok, after)
            self.assertGreater(int(after["token"]), int(grant["token"]))
            self.assertGreaterEqual(harness.boot_ms(), begin_ms + MARGIN_MS)


class CutOff(unittest.TestCase):
    """A program with the library that does not read is cut off."""
    GET = 1
    CONFIG = ("[daemon]\nqueued_bytes_max = 2M\n"
              "queued_bytes_per_uid_max = 2560K\n" + CONFIG)

    def setUp(self):
        self.library = load_library(self)
        self.daemon = self.enterContext(Daemon(self.CONFIG))

    def test_goes_on(self):
        with Client(self.daemon) as other:
            if not other.call("HELLO resume=yes").ok:
                self.skipTest("this daemon does not know resume=yes")
            self.assertTrue(other.acquire("big", data="d" * 300000).ok)
            late = connect(self, self.library, self.daemon)
            hold = ctypes.c_uint64()
            self.assertEqual(self.library.ddblock_try(
                late, KEY.encode(), None, ctypes.byref(hold)), 0)
            token = self.library.ddblock_token(late, hold)
            ask = QueryOptions(ctypes.sizeof(QueryOptions), key=b"big")
            # All at once: above half of its cap it would not be asked on.
            self.daemon.freeze()
            for _ in range(60):
                self.assertEqual(self.library.ddblock_query_start(
                    late, self.GET, ctypes.byref(ask), None, None, None,
                    None), 0)
            self.daemon.thaw()
            self.daemon.wait_log("was cut off: it does not read")
            while other.call(f"HELD key={KEY}").rows[0].get("left"):
                self.assertEqual(self.library.ddblock_dispatch(late), 0)
            self.assertEqual(self.library.ddblock_dispatch(late), 0)
            self.assertEqual(self.library.ddblock_token(late, hold), token)
            self.assertGreater(
                self.library.ddblock_remaining_ms(late, hold), 0)
            self.assertEqual(other.try_(KEY).code, "LOCK_BUSY")
            self.assertEqual(self.library.ddblock_release(late, hold), 0)
            self.assertTrue(other.try_(KEY).ok)


if __name__ == "__main__":
    harness.main()
