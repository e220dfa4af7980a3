"""Processes of the older clients, for tests to drive.

A peer is a process with one client of one of the real libraries, as it is in
its registry (setup installs it, clients/ has the program around it), so that
`die()` is what a client's death is: kill -9. Automatic heartbeats are on.

It is started with NAME=VALUE words: endpoint, table, key_attribute, lease_ms,
heartbeat_ms, poll_ms (how often it tries while it waits), and, where the
library has it, sort_attribute, owner, kind (fail-open, fail-closed),
trust_local_time, fencing, skew_ms, prefix, and ahead_ms (its wall clock is so
much ahead). It says `ready`, then answers each line with one, in turn. Words
are separated by spaces; all values are percent-encoded; data are hexadecimal.

    create                   created TABLE       as the library makes its table
    acquire KEY [...]        acquired KEY [token=] [version=] [owner=]
                             [lease_ms=] [data=] [attr.NAME=] [attr.NAME:n=]
                             busy KEY            somebody else holds it
    release KEY [...]        released KEY
    heartbeat KEY [data=]    renewed KEY ...     as acquired
    get KEY                  held KEY ..., or free KEY
    status KEY               holds KEY, or lost KEY: what the library believes
    quit                     ends; so does the end of its input

`acquire` takes wait_ms (how long to wait at least: the library may add a lease
of its own), sort, data, replace=no (keep data that are there), attr.NAME=TEXT,
attr.NAME:n=NUMBER, and of the Java client exists, update and consistent=yes.
`release` takes keep=yes (leave a record that says that it is free) and data.
Anything may be answered `error TEXT`, with what the library threw, or
`unsupported VERB`, where it has no such thing.
"""
import collections
import concurrent.futures
import fcntl
import os
import select
import signal
import subprocess
import sys
import time
import unittest
import urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "integration"))
import harness  # noqa: E402
from test_daemon_dynamodb import dynamodb  # noqa: E402

TIMEOUT_S = 60  # so long that only a real hang meets it


def place():
    """Where the clients are installed."""
    return os.path.abspath(os.environ.get("DDBLOCK_INTEROP", "interop.d"))


def ensure(language):
    """Install a client on first use, also when several tests start at once."""
    try:
        done = subprocess.run(
            [os.path.join(HERE, "setup"), place(), language],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, check=False, text=True)
    except OSError as e:
        raise unittest.SkipTest(f"setup: {e}") from e
    if done.returncode != 0:
        raise unittest.SkipTest(f"no client in {language}: {done.stdout}")


def create_table(table, key, sort=None):
    """For the libraries that leave that to their users."""
    names = [key] if sort is None else [key, sort]
    dynamodb("CreateTable", TableName=table, BillingMode="PAY_PER_REQUEST",
             AttributeDefinitions=[{"AttributeName": name,
                                    "AttributeType": "S"} for name in names],
             KeySchema=[{"AttributeName": name, "KeyType": kind}
                        for name, kind in zip(names, ("HASH", "RANGE"))])


def soon(condition, what, timeout_s=30):
    """Wait until something that we cannot wait for is so."""
    end = harness.boot_ms() + timeout_s * 1000
    while not condition():
        if harness.boot_ms() > end:
            raise AssertionError(f"waited in vain: {what}")
        harness.pass_boot_ms(harness.boot_ms() + 20)


def main(at_once=1):
    """harness.main(), with the classes of the program in processes of their
    own, so many at once, unless it is told what to run."""
    harness.beside_dynamodb()
    if len(sys.argv) > 1:
        harness.main()
    program = sys.modules["__main__"]
    kinds = [kind for kind in ALL if hasattr(program, kind.__name__)]

    def run(kind):
        return subprocess.run(
            [sys.executable, sys.argv[0], kind.__name__], check=False,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, errors="replace")

    statuses = set()
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        for done in pool.map(run, kinds):
            print(done.stdout, flush=True)
            statuses.add(done.returncode)
    sys.exit(0 if statuses <= {0} else 77 if statuses <= {77} else 1)


class Failed(Exception):
    """The library threw something."""


class Answer:
    """One line of a peer, and when it was read."""

    def __init__(self, line):
        self.at = time.monotonic()
        self.line = line
        self.named = {}
        words = line.split(" ")
        self.word = words[0]
        self.bare = []
        for word in words[1:]:
            name, is_named, value = word.partition("=")
            if is_named:
                self.named[name] = urllib.parse.unquote(value)
            else:
                self.bare.append(urllib.parse.unquote(name))

    @property
    def token(self):
        """The fencing token, if the format has one."""
        return int(self.named["token"]) if "token" in self.named else None

    @property
    def data(self):
        found = self.named.get("data")
        return None if found is None else bytes.fromhex(found)

    @property
    def attributes(self):
        """Text as str, numbers as int."""
        found = {}
        for name, value in self.named.items():
            if name.startswith("attr."):
                name, _, kind = name[len("attr."):].partition(":")
                found[name] = int(value) if kind == "n" else value
        return found

    def __repr__(self):
        return f"<{self.line}>"


class Peer:
    """A process of an older client. Subclasses say of which."""

    language = None
    format = None  # what the daemon calls it
    key_attribute = "key"
    sort_attribute = None
    has_token = False
    has_data = False
    has_attributes = False
    has_keep = False
    dies = True  # its locks do, after their lease
    more = {}  # options of this kind
    settings = {}  # what a namespace of ours has to say to share its table

    def __init__(self, table, endpoint=None, lease_ms=2000, heartbeat_ms=None,
                 poll_ms=50, **options):
        self.table = table
        self.options = {
            "endpoint": endpoint or harness.endpoint(),
            "table": table, "key_attribute": self.key_attribute,
            "lease_ms": lease_ms, "heartbeat_ms": heartbeat_ms or lease_ms // 4,
            "poll_ms": poll_ms, **self.more, **options}
        if self.sort_attribute:
            self.options["sort_attribute"] = self.sort_attribute
        self.lease_ms = lease_ms
        self.process = None
        self.buffer = b""
        self.answers = collections.deque()

    def command(self):
        raise NotImplementedError

    def environment(self):
        return dict(os.environ)

    def where(self, *names):
        return os.path.join(place(), self.language, *names)

    # -- life ---------------------------------------------------------------

    def start(self):
        ensure(self.language)
        words = [f"{name}={urllib.parse.quote(str(value), safe='')}"
                 for name, value in self.options.items()]
        self.process = subprocess.Popen(
            self.command() + words, env=self.environment(),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL)
        descriptor = self.process.stdout.fileno()
        fcntl.fcntl(descriptor, fcntl.F_SETFL, os.O_NONBLOCK)
        self.expect(self.answer(), "ready")
        return self

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.close()

    def die(self):
        """kill -9."""
        self.process.send_signal(signal.SIGKILL)
        self.close()

    def freeze(self):
        """SIGSTOP, and wait until it stands still."""
        self.process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self.process.pid, os.WSTOPPED | os.WNOWAIT)

    def thaw(self):
        self.process.send_signal(signal.SIGCONT)

    def close(self):
        if self.process is None:
            return
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(TIMEOUT_S)
        self.process.stdin.close()
        self.process.stdout.close()
        self.process = None

    # -- lines --------------------------------------------------------------

    def send(self, verb, *bare, **named):
        """Ask, and go on; answer() is for later."""
        words = [verb] + [urllib.parse.quote(b, safe="") for b in bare]
        words += [f"{name}={urllib.parse.quote(str(value), safe='')}"
                  for name, value in named.items() if value is not None]
        self.process.stdin.write((" ".join(words) + "\n").encode())
        self.process.stdin.flush()

    def answer(self, timeout=TIMEOUT_S):
        """The next line; None if none comes in that time."""
        end = time.monotonic() + timeout
        while b"\n" not in self.buffer:
            left = end - time.monotonic()
            if not select.select([self.process.stdout], [], [],
                                 max(left, 0))[0]:
                return None
            data = os.read(self.process.stdout.fileno(), 1 << 16)
            if not data:
                raise AssertionError(
                    f"{type(self).__name__} ended with {self.process.wait()}")
            self.buffer += data
        line, _, self.buffer = self.buffer.partition(b"\n")
        return Answer(line.decode())

    def ask(self, verb, *bare, **named):
        self.send(verb, *bare, **named)
        return self.judge(self.answer())

    @staticmethod
    def judge(answer):
        if answer is None:
            raise AssertionError("no answer")
        if answer.word in ("error", "unsupported"):
            raise Failed(" ".join([answer.word] + answer.bare))
        return answer

    @staticmethod
    def expect(answer, word):
        if answer is None or answer.word != word:
            raise AssertionError(f"{answer}, not {word}")
        return answer

    # -- verbs --------------------------------------------------------------

    def create(self):
        """The table, as the library makes it."""
        return self.expect(self.ask("create"), "created")

    def send_acquire(self, key, wait_ms=0, data=None, attributes=None,
                     **named):
        if data is not None:
            named["data"] = data.hex()
        for name, value in (attributes or {}).items():
            if isinstance(value, int):
                name += ":n"
            named["attr." + name] = value
        self.send("acquire", key, wait_ms=wait_ms, **named)

    def acquire(self, key, wait_ms=0, **named):
        """The answer, or None if somebody else holds it."""
        self.send_acquire(key, wait_ms, **named)
        return self.acquired()

    def acquired(self, timeout=TIMEOUT_S):
        """The answer to send_acquire(): None if it is busy."""
        answer = self.judge(self.answer(timeout))
        return answer if answer.word == "acquired" else None

    def release(self, key, keep=False, data=None):
        named = {"keep": "yes"} if keep else {}
        if data is not None:
            named["data"] = data.hex()
        return self.expect(self.ask("release", key, **named), "released")

    def heartbeat(self, key, data=None):
        named = {} if data is None else {"data": data.hex()}
        return self.expect(self.ask("heartbeat", key, **named), "renewed")

    def get(self, key):
        """What it reads, or None if the lock is free."""
        answer = self.ask("get", key)
        return answer if answer.word == "held" else None

    def holds(self, key):
        """Does the library itself believe so?"""
        return self.ask("status", key).word == "holds"


class Java(Peer):
    language = "java"
    flags = ("-XX:TieredStopAtLevel=1",)  # it does not run for long
    format = "awslabs"
    has_data = has_attributes = has_keep = True

    def command(self):
        return ["java", *self.flags, "-Xshare:auto", "-Xmx128m", "-cp",
                self.where("classes") + ":" + self.where("jars", "*"),
                "Peer"]


class Dynamolock(Peer):
    language = "go"
    format = "awslabs"
    settings = {"lease_text": "go"}
    has_data = has_attributes = has_keep = True

    def command(self):
        return [self.where("dynamolock")]


class Python(Peer):
    language = "python"
    format = "python"
    key_attribute = "lock_key"
    sort_attribute = "sort_key"
    has_attributes = True

    def command(self):
        return [self.where("environment", "bin", "python"),
                os.path.join(HERE, "clients", "python", "peer.py")]


class Js(Peer):
    language = "js"
    key_attribute = "id"

    def command(self):
        return ["node", os.path.join(HERE, "clients", "js", "peer.js")]

    def environment(self):
        return dict(os.environ, PEER_MODULES=self.where())

    def create(self):
        create_table(self.table, self.key_attribute)


class JsFailOpen(Js):
    format = "js-fail-open"
    has_token = True
    more = {"kind": "fail-open"}


class JsFailClosed(Js):
    format = "js-fail-closed"
    dies = False
    more = {"kind": "fail-closed"}


class Dlock(Peer):
    language = "go"
    format = "dlock"
    skew_ms = 500
    # A clock is shared with itself, whatever the kernel thinks of it.
    settings = {"skew": "500ms", "trust_clock": "yes"}

    def __init__(self, table, **options):
        super().__init__(table, skew_ms=self.skew_ms, **options)

    def command(self):
        return [self.where("dlock")]

    def create(self):
        create_table(self.table, self.key_attribute)


class DlockFencing(Dlock):
    has_token = True
    more = {"fencing": "yes"}
    settings = {**Dlock.settings, "fencing": "yes"}


ALL = (Java, Dynamolock, Python, JsFailOpen, JsFailClosed, Dlock,
       DlockFencing)
