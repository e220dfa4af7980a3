"""Starting ddblock from a test: to its end, or beside the test."""
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

import harness

TIMEOUT_S = harness.TIMEOUT_S

# Commands to run under locks. They say when they are ready, and then wait to
# be told to end, by a signal or by the end of their input.
READY = "import os, signal, sys; print('ready', os.getpid(), flush=True); "
PAUSE = "signal.pause()"
STUBBORN = "signal.signal(signal.SIGTERM, signal.SIG_IGN); "


def python(*code):
    """A command that runs Python code."""
    return [sys.executable, "-c", "".join(code)]


def environment(daemon, **more):
    env = {k: v for k, v in os.environ.items() if k != "DDBLOCK_SOCKET"}
    if daemon is not None:
        env["DDBLOCK_SOCKET"] = daemon.socket
    env.update(more)
    return env


def ddblock(daemon, *args, stdin="", env=None):
    """Run it to its end: a CompletedProcess."""
    return subprocess.run(
        [harness.program("ddblock"), *args], input=stdin, check=False,
        env=env or environment(daemon), capture_output=True, text=True,
        errors="replace", timeout=TIMEOUT_S)


def need_run():
    """Skip where `ddblock run` cannot wait for all that its command began."""
    harness.need_processor("qemu knows no PR_SET_CHILD_SUBREAPER")


def assigned(printed):
    """The output of `acquire` for the shell, without its exports."""
    return dict(field.split("=")
                for field in printed.partition(";")[0].split())


class Run:
    """A ddblock beside the test; use as a context."""

    def __init__(self, daemon, *args, before=(), stderr=subprocess.PIPE,
                 **more):
        self.process = subprocess.Popen(
            [*before, harness.program("ddblock"), *args],
            env=environment(daemon), stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=stderr, text=True, **more)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.stdin.close()
        self.process.wait(TIMEOUT_S)
        self.process.stdout.close()
        if self.process.stderr is not None:
            self.process.stderr.close()

    def line(self):
        """The next line of its output."""
        line = self.process.stdout.readline()
        assert line, self.process.stderr.read()
        return line.rstrip("\n")

    def ready(self):
        """Wait until the command is; its process number."""
        word, pid = self.line().split()
        assert word == "ready", word
        return int(pid)

    def signal(self, number):
        self.process.send_signal(number)

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(TIMEOUT_S)

    def end(self):
        """Wait for its end: the exit status."""
        return self.process.wait(TIMEOUT_S)

    def errors(self):
        return self.process.stderr.read()


class FakeDaemon:
    """A daemon that says what a test tells it to."""

    def __init__(self, resumes=False):
        self.resumes = resumes  # does it know HELLO resume=yes?
        self.directory = tempfile.mkdtemp(prefix="fake-")
        self.socket = os.path.join(self.directory, "sock")
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind(self.socket)
        self.listener.listen(4)
        self.listener.settimeout(TIMEOUT_S)
        self.connection = None
        self.lines = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.hang_up()
        self.listener.close()
        shutil.rmtree(self.directory)

    def hang_up(self):
        if self.connection is not None:
            self.lines.close()
            self.connection.close()
        self.connection = None

    def accept(self):
        """Take the next connection, and its greeting."""
        self.hang_up()
        self.connection = self.listener.accept()[0]
        self.connection.settimeout(TIMEOUT_S)
        self.lines = self.connection.makefile("rb")
        tag, verb = self.expect()[:2]
        assert verb == "HELLO", verb
        self.say(f"{tag} OK proto=1 namespaces=default")

    def expect(self):
        """The words of the next request, its tag first."""
        words = self.lines.readline().decode().split()
        if words[1:] != ["HELLO", "resume=yes"]:
            return words
        self.say(f"{words[0]} OK proto=1" if self.resumes else
                 f'{words[0]} ERR BAD_REQUEST :no argument "resume"')
        return self.expect()

    def say(self, line):
        self.connection.sendall(line.encode() + b"\n")

    def grant(self, tag, lease_ms=60000, margin_ms=1000, ahead_ms=0,
              secret=None):
        """The deadline, by the clock of a host that runs @ahead_ms ahead."""
        until_ms = harness.boot_ms() + lease_ms + ahead_ms
        self.say(f"{tag} OK id=7 token=41 mode=exclusive "
                 f"remaining={lease_ms}ms until_boot_ms={until_ms} "
                 f"margin={margin_ms}ms" +
                 ("" if secret is None else f" secret={secret}"))
        return until_ms


def runs(pid):
    """Does the process still run? (A zombie does not.)"""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as f:
            return f.read().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False
