#!/usr/bin/env python3
"""Many deaths of the daemon, at random moments, under clients with every kind
of hold, and many restarts: under a real systemd, with both stores.

    DDBLOCK_KILLS=200 DDBLOCK_RESTARTS=50 DDBLOCK_CLIENTS=200 test_restarts.py

What is judged: no hold is lost that was granted more than 100 ms before; no two
overlap, by a guard that knows no tokens; tokens grow; every line that a client
reads is one of the protocol and answers a request of its; each is answered.
"""
import collections
import os
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, os.pardir, "integration"))
# pylint: disable=wrong-import-position
import harness
import test_unit
from test_unit import HOST, SOCKET

setUpModule = test_unit.setUpModule
KILLS = int(os.environ.get("DDBLOCK_KILLS", "10"))
RESTARTS = int(os.environ.get("DDBLOCK_RESTARTS", "4"))
CLIENTS = int(os.environ.get("DDBLOCK_CLIENTS", "50"))
ROUND_S = 0.2, 0.8  # systemd allows 30 starts in 10 s
NEW_S = 0.1  # what is as new as that may be lost
LONG_S = 3
LINE = re.compile(r"(?:#(\w+) )?(OK|ERR [A-Z_]+|\+|![A-Z_]+)(?: |$)")
ENDS = (harness.Ended, ConnectionError)


class Guard:
    """Who uses what, and which tokens were seen: by what clients know."""

    def __init__(self):
        self.lock = threading.Lock()
        self.users = collections.defaultdict(dict)
        self.tokens = collections.defaultdict(int)
        self.exclusive_tokens = collections.defaultdict(int)
        self.n_grants = 0

    def least(self, key, limit):
        """Before a request: the token of its grant is greater."""
        with self.lock:
            return (self.tokens if limit == 1 else self.exclusive_tokens)[key]

    def enter(self, key, number, token, limit, least):
        with self.lock:
            users = self.users[key]
            if number in users or any(
                    len(users) >= n for n in (limit, *users.values())):
                raise AssertionError(f"{key}: {number} besides {users}")
            if token <= least:
                raise AssertionError(f"{key}: token {token} after {least}")
            users[number] = limit
            self.tokens[key] = max(self.tokens[key], token)
            if limit == 1:
                self.exclusive_tokens[key] = max(
                    self.exclusive_tokens[key], token)
            self.n_grants += 1

    def leave(self, key, number):
        with self.lock:
            self.users[key].pop(number, None)


class Strict(harness.Client):
    """A connection that believes no line."""

    def __init__(self):
        super().__init__(HOST.path(SOCKET))
        self.asked = set()
        self.since = float("inf")  # answered first

    def send_raw(self, data):
        tag = data.split(b" ")[0].decode()[1:]
        self.asked.add(tag)
        super().send_raw(data)

    def read_line(self, timeout=harness.TIMEOUT_S):
        line = super().read_line(timeout)
        match = LINE.match(line)
        if not match or (not match[2].startswith("!")
                         and match[1] not in self.asked):
            raise AssertionError(f"the line {line!r}")
        if match[2][0] in "OE":
            self.asked.remove(match[1])
        if match[2] == "!LOCK_LOST":
            raise AssertionError(f"a loss: {line}")
        return line


class Sleeper:
    """A process of the host that sleeps until it is ended."""

    def __init__(self):
        self.outside = subprocess.Popen(
            HOST.command("sh", "-c", "echo; exec sleep 1000"),
            stdout=subprocess.PIPE)
        self.outside.stdout.readline()
        number = self.outside.pid
        with open(f"/proc/{number}/task/{number}/children",
                  encoding="ascii") as f:
            child = int(f.read())
        self.fd = os.pidfd_open(child)
        with open(f"/proc/{child}/status", encoding="ascii") as f:
            self.pid = next(line.split()[-1] for line in f
                            if line.startswith("NSpid:"))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        signal.pidfd_send_signal(self.fd, signal.SIGKILL)
        os.close(self.fd)
        with self.outside:
            pass


class Worker(threading.Thread):
    """One client with one kind of hold."""
    TERMS = ""
    LIMIT = 1

    def __init__(self, test, number):
        super().__init__(daemon=True)
        self.test = test
        self.number = number
        self.keys = [f"{type(self).__name__}-{number % test.n_keys}"]
        self.connection = None
        self.granted_s = None  # while it has a hold

    def run(self):
        try:
            while not self.test.stopped.is_set():
                try:
                    self.connect()
                    while not self.test.stopped.is_set():
                        self.turn()
                except ENDS as error:
                    self.ended(error)
            self.connection.close()
        except Exception as error:  # pylint: disable=broad-except
            self.test.fail_with(f"{type(self).__name__} {self.number}: "
                                f"{error!r}")

    def ended(self, error):
        """Only what was new when the daemon died may end."""
        self.leave()
        self.connection_ended(error)
        if self.granted_s is not None and self.granted_s < self.test.new_s():
            raise AssertionError(f"its hold is lost: {error!r}")
        self.granted_s = None

    def connection_ended(self, error):
        """So may a connection that was new, whatever it is to its hold."""
        if self.connection.since < self.test.new_s():
            raise AssertionError(f"its connection ended: {error!r}")
        self.test.n_new += 1

    def connect(self):
        if self.connection is not None:
            self.connection.close()
        self.connection = Strict()
        done = self.connection.hello(restarted="yes")
        assert done.ok, done
        self.connection.since = time.monotonic()

    def call(self, request):
        done = self.connection.call(request)
        assert done.ok, f"{request}: {done}"
        return done

    def ask(self, request):
        """The grant."""
        return self.call(request)

    def acquire(self):
        guard = self.test.guard
        least = [guard.least(key, self.LIMIT) for key in self.keys]
        grant = self.ask(f"ACQUIRE {' '.join(self.keys)} wait=forever"
                         f"{self.TERMS}")
        self.granted_s = time.monotonic()
        tokens = {row["key"]: row["token"] for row in grant.rows} or \
            {self.keys[0]: grant["token"]}
        for key, more in zip(self.keys, least):
            guard.enter(key, self.number, int(tokens[key]), self.LIMIT, more)
        return grant

    def leave(self):
        for key in self.keys:
            self.test.guard.leave(key, self.number)

    def release(self, grant):
        self.leave()
        self.call(f"RELEASE id={grant['id']}")
        self.granted_s = None

    def work(self, grant):
        """With the hold: as a rule short, and long now and then."""
        del grant
        end = time.monotonic() + (
            random.uniform(0, LONG_S) if random.random() < 0.1
            else random.uniform(0, 0.05))
        while time.monotonic() < end and not self.test.stopped.is_set():
            self.call("PING")
            self.test.stopped.wait(random.uniform(0, 0.1))

    def turn(self):
        grant = self.acquire()
        self.work(grant)
        self.release(grant)


class Plain(Worker):
    pass


class Shared(Worker):
    """Every third one is exclusive."""

    def __init__(self, test, number):
        super().__init__(test, number)
        if number // test.n_keys % 3 > 0:
            self.TERMS, self.LIMIT = " mode=shared", 1000


class Semaphore(Worker):
    TERMS, LIMIT = " mode=shared limit=2", 2


class Several(Worker):
    def __init__(self, test, number):
        super().__init__(test, number)
        self.keys.append("Several-shared")
        if number % 2:
            self.keys.reverse()


class FailClosed(Worker):
    TERMS = " policy=fail-closed"


class Manual(Worker):
    TERMS = " renew=manual"

    def work(self, grant):
        super().work(grant)
        self.call(f"RENEW id={grant['id']}")


class Reentrant(Worker):
    TERMS = " reentrant=yes"

    def work(self, grant):
        again = self.call(f"ACQUIRE {self.keys[0]}{self.TERMS}")
        assert again["token"] == grant["token"], again
        super().work(grant)
        self.call(f"RELEASE id={again['id']}")


class Linger(Worker):
    """It leaves, comes back and resumes its hold."""
    TERMS = " linger=1m"

    def resume(self, grant):
        done = self.connection.call(f"RESUME secret={grant['secret']}")
        if done.code == "SHUTTING_DOWN":
            done = self.connection.call(f"RESUME secret={grant['secret']}")
            # The daemon before may have done it.
            return True
        assert done.code in ("OK", "NO_SUCH_LOCK"), done
        return done.ok

    def turn(self):
        grant = self.acquire()
        self.connection.close()
        self.test.stopped.wait(random.uniform(0, 0.2))
        while True:
            try:
                self.connect()
                while not self.resume(grant):
                    # It is not seen yet that the other connection has ended.
                    assert time.monotonic() < self.granted_s + 10, "lost"
                break
            except ENDS as error:
                self.connection_ended(error)
        self.work(grant)
        self.release(grant)


class Process(Worker):
    """It leaves its hold to a process."""
    TERMS = " process=yes signal=0"

    def ask(self, request):
        while True:
            c = self.connection
            c.serial += 1
            c.asked.add(f"t{c.serial}")
            socket.send_fds(c.socket, [
                f"#t{c.serial} {request}\n".encode()], [self.process.fd])
            done = c.reply(f"t{c.serial}")
            if done.ok:
                return done
            # Its pidfd was lost with the daemon before.
            assert done.code == "BAD_REQUEST" and "pidfd" in done.raw, done
            self.test.n_new += 1

    def connect_again(self):
        """The hold is the process's, and not this connection's."""
        while True:
            try:
                self.connect()
                return
            except ENDS as error:
                self.connection_ended(error)

    def is_held(self):
        while True:
            done = self.connection.call(f"HELD key={self.keys[0]}")
            if done.ok:
                return any(row.get("process") == self.process.pid
                           for row in done.rows)
            assert done.code == "SHUTTING_DOWN", done

    def turn(self):
        with Sleeper() as self.process:
            self.acquire()
            if random.random() < 0.5:
                self.connect_again()
            self.test.stopped.wait(random.uniform(0, LONG_S))
            assert self.is_held(), "it is not held any more"
            self.leave()
            self.granted_s = None


KINDS = (Plain, Shared, Semaphore, Several, FailClosed, Manual, Reentrant,
         Linger, Process)


class Restarts(test_unit.Case):
    def fail_with(self, text):
        self.failures.append(text)
        self.stopped.set()

    def crowd(self):
        self.guard, self.failures = Guard(), []
        self.stopped, self.killed_s, self.n_new = threading.Event(), 0, 0
        self.n_keys = max(1, CLIENTS // len(KINDS) // 3)
        workers = [KINDS[i % len(KINDS)](self, i // len(KINDS))
                   for i in range(CLIENTS)]
        for worker in workers:
            worker.start()
        return workers

    def new_s(self):
        """What is not older was new at the last death: known after it."""
        while self.killed_s == float("inf"):
            self.stopped.wait(0.01)
        return self.killed_s - NEW_S

    def kill(self):
        HOST.exec("systemctl", "kill", "-s", "KILL", "--kill-who=main",
                  "ddblockd", check=False)  # it may not be up

    def restart(self):
        HOST.exec("systemctl", "restart", "ddblockd")

    def rounds(self, end, n):
        """At random moments; the work goes on after some of them."""
        before = self.guard.n_grants
        for _ in range(n):
            if self.stopped.wait(random.uniform(*ROUND_S)):
                return
            self.killed_s = float("inf")
            end()
            self.killed_s = time.monotonic()
        while self.guard.n_grants <= before and not self.stopped.is_set():
            self.stopped.wait(0.01)

    def judge(self):
        # One who waits first, so that the daemon is up.
        with harness.Client(HOST.path(SOCKET)) as client:
            self.assertTrue(client.call("PING").ok)
        workers = self.crowd()
        try:
            self.rounds(self.kill, KILLS)
            killed = self.guard.n_grants
            self.rounds(self.restart, RESTARTS)
            self.stopped.wait(1)
        finally:
            self.stopped.set()
            end = time.monotonic() + harness.TIMEOUT_S
            for worker in workers:
                worker.join(max(end - time.monotonic(), 0))
        hang = [f"{type(w).__name__} {w.number}: no answer"
                for w in workers if w.is_alive()]
        print(f"{len(workers)} clients, {KILLS} kills: {killed} grants, "
              f"{RESTARTS} restarts: {self.guard.n_grants - killed}; "
              f"{self.n_new} were new",
              file=sys.stderr)
        self.assertEqual(self.failures + hang, [])

    def test_sqlite(self):
        self.start()
        self.judge()

    def test_dynamodb(self):
        harness.need_dynamodb()
        name = f"restarts-{os.getpid()}"
        HOST.write(test_unit.CONFIG, "[namespace default]\n"
                   f"store = dynamodb\ntable = {name}\nregion = us-east-1\n"
                   f"endpoint = {harness.endpoint()}\n")
        env = {name: value for name, value in os.environ.items()
               if name.startswith("AWS_")}
        HOST.exec("ddblockd", "--init-table", env={
            "PATH": os.environ["PATH"] + ":/usr/local/sbin", **env})
        HOST.write("/etc/ddblockd/aws_credentials",
                   "[default]\naws_access_key_id = AKIDEXAMPLE\n"
                   "aws_secret_access_key = not-a-secret\n", 0o600)
        self.start(credentials="[Service]\nLoadCredential=aws_credentials:"
                   "/etc/ddblockd/aws_credentials\n")
        self.judge()


if __name__ == "__main__":
    harness.main()
