#!/usr/bin/env python3
"""Every client in contrib/clients plays every scenario, in its own language.

A scenario (scenarios/*.txt) is a conversation with a *driver*: a program of a
few lines in the client's language (driver.*), which does what it reads on
stdin by means of the client, and says on stdout how that went. Text and
expectations are the same for all languages. The lines of a scenario:

    lease TIME          first: the lease of the daemon (20s, so that a busy
                        machine loses nothing)
    needs WORD          first: of those languages that have it, such as threads
                        (holds: what is resumed is another one than what was
                        lost, though their ids are the same; reconnect: it
                        connects again by itself)
    play                first: there is no daemon; the scenario plays it
    COMMAND             to the driver
    = LINE              the driver's next line
    < LINE              played: the client sends it
    > LINE              played: it goes to the client
    @ ACT               something happens; see Conversation.act

In lines from the driver or the client, `<n>` is a number, `<duration>` and
`<word>` what they say. Any other `<name>` is a value that is remembered: where
it stands again, it is the same. Arguments come in any order, and in the
driver's lines there may be more than are expected.

The commands (C: a connection, H: a hold, X: a request under way; values are
encoded as on the wire; a key that is "" is empty):

    open C [ARGUMENT..]                 connect, HELLO
    close C
    acquire|try C H KEY.. [ARGUMENT..]  ok and fields, or error CODE and fields
    release|renew H [ARGUMENT..]
    lost H                              wait until it is
    valid|until H                       yes or no; until and its deadline
    token H KEY                         of several locks, or what was resumed:
                                        token and this one's in full
    count H                             how often it is held
    resume C D H..                      all that lingers by the secret of D, in
                                        their order: ok and how many holds
    get|watch|unwatch C KEY [ARGUMENT..]
    break C KEY TOKEN REASON [ARGUMENT..]   TOKEN 0: none
    list|held|waiting|status C [ARGUMENT..]     row.., then ok
    request C VERB [KEY] [ARGUMENT..]   any request
    event C NAME                        wait for it: event NAME H and fields
    begin X acquire|try|request ..      send it and go on
    end X                               wait for it
    cancel X                            ok cancelled=yes or no
    abandon X                           as when its caller is interrupted
    scope C KEY [fail]                  use the lock as the language does, and
                                        tell the state seen; with fail, release
                                        it behind the client's back and leave
                                        the scope by an error
    threads C N M KEY [shared]          N threads take and release M times, each
                                        a lock of its own, or all the same one
                                        with reentrant=yes

(`old EXAMPLE` is for test_parity.py.)

A language whose compiler is missing is skipped, and said so; under
DDBLOCK_MUST_RUN=1 that is a failure. $DDBLOCK_CLIENTS names those to run. The
tests of the packages (tests/packages) play the same with what is installed,
which drivers take with $DDBLOCK_CLIENT.
"""
import concurrent.futures
import fcntl
import glob
import grp
import hashlib
import os
import queue
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "integration"))
import harness  # noqa: E402
import undisturbed  # noqa: E402

CLIENTS = os.path.join(HERE, "..", "..", "contrib", "clients")
BUILD = os.path.abspath("clients.d")
GO_MODULE = "ddblockd.example/ddblock"
JAVA = "java/src/main/java"
AT_ONCE = 4  # they mostly wait
KINDS = {
    "<n>": r"\d+",
    "<duration>": r"(?:\d+ms|\d+(?:\.\d)?s)",
    "<word>": r"[^ ]+",
}
CONFIG = """
[daemon]
stop_wait = 20s
admin_group = {group}
[namespace default]
file = {{dir}}/default.db
lease = {lease}
[namespace other]
file = {{dir}}/other.db
lease = {lease}
"""


ALL = ("abandon", "holds", "nul", "reconnect", "threads")


class Language:
    """How a client's driver, of one file or more, is built and run."""

    def __init__(self, name, client, drivers, tools,
                 has=("abandon", "holds", "nul", "threads")):
        self.name = name
        self.has = has
        self.tools = tools
        self.sources = [os.path.join(CLIENTS, client)] + [
            os.path.join(HERE, driver) for driver in drivers]
        self.directory = os.path.join(BUILD, name)
        self.environment = {}  # of its driver, besides
        self.building = threading.Lock()

    def missing(self):
        return [tool for tool in self.tools if shutil.which(tool) is None]

    def run(self, *command, **env):
        done = subprocess.run(command, cwd=self.directory, check=False,
                              env=dict(os.environ, **env), text=True,
                              stdin=subprocess.DEVNULL, capture_output=True)
        if done.returncode != 0:
            raise AssertionError(f"{' '.join(command)}:\n{done.stdout}"
                                 f"{done.stderr}")

    def compile(self):
        """Languages that are compiled do it here, in self.directory."""

    def command(self):
        raise NotImplementedError

    def build(self):
        """Compile, unless these very sources were compiled before.

        Two programs may want the same driver at a time.
        """
        os.makedirs(self.directory, exist_ok=True)
        with self.building, open(os.path.join(self.directory, "lock"), "w",
                                 encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            digest = hashlib.sha256()
            for source in self.sources:
                with open(source, "rb") as f:
                    digest.update(f.read())
            stamp = os.path.join(self.directory, "stamp")
            if os.path.exists(stamp):
                with open(stamp, encoding="ascii") as f:
                    if f.read() == digest.hexdigest():
                        return
            self.compile()
            with open(stamp, "w", encoding="ascii") as f:
                f.write(digest.hexdigest())


class Script(Language):
    """One that needs no compiler, but its interpreter."""

    def __init__(self, name, client, driver, *tools, **more):
        super().__init__(name, client, [driver], tools, **more)

    def command(self):
        return [self.tools[0], self.sources[1]]


class Go(Language):
    """A module of its own, which imports that of the client."""

    def __init__(self):
        super().__init__("go", "go/ddblock.go", ["driver.go", "old.go"],
                         ["go"], has=ALL)
        self.module = os.path.dirname(self.sources[0])
        self.sources.append(os.path.join(self.module, "dlock", "dlock.go"))

    def compile(self):
        for source in self.sources[1:3]:
            shutil.copy(source, self.directory)
        with open(os.path.join(self.directory, "go.mod"), "w",
                  encoding="ascii") as f:
            f.write("module driver\n\ngo 1.19\n\n"
                    f"require {GO_MODULE} v0.0.0\n\n"
                    f"replace {GO_MODULE} => {os.path.abspath(self.module)}\n")
        self.run("go", "build", "-o", "driver", ".", CGO_ENABLED="0",
                 GOFLAGS="", GOPROXY="off", GOTOOLCHAIN="local",
                 GOCACHE=os.path.join(self.directory, "cache"))

    def command(self):
        return [os.path.join(self.directory, "driver")]


class Java(Language):
    def __init__(self):
        super().__init__("java", f"{JAVA}/ddblock/DdblockClient.java",
                         ["Driver.java", "Old.java"], ["java", "javac"],
                         has=ALL)
        self.sources += sorted(glob.glob(os.path.join(
            CLIENTS, JAVA, "ddblock", "dynamodbv2", "**", "*.java"),
            recursive=True))

    def compile(self):
        self.run("javac", "-Xlint:all", "-Werror", "-d", self.directory,
                 *self.sources)

    def command(self):
        return ["java", "-XX:TieredStopAtLevel=1", "-Xshare:auto",
                "-cp", self.directory, "Driver"]


class Rust(Language):
    def __init__(self):
        super().__init__("rust", "rust/ddblock.rs", ["driver.rs"], ["rustc"],
                         has=ALL)

    def compile(self):
        self.run("rustc", "--edition", "2021", "-o", "driver",
                 self.sources[1])

    def command(self):
        return [os.path.join(self.directory, "driver")]


LANGUAGES = [
    Script("python", "python/ddblock.py", "driver.py", sys.executable,
           has=ALL),
    Script("asyncio", "python/ddblock.py", "driver_asyncio.py", sys.executable,
           has=("abandon", "holds", "nul", "reconnect")),
    Script("javascript", "javascript/ddblock.js", "driver.js", "node",
           has=("abandon", "holds", "nul", "reconnect")),
    Go(),
    Java(),
    Rust(),
    Script("shell", "bash/ddblock.sh", "driver.sh", "bash", "socat",
           has=("abandon", "reconnect")),
]


def read_lines(stream, lines):
    for line in stream:
        lines.put(line.rstrip("\n"))
    lines.put(None)


class Driver:
    """A driver that runs, for whatever daemon is at the path of a socket."""

    def __init__(self, language, path):
        self.lines = queue.SimpleQueue()
        self.stderr = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            language.command(), stdin=subprocess.PIPE, encoding="utf-8",
            stdout=subprocess.PIPE, stderr=self.stderr,
            env=dict(os.environ, DDBLOCK_SOCKET=path, **language.environment))
        self.reader = threading.Thread(
            target=read_lines, args=(self.process.stdout, self.lines))
        self.reader.start()

    def tell(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def says(self):
        line = self.lines.get(timeout=harness.TIMEOUT_S)
        if line is None:
            raise AssertionError(f"the driver ended\n{self.errors()}")
        return line

    def errors(self):
        """What it has said that nobody asked about."""
        self.stderr.seek(0)
        return self.stderr.read().decode(errors="replace")

    def end(self):
        """It has nothing more to say, and ends well."""
        self.process.stdin.close()
        status = self.process.wait(harness.TIMEOUT_S)
        rest = self.lines.get(timeout=harness.TIMEOUT_S)
        if rest is not None or status != 0:
            raise AssertionError(f"the driver ended with {status}, saying "
                                 f"{rest!r}\n{self.errors()}")

    def close(self):
        self.process.kill()
        self.process.wait()
        self.reader.join()
        for each in (self.process.stdin, self.process.stdout, self.stderr):
            each.close()


class Conversation:
    """One scenario with one driver."""

    def __init__(self, language, lines):
        self.language = language
        self.lines = lines
        self.values = {}
        self.daemon = None
        self.directory = None
        self.listener = None
        self.peer = None  # the client, when the daemon is played
        self.driver = None

    # -- setting up ----------------------------------------------------------

    def run(self):
        lease, played = "20s", False
        for _, line in self.lines:
            word, _, rest = line.partition(" ")
            if word == "lease":
                lease = rest
            played = played or line == "play"
        try:
            if played:
                self.listen()
            else:
                self.daemon = harness.Daemon(
                    config=CONFIG.format(
                        lease=lease,
                        group=grp.getgrgid(os.getgid()).gr_name),
                    log_level="info")
                self.daemon.start()
            self.driver = Driver(self.language, os.path.join(
                self.daemon.directory if self.daemon else self.directory,
                "sock"))
            for number, line in self.lines:
                try:
                    self.step(line)
                except Exception as e:
                    raise AssertionError(f"line {number}, {line!r}: {e}\n"
                                         + self.driver.errors()) from e
            self.driver.end()
        finally:
            self.clean_up()

    def listen(self):
        self.directory = tempfile.mkdtemp(prefix="ddblock-play-")
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind(os.path.join(self.directory, "sock"))
        self.listener.listen()
        self.listener.settimeout(harness.TIMEOUT_S)

    def clean_up(self):
        if self.driver is not None:
            self.driver.close()
        if self.daemon is not None:
            self.daemon.close(check=False)
        for each in (self.peer, self.listener):
            if each is not None:
                each.close()
        if self.directory is not None:
            shutil.rmtree(self.directory)

    # -- one line ------------------------------------------------------------

    def step(self, line):
        mark, _, rest = line.partition(" ")
        if mark == "=":
            self.expect(rest, self.driver.says(), partly=True)
        elif mark == "<":
            self.expect(rest, self.client().read_line())
        elif mark == ">":
            self.client().send_raw(self.fill(rest).encode() + b"\n")
        elif mark == "@":
            self.act(rest)
        elif mark not in ("lease", "needs", "play"):
            self.driver.tell(self.fill(line))

    def client(self):
        """The connection of the client to the daemon that is played."""
        if self.peer is None:
            connection = self.listener.accept()[0]
            self.peer = harness.Client.__new__(harness.Client)
            self.peer.socket = connection
            self.peer.buffer = b""
        return self.peer

    def fill(self, line):
        return re.sub(r"<\w+>", lambda m: self.values.get(m[0], m[0]), line)

    def match(self, wanted, got):
        """Does a word fit? Remembers what is new in it."""
        names = []
        pattern = ""
        for part in re.split(r"(<\w+>)", wanted):
            if part in KINDS:
                pattern += KINDS[part]
            elif part in self.values:
                pattern += re.escape(self.values[part])
            elif re.fullmatch(r"<\w+>", part):
                pattern += "(.+)"
                names.append(part)
            else:
                pattern += re.escape(part)
        found = re.fullmatch(pattern, got)
        if found is not None:
            self.values.update(zip(names, found.groups()))
        return found is not None

    def expect(self, wanted, got, partly=False):
        said = got.split(" ")
        words = wanted.split(" ")
        fits = partly or len(said) == len(words)
        for place, word in enumerate(words):
            if "=" in word:
                name = word.partition("=")[0]
                fits = fits and any(self.match(word, each) for each in said
                                    if each.startswith(name + "="))
            else:
                fits = fits and place < len(said) and \
                    self.match(word, said[place])
        if not fits:
            raise AssertionError(f"expected {wanted!r}, got {got!r}")

    def act(self, what):
        """
        freeze, thaw, kill, term      the daemon is stopped, goes on, ..
        stands still 3200ms           both, with the time between them
        passes <moment>               until that boot time is over
        <b> above <a>                 a number is greater than another
        accepts                       played: the connection and its HELLO
        sends TEXT                    played: bytes without an end of line
        closes                        played: the daemon closes the connection
        """
        word, _, rest = what.partition(" ")
        if word in ("freeze", "thaw", "kill"):
            getattr(self.daemon, word)()
        elif word == "term":
            self.daemon.signal(signal.SIGTERM)
        elif word == "stands":
            self.daemon.freeze()
            harness.pass_boot_ms(harness.boot_ms() + int(rest[6:-2]))
            self.daemon.thaw()
        elif word == "passes":
            harness.pass_boot_ms(int(self.fill(rest)))
        elif " above " in what:
            high, low = self.fill(what).split(" above ")
            if int(high) <= int(low):
                raise AssertionError(f"{high} is not above {low}")
        elif word == "accepts":
            self.step("< #<hello> HELLO proto=1 name=<word> renewed=yes")
            self.step("> #<hello> OK proto=1 namespaces=default,other")
            del self.values["<hello>"]
        elif word == "sends":
            self.client().send_raw(self.fill(rest).encode())
        elif word == "closes":
            self.peer.close()
            self.peer = None
        else:
            raise AssertionError(f"what is {what!r}?")


def scenarios():
    """(name, [(number, line)]) of each file."""
    for path in sorted(glob.glob(os.path.join(HERE, "scenarios", "*.txt"))):
        with open(path, encoding="utf-8") as f:
            lines = [(number, line.rstrip("\n"))
                     for number, line in enumerate(f, 1)]
        yield os.path.basename(path)[:-4], [
            (number, line) for number, line in lines
            if line and not line.startswith("#")]


def need(case, name, missing):
    """A case of the language @name cannot run without what is missing."""
    if not missing:
        return
    text = f"{name}: {', '.join(missing)} is not there"
    if os.environ.get("DDBLOCK_MUST_RUN") == "1":
        case.fail(text)
    case.skipTest(text)


class WithDaemon(unittest.TestCase):
    """Each case has a daemon of its own."""

    def setUp(self):
        self.daemon = harness.Daemon()
        self.addCleanup(self.daemon.close)
        self.daemon.start()

    def take_away(self, key):
        """By an administrator, who breaks the lock."""
        with harness.Client(self.daemon) as client:
            token = client.call(f"GET {key}")["token"]
            self.assertTrue(client.call(
                f"BREAK {key} token={token} reason=meddling").ok)


def play(language, name, lines):
    language.build()
    lease_ms = min([2000] + [
        float(line[len("lease "):-1]) * 1000 for _, line in lines
        if line.startswith("lease ")])
    undisturbed.judge(lambda: Conversation(language, lines).run(), lease_ms,
                      f"{language.name}, {name}")


def add_tests(pool, languages, module):
    """One class for each language, one test for each scenario."""
    only = os.environ.get("DDBLOCK_CLIENTS", "").split()
    for language in languages:
        if only and language.name not in only:
            continue
        tests = {}
        missing = language.missing()
        if missing:
            tests["test_toolchain"] = lambda self, name=language.name, \
                missing=missing: need(self, name, missing)
        for name, lines in [] if missing else scenarios():
            needs = {line.split(" ")[1] for _, line in lines
                     if line.startswith("needs ")}
            if not needs <= set(language.has):
                continue
            future = pool.submit(play, language, name, lines)
            tests[f"test_{name}"] = lambda self, future=future: \
                future.result()
        name = f"{language.name.capitalize()}Client"
        module[name] = type(name, (unittest.TestCase,), tests)


if __name__ == "__main__":
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        add_tests(pool, LANGUAGES, globals())
        harness.main()
