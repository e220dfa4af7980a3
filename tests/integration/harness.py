"""Shared by the integration tests: a daemon of one's own, and a raw client.

Nothing here sleeps. A daemon is ready when it says so on NOTIFY_SOCKET, has
ended when its process has, and has logged a line when that line is read.

Programs come from $DDBLOCKD and $DDBLOCK, else from the current directory,
which is the build directory under `make check`.

    with Daemon() as daemon, Client(daemon) as client:
        grant = client.call("TRY jobs/nightly")
        assert grant.ok and int(grant["token"]) > 0

A test program ends with `harness.main()`. It exits with 77 ("skipped") when
every test in it was skipped, with 1 instead under DDBLOCK_MUST_RUN=1.
"""
import collections
import faulthandler
import fcntl
import json
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.parse

LOG_BYTES = 1 << 20  # what a pipe may hold without privileges
F_SETPIPE_SZ = getattr(fcntl, "F_SETPIPE_SZ", 1031)
# So long that only a real hang meets it.
TIMEOUT_S = float(os.environ.get("DDBLOCK_TIMEOUT_S", "60"))
HANG_S = float(os.environ.get("DDBLOCK_HANG_S", "400"))  # a whole case

# A shell that runs the tests in the background, or with nohup, ignores these,
# and what they start would: a program under test could not be interrupted.
for _number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
    if signal.getsignal(_number) == signal.SIG_IGN:
        signal.signal(_number, signal.SIG_DFL)


def program(name):
    """The path of a program under test."""
    path = os.environ.get(name.upper()) or os.path.join(os.getcwd(), name)
    if not os.access(path, os.X_OK):
        raise unittest.SkipTest(f"{path} is not there")
    return path


def sanitized():
    """Is it a build that spends memory to find mistakes?"""
    with open(program("ddblockd"), "rb") as f:
        return b"__asan_init" in f.read()


def need_dynamodb():
    """Skip unless run by tests/integration/dynamodb-local (or the like)."""
    if not os.environ.get("AWS_ENDPOINT_URL_DYNAMODB"):
        raise unittest.SkipTest(os.environ.get(
            "DDBLOCK_NO_DYNAMODB", "there is no DynamoDB endpoint"))


def need_processor(why):
    """Skip where another processor's programs are emulated
    (tests/packages/port says so), for @why."""
    if "DDBLOCK_EMULATED" in os.environ:
        raise unittest.SkipTest(f"emulated, and {why}")


def endpoint():
    """The URL of that DynamoDB; without one the case is skipped."""
    need_dynamodb()
    return os.environ["AWS_ENDPOINT_URL_DYNAMODB"]


def on_new_table(table, args=()):
    """A daemon on a table that is made for it."""
    config = "\n".join([
        "[namespace default]", "store = dynamodb", f"table = {table}",
        "region = us-east-1",
        f"endpoint = {endpoint()}",
        "poll = 200ms", ""])
    task = Daemon(config, args=["--init-table"])
    try:
        status, _, errors = task.run()
        if status != 0:
            raise AssertionError(f"{status} != 0 : {errors}")
    finally:
        task.close()
    return Daemon(config, args=args)


def confined():
    """The command before one that gets a mount table of its own."""
    own = ["--map-root-user"] if os.geteuid() != 0 else []
    command = ["unshare", "--mount", *own]
    if shutil.which("unshare") is None or subprocess.run(
            [*command, "true"], check=False, capture_output=True).returncode:
        raise unittest.SkipTest("unshare --mount does not work here")
    return command


def encode(value):
    """A value as it stands on the wire."""
    if isinstance(value, str):
        value = value.encode()
    return urllib.parse.quote(value, safe="/")


def decode(value):
    """A value of a reply as text; bytes that are not UTF-8 are kept."""
    return urllib.parse.unquote_to_bytes(value).decode(
        "utf-8", "surrogateescape")


def tells(path, secret):
    """Does the file have these hexadecimal digits: as text, or as the numbers
    or bytes that they are, from either end?"""
    with open(path, "rb") as f:
        text = f.read()
    raw = bytes.fromhex(secret)
    halves = raw[:8], raw[8:]
    return any(part in text for part in (
        secret.encode(), secret[:16].encode(), raw, *halves,
        *(half[::-1] for half in halves)))


def boot_ms():
    return int(time.clock_gettime(time.CLOCK_BOOTTIME) * 1000)


def pass_boot_ms(moment):
    """Let a moment of CLOCK_BOOTTIME pass, such as an until_boot_ms."""
    while boot_ms() <= moment:
        select.select([], [], [], (moment + 1 - boot_ms()) / 1000)


class Daemon:
    """A ddblockd with a temporary directory of its own.

    @config is the text of its configuration file, in which `{dir}` stands
    for the directory; without one, the only namespace is `default` in the
    embedded store. @args go to the end of the command line. The socket and
    the log are always the harness's (`raw=True`: only @args), and an ordinary
    user is an administrator, as root is. No file of the machine is ever read.
    """

    def __init__(self, config=None, args=(), env=None, directory=None,
                 log_level="debug", raw=False):
        self.program = program("ddblockd")
        self.own_directory = directory is None
        self.directory = directory or tempfile.mkdtemp(prefix="ddblockd-")
        self.socket = os.path.join(self.directory, "sock")
        self.config = None
        self.env = {k: v for k, v in os.environ.items()
                    if k not in ("NOTIFY_SOCKET", "DDBLOCK_SOCKET",
                                 "JOURNAL_STREAM")}
        for name, value in (env or {}).items():
            self.env[name] = value
            if value is None:
                del self.env[name]
        self.args = [a.replace("{dir}", self.directory) for a in args]
        if not raw:
            own = [f"--socket={self.socket}", "--log=stderr",
                   f"--log-level={log_level}"]
            if config is None:
                own.append(f"--file={self.directory}/default.db")
                if not args:  # a machine that stands still is no store away
                    own.append("--try-timeout=5s")
            if os.geteuid() != 0 and "admin_group" not in (config or ""):
                own.append(f"--admin-group={os.getegid()}")
            self.args = own + self.args
        if config is not None:
            self.write_config(config)
        self.process = None
        self.ending = False  # asked to, by a signal
        self.frozen = False
        self.deaths_us = []  # boot times right after its deaths
        self.notices = None  # the NOTIFY_SOCKET
        self.status_text = ""  # of the last STATUS= notice
        self.lines = []
        self.lines_read = threading.Condition()
        self.lines_ended = True
        self.lines_seen = 0

    def write_config(self, text):
        self.config = os.path.join(self.directory, "ddblockd.conf")
        descriptor = os.open(self.config,
                             os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w") as f:
            f.write(text.replace("{dir}", self.directory))

    def command(self):
        return [self.program, f"--config={self.config or '/dev/null'}"] \
            + self.args

    def pass_fds(self):
        """Descriptors that command() is to have, under these numbers."""
        return ()

    def listen_to_notices(self):
        """Set self.notices; the path for NOTIFY_SOCKET."""
        path = os.path.join(self.directory, "notify")
        if os.path.exists(path):
            os.unlink(path)
        self.notices = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.notices.bind(path)
        return path

    # -- life ---------------------------------------------------------------

    def __enter__(self):
        return self.start()

    def __exit__(self, kind, *_):
        failed = kind is not None
        if failed:
            print(f"---- log of {self.directory}", file=sys.stderr)
            print(self.log(), file=sys.stderr)
        self.close(check=not failed)

    def run(self, timeout=TIMEOUT_S):
        """Run it to its end: (status, stdout, stderr)."""
        done = subprocess.run(self.command(), env=self.env, timeout=timeout,
                              stdin=subprocess.DEVNULL, capture_output=True,
                              check=False, text=True, errors="replace")
        return done.returncode, done.stdout, done.stderr

    def spawn(self):
        """Start it and return at once; `wait_ready()` is for later."""
        assert self.process is None, "it runs already"
        path = self.listen_to_notices()
        self.ending = self.frozen = False
        self.process = subprocess.Popen(
            self.command(), env=dict(self.env, NOTIFY_SOCKET=path),
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, pass_fds=self.pass_fds())
        # A daemon drops unread output; a busy machine reads late.
        fcntl.fcntl(self.process.stderr, F_SETPIPE_SZ, LOG_BYTES)
        self.pidfd = os.pidfd_open(self.process.pid)
        self.lines_ended = False
        self.reader = threading.Thread(
            target=self._read_log, args=(self.process.stderr,), daemon=True)
        self.reader.start()
        return self

    def start(self):
        self.spawn()
        self.wait_ready()
        return self

    def wait_ready(self, timeout=TIMEOUT_S):
        self.wait_notice("READY=1", timeout)

    def wait_notice(self, wanted, timeout=TIMEOUT_S, heard=None):
        """Wait for a line of sd_notify(3), such as READY=1; @heard is called
        with all that come."""
        end = time.monotonic() + timeout
        while True:
            left = end - time.monotonic()
            ready = select.select([self.notices, self.pidfd], [], [],
                                  max(left, 0))[0]
            if self.notices in ready:
                lines = self.notices.recv(65536).decode().split("\n")
                for line in lines:
                    if line.startswith("STATUS="):
                        self.status_text = line[len("STATUS="):]
                    if heard is not None:
                        heard(line)
                if any(line.startswith(wanted) for line in lines):
                    return
            elif self.pidfd in ready:
                raise AssertionError(
                    f"ddblockd ended with {self.wait()}:\n{self.log()}")
            elif left <= 0:
                raise AssertionError(f"no {wanted}:\n{self.log()}")

    @property
    def pid(self):
        return self.process.pid

    def alive(self):
        return self.process is not None and self.process.poll() is None

    def wait(self, timeout=TIMEOUT_S):
        """Wait for its end: the exit status (negative: the signal)."""
        status = self.process.wait(timeout)
        self.deaths_us.append(
            int(time.clock_gettime(time.CLOCK_BOOTTIME) * 1e6))
        self.reader.join()
        self.process.stderr.close()
        os.close(self.pidfd)
        self.notices.close()
        self.process = None
        return status

    def signal(self, number):
        if number in (signal.SIGTERM, signal.SIGINT):
            self.ending = True
        self.process.send_signal(number)

    def stop(self, timeout=TIMEOUT_S):
        """SIGTERM and wait: the exit status."""
        self.signal(signal.SIGTERM)
        return self.wait(timeout)

    def kill(self):
        """kill -9 and wait."""
        self.signal(signal.SIGKILL)
        return self.wait()

    def freeze(self):
        """SIGSTOP, and wait until it stands still."""
        self.signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WNOWAIT)
        self.frozen = True

    def thaw(self):
        self.signal(signal.SIGCONT)
        self.frozen = False

    def close(self, check=True):
        """End it, in any state, and remove the directory.

        With @check, it must end by itself, with status 0: a sanitizer that
        found something says so there. It gets two signals, so that it waits
        for no holder; both at once, and none if the test has sent one: a
        sanitizer that looks for leaks at the end stops the process for that,
        and SIGCONT would make it wait for ever.
        """
        try:
            if self.alive():
                if not self.ending:
                    self.freeze()
                    self.signal(signal.SIGTERM)
                    self.signal(signal.SIGINT)
                if self.frozen:
                    self.thaw()
                try:
                    status = self.wait(TIMEOUT_S if check else 5)
                except subprocess.TimeoutExpired:
                    self.kill()
                    if check:
                        raise
                    status = 0
                assert not check or status == 0, \
                    f"ddblockd ended with {status}:\n{self.log()}"
            elif self.process is not None:
                self.wait()
        finally:
            if self.own_directory:
                shutil.rmtree(self.directory, ignore_errors=True)

    # -- log ----------------------------------------------------------------

    def _read_log(self, stream):
        for line in stream:
            with self.lines_read:
                self.lines.append(line.decode(errors="replace").rstrip("\n"))
                self.lines_read.notify_all()
        with self.lines_read:
            self.lines_ended = True
            self.lines_read.notify_all()

    def log(self):
        """All that it has logged, over all its lives."""
        with self.lines_read:
            return "\n".join(self.lines)

    def history(self):
        """What of that is of the history: --log=json --history=yes."""
        return [json.loads(line) for line in self.log().split("\n")
                if "DDBLOCK_EVENT" in line]

    def wait_log(self, pattern, timeout=TIMEOUT_S):
        """The next line that matches, after the last one waited for."""
        end = time.monotonic() + timeout
        with self.lines_read:
            while True:
                while self.lines_seen < len(self.lines):
                    line = self.lines[self.lines_seen]
                    self.lines_seen += 1
                    if re.search(pattern, line):
                        return line
                left = end - time.monotonic()
                if self.lines_ended or left <= 0:
                    raise AssertionError(f"no /{pattern}/ in the log:\n"
                                         + "\n".join(self.lines))
                self.lines_read.wait(left)


class Line:
    """A line from the daemon, taken apart.

    kind is OK, ERR, + or !; word is the code of an ERR or the name of an
    event; arguments are decoded; rows are those that came before a reply.
    """

    def __init__(self, raw):
        self.raw = raw
        self.tag = None
        self.word = None
        self.text = None
        self.values = []
        self.arguments = {}
        self.rows = []
        parts = raw.split(" ")
        if parts[0].startswith("#"):
            self.tag = parts.pop(0)[1:]
        self.kind = parts.pop(0)
        if self.kind.startswith("!"):
            self.kind, self.word = "!", self.kind[1:]
        elif self.kind == "ERR":
            self.word = parts.pop(0)
        while parts:
            if parts[0].startswith(":"):
                self.text = " ".join(parts)[1:]
                break
            name, is_named, value = parts.pop(0).partition("=")
            if is_named:
                self.arguments[name] = decode(value)
            else:
                self.values.append(decode(name))

    @property
    def ok(self):
        return self.kind == "OK"

    @property
    def code(self):
        """OK, or the code of an error."""
        return "OK" if self.ok else self.word

    def __getitem__(self, name):
        return self.arguments[name]

    def get(self, name, default=None):
        return self.arguments.get(name, default)

    def __repr__(self):
        return f"<{self.raw}>"


class Ended(Exception):
    """The daemon closed the connection."""


class Client:
    """A connection that speaks the raw protocol.

    @where is a Daemon or the path of a socket.
    """

    def __init__(self, where):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(TIMEOUT_S)
        try:
            self.socket.connect(where.socket if isinstance(where, Daemon)
                                else where)
        except OSError:
            self.socket.close()
            raise
        self.buffer = b""
        self.serial = 0
        self.rows = collections.defaultdict(list)
        self.replies = collections.defaultdict(collections.deque)
        self.events = collections.deque()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def half_close(self):
        self.socket.shutdown(socket.SHUT_WR)

    def fileno(self):
        return self.socket.fileno()

    # -- sending ------------------------------------------------------------

    def send_raw(self, data):
        self.socket.sendall(data)

    def send(self, request):
        """Send a request under a fresh tag, which is returned."""
        return self.send_all([request])[0]

    def send_all(self, requests):
        """In one write: the daemon has them all before any answer of a
        store."""
        tags = []
        for _ in requests:
            self.serial += 1
            tags.append(f"t{self.serial}")
        self.send_raw("".join(f"#{tag} {request}\n" for tag, request
                              in zip(tags, requests)).encode())
        return tags

    def call(self, request, timeout=TIMEOUT_S):
        """Send a request and wait for its reply."""
        return self.reply(self.send(request), timeout)

    # -- receiving ----------------------------------------------------------

    def read_line(self, timeout=TIMEOUT_S):
        """The next line as it came, without LF. Raises Ended at the end."""
        end = time.monotonic() + timeout
        while b"\n" not in self.buffer:
            self.socket.settimeout(max(end - time.monotonic(), 0.001))
            try:
                data = self.socket.recv(1 << 16)
            except ConnectionResetError:
                data = b""
            if not data:
                raise Ended(self.buffer.decode(errors="replace"))
            self.buffer += data
        line, _, self.buffer = self.buffer.partition(b"\n")
        return line.decode("utf-8", "surrogateescape")

    def _receive(self, end):
        """Read one line and put it where it belongs."""
        line = Line(self.read_line(max(end - time.monotonic(), 0)))
        if line.kind == "!":
            self.events.append(line)
        elif line.kind == "+":
            self.rows[line.tag].append(line)
        else:
            line.rows = self.rows.pop(line.tag, [])
            self.replies[line.tag].append(line)

    def reply(self, tag=None, timeout=TIMEOUT_S):
        """The reply with this tag (None: without one), with its rows."""
        end = time.monotonic() + timeout
        while not self.replies[tag]:
            self._receive(end)
        return self.replies[tag].popleft()

    def event(self, name=None, timeout=TIMEOUT_S):
        """The next event (of this name); others stay for later."""
        end = time.monotonic() + timeout
        while True:
            for line in self.events:
                if name is None or line.word == name:
                    self.events.remove(line)
                    return line
            self._receive(end)

    def wait_end(self, timeout=TIMEOUT_S):
        """Read to the end of the connection, keeping what comes."""
        end = time.monotonic() + timeout
        try:
            while True:
                self._receive(end)
        except Ended:
            return

    # -- short forms --------------------------------------------------------

    def hello(self, name="test", **arguments):
        words = [f"{k}={encode(v)}" for k, v in arguments.items()]
        return self.call(" ".join(["HELLO proto=1", f"name={encode(name)}"]
                                  + words))

    def acquire(self, key, **arguments):
        words = [f"{k}={encode(str(v))}" for k, v in arguments.items()]
        return self.call(" ".join(["ACQUIRE", encode(key)] + words))

    def try_(self, key, **arguments):
        words = [f"{k}={encode(str(v))}" for k, v in arguments.items()]
        return self.call(" ".join(["TRY", encode(key)] + words))

    def release(self, grant):
        return self.call(f"RELEASE id={grant['id']}")


def beside_dynamodb():
    """Start again beside a DynamoDB Local, unless there is an endpoint. Where
    there can be none, go on: the cases that need it are skipped."""
    if not os.environ.get("AWS_ENDPOINT_URL_DYNAMODB") and \
            "DDBLOCK_NO_DYNAMODB" not in os.environ:
        here = os.path.dirname(os.path.abspath(__file__))
        directory = os.environ.get("DDBLOCK_TEST_CACHE", "dynamodb-local.d")
        os.execv(sys.executable, [
            sys.executable, os.path.join(here, "dynamodb-local"),
            "--or-without", directory, sys.executable] + sys.argv)


class WithDaemon:
    """What cases share that have a daemon, self.daemon."""

    def client(self):
        client = Client(self.daemon)
        self.addCleanup(client.close)
        return client


class Result(unittest.TextTestResult):
    """A case that hangs ends the program, which says where it was."""

    def startTest(self, test):
        faulthandler.dump_traceback_later(HANG_S, exit=True)
        super().startTest(test)

    def stopTest(self, test):
        super().stopTest(test)
        faulthandler.cancel_dump_traceback_later()


def not_waiting(err):
    """The output of --init-table, without the waits on a busy machine."""
    return "".join(line for line in err.splitlines(keepends=True)
                   if ": waiting for " not in line)


def main(dynamodb=False):
    """unittest.main(), with automake's exit statuses.

    With @dynamodb, run beside a DynamoDB Local unless there is an endpoint.
    """
    if dynamodb:
        beside_dynamodb()
    runner = unittest.TextTestRunner(verbosity=2, resultclass=Result)
    end([unittest.main(exit=False, testRunner=runner).result])


def end(results):
    """Exit with automake's status for what unittest has found."""
    if not all(result.wasSuccessful() for result in results):
        sys.exit(1)
    # A whole module counts as one that was skipped, and none that ran.
    if sum(result.testsRun for result in results) <= \
            sum(len(result.skipped) for result in results):
        sys.exit(1 if os.environ.get("DDBLOCK_MUST_RUN") == "1" else 77)
    sys.exit(0)
