"""A program on a terminal, as a person sees it."""
import codecs
import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time

import harness

CONTROL = re.compile(r"\x1b\[(\d*)([A-Za-ln-z@])"
                     r"|\x1b\[[\d;]*m|\x1b\[\?\d+[hl]|\x1b[=>]")


class Screen:
    """A terminal that never scrolls. An unknown sequence is a failure."""

    def __init__(self, columns):
        self.columns = columns
        self.lines = [""]
        self.row = self.column = 0
        self.rest = ""

    def put(self, character):
        if self.column == self.columns:
            self.row, self.column = self.row + 1, 0
        while len(self.lines) <= self.row:
            self.lines.append("")
        line = self.lines[self.row].ljust(self.column)
        self.lines[self.row] = (line[:self.column] + character
                                + line[self.column + 1:])
        self.column += 1

    def control(self, number, letter):
        n = int(number or "1")
        line = self.lines[self.row] if self.row < len(self.lines) else ""
        if letter == "A":
            self.row = max(self.row - n, 0)
        elif letter == "B":
            self.row += n
        elif letter == "C":
            self.column += n
        elif letter == "D":
            self.column = max(self.column - n, 0)
        elif letter == "G":
            self.column = n - 1
        elif letter == "H" and not number:
            self.row = self.column = 0
        elif letter == "J" and n > 1:
            self.lines = [""] * (self.row + 1)
        elif letter in "JK":
            self.lines[self.row:self.row + 1] = [line[:self.column]]
            if letter == "J":
                del self.lines[self.row + 1:]
        elif letter == "P":
            self.lines[self.row] = (line[:self.column]
                                    + line[self.column + n:])
        elif letter == "@":
            self.lines[self.row] = (line[:self.column] + " " * n
                                    + line[self.column:])
        else:
            raise AssertionError(f"CSI {number} {letter}")

    def feed(self, text):
        text = self.rest + text
        self.rest = ""
        while text:
            found = CONTROL.match(text)
            if found:
                if found[2]:
                    self.control(found[1], found[2])
                text = text[found.end():]
                continue
            if text[0] == "\x1b":
                if len(text) > 8:
                    raise AssertionError(repr(text[:20]))
                self.rest = text  # the other half comes later
                return
            if text[0] == "\r":
                self.column = 0
            elif text[0] == "\n":
                self.row += 1
                while len(self.lines) <= self.row:
                    self.lines.append("")
            elif text[0] == "\b":
                self.column = max(self.column - 1, 0)
            elif text[0] != "\a":
                self.put(text[0])
            text = text[1:]


def read_some(terminal):
    """The next input; empty at its end, when the other side is closed."""
    if not select.select([terminal], [], [], harness.TIMEOUT_S)[0]:
        raise AssertionError("the terminal is silent")
    try:
        return os.read(terminal, 65536)
    except OSError:
        return b""


def read_rest(terminal):
    """All that comes to its end. It may come in parts, and after the end of
    of any process."""
    rest = b""
    while part := read_some(terminal):
        rest += part
    return rest


def wait_pid(pid):
    """Wait for its end: the exit status (negative: the signal)."""
    process = os.pidfd_open(pid)
    ended = select.select([process], [], [], harness.TIMEOUT_S)[0]
    os.close(process)
    if not ended:
        raise AssertionError("it did not end")
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


class OnTerminal:
    """A program of ours with a user at its terminal; use as a context."""

    def __init__(self, arguments, env, columns=80):
        self.screen = Screen(columns)
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.status = None
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            try:
                self.resize(columns, 0)
                os.execve(arguments[0], arguments, env)
            finally:
                os._exit(127)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.terminal)

    def resize(self, columns, fd=None):
        fcntl.ioctl(self.terminal if fd is None else fd, termios.TIOCSWINSZ,
                    struct.pack("HHHH", 24, columns, 0, 0))

    def type(self, text):
        os.write(self.terminal, text.encode())

    def until(self, condition):
        """Read its screen until @condition, which gets the lines, is true."""
        end = time.monotonic() + harness.TIMEOUT_S
        while not condition([line.rstrip() for line in self.screen.lines]):
            try:
                data = read_some(self.terminal)
            except AssertionError:
                data = b""
            if not data or time.monotonic() > end:
                raise AssertionError("\n".join(self.screen.lines))
            self.screen.feed(self.decoder.decode(data))

    def until_line(self, line):
        """Wait until the last line is this one."""
        self.until(lambda lines: lines[-1] == line)

    def until_shown(self, pattern):
        """Wait until a line is like this."""
        self.until(lambda lines: any(re.search(pattern, line)
                                     for line in lines))

    def cooked(self):
        """Does the terminal edit lines by itself?"""
        return bool(termios.tcgetattr(self.terminal)[3] & termios.ICANON)

    def stopped(self):
        """Wait until it stands still."""
        end = time.monotonic() + harness.TIMEOUT_S
        while os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WNOWAIT |
                        os.WNOHANG) is None:
            if time.monotonic() > end:
                raise AssertionError("it does not stand still")
            time.sleep(0.01)

    def end(self):
        """Wait for its end: the exit status (negative: the signal)."""
        try:
            self.status = wait_pid(self.pid)
        except AssertionError as e:
            raise AssertionError("\n".join([f"{e}:",
                                            *self.screen.lines])) from e
        return self.status
