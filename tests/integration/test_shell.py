"""ddblock shell: the protocol through a pipe, and typed on a terminal."""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

import harness
from harness import Client, Daemon
from runner import FakeDaemon, Run, ddblock, environment
from screen import OnTerminal

PROMPT = "ddblock>"


class Piped(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon().start()
        cls.addClassCleanup(cls.daemon.close)

    def shell(self, text, *args):
        return ddblock(self.daemon, *args, "shell", stdin=text)

    def test_lines_in_and_out(self):
        """Nothing is added, and answers come to the end."""
        with Client(self.daemon) as client:
            self.assertTrue(client.try_("piped").ok)
            done = self.shell("PING\n#b TRY piped\n#h HELD key=piped\n")
        lines = [harness.Line(line) for line in done.stdout.splitlines()]
        # In the order in which they are ready.
        self.assertEqual(sorted((line.tag or "", line.kind)
                                for line in lines),
                         [("", "OK"), ("b", "ERR"), ("h", "+"), ("h", "OK")])
        self.assertEqual([done.returncode, done.stderr], [1, ""])

    def test_hold_ends_with_it(self):
        done = self.shell("TRY piped\n")
        self.assertTrue(done.stdout.startswith("OK id="), done)
        with Client(self.daemon) as client:
            self.assertTrue(client.try_("piped").ok)
        self.assertEqual([done.returncode, done.stderr], [0, ""])

    def test_what_waits_is_given_up_at_the_end(self):
        with Client(self.daemon) as client:
            grant = client.try_("busy")
            done = self.shell("#w ACQUIRE busy\nPING\n")
            self.assertEqual(sorted(line.split(" :")[0].split()[:3] for line
                                    in done.stdout.splitlines()),
                             [["#w", "ERR", "CANCELLED"], ["OK"]])
            client.release(grant)

    def test_status_is_that_of_the_first_failure(self):
        for text, status in (("RELEASE id=999\nTRY b ns=x\nPING\n", 5),
                             ("TRY b ns=x\nRELEASE id=999\nPING\n", 64),
                             ("PING\nQUIT\n", 0), ("", 0), ("\n", 64)):
            done = self.shell(text)
            self.assertEqual([done.returncode, done.stderr], [status, ""],
                             done)

    def test_a_line_without_an_end_is_refused(self):
        done = self.shell("PING\nTRY half")
        self.assertEqual(done.stdout.splitlines(),
                         ["OK", "ERR BAD_REQUEST :the last line has no end"])
        self.assertEqual([done.returncode, done.stderr], [64, ""])

    def test_as_soon_as_they_come(self):
        with Run(self.daemon, "shell") as run, Client(self.daemon) as client:
            grant = client.try_("later")
            for text, answer in (("PING", "OK"), ("#p PING", "#p OK")):
                run.process.stdin.write(text + "\n")
                run.process.stdin.flush()
                self.assertEqual(run.line(), answer)
            run.process.stdin.write("#w ACQUIRE later\n")
            run.process.stdin.flush()
            client.release(grant)
            self.assertTrue(run.line().startswith("#w OK id="))
            run.process.stdin.write("#q QUIT\n")
            run.process.stdin.flush()
            self.assertEqual(run.line(), "#q OK")
            self.assertEqual(run.end(), 0)
            self.assertEqual(run.errors(), "")

    def test_much_of_it(self):
        """More than any buffer on the way holds, both ways at once."""
        text = "HELP\n" * 30000
        done = self.shell(text)
        self.assertEqual(done.stdout.count("\nOK rows="), 30000)
        self.assertEqual([done.returncode, done.stderr], [0, ""])

    def test_json(self):
        rows = []
        with Run(self.daemon, "--json", "shell") as run:
            for text in ("#a TRY j mode=shared limit=2", "TRY j",
                         "HELD key=j"):
                run.process.stdin.write(text + "\n")
                run.process.stdin.flush()
                rows.append(json.loads(run.line()))
            rows.append(json.loads(run.line()))
        self.assertEqual([row["kind"] for row in rows],
                         ["ok", "error", "row", "ok"])
        self.assertEqual([rows[0]["tag"], rows[0]["fields"]["limit"]],
                         ["a", 2])
        self.assertGreater(rows[0]["fields"]["until_boot_ms"], 0)
        self.assertEqual(rows[0]["fields"]["margin_ms"], 1000)
        self.assertEqual(rows[1]["code"], "ALREADY_HELD")
        self.assertIn("two sharers that waited", rows[1]["text"])
        self.assertIs(rows[2]["fields"]["mine"], True)
        self.assertEqual(rows[3], {"kind": "ok", "fields": {"rows": 1}})

    def test_calls_that_make_no_sense(self):
        for args, words in ((["--ns=default"], "its own ns=default"),
                            (["more"], "too much")):
            done = ddblock(self.daemon, "shell", *args)
            self.assertEqual(done.returncode, 64)
            self.assertIn(words, done.stderr)
        done = subprocess.run([harness.program("ddblock") + "-shell"],
                              capture_output=True, check=False, text=True,
                              timeout=harness.TIMEOUT_S)
        self.assertEqual(done.returncode, 64)
        self.assertIn("ddblock shell", done.stderr)

    def test_output_that_cannot_be_written(self):
        with open("/dev/full", "w", encoding="ascii") as full:
            done = subprocess.run(
                [harness.program("ddblock"), "shell"], stdout=full,
                env=environment(self.daemon), stderr=subprocess.PIPE,
                input=b"PING\n", check=False, timeout=harness.TIMEOUT_S)
        self.assertEqual(done.returncode, 74)


class NoDaemon(unittest.TestCase):
    """One that goes, or was never there, is not taken for an answer."""

    def test_nobody_there(self):
        done = ddblock(None, "--socket=/nonexistent/sock", "shell",
                       stdin="PING\n")
        self.assertEqual(done.returncode, 69)
        self.assertIn("start ddblockd", done.stderr)

    def fake(self, fake, *said):
        run = Run(fake, "shell")
        run.process.stdin.write("PING\n#t TRY a\n")
        run.process.stdin.flush()
        connection = fake.listener.accept()[0]
        with connection.makefile("rb") as lines:
            self.assertEqual([lines.readline(), lines.readline()],
                             [b"PING\n", b"#t TRY a\n"])
            for line in said:
                connection.sendall(line)
        connection.close()
        return run

    def test_gone_before_it_answered(self):
        with FakeDaemon() as fake, self.fake(fake, b"OK\n") as run:
            self.assertEqual(run.end(), 69)
            self.assertEqual(run.process.stdout.read(), "OK\n")
            self.assertIn("unanswered requests: 1", run.errors())

    def test_gone_while_nothing_was_asked(self):
        with FakeDaemon() as fake, \
                self.fake(fake, b"OK\n", b"#t OK id=1\n") as run:
            self.assertEqual(run.end(), 69)
            self.assertIn("its locks are released", run.errors())

    def test_codes_of_a_newer_daemon(self):
        with FakeDaemon() as fake, \
                self.fake(fake, b"OK\n", b"#t ERR QUITE_NEW\n") as run:
            self.assertEqual(run.process.stdout.read(),
                             "OK\n#t ERR QUITE_NEW\n")
            self.assertEqual(run.end(), 69)

    def test_refused(self):
        config = ("[daemon]\nconnections_per_uid_max = 1\n"
                  "[namespace default]\nfile = {dir}/db\n")
        with Daemon(config) as daemon, Client(daemon) as client:
            self.assertTrue(client.call("PING").ok)
            done = ddblock(daemon, "shell")
            self.assertEqual(done.returncode, 75, done)
            self.assertTrue(done.stdout.startswith("ERR LIMIT"))


class Typed(unittest.TestCase):
    def setUp(self):
        self.daemon = Daemon().start()
        self.addCleanup(self.daemon.close)
        self.home = tempfile.mkdtemp(prefix="ddblock-home-")
        self.addCleanup(shutil.rmtree, self.home)

    def shell(self, columns=80, args=("shell",), **more):
        env = environment(self.daemon, TERM="xterm", HOME=self.home,
                          LC_ALL="C", **more)
        env.pop("DDBLOCK_HISTORY", None)
        env.update(more)
        shell = OnTerminal([harness.program("ddblock"), *args], env, columns)
        self.addCleanup(shell.__exit__)
        shell.until_line(PROMPT)
        return shell

    def test_answers_and_the_end(self):
        shell = self.shell()
        shell.type("#a PING\n")
        shell.until(lambda lines: lines == [f"{PROMPT} #a PING", "#a OK",
                                            PROMPT])
        shell.type("TRY\n")  # the user has seen it
        shell.until_shown("^ERR BAD_REQUEST :TRY needs a KEY")
        shell.until_line(PROMPT)
        shell.type("\n")
        # A ^D between two lines goes to the terminal, as with any editor.
        shell.until(lambda lines: lines[-2:] == [PROMPT, PROMPT])
        shell.type("\x04")
        self.assertEqual(shell.end(), 0)
        self.assertTrue(shell.cooked())

    def test_quit(self):
        shell = self.shell()
        shell.type("QUIT\n")
        shell.until_shown("^OK$")
        self.assertEqual(shell.end(), 0)

    def test_what_comes_while_somebody_types(self):
        """It stands above the prompt, and the typed text is as it was."""
        with Client(self.daemon) as client:
            grant = client.try_("k")
            shell = self.shell(columns=40)
            shell.type("#w ACQUIRE k wait=60s\n")
            shell.until(lambda lines: len(lines) == 2 and lines[1] == PROMPT)
            while not client.call("WAITING key=k").rows:
                pass
            # Longer than two lines, and the cursor in the first.
            text = "TRY jobs/ä" + "x" * 75
            shell.type(text + "\x01")
            rows = [f"{PROMPT} {text}"[i:i + 40]
                    for i in range(0, len(PROMPT) + 1 + len(text), 40)]
            shell.until(lambda lines: lines[1:] == rows)
            client.release(grant)
            shell.until(lambda lines: len(lines) > 4
                        and lines[-len(rows):] == rows)
            self.assertTrue(shell.screen.lines[1].startswith("#w OK id="))
            shell.type("#z ")  # at the cursor, which is where it was
            shell.until(lambda lines: f"{PROMPT} #z TRY jobs/ä" in
                        "".join(lines))

    def test_shutdown_while_somebody_types(self):
        shell = self.shell()
        shell.type("TRY half")
        shell.until_line(f"{PROMPT} TRY half")
        self.daemon.kill()
        shell.until_shown("^ddblock: the daemon has closed the connection")
        self.assertEqual(shell.end(), 69)
        self.assertTrue(shell.cooked())

    def test_completion(self):
        shell = self.shell()
        # The shell's own HELP is answered before this.
        shell.type("#first PING\n")
        shell.until_shown("^#first OK$")
        shell.until_line(PROMPT)
        shell.type("pi\t\n")
        shell.until_shown("^OK$")
        shell.until_line(PROMPT)
        shell.type("#t acq\tjobs/x mod\t")
        shell.until_line(f"{PROMPT} #t ACQUIRE jobs/x mode=")
        shell.type("shared lim\t3 wait\t0\n")
        shell.until_shown("^#t OK id=.* limit=3 ")
        shell.until_line(PROMPT)
        with Client(self.daemon) as client:
            verbs = [row["verb"] for row in client.call("HELP").rows
                     if row["verb"].startswith("RE")]
        self.assertGreater(len(verbs), 1)
        shell.type("RE\t")
        shell.until(lambda lines: lines[-2:] == ["  ".join(verbs),
                                                 f"{PROMPT} RE"])
        shell.type("L\tid\t")
        shell.until_line(f"{PROMPT} RELEASE id=")
        shell.type("\x03")
        shell.until_line(PROMPT)
        self.assertIn(f"{PROMPT} RELEASE id=^C", shell.screen.lines)
        # A key is not known, nor is one argument wanted twice.
        shell.type("TRY mod\tx mode=shared mod\t\x08\x08\x08lim\t")
        shell.until_line(f"{PROMPT} TRY modx mode=shared limit=")

    def test_history(self):
        """Of the same shell and of the next one; readable for its user
        only."""
        shell = self.shell()
        shell.type("#old PING\n")
        shell.until_shown("^#old OK$")
        shell.until_line(PROMPT)
        shell.type("\x1b[A")
        shell.until_line(f"{PROMPT} #old PING")
        shell.type("\x03\x04")
        self.assertEqual(shell.end(), 0)
        path = os.path.join(self.home, ".ddblock_history")
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
        shell = self.shell()
        shell.type("\x1b[A")
        shell.until_line(f"{PROMPT} #old PING")
        shell.type("\x03\x04")
        self.assertEqual(shell.end(), 0)
        os.unlink(path)
        shell = self.shell(DDBLOCK_HISTORY="")
        shell.type("PING\n")
        shell.until_shown("^OK$")
        shell.type("\x04")
        self.assertEqual(shell.end(), 0)
        self.assertEqual(os.listdir(self.home), [])

    def test_signals(self):
        shell = self.shell()
        shell.type("TRY jobs")
        shell.until_line(f"{PROMPT} TRY jobs")
        shell.type("\x1a")
        shell.stopped()
        self.assertTrue(shell.cooked())
        os.kill(shell.pid, signal.SIGCONT)
        shell.until_line(f"{PROMPT} TRY jobs")
        shell.type("/x\n")
        shell.until_shown("^OK id=1 ")
        shell.until_line(PROMPT)
        self.assertFalse(shell.cooked())
        os.kill(shell.pid, signal.SIGTERM)
        self.assertEqual(shell.end(), 128 + signal.SIGTERM)
        self.assertTrue(shell.cooked())

    def test_what_a_terminal_must_not_get(self):
        """Control characters of others' names do nothing to it."""
        with FakeDaemon() as fake:
            env = environment(fake, TERM="xterm", HOME=self.home)
            with OnTerminal([harness.program("ddblock"), "shell"],
                            env) as shell:
                connection = fake.listener.accept()[0]
                connection.sendall(b"+ owner=\x1b[2Jx :\xc2\x9by\n")
                shell.until_shown(r"^\+ owner=\\x1b\[2Jx :\\xc2\\x9by$")
                connection.close()

    def test_terminal_that_can_do_nothing(self):
        env = environment(self.daemon, TERM="dumb", HOME=self.home)
        with OnTerminal([harness.program("ddblock"), "shell"], env) as shell:
            shell.type("PING\n")
            shell.until(lambda lines: lines == ["PING", "OK", ""])
            shell.type("\x04")
            self.assertEqual(shell.end(), 0)


if __name__ == "__main__":
    sys.exit(harness.main())
