"""A program in tmux, as a person sees it: what is on the screen, of which size,
after which keys."""
import itertools
import os
import signal
import subprocess
import time

import harness

COLUMNS, LINES = 80, 24
NUMBERS = itertools.count()


class Tmux:
    """A terminal of its own server; use as a context. Its shell's last words
    are "ended STATUS"."""

    def __init__(self, directory, command, columns=COLUMNS, lines=LINES,
                 **more):
        self.socket = os.path.join(directory, f"tmux-{next(NUMBERS)}")
        self.env = dict({k: v for k, v in os.environ.items()
                         if k not in ("TMUX", "NO_COLOR", "DDBLOCK_SOCKET")},
                        LC_ALL="C.UTF-8", **more)
        # The pane stays when its program has ended.
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(columns),
                  "-y", str(lines), "sh", "-c",
                  '"$@"; echo "ended $?"; read -r _', "sh", *command)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill_program()
        self.tmux("kill-server")

    def kill_program(self):
        """If it runs. The end of its terminal is SIGHUP and SIGCONT: a program
        that ends by the first would be continued by the second, when the leak
        checker has just stopped it and waits for that."""
        shell = self.tmux("display-message", "-p", "#{pane_pid}").strip()
        try:
            with open(f"/proc/{shell}/task/{shell}/children",
                      encoding="ascii") as f:
                for pid in f.read().split():
                    os.kill(int(pid), signal.SIGKILL)
        except (FileNotFoundError, ProcessLookupError):
            pass  # it has ended

    def tmux(self, *args):
        done = subprocess.run(["tmux", "-u", "-S", self.socket, *args],
                              env=self.env, stdin=subprocess.DEVNULL,
                              capture_output=True, check=True,
                              timeout=harness.TIMEOUT_S)
        return done.stdout.decode()

    def press(self, *keys):
        """Keys by tmux's names: "Enter", "Escape", "Down"."""
        self.tmux("send-keys", *keys)

    def type(self, text):
        self.tmux("send-keys", "-l", text)

    def resize(self, columns, lines):
        self.tmux("resize-window", "-x", str(columns), "-y", str(lines))

    def lines(self, *options):
        return self.tmux("capture-pane", "-p", *options).split("\n")

    def until(self, condition):
        """Look until @condition, which gets the lines, is true; its value."""
        end = time.monotonic() + harness.TIMEOUT_S
        while True:
            lines = [line.rstrip() for line in self.lines()]
            found = condition(lines)
            if found:
                return found
            if time.monotonic() > end:
                raise AssertionError("\n".join(lines))

    def until_shown(self, *texts):
        """Look until all of these are somewhere."""
        self.until(lambda lines: all(any(text in line for line in lines)
                                     for text in texts))

    def until_gone(self, text):
        self.until(lambda lines: not any(text in line for line in lines))
