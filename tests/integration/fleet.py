"""A fleet of daemons on one table, clients as processes, and a resource that
they guard with locks.

The resource is a pipe that all clients write to (tests/lib/guard_client.c). It
keeps the order of what is written and knows nothing of tokens. Of each key it
is judged in that order:

* overlap: a hold uses the resource again after another hold has used it;
* a token that is not greater than those of all earlier holds.

That is exact for what the resource has seen: a holder whose lease is over but
that does nothing any more does no harm and is not counted.
"""
import collections
import fcntl
import os
import signal
import subprocess
import threading
import time

import harness

TIMEOUT_S = 60
F_SETPIPE_SZ = 1031
PIPE_BYTES = 1 << 20  # no writer ever waits

Line = collections.namedtuple(
    "Line", "number key pid token word at_us until_ms")


class Resource:
    """The pipe, read as it is written, and the judge."""

    def __init__(self):
        self.condition = threading.Condition()
        self.lines = []
        self.holders = {}  # by key: the hold that used it last
        self.past = collections.defaultdict(set)
        self.last_token = collections.defaultdict(int)
        self.last = {}  # by process: its last line
        self.enters = collections.Counter()  # by process, also to share
        self.killed_us = {}  # by process: the boot time before that
        self.grants = 0
        self.overlaps = []
        self.bad_tokens = []
        self.reading, self.writing = os.pipe()
        fcntl.fcntl(self.reading, F_SETPIPE_SZ, PIPE_BYTES)
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def close(self):
        """When no client is left. Their output has been read then."""
        os.close(self.writing)
        self.thread.join()

    def settle(self):
        """Until all is read that was written before."""
        mark = int(boot_now() * 1e6)
        os.write(self.writing, f"- 0 {mark} settle 0 0\n".encode())
        self.wait(lambda: 0 in self.last and self.last[0].token == mark,
                  "the end of what was written")

    def _read(self):
        with os.fdopen(self.reading, "rb") as pipe:
            for raw in pipe:
                key, pid, token, word, at_us, until_ms = raw.decode().split()
                with self.condition:
                    self._judge(Line(len(self.lines), key, int(pid),
                                     int(token), word, int(at_us),
                                     int(until_ms)))
                    self.condition.notify_all()

    def _judge(self, line):
        self.lines.append(line)
        self.last[line.pid] = line
        if line.word == "share":
            self.enters[line.pid] += 1
        if line.word not in ("enter", "touch"):
            return
        hold = (line.pid, line.token)
        if line.word == "enter":
            self.grants += 1
            self.enters[line.pid] += 1
        if hold == self.holders.get(line.key):
            return
        if hold in self.past[line.key]:
            self.overlaps.append(line)
        elif line.token <= self.last_token[line.key]:
            self.bad_tokens.append(line)
        self.past[line.key].add(hold)
        self.last_token[line.key] = max(line.token, self.last_token[line.key])
        self.holders[line.key] = hold

    def find(self, pid, *words, after=-1):
        """The first line of this process with such a word, or None."""
        return next((li for li in self.lines[after + 1:]
                     if li.pid == pid and li.word in words), None)

    def wait(self, predicate, what, timeout=TIMEOUT_S):
        """What @predicate finds, as soon as it finds something."""
        end = time.monotonic() + timeout
        with self.condition:
            while True:
                found = predicate()
                left = end - time.monotonic()
                if found:
                    return found
                if left <= 0:
                    raise AssertionError(f"waited in vain for {what}; at last:"
                                         f" {self.lines[-20:]}")
                self.condition.wait(left)

    def wait_word(self, guard, *words, after=-1):
        return self.wait(lambda: self.find(guard.pid, *words, after=after),
                         f"{words} of {guard.pid}")


class Guard:
    """A client process."""

    def __init__(self, resource, daemon, key, *options):
        self.resource = resource
        self.daemon = daemon
        self.key = key
        self.process = subprocess.Popen(
            [harness.program("guard_client"), *options, daemon.socket, key],
            stdin=subprocess.DEVNULL, stdout=resource.writing)
        self.pid = self.process.pid

    def ended(self):
        return self.process.poll() is not None

    def wait(self):
        return self.process.wait(TIMEOUT_S)

    def signal(self, number):
        if not self.ended():
            self.process.send_signal(number)

    def kill(self):
        """kill -9, in any state."""
        if not self.ended():
            self.resource.killed_us[self.pid] = int(boot_now() * 1e6)
        self.signal(signal.SIGKILL)
        return self.wait()

    def stop(self):
        """Ask it to leave and end; its exit status."""
        self.signal(signal.SIGCONT)
        self.signal(signal.SIGTERM)
        return self.wait()

    def pause(self):
        """It stops itself where it is safe, when it next holds the lock."""
        self.signal(signal.SIGUSR1)

    def paused(self):
        """Has it announced that it stops? Then wait until it stands."""
        line = self.resource.last.get(self.pid)
        if line is None or line.word != "pausing":
            return False
        os.waitid(os.P_PID, self.pid,
                  os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        return True

    def wait_paused(self):
        self.resource.wait(self.paused, f"the pause of {self.pid}")

    def resume(self):
        self.signal(signal.SIGCONT)


def wait_until_boot(boot_s):
    """Let time go by. Only for what is itself a length of time: how long
    something stands still, or a lease is over."""
    waiter = threading.Event()
    while (left := boot_s - boot_now()) > 0:
        waiter.wait(left)


def boot_now():
    return time.clock_gettime(time.CLOCK_BOOTTIME)
