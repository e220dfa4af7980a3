#!/usr/bin/env python3
"""ddblockd --replace: a new process takes the place of the daemon that runs,
with all its connections; or something is in the way, and that one goes on as
before.
"""
import array
import os
import random
import select
import signal
import socket
import struct
import subprocess
import threading
import unittest

import harness
import succession
from harness import Client, Daemon
from manager import Managed
from succession import sleeper

NOBODY = 65534


def setUpModule():
    harness.need_processor("qemu knows no SO_COOKIE")


class Replacing(Daemon):
    """Its next process takes the place of the one that runs."""

    def command(self):
        return [*super().command(), *(["--replace"] if self.old else [])]

    old = None

    def begin(self):
        """The next process, which has been started: nothing more is sure."""
        self.old = self.process, self.pidfd, self.notices, self.reader
        self.process = None
        return self.spawn()

    def replace(self):
        """The next process, which is ready; the old one has ended."""
        self.begin()
        self.wait_ready()
        process, pidfd, notices, reader = self.old
        self.old = None
        status = process.wait(harness.TIMEOUT_S)
        reader.join()
        self.lines_ended = False
        process.stderr.close()
        os.close(pidfd)
        notices.close()
        assert status == 0, f"the old one ended with {status}:\n{self.log()}"
        return self

    def fail(self):
        """The next process, which ended: its status. The old one is the daemon
        again."""
        self.begin()
        status = self.wait()
        self.process, self.pidfd, self.notices, self.reader = self.old
        self.old = None
        self.lines_ended = False
        return status

    def settle(self, keep):
        """One of the two is the daemon, and the other one has ended."""
        process, pidfd, notices, reader = (
            self.process, self.pidfd, self.notices, self.reader) \
            if keep == "old" else self.old
        if keep == "old":
            self.process, self.pidfd, self.notices, self.reader = self.old
        self.old = None
        process.wait(harness.TIMEOUT_S)
        reader.join()
        process.stderr.close()
        os.close(pidfd)
        notices.close()
        self.lines_ended = False

    def serves(self):
        try:
            with Client(self) as client:
                return client.call("PING").ok
        except (harness.Ended, OSError):
            return False

    def race(self, victim):
        """Kill one of the two at any moment; then one serves, at the latest
        when it is started. Who it is."""
        self.begin()
        select.select([], [], [], random.uniform(0, 0.05))
        (self.process if victim == "new" else self.old[0]).kill()
        if victim == "new":
            self.process.wait()
            while self.old[0].poll() is None and not self.serves():
                pass
            winner = "old" if self.old[0].poll() is None else "next"
        else:
            self.old[0].wait()
            while self.process.poll() is None and not self.serves():
                pass
            winner = "new" if self.process.poll() is None else "next"
        self.settle("old" if winner == "old" else "new")
        if winner == "next":
            self.wait()
            self.start()
        return winner

    def command_of(self, *more):
        return [*super().command(), "--replace", *more]

    def journal(self):
        return self.socket + ".journal"


def ask_to_replace(daemon):
    """A process that says REPLACE, and what it gets at first: (socket,
    descriptors, how many connections)."""
    s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    s.settimeout(harness.TIMEOUT_S)
    s.connect(daemon.socket)
    s.sendall(b"REPLACE\n")
    head, fds, _, _ = socket.recv_fds(s, 24, 250)
    return s, fds, struct.unpack("=QIiQ", head)[3]


class Case(succession.Case):
    def daemon(self, config=None, **more):
        daemon = Replacing(config, **more)
        self.addCleanup(daemon.close, check=False)
        return daemon.start()

    def expect_as_before(self, daemon, client, grant):
        """The old one serves, and nothing of it was taken."""
        self.assertTrue(daemon.alive())
        self.assertTrue(client.call(f"RENEW id={grant['id']}").ok)
        with Client(daemon) as other:
            self.assertEqual(other.try_("k").code, "LOCK_BUSY")
            fresh = other.try_("fresh")
            self.assertTrue(fresh.ok, fresh.raw)
        self.assertEqual(list(client.events), [])


class Replaced(Case):
    def test_holds_of_every_kind(self):
        daemon = self.daemon()
        client = self.client(daemon, restarted="yes")
        others = self.client(daemon, resume="yes")
        process = self.enterContext(sleeper())
        grants = [
            client.try_("plain"), client.try_("lingers", linger="1m"),
            client.call("TRY one two"),
            client.try_("bounded", max_hold="1h", keepalive="1h"),
            client.try_("again", reentrant="yes"),
            client.try_("closed", policy="fail-closed"),
            client.try_("own", renew="manual"),
            client.try_("shared", mode="shared", limit="2"),
            others.try_("resumes"), others.try_("shared", mode="shared",
                                                limit="2"),
        ]
        self.assertTrue(all(grant.ok for grant in grants), grants)
        for_process = self.client(daemon)
        self.try_for(for_process, process, "process")
        for_process.close()
        before = {row["id"]: (row["key"], row["token"]) for row in
                  client.call("HELD").rows}
        for _ in range(3):
            pid = daemon.pid
            daemon.replace()
            self.assertNotEqual(daemon.pid, pid)
            self.assertEqual(client.event().word, "RESTARTED")
        daemon.wait_log("of 2 connections that the daemon before this one "
                        "had, 2 go on")
        after = {row["id"]: (row["key"], row["token"]) for row in
                 client.call("HELD").rows}
        self.assertEqual(after, before)
        self.assertEqual(others.try_("resumes").code, "ALREADY_HELD")
        self.assertEqual(others.try_("more")["secret"], grants[8]["secret"])
        process.kill()
        self.assertTrue(others.acquire("process").ok)
        for grant in grants[:8]:
            self.assertTrue(client.release(grant).ok, grant)
        self.assertEqual(list(client.events), [])

    def test_waiters_keep_their_places(self):
        daemon = self.daemon()
        self.expect_places(daemon, daemon.replace)

    def test_in_mid_conversation(self):
        """Half a line; one that says nothing; a watch; a client that does not
        read; one that says something meanwhile, and one that comes."""
        daemon = self.daemon()
        half = self.client(daemon)
        half.send_raw(b"#a TRY k%2")
        silent = Client(daemon)
        self.addCleanup(silent.close)
        watcher = self.client(daemon)
        watcher.call("WATCH w")
        deaf = self.client(daemon)
        tags = [deaf.send("STATUS") for _ in range(3000)]
        half_closed = self.client(daemon)
        waits = half_closed.send("ACQUIRE w wait=1h")
        watcher.event("CHANGED")
        daemon.begin()
        half.send_raw(b"0x\n#b PI")
        with Client(daemon) as new:
            self.assertTrue(new.call("PING").ok)
        daemon.wait_ready()
        self.assertEqual(daemon.old[0].wait(harness.TIMEOUT_S), 0)
        half.send_raw(b"NG\n")
        self.assertTrue(half.reply("a").ok)
        self.assertTrue(half.reply("b").ok)
        self.assertTrue(half_closed.reply(waits).ok)
        self.assertEqual(half.call("HELD key=k%20x").rows[0]["key"], "k x")
        self.assertTrue(silent.call("PING").ok)
        self.assertEqual(watcher.event("CHANGED")["state"], "held")
        for tag in tags:
            self.assertTrue(deaf.reply(tag).ok)

    def test_many_connections(self):
        """More than one message has room for."""
        daemon = self.daemon()
        clients = [Client(daemon) for _ in range(600)]
        for client in clients:
            self.addCleanup(client.close)
        for i, client in enumerate(clients):
            self.assertTrue(client.try_(f"k{i}").ok)
        daemon.replace()
        for client in clients:
            self.assertTrue(client.call("PING").ok)
        self.assertEqual(len(clients[0].call("HELD").rows), 600)

    def test_the_lock_of_the_journal_passes_over(self):
        daemon = self.daemon()
        grant = self.client(daemon).try_("k", linger="1m")
        daemon.replace()
        with Daemon(args=[f"--journal={daemon.journal()}"]) as other:
            other.wait_log("another daemon has it")
        daemon.kill()
        self.assertTrue(os.path.exists(daemon.socket))
        daemon.start()
        with Client(daemon) as heir:
            self.assertTrue(heir.call(f"RESUME secret={grant['secret']}").ok)
            heir.call("RELEASE all=yes")
        self.assertEqual(daemon.stop(), 0)
        # It is the maker of the socket now.
        self.assertFalse(os.path.exists(daemon.socket))

    def test_other_settings(self):
        """What may differ takes effect."""
        config = "[namespace default]\nfile = {dir}/d.db\n"
        daemon = self.daemon(config)
        client = self.client(daemon)
        client.try_("k")
        daemon.write_config(
            config + "[namespace more]\nfile = {dir}/more.db\n")
        daemon.replace()
        self.assertTrue(client.call("TRY k ns=more").ok)

    def test_under_load(self):
        """No grant is lost, and none is given twice."""
        daemon = self.daemon()
        stop, failures, holders = threading.Event(), [], {}

        def work(number):
            try:
                with Client(daemon) as client:
                    last = {}
                    while not stop.is_set():
                        key = f"k{random.randrange(4)}"
                        grant = client.acquire(key, wait="1m")
                        assert grant.ok, grant
                        token = int(grant["token"])
                        assert token > last.get(key, 0), (token, key)
                        last[key] = token
                        assert holders.setdefault(key, number) == number, key
                        client.call("PING")
                        del holders[key]
                        assert client.release(grant).ok
            except Exception as error:  # pylint: disable=broad-except
                failures.append(f"client {number}: {error!r}")
                stop.set()

        threads = [threading.Thread(target=work, args=(i,)) for i in range(20)]
        for thread in threads:
            thread.start()
        for _ in range(10):
            daemon.replace()
        stop.set()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])


class DynamoDB(Case):
    def test_holds_and_waiters_go_on(self):
        harness.need_dynamodb()
        made = harness.on_new_table(f"replace-{os.getpid()}")
        self.addCleanup(made.close, check=False)
        with open(made.config, encoding="utf-8") as f:
            daemon = self.daemon(f.read())
        holder = self.client(daemon)
        waiter = self.client(daemon)
        grant = holder.try_("k")
        tag = waiter.send("ACQUIRE k")
        waiter.call("PING")
        for _ in range(3):
            daemon.replace()
            self.assertTrue(holder.call(f"RENEW id={grant['id']}").ok)
        self.assertTrue(holder.release(grant).ok)
        after = waiter.reply(tag)
        self.assertGreater(int(after["token"]), int(grant["token"]))
        self.assertEqual(list(holder.events), [])


class Refused(Case):
    """Whatever is wrong, the daemon that runs goes on as before."""

    def refused(self, daemon, status, said):
        client = self.client(daemon)
        grant = client.try_("k")
        self.assertEqual(daemon.fail(), status, daemon.log())
        self.assertRegex(daemon.log(), said)
        self.expect_as_before(daemon, client, grant)
        self.assertTrue(client.release(grant).ok)

    def test_an_invalid_configuration(self):
        daemon = self.daemon("[namespace default]\nfile = {dir}/d.db\n")
        daemon.write_config("[namespace default]\nlease = no time\n")
        self.refused(daemon, 78, "lease")

    def test_another_lease(self):
        config = "[namespace default]\nfile = {dir}/d.db\nlease = 20s\n"
        daemon = self.daemon(config)
        daemon.write_config(config.replace("20s", "21s"))
        self.refused(daemon, 69, "nothing of namespace default: its store or "
                     "its times are others now")
        daemon.wait_log("another process was to take the place of this one: "
                        "this daemon could take over nothing .*; going on")
        daemon.write_config(config)
        daemon.replace()

    def test_another_journal(self):
        daemon = self.daemon()
        daemon.args.append("--journal={dir}/other".replace(
            "{dir}", daemon.directory))
        self.refused(daemon, 69, "No such file")
        daemon.args[-1] = "--journal=no"
        self.refused(daemon, 69, "journal = no: this daemon would take over "
                     "nothing")

    def test_another_socket(self):
        daemon = self.daemon()
        own = daemon.args
        daemon.args = [f"--socket={daemon.directory}/none", *own[1:]]
        self.refused(daemon, 69, "no daemon serves .*/none .*start without "
                     "--replace")
        # Another daemon is there.
        with Daemon() as other:
            daemon.args = [f"--socket={other.socket}", *own[1:]]
            self.refused(daemon, 69, "the other daemon has another file|"
                         "No such file")
        daemon.args = own

    def test_nothing_is_kept(self):
        daemon = self.daemon("[namespace default]\nstore = memory\n")
        self.refused(daemon, 69, "store = memory ends with it")
        daemon = self.daemon(args=["--journal=no"])
        daemon.args.pop()
        self.refused(daemon, 69, "it has no journal")

    def test_a_service_manager_made_the_socket(self):
        with Managed() as daemon:
            status, _, said = Daemon(
                directory=daemon.directory, args=["--replace"]).run()
            self.assertEqual(status, 69)
            self.assertIn("the service manager made its socket: let that "
                          "restart it", said)
            self.assertTrue(daemon.alive())

    @unittest.skipUnless(os.geteuid() == 0, "needs root, to be another")
    def test_another_user(self):
        daemon = self.daemon(args=["--socket-mode=0666"])
        os.chmod(daemon.directory, 0o755)
        client = self.client(daemon)
        grant = client.try_("k")
        done = subprocess.run(
            daemon.command_of(), user=NOBODY, group=NOBODY, check=False,
            capture_output=True, text=True, timeout=harness.TIMEOUT_S,
            cwd="/", env=daemon.env)
        self.assertEqual(done.returncode, 77, done.stderr)
        self.assertIn("runs as the user 0; start this one as that user",
                      done.stderr)
        asker = subprocess.run(
            ["/usr/bin/env", "python3", "-c", "import socket,sys\n"
             "s = socket.socket(socket.AF_UNIX)\ns.connect(sys.argv[1])\n"
             "s.sendall(b'REPLACE\\n')\nprint(s.recv(999).decode())",
             daemon.socket], user=NOBODY, group=NOBODY, check=False,
            capture_output=True, text=True, timeout=harness.TIMEOUT_S, cwd="/")
        self.assertIn("ERR DENIED :only root and the daemon's own user may "
                      "say REPLACE", asker.stdout)
        self.expect_as_before(daemon, client, grant)

    @unittest.skipUnless(os.geteuid() == 0, "needs root, to be another")
    def test_an_administrator(self):
        """May do much, but not have others' connections."""
        daemon = self.daemon(args=["--socket-mode=0666",
                                   "--admin-group=nogroup"])
        os.chmod(daemon.directory, 0o755)
        asker = subprocess.run(
            ["/usr/bin/env", "python3", "-c", "import socket,sys\n"
             "s = socket.socket(socket.AF_UNIX)\ns.connect(sys.argv[1])\n"
             "s.sendall(b'DRAIN\\nREPLACE\\n')\nf = s.makefile()\n"
             "print(f.readline() + f.readline())", daemon.socket],
            user=NOBODY, group="nogroup", check=False, capture_output=True,
            text=True, timeout=harness.TIMEOUT_S, cwd="/")
        self.assertIn("OK held=0", asker.stdout)
        self.assertIn("ERR DENIED :only root and the daemon's own user may "
                      "say REPLACE", asker.stdout)

    def test_the_old_one_stands_still(self):
        daemon = self.daemon()
        client = self.client(daemon)
        grant = client.try_("k")
        daemon.freeze()
        daemon.begin()
        status = daemon.wait()
        self.assertEqual(status, 69, daemon.log())
        self.assertIn("the daemon that runs does not answer", daemon.log())
        (daemon.process, daemon.pidfd, daemon.notices,
         daemon.reader), daemon.old = daemon.old, None
        daemon.thaw()
        self.expect_as_before(daemon, client, grant)
        daemon.lines_ended = False
        daemon.replace()
        self.assertTrue(client.call(f"RENEW id={grant['id']}").ok)

    def test_it_is_stopping(self):
        daemon = self.daemon(args=["--stop-wait=1h"])
        client = self.client(daemon)
        client.try_("k")
        daemon.signal(signal.SIGTERM)
        client.event("SHUTDOWN")
        self.assertEqual(client.call("REPLACE").code, "UNSUPPORTED")
        self.assertEqual(daemon.fail(), 69, daemon.log())
        client.call("RELEASE all=yes")
        self.assertEqual(daemon.wait(), 0)


class Broken(Case):
    """A new process that ends, or stands still, on the way."""

    def begun(self):
        daemon = self.daemon()
        client = self.client(daemon)
        return daemon, client, client.try_("k")

    def goes_on(self, said):
        daemon, client, grant = self.begun()
        s, fds, n = ask_to_replace(daemon)
        fds += socket.recv_fds(s, 1, 250)[1]
        self.assertEqual((len(fds), n), (4, 1))
        yield s
        daemon.wait_log(f"another process was to take the place.*{said}.*; "
                        "going on")
        for fd in fds:
            os.close(fd)
        s.close()
        self.expect_as_before(daemon, client, grant)
        daemon.replace()
        self.assertTrue(client.call(f"RENEW id={grant['id']}").ok)
        yield None

    def test_it_is_killed_before_it_has_all(self):
        for s in self.goes_on("it ended"):
            if s is not None:
                s.close()

    def test_it_refuses(self):
        for s in self.goes_on("the reason"):
            if s is not None:
                s.sendall(b"NO the reason\n")

    def test_it_says_nothing(self):
        for _ in self.goes_on("it does not answer: Connection timed out"):
            pass

    def test_it_says_something_else(self):
        for s in self.goes_on("it says something else"):
            if s is not None:
                s.sendall(b"PING\n")

    def test_it_does_not_wait_any_more(self):
        for s in self.goes_on("it does not wait any more: Broken pipe"):
            if s is not None:
                s.shutdown(socket.SHUT_RD)
                s.sendall(b"HAVE\n")

    def test_the_old_one_goes_too_late(self):
        """The new one has given up: it cannot be told any more."""
        with socket.socket(socket.AF_UNIX) as s, Daemon() as real:
            self.fake_old(real, s, "late")

    def test_killed_at_any_moment(self):
        """What is held goes on with the daemon that serves."""
        daemon = self.daemon()
        client = self.client(daemon)
        grant = client.try_("k", linger="1m")
        winners = set()
        for i in range(40):
            winners.add(daemon.race(("new", "old")[i % 2]))
            with Client(daemon) as other:
                self.assertEqual(other.try_("k").code, "LOCK_BUSY")
            heir = self.client(daemon)
            row, = heir.call(f"RESUME secret={grant['secret']}").rows
            self.assertEqual(row["token"], grant["token"])
        self.assertLessEqual({"old", "next"}, winners)

    def test_it_waits_for_no_loss(self):
        """No longer than half of what the lease has left."""
        daemon = self.daemon(args=["--lease=4s"])
        client = self.client(daemon)
        grant = client.try_("k")
        s, fds, _ = ask_to_replace(daemon)
        daemon.wait_log("does not answer.*going on")
        for fd in fds:
            os.close(fd)
        s.close()
        self.expect_as_before(daemon, client, grant)

    def test_it_takes_a_while(self):
        daemon, client, grant = self.begun()
        s, fds, _ = ask_to_replace(daemon)
        more = socket.recv_fds(s, 1, 250)[1]
        self.assertEqual(len(more), 1)
        s.sendall(b"HAVE\n")
        self.assertEqual(s.recv(99), b"GOES\n")
        self.assertEqual(daemon.wait(), 0)
        # Nobody else gets its lock meanwhile.
        with Daemon(args=[f"--journal={daemon.journal()}"]) as other:
            other.wait_log("another daemon has it")
        # Killed now: the next daemon goes on from the journal.
        for fd in (*fds, *more):
            os.close(fd)
        s.close()
        daemon.start()
        daemon.wait_log("holds=1")
        client.wait_end()
        with Client(daemon) as other:
            self.assertEqual(other.try_("k").code, "LOCK_BUSY")
            self.assertGreater(int(other.acquire("k")["token"]),
                               int(grant["token"]))

    def test_the_old_one_is_killed(self):
        """Before it goes: the new one ends. After that: it is the daemon."""
        for when in ("asked", "passed", "gone"):
            with self.subTest(when), socket.socket(socket.AF_UNIX) as s, \
                    Daemon() as real:
                self.fake_old(real, s, when)

    def fake_old(self, real, s, when):
        """The test is the old one, with what a real one had."""
        with Client(real) as client:
            grant = client.try_("k", linger="1m")
            asker, fds, _ = ask_to_replace(real)
            more = socket.recv_fds(asker, 1, 250)[1]
            asker.close()
            real.wait_log("going on")
            pid = real.pid
            real.kill()
        path = real.socket
        os.rename(path, path + ".real")
        s.bind(path)
        s.listen()
        replacing = subprocess.Popen(
            [*real.command(), "--replace"], env=real.env,
            stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
        c, _ = s.accept()
        os.rename(path + ".real", path)
        self.assertEqual(c.recv(99), b"REPLACE\n")
        if when != "asked":
            head = struct.pack("=QIiQ", 0x6563616c70656464, 2, pid, 1)
            socket.send_fds(c, [head], fds)
            socket.send_fds(c, [b"\0"], more)
            self.assertEqual(c.recv(999), b"HAVE\n")
        if when == "gone":
            c.sendall(b"GOES\n")
        if when == "late":
            # It reads no more, but it is there.
            poll = select.poll()
            poll.register(c, select.POLLHUP | select.POLLERR)
            poll.poll(harness.TIMEOUT_S * 1000)
            with self.assertRaises(BrokenPipeError):
                c.sendall(b"GOES\n")
        c.close()
        for fd in (*fds, *more):
            os.close(fd)
        if when == "gone":
            self.assert_serves(real, replacing, grant)
        else:
            self.assertEqual(replacing.wait(harness.TIMEOUT_S), 69,
                             replacing.stderr.read())
        replacing.stderr.close()
        real.start()

    def assert_serves(self, real, replacing, grant):
        for line in replacing.stderr:
            if b"ready on" in line:
                break
        with Client(real) as other:
            self.assertTrue(other.call(
                f"RESUME secret={grant['secret']}").ok)
            other.call("RELEASE all=yes")
        replacing.send_signal(signal.SIGTERM)
        replacing.stderr.read()
        self.assertEqual(replacing.wait(harness.TIMEOUT_S), 0)


if __name__ == "__main__":
    harness.main(dynamodb=True)
