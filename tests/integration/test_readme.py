"""The tour of README.md, pasted into a clean bash on a terminal.

A block has ended when what is pasted after it has been run: a command that
reads what was meant for the shell, or that is waited for without an end, is a
failure.
"""
import fcntl
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import tempfile
import termios
import unittest

import harness

TOP = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
PROMPT = "(pasted) "
PASSED_ON = ("DDBLOCK_MUST_RUN", "DDBLOCK_NODE_MODULES", "ASAN_OPTIONS",
             "UBSAN_OPTIONS")

# What is seen of each block: lines in this order, maybe with others in between.
SEEN = (
    (r"NS +STORE .*", r"default +memory +open.*", r"ddblockd .* pid .*"),
    (r"token \d+", "its own: 7"),
    (r"ddblock: jobs/nightly: .*; held by .*", "busy: 1",
     r"ddblock: jobs/nightly: .*", "waited: 1", r"state +held", "free again"),
    (r".* catalogue .* shared .*/bash:[0-9]+ .*",
     r".* catalogue .* shared .*/ddblock:[0-9]+ .*",
     "the writer has to wait: 1",
     "the writer's turn"),
    tuple([r"(?:begin|end) \d"] * 8),
    (r".* accounts/3 .* held .*", r".* accounts/7 .* held .*"),
    (r"\d\d:\d\d:\d\d  held by .*, data web-3:8080",),
    (r"jobs/nightly +held .*", r'\{.*"key":"jobs/nightly".*\},?',
     r"default +memory .*"),
    (r"OK id=\d+ token=.*",),
    (r"token of Python: \d+",),
    (),
    (r".* table locks: created.*", r" +ok +table .*",
     r" +ok +permission .*", r"\d+ findings: 0 errors, .*"),
    ("busy: 1", "the other host's turn"),
    (),
    (),
)
WRONG = re.compile(r"not found|No such file or directory$|syntax error"
                   r"|ddblockd: (?!namespace default: waiting for )"
                   r"|usage:|^never$|Traceback")


def tour():
    """The text of each block."""
    with open(os.path.join(TOP, "README.md"), encoding="utf-8") as f:
        part = re.search(r"^## The tour\n(.*?)^From C ", f.read(),
                         re.M | re.S)[1]
    return [re.sub(r"^    ", "", block, flags=re.M) for block in
            re.findall(r"(?:^    .*\n)+", part, re.M)]


class Pasted:
    """An interactive bash that knows nothing of this machine."""

    def __init__(self, directory):
        ours, theirs = pty.openpty()
        env = {name: os.environ[name] for name in PASSED_ON
               if name in os.environ}
        env.update(PATH=os.environ["PATH"], HOME=directory, TERM="dumb",
                   LANG="C.UTF-8", PS1=PROMPT, PS2="", TMPDIR=directory)
        self.shell = subprocess.Popen(
            ["bash", "--norc", "--noprofile", "-i"], cwd=directory, env=env,
            stdin=theirs, stdout=theirs, stderr=theirs,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(theirs)
        self.terminal = ours
        self.n_blocks = 0
        self.text = ""

    def read(self):
        """More of what is shown. False: all that had the terminal ended."""
        if not select.select([self.terminal], [], [], harness.TIMEOUT_S)[0]:
            raise AssertionError(f"nothing more is shown:\n{self.text}")
        try:
            self.text += os.read(self.terminal, 65536).decode()
        except OSError:
            return False
        return True

    def paste(self, block):
        """Its lines, and those that it shows."""
        self.n_blocks += 1
        end = f"\nblock {self.n_blocks} has ended\r"
        os.write(self.terminal, (
            f"{block}echo block $(({self.n_blocks})) has ended\n").encode())
        self.text = ""
        while end not in self.text:
            if not self.read():
                raise AssertionError(f"the shell has ended:\n{self.text}")
        return [re.sub(r".*\x1b\[K", "", line.rstrip("\r")) for line in
                self.text[:self.text.index(end)].split("\n")]

    def kill(self):
        """All that was begun, after a failure."""
        for name in filter(str.isdecimal, os.listdir("/proc")):
            try:
                if os.getsid(int(name)) == self.shell.pid:
                    os.kill(int(name), signal.SIGKILL)
            except ProcessLookupError:
                pass

    def close(self):
        """Leave it. Nothing that was begun may stay."""
        os.write(self.terminal, b"exit\n")
        while self.read():
            pass
        self.shell.wait()
        os.close(self.terminal)


class Tour(unittest.TestCase):
    def setUp(self):
        harness.need_dynamodb()  # what it needs is there
        self.directory = tempfile.mkdtemp(prefix="ddblock-readme-")
        self.addCleanup(shutil.rmtree, self.directory)
        os.mkdir(os.path.join(self.directory, "build"))
        os.symlink(os.path.dirname(harness.program("ddblockd")),
                   os.path.join(self.directory, "build", "default"))
        for name in ("contrib", "scripts", "tests"):
            os.symlink(os.path.join(TOP, name),
                       os.path.join(self.directory, name))

    def look(self, block, wanted, lines):
        shown = "\n".join(lines)
        for line in lines:
            if not line.startswith(PROMPT):
                self.assertNotRegex(line, WRONG, shown)
        rest = iter(lines)
        for pattern in wanted:
            self.assertTrue(any(re.fullmatch(pattern, line) for line in rest),
                            f"{pattern!r} is not seen in:\n{shown}")

    def few_at_a_time(self, lines):
        running = most = 0
        for line in lines:
            if re.fullmatch(r"(begin|end) \d", line):
                running += 1 if line.startswith("begin") else -1
                most = max(most, running)
        self.assertLessEqual(most, 2, lines)

    def test_every_block_does_what_it_says(self):
        blocks = tour()
        self.assertEqual(len(blocks), len(SEEN))
        shell = Pasted(self.directory)
        self.addCleanup(shell.kill)
        for block, wanted in zip(blocks, SEEN):
            lines = shell.paste(block)
            self.look(block, wanted, lines)
            self.few_at_a_time(lines)
        shell.close()


if __name__ == "__main__":
    harness.main()
