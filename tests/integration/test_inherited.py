#!/usr/bin/env python3
"""A connection that another process inherits: for whom it speaks then.

Another user is a child with another user id, so this needs root.
"""
import os
import subprocess
import sys
import unittest

import harness
from harness import Client, Daemon
from manager import Managed
from users import STRANGER, become

WARNS = "writes on the connection of client"

# What a command does with each socket that it inherits.
BREAKS_ALL = """
import os, socket, stat
for name in os.listdir("/proc/self/fd"):
    fd = int(name)
    try:
        if fd > 2 and stat.S_ISSOCK(os.fstat(fd).st_mode):
            socket.socket(fileno=fd).sendall(
                b"BREAK victim token=%s reason=mine\\nTRY more\\n")
    except OSError:
        pass
"""


def in_child(user, work):
    """In a child of this user (None: ours), which ends with it."""
    child = os.fork()
    if child == 0:
        try:
            if user is not None:
                become(user, user)
            work()
        finally:
            os._exit(0)
    os.waitpid(child, 0)


@unittest.skipUnless(os.geteuid() == 0, "only root can be another user")
class Inherited(unittest.TestCase):
    def client(self, daemon):
        client = Client(daemon)
        self.addCleanup(client.close)
        self.assertTrue(client.hello().ok)
        return client

    def test_a_command_that_has_given_up_its_rights(self):
        with Daemon() as daemon, Client(daemon) as victim:
            grant = victim.acquire("victim")
            script = BREAKS_ALL % grant["token"]
            run = subprocess.run(
                [harness.program("ddblock"), f"--socket={daemon.socket}",
                 "run", "k", "--", "setpriv", f"--reuid={STRANGER}",
                 f"--regid={STRANGER}", "--clear-groups",
                 "python3", "-c", script],
                stdin=subprocess.DEVNULL, capture_output=True, text=True)
            self.assertEqual((run.returncode, run.stderr), (0, ""))
            self.assertIn(f"uid {STRANGER}", daemon.wait_log(WARNS))
            self.assertEqual(victim.call("GET victim")["state"], "held")
            self.assertEqual(victim.call("GET more")["state"], "free")
            self.assertTrue(victim.release(grant).ok)

    def test_what_the_client_says_stays_whole(self):
        with Daemon() as daemon:
            client = self.client(daemon)
            client.send_raw(b"#a TRY k%2")
            in_child(STRANGER, lambda: client.send_raw(b"x\n#z TRY z\n"))
            client.send_raw(b"0x\n")
            self.assertTrue(client.reply("a").ok)
            self.assertEqual([row["key"] for row in client.call("HELD").rows],
                             ["k x"])
            self.assertFalse(client.replies["z"])

    def test_what_was_read_last_before_a_restart(self):
        daemon = Managed()
        self.addCleanup(daemon.close, check=False)
        daemon.start()
        client = self.client(daemon)
        client.call("PING")
        in_child(STRANGER, lambda: client.send_raw(b"#z TRY z\n"))
        daemon.wait_log(WARNS)
        daemon.restart()
        self.assertEqual(client.call("HELD").rows, [])
        daemon.kill()
        in_child(STRANGER, lambda: client.send_raw(b"#z TRY z\n"))
        client.send_raw(b"#y TRY y\n")
        daemon.start()
        self.assertTrue(client.reply("y").ok)
        self.assertEqual([row["key"] for row in client.call("HELD").rows],
                         ["y"])
        self.assertFalse(client.replies["z"])

    def test_lines_that_come_with_the_connection(self):
        """Some are written before the daemon asks for names, and have none."""
        with Daemon() as daemon:
            for _ in range(1000):
                with Client(daemon) as client:
                    tags = [client.send("PING") for _ in range(20)]
                    for tag in tags:
                        self.assertTrue(client.reply(tag).ok)

    def test_a_child_of_the_same_user(self):
        """It speaks for the client, but not as an administrator."""
        with Daemon() as daemon, Client(daemon) as victim:
            token = victim.acquire("victim")["token"]
            client = self.client(daemon)
            lines = f"#a TRY k\n#b BREAK victim token={token} reason=x\n"
            in_child(None, lambda: client.send_raw(lines.encode()))
            self.assertTrue(client.reply("a").ok)
            self.assertEqual(client.reply("b").code, "DENIED")
            self.assertTrue(
                client.call(f"BREAK victim token={token} reason=x").ok)

    def test_a_program_that_is_set_user_id(self):
        """The kernel names its real user, which is not the one it connects
        as."""
        with Daemon() as daemon:
            for path in (daemon.directory, daemon.socket):
                os.chmod(path, 0o777)
            script = ("import os, sys; os.setresuid(%d, 0, 0);"
                      "sys.path.insert(0, %r); from harness import Client;"
                      "c = Client(%r); sys.exit(not c.call('TRY k').ok)")
            run = subprocess.run([
                sys.executable, "-c", script % (
                    STRANGER, os.path.dirname(os.path.abspath(__file__)),
                    daemon.socket)], capture_output=True, text=True)
            self.assertEqual((run.returncode, run.stderr), (0, ""))


if __name__ == "__main__":
    harness.main()
