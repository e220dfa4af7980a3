"""Secrets that are easy to recognise, where one looks for them, and sources of
them that are asked all at once."""
import base64
import json
import os
import random
import socket
import string
import threading
import time
import unittest
import urllib.parse

import harness
from harness import Client, Daemon
from runner import ddblock

WINDOW = 12  # so much of a secret in one piece is no chance
PIECE = 12
BASE64 = string.ascii_letters + string.digits + "+/"


def planted(seed, length):
    return "".join(random.Random(seed).choices(BASE64, k=length))


def spellings(value):
    """How it may be written."""
    yield value
    yield urllib.parse.quote(value, safe="")
    yield json.dumps(value)[1:-1].replace("/", "\\/")
    for shift in range(3):
        yield base64.b64encode(b"x" * shift + value.encode()).decode()[
            4 if shift else 0:-4]
    yield value.encode().hex()


def leaks(text, secrets):
    """Which of the secrets @text (bytes) has a piece of."""
    found = []
    text = text.decode("latin-1")
    for name, value in secrets.items():
        for spelling in spellings(value):
            pieces = [spelling[i:i + WINDOW]
                      for i in range(len(spelling) - WINDOW + 1)]
            hit = next((p for p in pieces if p in text), None)
            if hit is not None:
                at = text.index(hit)
                found.append((name, text[max(at - 200, 0):at + 60]))
                break
    return found


def talk(daemon, *commands):
    """All that clients and people are told."""
    told = []
    with Client(daemon) as client:
        tags = [client.send(line) for line in (
            "ACQUIRE k wait=0.3", "TRY l", "STATUS", "LIST", "GET k",
            "BREAK k", "HELD", "WAITING")]
        for tag in tags:
            reply = client.reply(tag)
            told += [reply.raw] + [row.raw for row in reply.rows]
        told += [event.raw for event in client.events]
    for args in (["status"], ["--json", "status"], *commands):
        done = ddblock(daemon, *args)
        told += [done.stdout, done.stderr]
    return urllib.parse.unquote_to_bytes("\n".join(told))


def all_at_once(case, names, one):
    """Calls @one with each of the sources @names, which spend most of their
    time waiting."""
    failed = {}

    def run(name):
        try:
            one(name)
        except BaseException as e:      # of a thread nobody hears
            failed[name] = e
    threads = [threading.Thread(target=run, args=(n,)) for n in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for name, error in failed.items():
        with case.subTest(source=name):
            raise error


# ---- a journal ----------------------------------------------------------

JOURNAL = """
mount -t tmpfs none /run && mkdir -p /run/systemd/journal &&
mount --bind "$1" /run/systemd/journal && shift && exec "$@"
"""


class Journalled(Daemon):
    """A daemon whose journal is a socket of the test's."""

    def __init__(self, *args, **more):
        super().__init__(*args, **more)
        self.place = os.path.join(self.directory, "journal")
        os.mkdir(self.place)
        self.entries = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.entries.bind(os.path.join(self.place, "socket"))
        self.entries.setblocking(False)
        self.journal = b""

    def command(self):
        return [*harness.confined(), "sh", "-c", JOURNAL, "sh", self.place,
                *super().command()]

    def read_journal(self):
        try:
            while True:
                self.journal += self.entries.recv(1 << 20)
        except BlockingIOError:
            return self.journal


# ---- the memory of a process --------------------------------------------

def memory(pid):
    """All that the process may write to."""
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps, \
            open(f"/proc/{pid}/mem", "rb") as mem:
        for line in maps:
            span, rights = line.split()[:2]
            if not rights.startswith("rw"):
                continue
            start, end = (int(a, 16) for a in span.split("-"))
            mem.seek(start)
            try:
                yield mem.read(end - start)
            except OSError:
                continue  # [vvar] and the like


def found(pid, *values):
    """How many pieces of each are in the memory. Its first bytes may be what
    the allocator overwrites in any case."""
    parts = list(memory(pid))
    return [sum(part.count(value[i:i + PIECE].encode()) for part in parts
                for i in range(PIECE, len(value) - PIECE + 1, PIECE))
            for value in values]


def wait_forgotten(pid, old, new):
    """Until nothing of @old is in the memory, where @new is."""
    try:
        assert found(pid, new)[0] > 0, "the new ones are not found either"
    except PermissionError as e:
        raise unittest.SkipTest("the memory cannot be read here") from e
    # Requests that were under way with them have ended by and by.
    end = time.monotonic() + harness.TIMEOUT_S
    while any(left := found(pid, *old)):
        assert time.monotonic() < end, f"pieces that are still there: {left}"
