#!/usr/bin/env python3
"""BREAK: for administrators only, with the token that was seen and a reason.

Another user is a child with another user id, so this needs root.
"""
import grp
import os
import pty
import shutil
import subprocess
import unittest

import harness
from harness import Client, Daemon
from runner import ddblock, environment
from screen import read_rest, read_some
from users import STRANGER, ask_as


def at_terminal(daemon, key, answer, meanwhile=lambda: None):
    """`ddblock break`, and a user's answer: its status and words. @meanwhile:
    called before the answer.
    """
    terminal, theirs = pty.openpty()
    process = subprocess.Popen(
        [harness.program("ddblock"), f"--socket={daemon.socket}",
         "break", key, "--reason=hangs"], stdin=theirs, stderr=theirs,
        stdout=subprocess.DEVNULL)
    os.close(theirs)
    said = b""
    while b"Type" not in said:
        part = read_some(terminal)
        assert part, said
        said += part
    meanwhile()
    os.write(terminal, answer.encode() + b"\n")
    status = process.wait(harness.TIMEOUT_S)
    said += read_rest(terminal)
    os.close(terminal)
    return status, said.decode()


def some_group():
    """A group that is neither root's nor the stranger's."""
    return next(g for g in grp.getgrall() if g.gr_gid not in (0, STRANGER))


class Breaking(unittest.TestCase):
    def test_the_holder_hears_at_once(self):
        with Daemon() as daemon, Client(daemon) as holder, \
                Client(daemon) as admin:
            grant = holder.acquire("x")
            reply = admin.call(f"BREAK x token={grant['token']} "
                               "reason=it%20hangs")
            self.assertTrue(reply.ok, reply)
            lost = holder.event()
            self.assertEqual((lost.word, lost["id"], lost["reason"]),
                             ("LOCK_LOST", grant["id"], "broken"))
            seen = admin.call("GET x")
            self.assertEqual(seen["state"], "free")
            self.assertIn(f"(uid {os.getuid()}): it hangs", seen["broken_by"])
            line = daemon.wait_log("was broken by")
            self.assertIn("it hangs", line)
            self.assertIn(f"token {grant['token']}", line)
            again = holder.acquire("x")
            self.assertEqual(again.code, "OK", again)
            self.assertGreater(int(again["token"]), int(grant["token"]))
            self.assertIsNone(admin.call("GET x").get("broken_by"))

    def test_who_waits_gets_it(self):
        with Daemon() as daemon, Client(daemon) as holder, \
                Client(daemon) as waiter, Client(daemon) as admin:
            grant = holder.acquire("x")
            waits = waiter.send("ACQUIRE x")
            self.assertTrue(waiter.call("PING").ok)
            self.assertTrue(admin.call(
                f"BREAK x token={grant['token']} reason=hangs").ok)
            self.assertTrue(waiter.reply(waits).ok)

    def test_all_who_share_it(self):
        with Daemon() as daemon, Client(daemon) as one, \
                Client(daemon) as other, Client(daemon) as admin:
            one.call("ACQUIRE x mode=shared limit=3")
            other.call("ACQUIRE x mode=shared limit=3")
            token = admin.call("GET x")["token"]
            self.assertTrue(
                admin.call(f"BREAK x token={token} reason=hangs").ok)
            for client in (one, other):
                self.assertEqual(client.event()["reason"], "broken")

    def test_another_token(self):
        with Daemon() as daemon, Client(daemon) as holder, \
                Client(daemon) as admin:
            grant = holder.acquire("x")
            wrong = admin.call(
                f"BREAK x token={int(grant['token']) - 1} reason=hangs")
            self.assertEqual((wrong.code, wrong["token"]),
                             ("WRONG_TOKEN", grant["token"]))
            self.assertIn(grant["token"], wrong.text)
            self.assertTrue(holder.call(f"RELEASE id={grant['id']}").ok)
            gone = admin.call(f"BREAK x token={grant['token']} reason=hangs")
            self.assertEqual(gone.code, "NO_SUCH_LOCK")
            never = admin.call("BREAK y token=7 reason=hangs")
            self.assertEqual(never.code, "NO_SUCH_LOCK")

    @unittest.skipUnless(os.geteuid() == 0,
                         "only root can be somebody else")
    def test_no_user_silences_another(self):
        """What is said in the log of one user's refused breaks."""
        with Daemon() as daemon:
            line = "BREAK x token=1 reason=hangs"
            ask_as(daemon, line, STRANGER, STRANGER, times=100)
            ask_as(daemon, line, STRANGER - 1, STRANGER)
            self.assertEqual(daemon.stop(), 0)
            log = daemon.log()
        said = f"uid {STRANGER}) may not say BREAK"
        self.assertEqual(log.count(said), 30)
        self.assertEqual(log.count(
            f'70 more messages about "client" of user {STRANGER} were not'), 1)
        self.assertIn(f"uid {STRANGER - 1}) may not say BREAK", log)

    def test_bad_arguments(self):
        with Daemon() as daemon, Client(daemon) as admin:
            for line in ("BREAK x", "BREAK x token=0 reason=a",
                         "BREAK x token=a reason=a", "BREAK x token=1",
                         "BREAK x token=1 reason=", "BREAK token=1 reason=a",
                         "BREAK x token=1 reason=two%0Alines",
                         "BREAK x token=1 reason=%FF",
                         f"BREAK x token=1 reason={'a' * 201}",
                         f"BREAK x token={1 << 53} reason=a"):
                self.assertEqual(admin.call(line).code, "BAD_REQUEST", line)


@unittest.skipUnless(os.geteuid() == 0, "only root can be somebody else")
class Administrators(unittest.TestCase):
    def broken(self, daemon, *who):
        with Client(daemon) as holder:
            token = holder.acquire("x")["token"]
            return ask_as(daemon, f"BREAK x token={token} reason=hangs", *who)

    def test_a_stranger(self):
        with Daemon() as daemon:
            reply = self.broken(daemon, STRANGER, STRANGER)
            self.assertTrue(" ERR DENIED " in reply, reply)
            daemon.wait_log("may not say BREAK")
            # The same one may lock, of course.
            reply = ask_as(daemon, "TRY y", STRANGER, STRANGER)
            self.assertTrue(" OK id=" in reply, reply)

    def test_the_group(self):
        group = some_group()
        with Daemon(f"[daemon]\nadmin_group = {group.gr_name}\n"
                    "[namespace default]\nfile = {dir}/a.db\n") as daemon:
            for who in ((STRANGER, group.gr_gid),
                        (STRANGER, STRANGER, (group.gr_gid,))):
                reply = self.broken(daemon, *who)
                self.assertTrue(" OK token=" in reply, reply)
            reply = self.broken(daemon, STRANGER, STRANGER, (0,))
            self.assertTrue(" ERR DENIED " in reply, reply)

    @unittest.skipUnless(shutil.which("unshare"), "needs unshare")
    def test_root_of_another_namespace(self):
        """Root of a container is no administrator, unless the daemon is told
        to take it for one; root of the host always is."""
        for setting, may in (("host", False), ("any", True)):
            with Daemon(f"[daemon]\nadmin = {setting}\n"
                        "[namespace default]\nfile = {dir}/a.db\n") as daemon:
                for command in ("drain", "undrain"):
                    inside = subprocess.run(
                        ["unshare", "-pf", "--mount-proc",
                         harness.program("ddblock"), command],
                        env=environment(daemon), check=False,
                        capture_output=True, text=True,
                        timeout=harness.TIMEOUT_S)
                    self.assertEqual(inside.returncode == 0, may,
                                     inside.stderr)
                if not may:
                    self.assertIn("admin = host in ddblockd.conf(5)",
                                  inside.stderr)
                    daemon.wait_log("it is in another pid namespace")
                self.assertEqual(ddblock(daemon, "undrain").returncode, 0)

    def test_a_group_without_a_name(self):
        with Daemon(f"[daemon]\nadmin_group = {STRANGER - 7}\n"
                    "[namespace default]\nfile = {dir}/a.db\n") as daemon:
            reply = self.broken(daemon, STRANGER, STRANGER, (STRANGER - 7,))
            self.assertTrue(" OK token=" in reply, reply)
            reply = self.broken(daemon, STRANGER, STRANGER)
            self.assertTrue(" ERR DENIED " in reply, reply)

    def test_no_such_group(self):
        daemon = Daemon("[daemon]\nadmin_group = nobodys-group\n"
                        "[namespace default]\nfile = {dir}/a.db\n")
        try:
            status, _, errors = daemon.run()
        finally:
            daemon.close()
        self.assertNotEqual(status, 0)
        self.assertIn("admin_group = nobodys-group: there is no such group",
                      errors)


class Command(unittest.TestCase):
    def setUp(self):
        self.daemon = Daemon().start()
        self.addCleanup(self.daemon.close)
        self.holder = Client(self.daemon)
        self.addCleanup(self.holder.close)
        self.grant = self.holder.acquire("x")

    def run_break(self, *args):
        return subprocess.run(
            [harness.program("ddblock"), f"--socket={self.daemon.socket}",
             "break", *args], capture_output=True, text=True,
            stdin=subprocess.DEVNULL, timeout=harness.TIMEOUT_S, check=False)

    def test_with_the_token(self):
        done = self.run_break("x", "--token", self.grant["token"],
                              "--reason", "hangs since noon")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(self.holder.event()["reason"], "broken")

    def test_without_a_token(self):
        done = self.run_break("x", "--reason=hangs")
        self.assertEqual(done.returncode, 64)
        self.assertIn(f"--token={self.grant['token']}", done.stderr)
        self.assertIn(f":{os.getpid()}", done.stderr)  # who it is
        self.assertEqual(self.holder.call("GET x")["state"], "held")

    def test_without_a_reason(self):
        done = self.run_break("x", f"--token={self.grant['token']}")
        self.assertEqual(done.returncode, 64)
        self.assertIn("--reason", done.stderr)

    def test_another_token(self):
        done = self.run_break("x", "--token=7", "--reason=hangs")
        self.assertEqual(done.returncode, 5)
        self.assertIn(self.grant["token"], done.stderr)

    def test_nobody_holds_it(self):
        done = self.run_break("y", "--reason=hangs")
        self.assertEqual(done.returncode, 5)
        self.assertIn("the lock is free", done.stderr)

    def test_asked_at_a_terminal(self):
        status, said = at_terminal(self.daemon, "x", "no")
        self.assertEqual(status, 64)
        self.assertIn(self.grant["token"], said)
        self.assertEqual(self.holder.call("GET x")["state"], "held")
        status, _ = at_terminal(self.daemon, "x", "yes")
        self.assertEqual(status, 0)
        self.assertEqual(self.holder.event()["reason"], "broken")


if __name__ == "__main__":
    harness.main()
