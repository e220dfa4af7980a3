#!/usr/bin/env python3
"""The pause that clients see at `systemctl restart`, under a real systemd.

    restarts.py [CONNECTIONS [LOCKS [RESTARTS]]]       10000 100000 10

All of the connections stay open, and all of the locks held, on the embedded
store. Some of the connections ask one thing after the other (PING); the longest
that one of them waits for an answer at a restart is its pause. Beside it, in
turns, clients of a bare socket service that only echoes: it keeps nothing, so
its clients connect again, to the socket that systemd keeps listening. And,
before that, clients of one that keeps as many connections, and nothing else.

Fails if a lock or a connection is lost, or the target is missed.
"""
import os
import select
import socket
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
for folder in ("systemd", "integration"):
    sys.path.insert(0, os.path.join(HERE, "..", "tests", folder))
import harness  # noqa: E402
import test_unit  # noqa: E402
from test_unit import HOST, SOCKET, show  # noqa: E402

PROBES = 20
AFTER_S = 0.5  # probes go on for so long after the command
TARGET_RATIO = 6  # to one that keeps as many connections, and nothing else
BATCH = 100  # requests under way at once, of one connection
CONFIG = """[daemon]
connections_max = 20000
connections_per_uid_max = 20000
[namespace default]
"""
UNITS = {  # of bare services, whose sockets are /run/NAME.sock
    "echo": """[Unit]
StartLimitIntervalSec=0
[Service]
ExecStart=/usr/local/bin/ddblock-bench --echo
""",
    "echo-keep": """[Unit]
StartLimitIntervalSec=0
[Service]
Type=notify
LimitNOFILE=20000
FileDescriptorStoreMax=20000
ExecStart=/usr/local/bin/ddblock-bench --echo-keep
""",
}


def path_of(unit):
    return f"/run/{unit}.sock"


def connect(path):
    s = socket.socket(socket.AF_UNIX)
    s.connect(HOST.path(path))
    return s


class Probe:
    """One thing asked after the other, on a connection of its own."""

    def __init__(self, path):
        self.path = path
        self.socket = connect(path)
        self.rest = b""
        self.longest = 0
        self.restarts = 0
        self.ask()

    def ask(self):
        self.since = time.monotonic()
        try:
            self.socket.send(b"PING\n")
        except BrokenPipeError:
            self.again()

    def again(self):
        """The connection ended with the service: one more."""
        self.socket.close()
        self.socket = connect(self.path)
        self.rest = b""
        self.restarts += 1
        self.socket.send(b"PING\n")

    def read(self):
        try:
            data = self.socket.recv(4096)
        except ConnectionResetError:
            data = b""
        if not data:
            self.again()
            return
        lines = (self.rest + data).split(b"\n")
        self.rest = lines.pop()
        for line in lines:
            if line.startswith(b"!"):
                continue
            self.longest = max(self.longest, time.monotonic() - self.since)
            self.ask()


def pauses(unit, path):
    """Of each probe, at one restart, in ms."""
    probes = [Probe(path) for _ in range(PROBES)]
    command = subprocess.Popen(HOST.command("systemctl", "restart", unit))
    end = None
    while end is None or time.monotonic() < end or \
            any(time.monotonic() - probe.since > AFTER_S for probe in probes):
        poll = select.poll()  # select() knows no descriptor above 1023
        for probe in probes:
            poll.register(probe.socket, select.POLLIN)
        ready = {fd for fd, _ in poll.poll(100)}
        for probe in probes:
            if probe.socket.fileno() in ready:
                probe.read()
        if end is None and command.poll() is not None:
            end = time.monotonic() + AFTER_S
    for probe in probes:
        probe.socket.close()
    if command.returncode != 0:
        raise SystemExit(f"systemctl restart {unit}: {command.returncode}")
    return [probe.longest * 1000 for probe in probes], probes


def read_ok(lines, n):
    for _ in range(n):
        line = lines.readline()
        while line.startswith(b"!"):
            line = lines.readline()
        if not line.startswith(b"OK"):
            raise SystemExit(f"the answer is: {line}")


def crowd(n_connections, n_locks):
    sockets = []
    for i in range(n_connections):
        s = connect(SOCKET)
        sockets.append(s)
        s.send(b"HELLO\n")
        lines = s.makefile("rb")
        read_ok(lines, 1)
        mine = range(i, n_locks, n_connections)
        for k in range(0, len(mine), BATCH):
            batch = mine[k:k + BATCH]
            s.sendall(b"".join(b"TRY bench/restart/%08d\n" % j
                               for j in batch))
            read_ok(lines, len(batch))
        lines.detach()
    return sockets


def crowd_of_echo(n):
    sockets = []
    for _ in range(n):
        s = connect(path_of("echo-keep"))
        sockets.append(s)
        s.send(b"PING\n")
        if s.recv(8) != b"PING\n":
            raise SystemExit("there is no echo")
    return sockets


def pauses_of_echo(n_connections, restarts):
    """First, for the manager may not have room for both crowds at once."""
    sockets = crowd_of_echo(n_connections - PROBES)
    values = []
    for _ in range(restarts):
        some, probes = pauses("echo-keep", path_of("echo-keep"))
        if any(probe.restarts for probe in probes):
            raise SystemExit("a connection of an echo ended")
        values += some
    for s in sockets:
        s.close()
    HOST.exec("systemctl", "stop", "echo-keep.socket", "echo-keep.service")
    return values


def start():
    HOST.write(test_unit.CONFIG, CONFIG)
    for name, service in UNITS.items():
        HOST.write(f"/etc/systemd/system/{name}.socket",
                   f"[Socket]\nListenStream={path_of(name)}\n")
        HOST.write(f"/etc/systemd/system/{name}.service", service)
    with open(harness.program("ddblock-bench"), "rb") as f:
        data = f.read()
    with open(HOST.path("/usr/local/bin/ddblock-bench"), "wb") as f:
        f.write(data)
    os.chmod(HOST.path("/usr/local/bin/ddblock-bench"), 0o755)
    HOST.exec("systemctl", "daemon-reload")
    HOST.exec("systemctl", "start", "ddblockd.socket",
              *[f"{name}.socket" for name in UNITS])


def await_kept():
    client = harness.Client(HOST.path(SOCKET))
    while client.call("STATUS")["unconfirmed"] != "0":
        client.call("PING")
    client.close()


def held():
    client = harness.Client(HOST.path(SOCKET))
    n = sum(int(row["held"]) for row in client.call("STATUS").rows)
    client.close()
    return n


def report(what, values):
    print(f"{what:44} median {statistics.median(values):6.1f} ms,"
          f" worst {max(values):6.1f} ms", flush=True)


def report_ratio(ours, theirs):
    ratio = statistics.median(ours) / statistics.median(theirs)
    missed = ratio > TARGET_RATIO
    print(f"ours to that one: {ratio:.2f}  <= {TARGET_RATIO}"
          + ("  MISSED" if missed else ""))
    return not missed


def main():
    n_connections, n_locks, restarts = (
        [int(a) for a in sys.argv[1:]] + [10000, 100000, 10][len(sys.argv)
                                                             - 1:])
    HOST.start()
    try:
        test_unit.install()
        start()
        keeping = pauses_of_echo(n_connections, restarts)
        sockets = crowd(n_connections - PROBES, n_locks)
        await_kept()
        print("kept:", show("ddblockd", "NFileDescriptorStore"))
        ours, bare = [], []
        for _ in range(restarts):
            some, probes = pauses("ddblockd", SOCKET)
            if any(probe.restarts for probe in probes):
                raise SystemExit("a connection ended")
            ours += some
            await_kept()
            bare += pauses("echo", path_of("echo"))[0]
        for s in sockets:
            s.send(b"PING\n")
            read_ok(s.makefile("rb"), 1)
        if held() != n_locks:
            raise SystemExit(f"{held()} locks are held")
        report(f"restart, {n_connections} connections, {n_locks} holds", ours)
        report("a bare socket service, which keeps nothing", bare)
        report("one that keeps as many connections", keeping)
        met = report_ratio(ours, keeping)
    finally:
        HOST.stop()
    sys.exit(not met)


if __name__ == "__main__":
    main()
