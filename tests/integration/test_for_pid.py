#!/usr/bin/env python3
"""Holds for a process: they end with it, with any client.

The process is a script without visible output. It blocks the signals that may
tell it of a loss; so whether it was told is a fact that /proc shows, and not a
matter of who is scheduled first.
"""
import os
import shutil
import signal
import socket
import subprocess
import sys
import unittest

import harness
from harness import Client, Daemon
from runner import assigned, ddblock, environment, runs
from test_faults import Base, Host, QUICK
from fault_proxy import mute_before

NOBODY = 65534
SCRIPT = ("import signal, sys; signal.pthread_sigmask(signal.SIG_BLOCK, "
          "[signal.SIGTERM, signal.SIGUSR1]); print(flush=True); "
          "sys.stdin.read()")


class Script:
    """A process that works under a lock, until it is ended."""

    def __init__(self, test, command=(sys.executable, "-c", SCRIPT), **how):
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **how)
        test.addCleanup(self.end)
        self.process.stdout.readline()
        self.pid = self.process.pid
        self.fd = os.pidfd_open(self.pid)

    def end(self):
        if self.fd >= 0:
            with self.process:
                self.process.kill()
            os.close(self.fd)
            self.fd = -1

    def told(self):
        """The signals that it got."""
        with open(f"/proc/{self.pid}/status", encoding="ascii") as f:
            pending = next(int(line.split()[1], 16) for line in f
                           if line.startswith("ShdPnd:"))
        return [n for n in range(1, 65) if pending >> (n - 1) & 1]

    def await_told(self):
        while not self.told():
            pass
        return self.told()


class Passing(Client):
    """A connection that passes descriptors with its requests."""

    def pass_(self, request, *fds):
        self.serial += 1
        tag = f"t{self.serial}"
        socket.send_fds(self.socket, [f"#{tag} {request}\n".encode()],
                        list(fds))
        return tag

    def ask(self, request, *fds):
        return self.reply(self.pass_(request, *fds))


def await_left(client, key="x"):
    while True:
        row, = client.call(f"HELD key={key}").rows
        if row.get("left") == "yes":
            return row


def break_(client, key="x"):
    token = client.call(f"GET {key}")["token"]
    return client.call(f"BREAK {key} token={token} reason=test")


class Case(unittest.TestCase):
    def start(self, *args):
        daemon = Daemon(args=args)
        self.addCleanup(daemon.close)
        daemon.start()
        return daemon

    def client(self, daemon, kind=Client):
        client = kind(daemon)
        self.addCleanup(client.close)
        return client

    def helped(self, daemon, script, *args, key="x"):
        """Held for the script by a helper that is killed then."""
        done = ddblock(daemon, "acquire", f"--for-pid={script.pid}", *args,
                       key)
        self.assertEqual(done.returncode, 0, done.stderr)
        fields = assigned(done.stdout)
        helper = os.pidfd_open(int(fields["helper"]))
        signal.pidfd_send_signal(helper, signal.SIGKILL)
        os.close(helper)
        with Client(daemon) as client:
            await_left(client, key)
        return fields


class HelperIsKilled(Case):
    def setUp(self):
        self.daemon = self.start()
        self.other = self.client(self.daemon)
        self.script = Script(self)

    def test_until_the_end(self):
        fields = self.helped(self.daemon, self.script)
        row = await_left(self.other)
        self.assertEqual(
            (row["process"], row["uid"], row["name"], row["state"],
             row["token"], row.get("pid")),
            (str(self.script.pid), str(os.getuid()),
             f"for-pid:{self.script.pid}", "held", fields["token"], None))
        self.assertEqual(self.other.try_("x").code, "LOCK_BUSY")
        self.assertEqual(self.other.call("GET x")["state"], "held")
        tag = self.other.send("ACQUIRE x")
        while not self.other.call("WAITING").rows:
            pass
        self.script.end()
        self.assertTrue(self.other.reply(tag).ok)

    def test_several(self):
        done = ddblock(self.daemon, "acquire", "-kx", "-ky",
                       f"--for-pid={self.script.pid}")
        fields = assigned(done.stdout)
        os.kill(int(fields["helper"]), signal.SIGKILL)
        await_left(self.other)
        self.assertEqual(self.other.try_("y").code, "LOCK_BUSY")
        self.assertTrue(break_(self.other, "y").ok)
        self.assertEqual(self.script.await_told(), [signal.SIGTERM])
        self.assertTrue(self.other.acquire("x").ok)

    def test_it_is_told_of_a_loss(self):
        """And it stays in the listings as lost, until it ends."""
        self.helped(self.daemon, self.script, "--on-lost=USR1")
        self.assertTrue(break_(self.other).ok)
        self.assertEqual(self.script.await_told(), [signal.SIGUSR1])
        self.daemon.wait_log("was told by signal 10")
        self.assertEqual(await_left(self.other)["state"], "lost")
        self.script.end()
        while self.other.call("HELD").rows:
            pass

    def test_a_loss_is_released_by_another_client(self):
        self.helped(self.daemon, self.script)
        self.assertTrue(break_(self.other).ok)
        self.script.await_told()
        row = await_left(self.other)
        reply = self.other.call(f"RELEASE id={row['id']} process=yes")
        self.assertEqual(reply.code, "LOCK_LOST")
        self.assertFalse(self.other.call("HELD").rows)

    def test_it_wants_no_signal(self):
        self.helped(self.daemon, self.script, "--on-lost=0")
        self.assertTrue(break_(self.other).ok)
        self.assertTrue(self.other.try_("x").ok)
        self.assertEqual(self.script.told(), [])

    def test_released_by_command(self):
        self.helped(self.daemon, self.script)
        done = ddblock(self.daemon, "release", "x")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertTrue(self.other.try_("x").ok)
        self.helped(self.daemon, self.script, key="y")
        self.helped(self.daemon, self.script, key="z")
        done = ddblock(self.daemon, "release", "--all")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertTrue(self.other.try_("z").ok)

    def test_the_daemon_ends(self):
        """It could not be told later."""
        self.helped(self.daemon, self.script)
        self.daemon.freeze()
        self.daemon.signal(signal.SIGTERM)
        self.daemon.signal(signal.SIGINT)
        self.daemon.thaw()
        self.assertEqual(self.daemon.wait(), 0)
        self.assertEqual(self.script.told(), [signal.SIGTERM])

    def test_its_own_end_and_the_gap(self):
        """The next holder finds that the script was told."""
        self.helped(self.daemon, self.script, "--max-hold=1s")
        self.assertTrue(self.other.acquire("x").ok)
        self.assertEqual(self.script.told(), [signal.SIGTERM])


class HelperIsThere(Case):
    def setUp(self):
        self.daemon = self.start()
        self.other = self.client(self.daemon)
        self.script = Script(self)
        self.helper = self.client(self.daemon, Passing)

    def hold(self, more=""):
        grant = self.helper.ask(f"ACQUIRE x process=yes{more}",
                                self.script.fd)
        self.assertEqual((grant.code, grant["process"], grant["tells"]),
                         ("OK", str(self.script.pid), "yes"), grant)
        return grant

    def lose(self):
        self.assertTrue(break_(self.other).ok)
        self.helper.event("LOCK_LOST")

    def test_it_stands_still(self):
        self.hold()
        self.lose()
        self.assertEqual(self.script.await_told(), [signal.SIGTERM])

    def test_it_is_killed_when_the_lock_is_lost(self):
        self.hold(" signal=10")
        self.lose()
        self.helper.close()
        self.assertEqual(self.script.await_told(), [signal.SIGUSR1])

    def test_it_gives_a_sign(self):
        grant = self.hold()
        self.lose()
        self.assertEqual(self.helper.release(grant).code, "LOCK_LOST")
        self.helper.close()
        while len(self.other.call("STATUS").rows) > 1 or \
                self.other.call("HELD").rows:
            pass
        self.assertEqual(self.script.told(), [])

    def test_the_process_ends(self):
        grant = self.hold()
        tag = self.other.send("ACQUIRE x")
        self.script.end()
        self.assertTrue(self.other.reply(tag).ok)
        self.assertEqual(self.helper.release(grant).code, "NO_SUCH_LOCK")

    def test_the_process_ends_while_it_waits(self):
        mine = self.other.acquire("x")
        tag = self.helper.pass_("ACQUIRE x process=yes", self.script.fd)
        while not self.other.call("WAITING").rows:
            pass
        self.script.end()
        reply = self.helper.reply(tag)
        self.assertEqual((reply.code, reply.text), (
            "CANCELLED", "the process that it is for has ended"))
        self.assertTrue(self.other.release(mine).ok)

    def test_it_releases(self):
        grant = self.hold()
        self.assertTrue(self.helper.release(grant).ok)
        self.assertTrue(self.other.try_("x").ok)

    def test_another_client_releases(self):
        """Only with process=yes; while the helper is there, it is told."""
        for stays in (True, False):
            grant = self.hold()
            if not stays:
                self.helper.close()
                await_left(self.other)
            reply = self.other.call(f"RELEASE id={grant['id']}")
            self.assertEqual(reply.code, "LOCK_NOT_OWNED")
            reply = self.other.call(f"RELEASE id={grant['id']} process=yes")
            self.assertTrue(reply.ok, reply)
            free = self.other.try_("x")
            self.assertTrue(free.ok)
            self.assertTrue(self.other.release(free).ok)
            if stays:
                event = self.helper.event("LOCK_LOST")
                self.assertEqual((event["id"], event["reason"]),
                                 (grant["id"], "released"))
                self.assertEqual(self.helper.release(grant).code,
                                 "NO_SUCH_LOCK")
        self.assertEqual(self.script.told(), [])

    def test_another_client_releases_several(self):
        """All of them, and the helper is told once."""
        grant = self.helper.ask("ACQUIRE x y process=yes", self.script.fd)
        reply = self.other.call(f"RELEASE id={grant['id']} process=yes")
        self.assertTrue(reply.ok, reply)
        self.assertTrue(self.other.try_("y").ok)
        self.assertEqual(self.helper.event("LOCK_LOST")["reason"], "released")
        self.assertTrue(self.helper.call("PING").ok)
        self.assertFalse(self.helper.events)

    def test_another_client_releases_what_is_lost(self):
        """The process is told of the loss all the same."""
        grant = self.hold()
        self.lose()
        reply = self.other.call(f"RELEASE id={grant['id']} process=yes")
        self.assertEqual(reply.code, "LOCK_LOST")
        self.helper.close()
        self.assertEqual(self.script.await_told(), [signal.SIGTERM])

    def test_another_client_releases_what_is_for_no_process(self):
        grant = self.helper.acquire("x")
        reply = self.other.call(f"RELEASE id={grant['id']} process=yes")
        self.assertEqual(reply.code, "LOCK_NOT_OWNED")
        self.assertTrue(self.helper.release(grant).ok)
        grant = self.helper.call("ACQUIRE x policy=fail-closed")
        reply = self.other.call(f"RELEASE id={grant['id']} process=yes")
        self.assertEqual(reply.code, "LOCK_NOT_OWNED")
        self.assertTrue(self.helper.release(grant).ok)

    def test_fail_closed(self):
        """It is left held in any case."""
        grant = self.helper.ask("ACQUIRE x process=yes policy=fail-closed",
                                self.script.fd)
        self.assertTrue(grant.ok, grant)
        self.assertIsNone(grant.get("process"))
        self.script.end()
        self.assertTrue(self.helper.release(grant).ok)

    def test_fail_closed_for_another_client(self):
        grant = self.helper.ask("ACQUIRE x process=yes policy=fail-closed",
                                self.script.fd)
        reply = self.other.call(f"RELEASE id={grant['id']} process=yes")
        self.assertTrue(reply.ok, reply)
        self.assertEqual(self.helper.event("LOCK_LOST")["reason"], "released")
        self.assertTrue(self.other.try_("x").ok)


# Started in a pid namespace of its own: a process that has there the number
# that the helper has here.
NAMESAKE = """
import subprocess, sys
with open("/proc/sys/kernel/ns_last_pid", "w") as f:
    f.write(str(int(sys.argv[1]) - 1))
namesake = subprocess.Popen(["sleep", "infinity"])
done = subprocess.run(sys.argv[2:], capture_output=True, text=True)
print(namesake.pid, done.returncode, namesake.poll(), done.stderr)
namesake.kill()
"""


@unittest.skipUnless(os.geteuid() == 0 and shutil.which("unshare"),
                     "needs root and unshare, for a pid namespace")
class AnotherNamespace(Case):
    def test_a_namesake_is_left_alone(self):
        """The daemon releases it, and the number of the helper, which means
        another process there, is not used."""
        daemon = self.start()
        script = Script(self)
        for more in ([], ["--fail-closed"]):
            done = ddblock(daemon, "acquire", f"--for-pid={script.pid}", "x",
                           *more)
            self.assertEqual(done.returncode, 0, done.stderr)
            helper = assigned(done.stdout)["helper"]
            done = subprocess.run(
                ["unshare", "-pf", "--mount-proc", sys.executable, "-c",
                 NAMESAKE, helper, harness.program("ddblock"), "release",
                 "x"], env=environment(daemon), check=False,
                capture_output=True, text=True, timeout=harness.TIMEOUT_S)
            self.assertEqual(done.stdout.split(), [helper, "0", "None"],
                             done.stderr)
            with Client(daemon) as client:
                self.assertTrue(client.try_("x").ok)
            while runs(int(helper)):
                pass
            self.assertEqual(script.told(), [])


def files(daemon):
    """Its descriptors, but for the pipes: by these it asks the service manager,
    at moments of its own, what it keeps."""
    place = f"/proc/{daemon.pid}/fd"
    found = []
    for name in sorted(os.listdir(place)):
        try:
            if not os.readlink(f"{place}/{name}").startswith("pipe:"):
                found.append(name)
        except FileNotFoundError:  # closed since
            pass
    return found


@unittest.skipUnless(os.geteuid() == 0, "only root sees a daemon's descriptors")
class Descriptors(Case):
    def setUp(self):
        self.daemon = self.start()
        self.helper = self.client(self.daemon, Passing)
        self.helper.call("GET x")  # by then the store has its files open
        self.script = Script(self)

    def refused(self, text, request, *fds, code="BAD_REQUEST"):
        before = files(self.daemon)
        reply = self.helper.ask(request, *fds)
        self.assertEqual(reply.code, code, reply)
        self.assertIn(text, reply.text)
        self.assertEqual(files(self.daemon), before, request)

    def test_what_is_refused(self):
        ask = "ACQUIRE x process=yes"
        fd = self.script.fd
        self.refused("none came", ask)
        self.refused("more came", ask, fd, fd)
        self.refused("more came", ask, *[fd] * 9)
        with open("/proc/self/status", "rb") as f:
            self.refused("not a pidfd", ask, f.fileno())
        folder = os.open(f"/proc/{self.script.pid}", os.O_RDONLY)
        self.refused("not a pidfd", ask, folder)
        os.close(folder)
        for bad in ("signal=65", "signal=TERM", "signal="):
            self.refused("signal is the number", f"{ask} {bad}", fd)
        self.refused("signal is the number", "ACQUIRE x signal=1")
        self.refused("process is yes or no", "ACQUIRE x process=1", fd)
        for other in ("linger=1s", "renew=manual", "on_close=lease",
                      "keepalive=1s", "reentrant=yes"):
            self.refused(other.partition("=")[0], f"{ask} {other}", fd)
        with subprocess.Popen(["true"]) as gone:
            dead = os.pidfd_open(gone.pid)
        self.refused("has ended", ask, dead)
        os.close(dead)

    def test_what_nobody_asked_for(self):
        """It is closed at once; but a descriptor that came with an unfinished
        line is there when the line ends."""
        before = files(self.daemon)
        for _ in range(3):
            self.assertTrue(self.helper.ask("PING", *[self.script.fd] * 5).ok)
        self.assertEqual(files(self.daemon), before)
        socket.send_fds(self.helper.socket, [b"#a ACQUIRE x proc"],
                        [self.script.fd])
        with Client(self.daemon) as other:
            while files(self.daemon) == before:
                other.call("PING")
        self.helper.send_raw(b"ess=yes\n")
        self.assertEqual(self.helper.reply("a")["process"],
                         str(self.script.pid))
        self.helper.pass_("PING\n#b ACQUIRE y process=yes\nPING",
                          self.script.fd)
        self.assertTrue(self.helper.reply("b").ok)

    def test_what_waits_for_its_line_counts(self):
        """A descriptor that came with half of a line is a connection's worth:
        no user has more of them open than the limit."""
        daemon = self.start("--connections-per-uid-max=3")
        helpers = [self.client(daemon, Passing) for _ in range(2)]
        for helper in helpers:
            helper.call("PING")
        before = len(files(daemon))
        for helper in helpers:
            socket.send_fds(helper.socket, [b"#p PING\n#a ACQUIRE x proc"],
                            [self.script.fd])
            self.assertTrue(helper.reply("p").ok)
        self.assertEqual(len(files(daemon)), before + 1)
        helpers[0].send_raw(b"ess=yes\n")
        self.assertTrue(helpers[0].reply("a").ok)
        helpers[1].send_raw(b"ess=yes\n")
        reply = helpers[1].reply("a")
        self.assertEqual(reply.code, "LIMIT", reply)
        self.assertIn("counts as a connection", reply.text)

    def test_they_are_bounded(self):
        """Each counts as a connection of its user."""
        daemon = self.start("--connections-per-uid-max=4")
        helper = self.client(daemon, Passing)
        replies = [helper.ask(f"ACQUIRE k{i} process=yes", self.script.fd)
                   for i in range(4)]
        self.assertEqual([r.code for r in replies],
                         ["OK", "OK", "OK", "LIMIT"])
        for reply in replies[:3]:
            self.assertTrue(helper.release(reply).ok)
        self.assertTrue(helper.ask("ACQUIRE k3 process=yes",
                                   self.script.fd).ok)

    @unittest.skipUnless(os.geteuid() == 0, "needs root, to be another")
    def test_another_user(self):
        daemon = self.start("--socket-mode=0666")
        os.chmod(daemon.directory, 0o755)
        own = Script(self, ["sh", "-c", "echo; read x"], user=NOBODY)
        os.seteuid(NOBODY)
        try:
            helper = self.client(daemon, Passing)
        finally:
            os.seteuid(0)
        reply = helper.ask("ACQUIRE x process=yes", self.script.fd)
        self.assertEqual((reply.code, reply.text), (
            "BAD_REQUEST", f"process {self.script.pid} is of another user"))
        grant = helper.ask("ACQUIRE x process=yes", own.fd)
        self.assertTrue(grant.ok, grant)
        os.seteuid(NOBODY)
        try:
            same = self.client(daemon)
        finally:
            os.seteuid(0)
        again = helper.ask("ACQUIRE y process=yes", own.fd)
        self.assertTrue(same.call(f"RELEASE id={again['id']} process=yes").ok)
        with Passing(daemon) as root:
            mine = root.ask("ACQUIRE y process=yes", self.script.fd)
            reply = same.call(f"RELEASE id={mine['id']} process=yes")
            self.assertEqual(reply.code, "LOCK_NOT_OWNED")
            again = helper.ask("ACQUIRE z process=yes", own.fd)
            reply = root.call(f"RELEASE id={again['id']} process=yes")
            self.assertTrue(reply.ok, reply)
            helper.close()
            await_left(root)
            self.assertTrue(break_(root).ok)
        self.assertEqual(own.process.wait(), -signal.SIGTERM)


@unittest.skipUnless(os.geteuid() == 0 and shutil.which("setpriv"),
                     "needs root and setpriv, to be another")
class OtherUser(Case):
    """The daemon's, as where it is installed."""

    def start_as(self, *capabilities):
        daemon = Daemon(args=["--socket-mode=0666"])
        self.addCleanup(daemon.close)
        os.chown(daemon.directory, NOBODY, NOBODY)
        os.chmod(daemon.directory, 0o755)
        own = daemon.command()
        daemon.command = lambda: [
            "setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}",
            "--clear-groups", *capabilities, *own]
        before = os.umask(0)  # it says there that it is ready
        daemon.spawn()
        os.umask(before)
        daemon.wait_ready()
        return daemon

    def held(self, daemon, tells):
        script = Script(self)
        helper = self.client(daemon, Passing)
        grant = helper.ask("ACQUIRE x process=yes", script.fd)
        self.assertEqual(grant.get("tells"), tells, grant)
        helper.close()
        other = self.client(daemon)
        await_left(other)
        self.assertTrue(break_(other).ok)
        return script

    def test_without_the_right_to_signal(self):
        """It watches the process; the log says that it was not told."""
        daemon = self.start_as()
        script = self.held(daemon, "no")
        daemon.wait_log(f"process {script.pid} .*cannot be told: Operation")
        self.assertEqual(script.told(), [])
        script.end()
        with Client(daemon) as other:
            while other.call("HELD").rows:
                pass

    def test_with_it(self):
        """And programs that the daemon runs do not have it."""
        daemon = self.start_as("--inh-caps=+kill", "--ambient-caps=+kill")
        script = self.held(daemon, "yes")
        self.assertEqual(script.await_told(), [signal.SIGTERM])
        with open(f"/proc/{daemon.pid}/status", encoding="ascii") as f:
            ambient = [line.split()[1] for line in f
                       if line.startswith("CapAmb:")]
        self.assertEqual(int(ambient[0], 16), 0)


class TheStoreIsAway(Base):
    def test_it_is_told_before_anybody_has_it(self):
        one, two = Host(self, **QUICK), Host(self, **QUICK)
        script = Script(self)
        Case.helped(self, one.daemon, script, key="k")
        with Client(two.daemon) as other:
            tag = other.send("ACQUIRE k wait=120s")
            two.proxy.wait_seen("want", key="k")
            one.proxy.on("beat", mute_before, times=10 ** 9)
            self.assertTrue(other.reply(tag).ok)
            self.assertEqual(script.told(), [signal.SIGTERM])


if __name__ == "__main__":
    harness.main(dynamodb=True)
