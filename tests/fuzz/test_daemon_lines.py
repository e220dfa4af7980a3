#!/usr/bin/env python3
"""Lines that nobody would write, against a real daemon over real sockets.

Each batch is some connections that say lines of the corpus of fuzz_server, or
of this run, with changes, in parts of any length; then each may end in one of
its ways. After a batch another client's PING is answered, the daemon lives, and
the other client still has its lock. A line whose answers have a new form is
kept for later changes. In a build with sanitizers they have the last word.

Beside a DynamoDB Local there is a namespace of each record format, too.

DDBLOCK_LINES_SECONDS says for how long (5), DDBLOCK_LINES_SEED from where. A
batch that fails is in lines.d.
"""
import ast
import glob
import os
import random
import re
import socket
import sys
import time
import unittest

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, os.path.join(TOP, "tests", "integration"))
sys.path.insert(0, os.path.join(TOP, "tests", "fuzz"))

import harness  # noqa: E402
import run  # noqa: E402

SECONDS = float(os.environ.get("DDBLOCK_LINES_SECONDS", "5"))
SEED = int(os.environ.get("DDBLOCK_LINES_SEED") or 0) or random.getrandbits(32)
CONFIG = """
[daemon]
locks_max = 2000
requests_max = 2000
audit_trail = all
[namespace default]
file = {dir}/db
lease = 4s
[namespace other]
store = memory
"""
JS = "key_attribute = id\n"
FORMATS = {"native": "", "awslabs": "", "python": "", "js-fail-open": JS,
           "js-fail-closed": JS, "dlock": "trust_clock = yes\n"}
REQUESTS = (b"TRY k", b"ACQUIRE k wait=1s", b"ACQUIRE k keepalive=2s linger=5s",
            b"GET k", b"LIST", b"WATCH k", b"CHECK", b"ACQUIRE a b c wait=2s",
            b"BREAK k token=1 force=yes", b"RELEASE all=yes", b"HELD")
CONNECTIONS = 8
LINES = 40
LONG = 3 << 20
# What of an answer is its form: words, not values.
VALUE = re.compile(rb"=[^ \n]*|^#[^ ]*|:.*")


def formats():
    """A namespace of each, if there is an endpoint."""
    url = os.environ.get("AWS_ENDPOINT_URL_DYNAMODB")
    return {} if url is None else {name: (
        f"[namespace {name}]\nstore = dynamodb\nregion = us-east-1\n"
        f"table = lines-{os.getpid()}-{name}\nendpoint = {url}\n"
        f"format = {name}\n{more}access_key_id = AKIDEXAMPLE\n"
        "secret_access_key = s\n") for name, more in FORMATS.items()}


class Lines:
    """What there is to say, and how it is changed."""

    def __init__(self, dice):
        self.dice = dice
        self.words = [ast.literal_eval("b" + word) for word in
                      run.dictionary("server").split("\n") if word]
        self.known = [b"#1 %s ns=%s" % (request, name.encode())
                      for name in formats() for request in REQUESTS]
        self.words += [b"ns=" + name.encode() for name in formats()]
        self.forms = set()
        for path in glob.glob(os.path.join(TOP, "tests/fuzz/corpus/server/*")):
            with open(path, "rb") as f:
                self.known += [line.lstrip(b"~p")[1:] for line in f.read()
                               .split(b"\n") if re.match(rb"[~p]?\d", line)]

    def change(self, line):
        dice = self.dice
        at = dice.randrange(len(line) + 1)
        to = dice.randrange(at, len(line) + 1)
        return dice.choice((
            lambda: line[:at] + dice.randbytes(dice.randrange(1, 4)) +
            line[at + 1:],
            lambda: line[:at] + line[to:],
            lambda: line[:at] + dice.choice(self.words) + line[to:],
            lambda: line[:at] + b" " + dice.choice(self.words) + line[at:],
            lambda: line[:at] + dice.choice(self.known)[at:],
            lambda: line[:to] + line[at:to] * dice.randrange(20) + line[to:],
            lambda: line[:at] + b"%d" % dice.getrandbits(
                dice.choice((4, 31, 32, 63, 64, 80))) + line[to:],
        ))()

    def next(self):
        if self.dice.randrange(2000) == 0:
            return b"A" * self.dice.randrange(LONG)
        line = self.dice.choice(self.known)
        for _ in range(self.dice.choice((0, 0, 1, 1, 2, 4))):
            line = self.change(line)
        return line

    def heard(self, line, answers):
        forms = {VALUE.sub(b"", answer) for answer in answers.split(b"\n")}
        if not forms <= self.forms and len(line) < 4096:
            self.forms |= forms
            self.known.append(line)


def hear(client):
    """What there is."""
    answers = b""
    try:
        while part := client.recv(65536, socket.MSG_DONTWAIT):
            answers += part
    except (BlockingIOError, ConnectionResetError):
        pass
    return answers


def say(dice, client, data):
    """In parts; a daemon that does not read it now never will. False: it has
    ended the connection."""
    while data:
        part = data[:dice.choice((1, 7, 100, 65536, len(data)))]
        try:
            sent = client.send(part, socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)
        except BlockingIOError:
            return True
        except (BrokenPipeError, ConnectionResetError):
            return False
        data = data[sent:]
    return True


class DaemonLines(unittest.TestCase):
    def batch(self, lines, said):
        """Some connections at once; the last line of each has its answer."""
        dice = lines.dice
        clients = [socket.socket(socket.AF_UNIX) for _ in range(CONNECTIONS)]
        for client in clients:
            client.connect(self.daemon.socket)
        for _ in range(dice.randrange(LINES)):
            i = dice.randrange(CONNECTIONS)
            line = lines.next()
            end = b"\n" if dice.randrange(20) else b""
            said.append((i, line + end))
            if not say(dice, clients[i], line + end):
                continue
            if dice.randrange(3) == 0:
                self.bystander.call("PING")
                lines.heard(line, hear(clients[i]))
        for client in clients:
            if dice.randrange(4) == 0:
                client.shutdown(socket.SHUT_WR)
                self.bystander.call("PING")
            if dice.randrange(2) == 0:
                hear(client)
            client.close()

    def check(self):
        self.assertTrue(self.bystander.call("PING").ok)
        with harness.Client(self.daemon) as other:
            self.assertTrue(other.call("PING").ok)
        self.assertTrue(self.daemon.alive())
        # By root somebody may have said DRAIN.
        self.bystander.call("UNDRAIN")

    def run_batches(self, lines):
        end = time.monotonic() + SECONDS
        n = n_said = 0
        while time.monotonic() < end:
            said = []
            try:
                self.batch(lines, said)
                self.check()
            except BaseException:
                os.makedirs("lines.d", exist_ok=True)
                with open(f"lines.d/failed-{SEED}-{n}", "wb") as f:
                    f.write(b"".join(b"%d%s" % each for each in said))
                raise
            n += 1
            n_said += len(said)
        return n, n_said

    def test_the_daemon_lives(self):
        print(f"DDBLOCK_LINES_SEED={SEED}", flush=True)
        lines = Lines(random.Random(SEED))
        config = CONFIG + "".join(formats().values())
        for name in formats():
            task = harness.Daemon(config, args=["--init-table",
                                                f"--namespace={name}"])
            self.assertEqual(task.run()[0], 0, name)
            task.close()
        with harness.Daemon(config, log_level="error") as self.daemon:
            self.bystander = self.enterContext(harness.Client(self.daemon))
            mine = self.bystander.try_("bystander's own")
            n, n_said = self.run_batches(lines)
            self.assertTrue(self.bystander.release(mine).ok)
            print(f"{n} batches, {n_said} lines, {len(lines.forms)} forms "
                  "of answers", flush=True)


if __name__ == "__main__":
    harness.main()
