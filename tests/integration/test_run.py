"""ddblock run: statuses, signals, terminals, and that nothing runs unlocked."""
import os
import pty
import signal
import subprocess
import sys
import unittest

import harness
from harness import Client, Daemon
from runner import (PAUSE, READY, STUBBORN, FakeDaemon, Run, ddblock,
                    environment, need_run, python, runs)
from screen import read_some, wait_pid

KEY = "jobs/nightly"
LEASE = "[namespace default]\nfile = {dir}/default.db\nlease = 3s\n"


def setUpModule():
    need_run()


class Statuses(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon().start()
        cls.addClassCleanup(cls.daemon.close)

    def run_(self, *args, **more):
        return ddblock(self.daemon, "run", *args, **more)

    def test_the_command_s_own(self):
        for code in (0, 1, 4, 255):
            done = self.run_(KEY, "--", "sh", "-c", f"exit {code}")
            self.assertEqual(done.returncode, code)
            self.assertEqual(done.stderr, "")
        for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT):
            done = self.run_(KEY, "--", "sh", "-c", f"kill -{int(number)} $$")
            self.assertEqual(done.returncode, 128 + number)

    def test_what_cannot_be_run(self):
        done = self.run_(KEY, "--", "/nowhere/at/all")
        self.assertEqual(done.returncode, 127)
        self.assertIn("/nowhere/at/all: No such file", done.stderr)
        self.assertEqual(self.run_(KEY, "--", "/etc/passwd").returncode, 126)
        with Client(self.daemon) as client:  # and the lock is free again
            self.assertTrue(client.try_(KEY).ok)

    def test_calls_that_make_no_sense(self):
        for args in ((), (KEY,), (KEY, "--"), ("--no-such", KEY, "true"),
                     ("-w", "soon", KEY, "true"), ("-E", "256", KEY, "true"),
                     ("-c", "0", KEY, "true"), ("-c", "many", KEY, "true"),
                     ("-c", "1001", KEY, "true"),
                     ("--on-danger", "LOUD", KEY, "true"), ("", "true")):
            self.assertEqual(self.run_(*args).returncode, 64, args)
        done = self.run_("x" * 2000, "true")
        self.assertEqual(done.returncode, 64, done.stderr)

    def test_no_daemon(self):
        env = environment(None, DDBLOCK_SOCKET="/nowhere/socket")
        done = ddblock(None, "run", KEY, "true", env=env)
        self.assertEqual(done.returncode, 69)
        self.assertIn("no daemon at /nowhere/socket", done.stderr)

    def test_unknown_namespace(self):
        done = self.run_("--ns=nowhere", KEY, "true")
        self.assertEqual(done.returncode, 64)
        self.assertIn("UNKNOWN_NAMESPACE", done.stderr)

    def test_busy(self):
        with Client(self.daemon) as client:
            self.assertTrue(client.try_("busy").ok)
            for args, status in ((["-n"], 1), (["-n", "-E", "42"], 42),
                                 (["-w", "0.1"], 1), (["-w", "10ms"], 1),
                                 (["-w", "0", "-E0"], 0)):
                done = self.run_(*args, "busy", "echo", "ran")
                self.assertEqual(done.returncode, status)
                self.assertEqual(done.stdout, "")
                self.assertIn("busy: ", done.stderr)

    def test_shared(self):
        command = python(READY, PAUSE)
        with Run(self.daemon, "run", "-s", "common", "--", *command) as one, \
                Run(self.daemon, "run", "--shared", "common", *command) as two:
            one.ready()
            two.ready()
            self.assertEqual(self.run_("-n", "common", "true").returncode, 1)
            self.assertEqual(self.run_("-ns", "common", "true").returncode, 0)
            for run in (one, two):
                run.signal(signal.SIGTERM)
                self.assertEqual(run.end(), 128 + signal.SIGTERM)
        self.assertEqual(self.run_("-n", "common", "true").returncode, 0)

    def test_limit(self):
        command = python(READY, PAUSE)
        with Run(self.daemon, "run", "-c2", "some", "--", *command) as one, \
                Run(self.daemon, "run", "--limit=2", "-s", "some",
                    *command) as two:
            one.ready()
            two.ready()
            done = self.run_("-n", "-c", "2", "some", "true")
            self.assertEqual(done.returncode, 1, done.stderr)
            for args in (("-n", "-c3"), ("-w", "0.1", "-c3")):
                done = self.run_(*args, "-E9", "some", "true")
                self.assertEqual(done.returncode, 5)
                self.assertIn("limit=2 is in force, and limit=3 was asked "
                              "for (WRONG_LIMIT)", done.stderr)
            one.kill()
            self.assertEqual(self.run_("-c2", "some", "true").returncode, 0)

    def test_what_the_command_gets(self):
        code = ("import os, sys; print(sys.stdin.read(), "
                "os.environ['DDBLOCK_KEY'], os.environ['DDBLOCK_SOCKET'], "
                "int(os.environ['DDBLOCK_TOKEN']) > 0, "
                "os.getpgrp() == os.getpid(), sys.argv[1:])")
        done = self.run_(KEY, "--", *python(code), "-n", "a b", stdin="in")
        self.assertEqual(done.stdout, f"in {KEY} {self.daemon.socket} True "
                         "True ['-n', 'a b']\n")

    def test_several(self):
        """All or none; each has its token, in the order they are named."""
        code = python("import os; print(*(os.environ[f'DDBLOCK_{name}'] for "
                      "name in 'KEYS KEY KEY_1 KEY_2 TOKEN TOKEN_1 TOKEN_2'"
                      ".split()))")
        with Client(self.daemon) as client:
            grant = client.call("TRY one/a one/b")
            self.assertTrue(client.release(grant).ok)
            a, b = (int(row["token"]) for row in grant.rows)
            done = self.run_("-k", "one/b", "--key=one/a", "--", *code)
            self.assertEqual(done.stderr, "")
            words = done.stdout.split()
            self.assertEqual(words[:4], ["2", "one/b", "one/b", "one/a"])
            self.assertEqual(words[4], words[5])
            self.assertGreater(int(words[5]), b)
            self.assertGreater(int(words[6]), a)
            held = client.try_("one/b")
            done = self.run_("-nk", "one/b", "-k", "one/a", "echo", "ran")
            self.assertEqual([done.returncode, done.stdout], [1, ""])
            self.assertIn("ddblock: one/b: somebody else holds", done.stderr)
            self.assertTrue(client.release(held).ok)
            done = self.run_("-sk", "one/a", "-k", "one/b", "--", "echo", "--")
            self.assertEqual([done.returncode, done.stdout], [0, "--\n"])
            held = client.try_("one/b", mode="shared", limit=2)
            for limit, ran in ((2, "ran\n"), (3, "")):
                done = self.run_(f"-nc{limit}", "-k", "one/a", "-k", "one/b",
                                 "echo", "ran")
                self.assertEqual([done.returncode, done.stdout],
                                 [0 if ran else 5, ran], done.stderr)
            self.assertTrue(client.release(held).ok)
            for args in ([], ["-k", "a", "-k", "a", "true"], ["-k", "a"],
                         [f"-kk{n}" for n in range(26)] + ["true"]):
                done = self.run_(*args)
                self.assertEqual(done.returncode, 64, (args, done.stderr))

    def test_data(self):
        show = python("import os; print(os.environ.get('DDBLOCK_DATA'))")
        done = self.run_("--only-if-exists", "kept", "true")
        self.assertEqual(done.returncode, 5, done.stderr)
        done = self.run_("--data=first \u00fc", "--attr=stage=a=b",
                         "--attr=run:json={\"N\":\"7\"}", "kept", *show)
        self.assertEqual([done.stdout, done.stderr], ["None\n", ""])
        with Client(self.daemon) as client:
            fields = client.call("GET kept")
            self.assertEqual(
                [fields[name] for name in ("data", "attr.stage",
                                           "attr.run:json")],
                ["first \u00fc", "a=b", '{"N":"7"}'])
            done = self.run_("--only-if-exists", "--replace-data=no",
                             "--data=second", "--attr=run:json=", "kept",
                             *show)
            self.assertEqual(done.stdout, "first \u00fc\n")
            fields = client.call("GET kept")
            self.assertEqual(fields["data"], "first \u00fc")
            self.assertIsNone(fields.get("attr.run:json"))
            done = self.run_("--keep=no", "--data=third", "kept",
                             harness.program("ddblock"), "run", "new", *show)
            self.assertEqual(done.stdout, "None\n")  # not the outer one's
            fields = client.call("GET kept")
            self.assertEqual(fields["data"], "third")
            self.assertIsNone(fields.get("attr.stage"))
            grant = client.call("TRY kept data=%00x")
            self.assertTrue(client.release(grant).ok)
        self.assertEqual(self.run_("kept", *show).stdout, "None\n")
        for args in (["--data=x", "-s"], ["--keep=maybe"], ["--attr=x"],
                     ["--attr==x"], ["--replace-data=no"],
                     ["--attr=a:json={"],
                     ["--data=x", "-kone"], [f"--attr=a{n}=" for n in
                                             range(33)]):
            done = self.run_(*args, "kept", "true")
            self.assertEqual(done.returncode, 127 if "-kone" in args else 64,
                             (args, done.stderr))
        done = self.run_("-ka", "-kb", "--data=x", "true")
        self.assertEqual(done.returncode, 64)
        self.assertIn("go with one key (UNSUPPORTED)", done.stderr)

    def test_takes_turns(self):
        with Run(self.daemon, "run", KEY, "--",
                 *python(READY, "sys.stdin.read()")) as first:
            first.ready()
            with Client(self.daemon) as client, \
                    Run(self.daemon, "run", KEY, "echo", "second") as second:
                wait_for_waiter(client)
                self.assertTrue(runs(second.process.pid))
                first.process.stdin.close()
                self.assertEqual(first.end(), 0)
                self.assertEqual(second.line(), "second")
                self.assertEqual(second.end(), 0)


class Nested(unittest.TestCase):
    """A command that asks for the lock under which it runs."""
    CONFIG = ("[namespace default]\nfile = {dir}/default.db\n"
              "[namespace other]\nfile = {dir}/other.db\n")

    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon(cls.CONFIG).start()
        cls.addClassCleanup(cls.daemon.close)

    def run_(self, *args):
        """`ddblock run` for each list of words, one under the other."""
        words = []
        for one in args:
            words += [harness.program("ddblock"), *one]
        done = ddblock(self.daemon, *words[1:])
        return [done.returncode, done.stdout, done.stderr]

    def test_would_wait_for_itself(self):
        for outer, inner in (([KEY], [KEY]), (["-s", KEY], [KEY]),
                             (["-c1", KEY], ["-c1", KEY]),
                             (["--ns=default", KEY], [KEY]),
                             ([KEY], ["--ns=default", KEY]),
                             (["-ka", "-kb"], ["-kb", "-kc"])):
            status, out, errors = self.run_(["run", *outer, "--"],
                                            ["run", *inner, "--", "echo"])
            self.assertEqual([status, out], [64, ""], (outer, inner))
            self.assertIn("runs under that lock", errors)
        status = self.run_(["run", KEY, "--"], ["run", "b", "--"],
                           ["elect", KEY, "--", "true"])[0]
        self.assertEqual(status, 64)
        status = self.run_(["run", KEY, "--"], [
            "acquire", f"--for-pid={os.getpid()}", KEY])[0]
        self.assertEqual(status, 64)

    def test_would_not(self):
        for outer, inner in (([KEY], ["b"]), (["-s", KEY], ["-s", KEY]),
                             (["-c2", KEY], ["-c2", KEY]),
                             (["--ns=other", KEY], [KEY]),
                             ([KEY], ["--ns=other", KEY])):
            done = self.run_(["run", *outer, "--"],
                             ["run", *inner, "--", "echo", "ran"])
            self.assertEqual(done, [0, "ran\n", ""], (outer, inner))
        status = self.run_(["run", KEY, "--"], ["run", "-nE9", KEY, "true"])[0]
        self.assertEqual(status, 9)
        # A command whose outer hold is over, but still in its environment.
        program = harness.program("ddblock")
        left = (f"echo gone; read line <&3; exec {program} run {KEY} "
                "echo $line")
        with Run(self.daemon, "run", KEY, "sh", "-c", "exec 3<&0; "
                 'setsid sh -c "$0" & exec sleep 600', left) as run:
            self.assertEqual(run.line(), "gone")
            run.signal(signal.SIGTERM)
            self.assertEqual(run.end(), 128 + signal.SIGTERM)
            run.process.stdin.write("on\n")
            run.process.stdin.flush()
            self.assertEqual(run.line(), "on")

    def test_reentrant(self):
        """One hold: the process that watches the outer command watches the
        inner one."""
        show = ["sh", "-c", "echo $PPID $DDBLOCK_KEY $DDBLOCK_TOKEN"]
        script = (f"{' '.join(show[:2])} '{show[2]}'; "
                  f"exec \"$@\"")
        done = self.run_(["run", KEY, "--", "sh", "-c", script, "sh"],
                         ["run", "--reentrant", KEY, "--", *show])
        self.assertEqual([done[0], done[2]], [0, ""])
        outer, inner = [line.split()[1:] for line in done[1].splitlines()]
        self.assertEqual(inner, outer)
        done = self.run_(["run", "-ka", "-kb", "--"], ["run", "c", "--"],
                         ["run", "--reentrant", "-kb", "-ka", "sh", "-c",
                          "echo $DDBLOCK_KEYS $DDBLOCK_KEY_2; exit 7"])
        self.assertEqual(done, [7, "2 a\n", ""])
        self.assertEqual(self.run_(["run", "--reentrant", KEY, "true"])[0], 0)
        for outer, inner in ((["-ka", "-kb"], ["-ka", "-kc"]),
                             (["-s", "a"], ["a"])):
            status = self.run_(["run", *outer, "--"],
                               ["run", "--reentrant", *inner, "true"])[0]
            self.assertEqual(status, 64, (outer, inner))
        status = self.run_(["run", "a", "--"],
                           ["run", "--reentrant", "a", "/nowhere"])[0]
        self.assertEqual(status, 127)


class UnderAScript(unittest.TestCase):
    """What a script starts that has the lock by `acquire`, and told so."""

    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon().start()
        cls.addClassCleanup(cls.daemon.close)

    def script(self, *lines, **env):
        """The statuses of all but the first, and what it printed."""
        program = harness.program("ddblock")
        text = ['d() { "$0" "$@"; echo "=$?"; }',
                'a() { printed=$("$0" acquire --for-pid=$$ "$@") || exit 99; '
                'eval "$printed"; }', *lines]
        done = subprocess.run(
            ["sh", "-c", "\n".join(text), program], check=False,
            env=environment(self.daemon, **env), capture_output=True,
            text=True, timeout=harness.TIMEOUT_S)
        statuses = [int(line[1:]) for line in done.stdout.splitlines()
                    if line.startswith("=")]
        return statuses, done.stdout, done.stderr

    def test_would_wait_for_itself(self):
        inner = ("run -w1 {} true", "elect {} true", "run -w1 -ka -k{} true",
                 "acquire -w1 --for-pid=$$ {}", "run -w1 -s {} true",
                 "run -w1 other \"$0\" run -w1 {} true",
                 "run -w1 --reentrant {} true")
        lines = ["d " + one.format(KEY) for one in inner]
        for outer in ("", "--fail-closed ", "-kb -k "):
            found, _, errors = self.script(f"a {outer}{KEY}", *lines,
                                           "\"$0\" release " + KEY)
            self.assertEqual(found, [64] * len(inner), (outer, errors))
            self.assertEqual(errors.count("runs under that lock"), len(inner))
            self.assertIn("\"ddblock release\"", errors)

    def test_would_not(self):
        found, _, errors = self.script(
            "a -s " + KEY, f"d run -s {KEY} true", "d run other true",
            f"d run -n -E9 {KEY} true", f"d release {KEY}",
            # Over: released, or lost.
            f"d run -w1 {KEY} true", f"d run --reentrant {KEY} true",
            f"a --on-lost=0 {KEY}",
            # Or else it might release what it lost, before we look.
            "kill -STOP $helper",
            f"d break --token=$token --reason=test {KEY}",
            f"d run -w1 {KEY} true", "kill -CONT $helper")
        self.assertEqual(found, [0, 0, 9, 0, 0, 0, 0, 0], errors)

    def test_the_script_has_ended(self):
        """And another client holds it now: so it must wait."""
        left = "echo gone; read line <&3; \"$0\" run -w1 x true; echo $?"
        script = ('eval "$("$0" acquire --for-pid=$$ x)"; exec 3<&0; '
                  f"setsid sh -c '{left}' \"$0\" & exec sleep 600")
        with Client(self.daemon) as other, Run(
                self.daemon, "run", "else", "sh", "-c", script,
                harness.program("ddblock")) as run:
            self.assertEqual(run.line(), "gone")
            tag = other.send("ACQUIRE x")
            run.signal(signal.SIGTERM)
            self.assertEqual(run.end(), 128 + signal.SIGTERM)
            self.assertTrue(other.reply(tag).ok)
            run.process.stdin.write("on\n")
            run.process.stdin.flush()
            self.assertEqual(run.line(), "1")

    def test_one_lock_after_the_other(self):
        """Ended holds do not pile up; those of other daemons stay."""
        over = f"process 999 1 {self.daemon.socket}\n"
        others = "run 5 5 /it's another's\n"
        found, out, errors = self.script(
            "a b", "a c", 'printf %s "$DDBLOCK_HOLDS"', "d run -w1 b true",
            "d run -w1 c true", DDBLOCK_HOLDS=100 * over + others)
        self.assertEqual(found, [64, 64], errors)
        self.assertIn(others, out)
        self.assertNotIn(over, out)


def wait_for_waiter(client, n=1):
    """Ask until so many wait."""
    while len(client.call("WAITING").rows) < n:
        pass


class Signals(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon().start()
        cls.addClassCleanup(cls.daemon.close)

    def test_while_waiting(self):
        with Client(self.daemon) as holder:
            self.assertTrue(holder.try_(KEY).ok)
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP,
                           signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2):
                with Run(self.daemon, "run", KEY, "echo", "ran") as run:
                    wait_for_waiter(holder)
                    run.signal(number)
                    self.assertEqual(run.end(), 128 + number)
                    self.assertEqual(run.process.stdout.read(), "")
                while holder.call("WAITING").rows:
                    pass

    def test_while_running(self):
        # Taken one by one: a handler could be interrupted by the next.
        code = ("import os, signal, sys\n"
                "numbers = {1, 2, 3, 10, 12, 15, 28}\n"
                "signal.pthread_sigmask(signal.SIG_BLOCK, numbers)\n"
                "print('ready', os.getpid(), flush=True)\n"
                "for _ in range(7):\n"
                "    print(int(signal.sigwait(numbers)), flush=True)\n"
                "sys.exit(33)\n")
        with Run(self.daemon, "run", KEY, "--", *python(code)) as run:
            run.ready()
            for number in (1, 2, 3, 10, 12, 15, 28):
                run.signal(number)
                self.assertEqual(run.line(), str(number))
            self.assertEqual(run.end(), 33)

    def test_to_the_whole_group(self):
        code = (READY, "os.fork(); "
                "signal.pthread_sigmask(signal.SIG_BLOCK, [15]); "
                "os.write(1, b'armed\\n'); signal.sigwait([15]); "
                "os.write(1, b'end\\n')")
        with Run(self.daemon, "run", KEY, "--", *python(*code)) as run:
            run.ready()
            self.assertEqual([run.line(), run.line()], ["armed"] * 2)
            run.signal(signal.SIGTERM)
            self.assertEqual([run.line(), run.line()], ["end"] * 2)
            self.assertEqual(run.end(), 0)

    def test_stop_and_continue(self):
        with Run(self.daemon, "run", KEY, "--",
                 *python(READY, "sys.stdin.read()")) as run:
            pid = run.ready()
            run.signal(signal.SIGTSTP)
            while state(pid) != "T":
                pass
            run.signal(signal.SIGCONT)
            while state(pid) == "T":
                pass
            run.process.stdin.close()
            self.assertEqual(run.end(), 0)


def state(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as f:
        return f.read().rpartition(")")[2].split()[0]


class NothingRunsUnlocked(unittest.TestCase):
    def test_daemon_stopped(self):
        with Daemon(LEASE) as daemon:
            code = (READY, STUBBORN, "os.fork(); ", PAUSE, "; ", PAUSE)
            with Run(daemon, "run", KEY, "--", *python(*code)) as run:
                pid = run.ready()
                daemon.freeze()
                try:
                    self.assertEqual(run.end(), 4)
                    self.assertFalse(runs(pid))
                    with self.assertRaises(ProcessLookupError):
                        os.killpg(pid, 0)
                finally:
                    daemon.thaw()
                self.assertIn("lost the lock jobs/nightly: its lease was not "
                              "renewed", run.errors())

    def test_daemon_killed(self):
        daemon = Daemon().start()
        self.addCleanup(daemon.close)
        with Run(daemon, "run", KEY, "--",
                 *python(READY, STUBBORN, PAUSE)) as run:
            pid = run.ready()
            daemon.kill()
            self.assertEqual(run.end(), 4)
            self.assertFalse(runs(pid))
            self.assertIn("the daemon is gone", run.errors())

    def test_stopped_command_is_ended_too(self):
        daemon = Daemon().start()
        self.addCleanup(daemon.close)
        with Run(daemon, "run", KEY, "--", *python(READY, PAUSE)) as run:
            pid = run.ready()
            os.kill(pid, signal.SIGSTOP)
            daemon.kill()
            self.assertEqual(run.end(), 4)
            self.assertFalse(runs(pid))

    def test_danger_is_told(self):
        code = ("import signal; "
                "signal.pthread_sigmask(signal.SIG_BLOCK, [10]); ", READY,
                "signal.sigwait([10]); print('danger', flush=True); "
                "sys.stdin.read()")
        with FakeDaemon() as fake, Run(fake, "run", "--on-danger=USR1", KEY,
                                       "--", *python(*code)) as run:
            fake.accept()
            fake.grant(fake.expect()[0])
            run.ready()
            fake.say("!LOCK_IN_DANGER id=7 remaining=9s until_boot_ms=1 "
                     "reason=UNREACHABLE")
            self.assertEqual(run.line(), "danger")
            run.process.stdin.close()
            tag, verb, hold = fake.expect()
            self.assertEqual([verb, hold], ["RELEASE", "id=7"])
            self.assertIsNone(run.process.poll())  # it waits for the answer
            fake.say(f"{tag} OK")
            self.assertEqual(run.end(), 0)

    def test_loss_is_told_by_the_daemon(self):
        with FakeDaemon() as fake, Run(fake, "run", KEY, "--", *python(
                READY, PAUSE)) as run:
            fake.accept()
            fake.grant(fake.expect()[0])
            pid = run.ready()
            fake.say("!LOCK_LOST id=7 reason=stolen")
            self.assertEqual(run.end(), 4)
            self.assertFalse(runs(pid))
            self.assertIn("its record was changed", run.errors())

    def test_release_says_that_it_was_stolen(self):
        with FakeDaemon() as fake, Run(fake, "run", KEY, "true") as run:
            fake.accept()
            fake.grant(fake.expect()[0])
            fake.say(f"{fake.expect()[0]} ERR LOCK_STOLEN")
            self.assertEqual(run.end(), 4)

    def test_release_fails(self):
        with FakeDaemon() as fake, Run(fake, "run", KEY, "false") as run:
            fake.accept()
            fake.grant(fake.expect()[0])
            fake.say(f"{fake.expect()[0]} ERR UNREACHABLE")
            self.assertEqual(run.end(), 1)
            self.assertIn("ends with its lease", run.errors())

    def test_grant_and_end_at_once(self):
        with FakeDaemon() as fake, Run(fake, "run", KEY, "echo", "ran") as run:
            fake.accept()
            tag = fake.expect()[0]
            fake.say(f"{tag} OK id=7 token=1 remaining=0s until_boot_ms=1")
            self.assertEqual(run.end(), 4)
            self.assertEqual(run.process.stdout.read(), "")

    def test_why_it_took_too_long(self):
        with FakeDaemon() as fake, Run(fake, "run", "-w1", KEY, "true") as run:
            fake.accept()
            tag = fake.expect()[0]
            fake.say(f"{tag} ERR ACQUIRE_TIMEOUT cause=UNREACHABLE :no way")
            self.assertEqual(run.end(), 69)
            self.assertIn("the store does not answer", run.errors())

    def test_what_is_left_behind_ends_first(self):
        with Daemon() as daemon, Client(daemon) as client:
            left = python(STUBBORN.replace("signal.", "import signal; signal.",
                                           1), READY, PAUSE)
            code = ("import subprocess, sys; "
                    f"p = subprocess.Popen({left!r}); sys.stdin.read()")
            with Run(daemon, "run", KEY, "--", *python(code)) as run:
                pid = run.ready()
                tag = client.send(f"ACQUIRE {KEY}")
                run.process.stdin.close()
                grant = client.reply(tag)
                self.assertTrue(grant.ok)
                self.assertFalse(runs(pid))
                self.assertEqual(run.end(), 0)


class Terminal(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon().start()
        cls.addClassCleanup(cls.daemon.close)

    def spawn(self, *args):
        program = harness.program("ddblock")
        env = environment(self.daemon)
        pid, fd = pty.fork()
        if pid == 0:
            os.execve(program, [program, *args], env)
        self.addCleanup(os.close, fd)
        self.seen = b""
        return pid, fd

    def wait_text(self, fd, text):
        """Read on until the terminal shows this."""
        while text not in self.seen:
            data = read_some(fd)
            self.assertTrue(data, self.seen)
            self.seen += data
        self.seen = self.seen.partition(text)[2]

    def test_foreground_and_interrupt(self):
        code = ("import os, signal, sys\n"
                "print(os.tcgetpgrp(0) == os.getpid(), flush=True)\n"
                "print(sys.stdin.readline().strip() + '!', flush=True)\n"
                "signal.pause()\n")
        pid, fd = self.spawn("run", KEY, "--", *python(
            "import signal; signal.signal(2, signal.SIG_DFL);", code))
        self.wait_text(fd, b"True")
        os.write(fd, b"hello\n")
        self.wait_text(fd, b"hello!")
        os.write(fd, b"\x03")
        self.assertEqual(wait_pid(pid), 130)

    def test_stop_key(self):
        pid, fd = self.spawn("run", KEY, "--", *python(
            "print('on', flush=True); print(input() + '!', flush=True)"))
        self.wait_text(fd, b"on")
        os.write(fd, b"\x1a")
        _, status = os.waitpid(pid, os.WUNTRACED)
        self.assertTrue(os.WIFSTOPPED(status))
        self.assertEqual(os.tcgetpgrp(fd), pid)
        os.kill(pid, signal.SIGCONT)
        while os.tcgetpgrp(fd) == pid:
            pass
        os.write(fd, b"hello\n")
        self.wait_text(fd, b"hello!")
        self.assertEqual(wait_pid(pid), 0)

    def test_progress(self):
        with Client(self.daemon) as client:
            client.hello("holder")
            grant = client.try_("held")
            pid, fd = self.spawn("run", "held", "--", "echo", "ran")
            self.wait_text(fd, b"waiting for held: held by ")
            self.wait_text(fd, b"/holder:")
            client.release(grant)
            self.wait_text(fd, b"\x1b[Kran")
            self.assertEqual(wait_pid(pid), 0)

    def test_progress_with_several(self):
        """It names the lock that is waited for now."""
        with Client(self.daemon) as client:
            one, two = client.try_("s/2"), client.try_("s/3")
            pid, fd = self.spawn("run", "-k", "s/3", "-k", "s/1", "-k", "s/2",
                                 "--", "echo", "ran")
            self.wait_text(fd, b"waiting for s/2 (has 1 of 3): held by ")
            client.release(one)
            self.wait_text(fd, b"waiting for s/3 (has 2 of 3): held by ")
            client.release(two)
            self.wait_text(fd, b"\x1b[Kran")
            self.assertEqual(wait_pid(pid), 0)


if __name__ == "__main__":
    sys.exit(harness.main())
