"""How long daemons leave a PING unanswered that they could have answered.

    watchdog.py NAME=SOCKET=PID...

Every few milliseconds each daemon is asked. Of the time that an answer takes,
the time in which the daemon was ready to run, or this process was, and the
machine had no processor for it, is not the daemon's; Linux counts that
(schedstat). What is left is how long its loop was blocked. What a machine holds
up in ways that nobody counts shows in an idle daemon that is asked beside the
others.

At the end of its input it writes a JSON object: by name, how often it was asked
("turns"), the longest answer ("worst_ms"), the longest block ("blocked_ms"),
and "worst", how that came about.
"""
import json
import select
import socket
import sys
import time

PAUSE_MS = 5


def waited_ms(pid):
    """How long its main thread has been ready to run and did not."""
    with open(f"/proc/{pid}/schedstat", encoding="ascii") as f:
        return int(f.read().split()[1]) / 1e6


class Watched:
    def __init__(self, path, pid):
        self.pid = pid
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.connect(path)
        self.turns = 0
        self.worst_ms = self.blocked_ms = 0
        self.worst = None

    def ask(self):
        self.waited_ms = waited_ms(self.pid)
        self.own_ms = waited_ms("self")
        self.asked = time.monotonic()
        self.socket.sendall(b"PING\n")

    def hear(self):
        if not self.socket.recv(4096):
            sys.exit("watchdog: a daemon has gone")
        took_ms = (time.monotonic() - self.asked) * 1000
        waited = waited_ms(self.pid) - self.waited_ms
        own = waited_ms("self") - self.own_ms
        blocked_ms = max(took_ms - waited - own, 0)
        self.turns += 1
        self.worst_ms = max(self.worst_ms, took_ms)
        if blocked_ms > self.blocked_ms:
            self.blocked_ms = blocked_ms
            self.worst = (f"{took_ms:.1f} ms, of which it waited {waited:.1f} "
                          f"and this process {own:.1f}")

    def report(self):
        return {"turns": self.turns, "worst_ms": round(self.worst_ms, 1),
                "blocked_ms": round(self.blocked_ms, 1), "worst": self.worst}


def main():
    watched = {}
    end, poll = select.poll(), select.poll()
    end.register(sys.stdin, select.POLLIN)
    for argument in sys.argv[1:]:
        name, path, pid = argument.split("=")
        watched[name] = Watched(path, pid)
        poll.register(watched[name].socket, select.POLLIN)
    by_fd = {w.socket.fileno(): w for w in watched.values()}
    while not end.poll(PAUSE_MS):
        for one in watched.values():
            one.ask()
        left = dict(by_fd)
        while left:
            for fd, _ in poll.poll():
                left.pop(fd).hear()
    print(json.dumps({n: w.report() for n, w in watched.items()}))


if __name__ == "__main__":
    main()
