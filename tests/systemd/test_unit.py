#!/usr/bin/env python3
"""The installed units under a real systemd: their settings have effect, and
everything works inside their confinement.

One host is booted for all cases (host.py); each begins with the units as they
were installed, stopped, and without drop-ins and configuration.
"""
import json
import os
import re
import signal
import subprocess
import sys
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, os.pardir, "integration"))
# pylint: disable=wrong-import-position
import harness
from host import Host

HOST = Host()
SOCKET = "/run/ddblockd/ddblockd.sock"
SHARE = "/usr/local/share/ddblockd/systemd"
CONFIG = "/usr/local/etc/ddblockd/ddblockd.conf"
DROP_INS = "/etc/systemd/system/ddblockd.service.d"
EXPOSURE_MAX = 15  # tenths
# Two of the group that may use the socket, and one who is not.
USERS = {"alice": 1501, "bob": 1502, "mallory": 1503}
MEMBERS = ("alice", "bob")

# System calls that succeed, or fail by their arguments, where they are allowed;
# and which of them are refused.
CALLS = """
import ctypes, errno, os
libc = ctypes.CDLL(None, use_errno=True)
me, none = os.getpid(), None
calls = {
    "getpid": (39,), "io_uring_setup": (425, 0, none),
    "keyctl": (250, 9999), "process_vm_readv": (310, me, none, 0, none, 0, 0),
    "shmget": (29, 4711, 0, 0), "sched_setscheduler": (144, 0, 0, none),
    "setuid": (105, os.getuid()), "unshare": (272, 0),
    "kcmp": (312, me, me, 1, 0, 0),
    "mknod": (133, b"/var/lib/ddblockd/fifo", 0o10600, 0),
    "mlock": (149, none, 0),
}
refused = []
for name, arguments in calls.items():
    ctypes.set_errno(0)
    if libc.syscall(*arguments) < 0 and ctypes.get_errno() == errno.EPERM:
        refused.append(name)
print("refused:", *refused, flush=True)
"""

# No daemon waits for holders of the test before. The units are stopped one
# after the other: a service that is about to start again after its death has
# the socket made once more in between.
CLEAR = f"""
pkill -KILL -u {",".join(USERS)} || true
systemctl stop ddblockd.socket ddblockd.service || true
systemctl stop ddblockd.socket ddblockd.service
systemctl reset-failed
rm -rf {DROP_INS} {CONFIG} {SOCKET} /var/lib/ddblockd \\
    /etc/systemd/system/ddblockd.socket.d
systemctl daemon-reload
journalctl -n0 --show-cursor
"""


def install():
    env = {k: v for k, v in os.environ.items()
           if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "DESTDIR")}
    build = os.path.dirname(harness.program("ddblockd"))
    subprocess.run(["make", "-C", build, "install",
                    f"DESTDIR={HOST.path('')}"], env=env, check=True,
                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                   timeout=harness.TIMEOUT_S)
    lines = [f'u {name} {uid} "" /tmp' for name, uid in USERS.items()]
    lines += [f"m {name} ddblockd" for name in MEMBERS]
    HOST.exec("systemd-sysusers")
    HOST.exec("systemd-sysusers", "-", stdin=None, input="\n".join(lines))
    HOST.exec("systemd-tmpfiles", "--create", "ddblockd.conf")
    HOST.exec("systemctl", "daemon-reload")


def setUpModule():
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: sys.exit(1))
    unittest.addModuleCleanup(HOST.stop)
    HOST.start()
    install()


def show(unit, name):
    return HOST.exec("systemctl", "show", "-P", name, unit).stdout.strip()


class Case(unittest.TestCase):
    def setUp(self):
        self.addCleanup(self.tell)
        self.clear()

    def tell(self):
        """Of a test that failed, what happened."""
        failed = [text for case, text in self._outcome.result.errors
                  + self._outcome.result.failures if case is self]
        if failed:
            print(self.journal(), file=sys.stderr)

    def clear(self):
        self.since = HOST.exec("sh", "-euc", CLEAR).stdout \
            .split("cursor: ")[1].strip()

    def start(self, config=None, **drop_ins):
        """The socket, which is enough: a client starts the daemon."""
        if config is not None:
            HOST.write(CONFIG, config)
        for name, text in drop_ins.items():
            HOST.write(f"{DROP_INS}/{name}.conf", text)
        if drop_ins:
            HOST.exec("systemctl", "daemon-reload")
        HOST.exec("systemctl", "start", "ddblockd.socket")

    def drop_in(self, name):
        with open(HOST.path(f"{SHARE}/drop-ins/{name}.conf"),
                  encoding="utf-8") as f:
            return f.read()

    def ddblock(self, *arguments, user="alice", **more):
        return HOST.exec("ddblock", *arguments, user=user, **more)

    def may_not_connect(self, user):
        done = self.ddblock("run", "e", "--", "true", user=user, check=False)
        self.assertIn("not allowed to connect", done.stderr)
        self.assertEqual(done.returncode, 77)

    def beside(self, *command, user):
        """It runs until it ends, or the test does."""
        process = subprocess.Popen(
            HOST.command(*command, user=user), stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True)

        def end():
            with process:
                process.kill()
        self.addCleanup(end)
        return process

    def run_beside(self, *arguments, user="alice"):
        """A `ddblock run` whose command runs until it is ended."""
        return self.beside("ddblock", "run", *arguments, "--", "sh", "-c",
                           "echo ready; exec sleep 1000", user=user)

    def held_beside(self, *arguments, **more):
        process = self.run_beside(*arguments, **more)
        self.assertEqual(process.stdout.readline(), "ready\n")
        return process

    def held(self):
        done = self.ddblock("held", "--json", user=None)
        return json.loads(done.stdout)

    def await_(self, what):
        end = time.monotonic() + harness.TIMEOUT_S
        while not what():
            self.assertLess(time.monotonic(), end)

    def main_pid(self):
        return int(show("ddblockd", "MainPID"))

    def journal(self, *more):
        HOST.exec("journalctl", "--sync")
        text = HOST.exec("journalctl", "--after-cursor", self.since,
                         "-o", "cat", *more).stdout
        return text.replace("Received client request to sync journal.\n", "")

    def await_journal(self, pattern, *more):
        self.await_(lambda: re.search(pattern, self.journal(*more)))


class Start(Case):
    def test_early_clients_wait(self):
        self.start()
        self.assertEqual(show("ddblockd", "ActiveState"), "inactive")
        self.ddblock("run", "k", "--", "true")
        self.assertEqual(show("ddblockd", "ActiveState"), "active")
        self.assertEqual(show("ddblockd", "TriggeredBy"), "ddblockd.socket")

    def test_the_socket_outlives_the_daemon(self):
        self.start()
        self.ddblock("run", "k", "--", "true")
        before = os.stat(HOST.path(SOCKET)).st_ino
        HOST.exec("systemctl", "stop", "ddblockd.service")
        self.assertEqual(os.stat(HOST.path(SOCKET)).st_ino, before)
        self.ddblock("run", "k", "--", "true")  # and starts it again
        HOST.exec("systemctl", "stop", "ddblockd.socket", "ddblockd.service")
        self.assertFalse(os.path.exists(HOST.path(SOCKET)))
        done = self.ddblock("run", "k", "--", "true", check=False)
        self.assertEqual(done.returncode, 69)

    def test_the_service_alone_has_the_socket_made(self):
        HOST.exec("systemctl", "start", "ddblockd.service")
        self.assertEqual(show("ddblockd.socket", "ActiveState"), "active")

    def test_without_the_socket_unit(self):
        """The daemon makes it, and lets the unit have it when it restarts."""
        HOST.exec("systemctl", "mask", "ddblockd.socket")
        self.addCleanup(HOST.exec, "systemctl", "unmask", "ddblockd.socket")
        HOST.write(CONFIG, "[daemon]\nsocket_mode = 0640\n")
        HOST.exec("systemctl", "start", "ddblockd.service")
        self.assertEqual(os.stat(HOST.path(SOCKET)).st_mode & 0o777, 0o640)
        self.ddblock("run", "k", "--", "true", user=None)
        HOST.exec("systemctl", "unmask", "ddblockd.socket")
        HOST.exec("systemctl", "restart", "ddblockd.service")
        self.assertEqual(show("ddblockd.socket", "ActiveState"), "active")
        self.assertEqual(os.stat(HOST.path(SOCKET)).st_mode & 0o777, 0o660)
        self.ddblock("run", "k", "--", "true")
        self.assertIn(f"{CONFIG}:2: socket_mode has no effect: the service "
                      "manager made the socket, with the mode 0660; set "
                      "SocketMode= in ddblockd.socket, or take the setting "
                      "away", self.journal())

    def test_a_configuration_that_cannot_be_looked_at(self):
        """What is in it is not left out."""
        directory = os.path.dirname(CONFIG)
        HOST.write(CONFIG, "[daemon]\nstop_wait = 20s\n")
        HOST.exec("chmod", "700", directory)
        self.addCleanup(HOST.exec, "chmod", "755", directory)
        done = HOST.exec("systemctl", "start", "ddblockd.service",
                         check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(show("ddblockd", "ExecMainStatus"), "78")
        self.assertIn(f"{CONFIG}: Permission denied", self.journal())

    def test_the_socket_of_another_group(self):
        HOST.write("/etc/systemd/system/ddblockd.socket.d/group.conf",
                   "[Socket]\nSocketGroup=mallory\n")
        HOST.exec("systemctl", "daemon-reload")
        self.start()
        self.ddblock("run", "k", "--", "true", user="mallory")
        self.may_not_connect("alice")

    def test_a_wrong_configuration_is_not_tried_again(self):
        HOST.write(CONFIG, "[daemon]\nsocket_mood = 0640\n")
        done = HOST.exec("systemctl", "start", "ddblockd.service",
                         check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(show("ddblockd", "ActiveState"), "failed")
        self.assertEqual(show("ddblockd", "ExecMainStatus"), "78")
        self.assertEqual(show("ddblockd", "NRestarts"), "0")
        # A client that waits has it started, until systemd has seen enough.
        done = self.ddblock("run", "k", "--", "true", check=False)
        self.assertEqual(done.returncode, 69)
        self.await_(lambda: show("ddblockd.socket", "Result") in
                    ("trigger-limit-hit", "service-start-limit-hit"))
        HOST.write(CONFIG, "")
        HOST.exec("systemctl", "reset-failed", "ddblockd.service",
                  "ddblockd.socket")
        HOST.exec("systemctl", "start", "ddblockd.service")
        self.assertEqual(show("ddblockd.socket", "ActiveState"), "active")
        self.ddblock("run", "k", "--", "true")


class Confined(Case):
    def exposure(self):
        done = HOST.exec("systemd-analyze", "security", "--no-pager",
                         "ddblockd.service")
        number = re.search(r"exposure level for ddblockd.service: (\d+)\.(\d)",
                           done.stdout)
        return int(number[1] + number[2])

    def test_exposure(self):
        self.assertLessEqual(self.exposure(), EXPOSURE_MAX)
        # And it would say so.
        self.start(open="[Service]\nProtectSystem=no\nProtectHome=no\n")
        self.assertGreater(self.exposure(), EXPOSURE_MAX)

    def test_what_the_process_has(self):
        self.start()
        self.ddblock("run", "k", "--", "true")
        pid = self.main_pid()

        def read(name):
            return HOST.exec("cat", f"/proc/{pid}/{name}").stdout
        status = dict(re.findall(r"^(\w+):\s+(.*)$", read("status"), re.M))
        for name in ("CapPrm", "CapEff", "CapBnd", "CapAmb"):
            self.assertEqual(int(status[name], 16), 0, name)
        self.assertEqual(status["NoNewPrivs"], "1")
        self.assertEqual(status["Seccomp"], "2")
        limits = read("limits")
        self.assertRegex(limits, r"core file size +0 +0 ")
        # As many as are asked for, or as this machine lets anybody have.
        self.assertRegex(limits, "open files +(65536 +65536|(\\d+) +\\2) ")
        # A system where it cannot be lowered leaves it.
        self.assertIn(read("oom_score_adj").strip(), ("-900", "0"))
        inside = ["nsenter", f"--target={pid}", "--mount", "--"]
        for path in ("/usr", "/etc", "/var/lib"):
            done = HOST.exec(*inside, "touch", f"{path}/x", check=False)
            self.assertIn("Read-only", done.stderr)
        HOST.exec(*inside, "touch", "/var/lib/ddblockd/x", "/run/ddblockd/x")
        self.assertEqual(HOST.exec(*inside, "ls", "/dev/mem", check=False)
                         .returncode, 2)
        # Whether these bite cannot be seen everywhere: they are set.
        for name, value in {"MemoryMax": "2147483648", "MemorySwapMax": "0",
                            "MemoryLow": "67108864", "TasksMax": "512",
                            "OOMScoreAdjust": "-900",
                            "LogRateLimitIntervalUSec": "0",
                            "WatchdogUSec": "10s"}.items():
            self.assertEqual(show("ddblockd", name), value, name)

    def refused_calls(self, **drop_ins):
        """Which of CALLS the unit refuses: asked of a program in the daemon's
        place."""
        script = "/usr/local/lib/ddblockd-calls.py"
        HOST.write(script, CALLS)
        self.start(program="[Service]\nType=oneshot\nRestart=no\n"
                   "ExecStart=\n"
                   f"ExecStart=/usr/bin/python3 {script}\n", **drop_ins)
        HOST.exec("systemctl", "start", "ddblockd.service")
        said = re.search("^refused:(.*)$", self.journal("-u", "ddblockd"),
                         re.M)
        self.clear()
        return set(said[1].split())

    @unittest.skipUnless(os.uname().machine == "x86_64", "numbers of calls")
    def test_system_calls(self):
        """What the daemon has no use for is refused; by the filter alone."""
        self.assertEqual(self.refused_calls(), {
            "io_uring_setup", "keyctl", "process_vm_readv", "shmget",
            "sched_setscheduler", "setuid", "unshare", "kcmp", "mknod",
            "mlock"})
        self.assertEqual(self.refused_calls(
            filter="[Service]\nSystemCallFilter=\n"), set())

    def test_two_users(self):
        """Whose a connection is, is seen, and counted for each user."""
        self.start("[daemon]\nconnections_per_uid_max = 2\n")
        self.held_beside("a", user="alice")
        self.held_beside("b", user="bob")
        rows = {row["key"]: row for row in self.held()}
        for key, name in (("a", "alice"), ("b", "bob")):
            self.assertEqual(int(rows[key]["uid"]), USERS[name], rows)
            self.assertEqual(rows[key]["name"], "sh")
        self.held_beside("c", user="alice")
        done = self.ddblock("run", "d", "--", "true", check=False)
        self.assertEqual(done.returncode, 75, done.stderr)
        self.held_beside("d", user="bob")
        self.may_not_connect("mallory")

    def as_unit(self, unit, *arguments, slice_="system.slice"):
        return HOST.exec(
            "systemd-run", "--quiet", "--collect", "--pipe", "--wait",
            f"--unit={unit}", f"--slice={slice_}", "--uid=alice", "ddblock",
            "run", *arguments, "--", "true", check=False)

    def test_access_by_unit(self):
        """All are the same user: by the unit of their process, and the slices
        that it is in, rules tell them apart."""
        self.start("[access web]\nunit = web.service\nprefix = web/\n"
                   "allow = take\n[access batch]\nunit = batch.slice\n"
                   "allow = take\n[access rest]\nprefix = r\nallow = take\n")
        done = self.as_unit("web.service", "web/x")
        self.assertEqual(done.returncode, 0, done.stderr)
        done = self.as_unit("web.service", "x")
        self.assertEqual(done.returncode, 77, done.stderr)
        self.assertIn("no rule lets uid 1501 take \"x\"", done.stderr)
        done = self.as_unit("other.service", "web/x")
        self.assertEqual(done.returncode, 77, done.stderr)
        done = self.as_unit("a.service", "x", slice_="batch.slice")
        self.assertEqual(done.returncode, 0, done.stderr)
        done = self.as_unit("a.service", "y", slice_="batch-nightly.slice")
        self.assertEqual(done.returncode, 0, done.stderr)
        done = self.as_unit("other.service", "r")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_access_of_what_a_unit_makes(self):
        """A unit that may make cgroups gives one the name of another unit."""
        self.start("[access web]\nunit = web.service\nallow = take\n")
        script = "d=/sys/fs/cgroup$(sed -n s/^0:://p /proc/self/cgroup); " \
            "mkdir $d/web.service; echo 0 >$d/web.service/cgroup.procs; " \
            "cat /proc/self/cgroup; exec ddblock run k -- true"
        done = HOST.exec(
            "systemd-run", "--quiet", "--collect", "--pipe", "--wait",
            "--unit=cheat.service", "--property=Delegate=yes", "--uid=alice",
            "sh", "-c", script, check=False)
        self.assertIn("cheat.service/web.service\n", done.stdout)
        self.assertEqual(done.returncode, 77, done.stderr)

    def test_names_of_peers(self):
        """Of those that do not give one: what /proc calls them."""
        self.start("[daemon]\nhistory = yes\n")
        client = self.beside(
            "python3", "-c", "import socket, sys; "
            "s = socket.socket(socket.AF_UNIX); "
            f"s.connect('{SOCKET}'); s.sendall(b'TRY raw\\n'); "
            "print(s.recv(999).decode(), flush=True); sys.stdin.read()",
            user="bob")
        self.assertIn("OK", client.stdout.readline())
        self.assertEqual([row["name"] for row in self.held()], ["python3"])
        self.await_journal('"DDBLOCK_KEY" *: *"raw"', "-o", "json")

    def test_process(self):
        """A loss is told to a process of another user, by the drop-in."""
        self.start(processes=self.drop_in("processes"))
        script = self.beside(
            "sh", "-c", "eval \"$(ddblock acquire --for-pid $$ p)\" || "
            "exit 99; echo $$; exec sleep 1000", user="alice")
        script.stdout.readline()
        row = self.held()[0]
        HOST.exec("kill", "-KILL", str(row["pid"]))
        self.await_(lambda: "left" in self.held()[0])
        self.ddblock("break", "--reason=test", f"--token={row['token']}", "p",
                     user=None)
        self.assertEqual(script.wait(harness.TIMEOUT_S), -signal.SIGTERM)
        self.await_journal("was told by signal 15")

    def test_drop_ins(self):
        """Each fits: systemd has nothing to say of it."""
        names = [name[:-len(".conf")] for name in os.listdir(
            HOST.path(f"{SHARE}/drop-ins"))]
        self.assertEqual(sorted(names), ["clock", "credential-process",
                                         "host-only", "processes"])
        for name in names:
            self.start(**{name: self.drop_in(name)})
            self.ddblock("run", "k", "--", "true")
            self.clear()
        self.assertNotRegex(self.journal(), "(?i)unknown|failed to parse")

    def clock(self, **drop_ins):
        self.start("[namespace default]\nstore = memory\n"
                   "[namespace old]\nstore = dynamodb\nformat = dlock\n"
                   "table = locks\nregion = us-east-1\n"
                   "endpoint = http://127.0.0.1:1\n", **drop_ins)
        self.ddblock("run", "k", "--", "true")
        return self.journal("-u", "ddblockd")

    def test_clock(self):
        """Without the drop-in it may not look, and says so."""
        self.assertIn("install clock.conf", self.clock())
        self.clear()
        self.assertNotIn("not permitted",
                         self.clock(clock=self.drop_in("clock")))


class Life(Case):
    def fast(self, **drop_ins):
        self.start("[namespace default]\nlease = 1s\n", **drop_ins)
        self.ddblock("run", "k", "--", "true")
        return self.main_pid()

    def await_another(self, pid):
        self.await_(lambda: self.main_pid() not in (0, pid)
                    and show("ddblockd", "ActiveState") == "active")
        self.ddblock("run", "k", "--", "true")

    def test_the_watchdog_bites(self):
        pid = self.fast(watchdog="[Service]\nWatchdogSec=1s\n"
                        "TimeoutAbortSec=1s\n")
        HOST.exec("kill", "-STOP", str(pid))
        self.await_another(pid)
        self.assertIn("Watchdog timeout", self.journal())

    def test_the_watchdog_is_fed(self):
        """It runs for many times its period."""
        pid = self.fast(watchdog="[Service]\nWatchdogSec=300ms\n")
        harness.pass_boot_ms(harness.boot_ms() + 1500)
        self.assertEqual(self.main_pid(), pid)
        self.assertEqual(show("ddblockd", "NRestarts"), "0")

    def test_kill_9(self):
        pid = self.fast()
        HOST.exec("kill", "-KILL", str(pid))
        self.await_another(pid)
        self.assertEqual(show("ddblockd", "NRestarts"), "1")

    def test_it_ends_by_itself(self):
        """Restart=always: only systemctl stops it."""
        pid = self.fast()
        HOST.exec("kill", "-TERM", str(pid))
        self.await_another(pid)

    def test_reload(self):
        self.start()
        holder = self.held_beside("k")
        pid = show("ddblockd", "MainPID")
        HOST.write(CONFIG, "[daemon]\nlog_level = debug\n"
                   "[namespace default]\nlease = 30s\n")
        HOST.exec("systemctl", "reload", "ddblockd.service")
        self.await_journal("the configuration was read again")
        self.assertRegex(self.journal(), rf"{CONFIG}:4: .*lease")
        HOST.write(CONFIG, "[daemon]\nlog_mood = debug\n")
        done = HOST.exec("systemctl", "reload", "ddblockd.service",
                         check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(show("ddblockd", "ActiveState"), "active")
        self.assertEqual(show("ddblockd", "MainPID"), pid)
        self.assertEqual(len(self.held()), 1)
        self.assertIsNone(holder.poll())

    def test_stop_waits_for_holders(self):
        """As long as stop_wait says, whatever TimeoutStopSec= does."""
        self.start("[daemon]\nstop_wait = 20s\n",
                   short="[Service]\nTimeoutStopSec=300ms\n")
        holder = self.held_beside("k")
        HOST.exec("systemctl", "stop", "--no-block", "ddblockd.service")
        self.await_journal("waiting up to 20 s for 1 locks")
        harness.pass_boot_ms(harness.boot_ms() + 1000)
        self.assertIsNone(holder.poll())
        HOST.exec("pkill", "-TERM", "-u", "alice", "-x", "sleep")
        holder.wait(harness.TIMEOUT_S)
        self.await_(lambda: show("ddblockd", "ActiveState") == "inactive")
        self.assertEqual(show("ddblockd", "Result"), "success")

    def test_restart_keeps_clients_waiting(self):
        """It waits for no holder; those that come meanwhile have their answer
        from the next."""
        self.start("[daemon]\nstop_wait = 20s\n")
        holder = self.held_beside("k")
        pid = self.main_pid()
        HOST.exec("systemctl", "restart", "--no-block", "ddblockd.service")
        self.await_journal("leaving 1 locks that are held")
        early = self.run_beside("other")
        self.assertEqual(early.stdout.readline(), "ready\n")
        self.assertNotIn(self.main_pid(), (0, pid))
        self.assertIsNone(holder.poll())


class Deaths(Case):
    """Of a daemon on which somebody has a lock."""

    def dies(self, drop_in, lease="2s"):
        self.start(f"[namespace default]\nlease = {lease}\n")
        self.holder = self.held_beside("k")
        HOST.write(f"{DROP_INS}/broken.conf", f"[Service]\n{drop_in}\n")
        HOST.exec("systemctl", "daemon-reload")
        HOST.exec("systemctl", "kill", "-s", "KILL", "--kill-who=main",
                  "ddblockd")

    def mend(self):
        HOST.exec("rm", f"{DROP_INS}/broken.conf")
        HOST.exec("systemctl", "daemon-reload")

    def test_ten_times_at_its_start(self):
        self.dies("ExecStartPre=/bin/false", "20s")
        self.await_(lambda: int(show("ddblockd", "NRestarts")) >= 10)
        self.mend()
        self.await_journal("inherited sessions=1 holds=1")
        self.await_journal("1 connections .* 1 go on")
        self.assertIsNone(self.holder.poll())
        self.assertEqual(len(self.held()), 1)

    def test_until_nobody_starts_it_again(self):
        """systemd gives up, and the command ends by its own deadline."""
        self.dies("ExecStartPre=/bin/false\nRestartSec=1ms")
        self.await_(lambda: show("ddblockd", "ActiveState") == "failed")
        self.assertEqual(self.holder.wait(harness.TIMEOUT_S), 4)
        self.mend()
        HOST.exec("systemctl", "reset-failed", "ddblockd.service",
                  "ddblockd.socket")
        HOST.exec("systemctl", "restart", "ddblockd.socket")
        self.ddblock("run", "k", "--", "true")

    def test_without_their_directory(self):
        """With it go the journal and the socket."""
        self.dies("RuntimeDirectoryPreserve=no")
        self.await_journal("no client can connect: .*"
                           "RuntimeDirectoryPreserve=yes")
        self.mend()
        for verb in "stop", "start":
            HOST.exec("systemctl", verb, "ddblockd.socket",
                      "ddblockd.service")
        # Nobody else has it while the command runs.
        self.ddblock("run", "k", "--", "true")
        self.assertIsNotNone(self.holder.poll())


class Stores(Case):
    def test_sqlite(self):
        self.start("[namespace default]\nfile = /var/lib/ddblockd/x.db\n")
        self.ddblock("run", "k", "--", "true")
        self.assertIn("x.db", os.listdir(HOST.path("/var/lib/ddblockd")))
        self.assertIn("0 errors, 0 warnings",
                      self.ddblock("check", user=None).stdout)

    def test_metrics(self):
        """They are served in there, on either kind of address, and by the
        next process, too."""
        path = "/run/ddblockd/metrics.sock"
        for listen, address in ((path, f"UNIX-CONNECT:{path}"),
                                ("127.0.0.1:9876", "TCP:127.0.0.1:9876")):
            HOST.write(CONFIG, f"[daemon]\nmetrics_listen = {listen}\n")
            for _ in range(2):
                HOST.exec("systemctl", "restart", "ddblockd.service")
                done = HOST.exec(
                    "sh", "-c", "printf 'GET /metrics HTTP/1.1\\r\\n\\r\\n'"
                    f" | socat -t9 - {address}")
                self.assertIn("200 OK", done.stdout)
                self.assertTrue(done.stdout.endswith("# EOF\n"))
                self.assertIn("ddblockd_build_info{", done.stdout)

    def table(self):
        harness.need_dynamodb()
        name = f"unit-{os.getpid()}-{self.id().rpartition('.')[2]}"
        config = ("[namespace default]\nstore = dynamodb\n"
                  f"table = {name}\nregion = us-east-1\n"
                  f"endpoint = {harness.endpoint()}\n")
        HOST.write(CONFIG, config)
        env = {name: value for name, value in os.environ.items()
               if name.startswith("AWS_ACCESS") or "SECRET_ACCESS" in name}
        HOST.exec("ddblockd", "--init-table", env={
            "PATH": os.environ["PATH"] + ":/usr/local/sbin", **env})

    def test_dynamodb_with_load_credential(self):
        self.table()
        HOST.write("/etc/ddblockd/aws_credentials",
                   "[default]\naws_access_key_id = AKIDEXAMPLE\n"
                   "aws_secret_access_key = not-a-secret\n", 0o600)
        self.start(credentials="[Service]\nLoadCredential=aws_credentials:"
                   "/etc/ddblockd/aws_credentials\n")
        self.ddblock("run", "-w", "10", "k", "--", "true")
        checked = self.ddblock("check", user=None, check=False).stdout
        self.assertIn("keys of profile default", checked)
        self.assertIn("0 errors", checked)

    # Memory that is writable and executable, and a socket of AF_NETLINK.
    PROGRAM = """#!/usr/bin/python3
import json, mmap, socket
mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)
print(json.dumps({"Version": 1, "AccessKeyId": "AKIDEXAMPLE",
                  "SecretAccessKey": "not-a-secret"}))
"""

    def test_dynamodb_with_credential_process(self):
        self.table()
        HOST.write("/usr/local/bin/credentials", self.PROGRAM, 0o755)
        HOST.write("/etc/ddblockd/aws_config",
                   "[default]\ncredential_process = "
                   "/usr/local/bin/credentials\n", 0o600)
        load = "[Service]\nLoadCredential=aws_config:/etc/ddblockd/aws_config"
        self.start(load=load)
        done = self.ddblock("run", "-w", "1", "k", "--", "true", check=False)
        self.assertEqual(done.returncode, 69, done.stderr)
        HOST.exec("systemctl", "stop", "ddblockd.service")
        self.start(load=load, process=self.drop_in("credential-process"))
        self.ddblock("run", "-w", "10", "k", "--", "true")


class Examples(Case):
    """contrib/systemd/examples, with programs of their own."""

    UNITS = "/etc/systemd/system"

    def program(self, name, text):
        if not text.startswith("#!"):
            text = "#!/bin/sh\n" + text
        HOST.write(f"/usr/local/bin/{name}", text, 0o755)

    def file(self, name):
        with open(HOST.path(f"{SHARE}/examples/{name}"),
                  encoding="utf-8") as f:
            return f.read()

    def example(self, name, to=None):
        HOST.write(f"{self.UNITS}/{to or name}", self.file(name))
        HOST.exec("systemctl", "daemon-reload")
        self.addCleanup(HOST.exec, "systemctl", "stop", to or name)
        verified = HOST.exec("systemd-analyze", "verify", "--man=no",
                             f"{self.UNITS}/{to or name}", check=False)
        self.assertNotIn(to or name, verified.stderr)

    def test_all_of_them_are_tested(self):
        names = os.listdir(HOST.path(f"{SHARE}/examples"))
        self.assertEqual(sorted(names), [
            "leader.service", "nightly.service", "nightly.timer",
            "once-a-day", "only-one.service"])

    def both(self, name):
        """Two units stand for two hosts: which one runs the program?"""
        self.example(f"{name}.service")
        self.example(f"{name}.service", f"{name}-too.service")
        self.start()
        HOST.exec("systemctl", "start", name)
        self.await_journal("(?m)^runs$", "-u", name)
        HOST.exec("systemctl", "start", f"{name}-too")
        self.await_(lambda: self.ddblock("waiting", user=None).stdout
                    .count(f"services/{name}"))
        self.assertNotIn("runs\n", self.journal("-u", f"{name}-too"))

    def test_only_one(self):
        self.program("only-one", "echo runs; exec sleep 1000\n")
        self.both("only-one")
        HOST.exec("systemctl", "stop", "only-one")
        self.await_journal("(?m)^runs$", "-u", "only-one-too")

    def test_leader(self):
        self.program("leader", "echo runs; exec sleep 1000\n")
        self.both("leader")
        watched = self.ddblock("watch", "-n1", "--data", "services/leader")
        self.assertIn("ddblock-test:8080", watched.stdout)
        HOST.exec("systemctl", "kill", "--signal=KILL", "leader")
        self.await_journal("(?m)^runs$", "-u", "leader-too")

    def test_nightly(self):
        self.program("nightly", "echo works; test -e /run/good\n")
        self.program("once-a-day", self.file("once-a-day"))
        self.example("nightly.service")
        self.example("nightly.timer")
        self.start()
        HOST.exec("systemctl", "start", "nightly.timer")
        self.assertIn("03:00:00 UTC", HOST.exec(
            "systemctl", "show", "-P", "TimersCalendar", "nightly.timer")
                      .stdout)
        self.assertEqual(show("nightly.timer", "ActiveState"), "active")
        # On three hosts, one after the other: it fails on the first.
        for good, works in (False, 1), (True, 2), (True, 2):
            if good:
                HOST.write("/run/good", "")
            done = HOST.exec("systemctl", "start", "nightly.service",
                             check=False)
            self.assertEqual(done.returncode == 0, good)
            self.assertEqual(self.journal("-u", "nightly").count("works\n"),
                             works)


if __name__ == "__main__":
    harness.main()
