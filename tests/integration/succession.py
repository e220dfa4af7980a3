"""What the tests of daemons that follow one another share: clients, which end
with their test, and what is true of any such daemon."""
import contextlib
import os
import socket
import struct
import subprocess
import unittest

from harness import Client


@contextlib.contextmanager
def sleeper():
    """A process that locks are held for."""
    with subprocess.Popen(["sleep", "3600"]) as process:
        try:
            yield process
        finally:
            process.kill()


JOURNAL_VERSION = 64 + 8  # its place in the file


def journal_version(path):
    """The format of the journal in that file."""
    with open(path, "rb") as f:
        f.seek(JOURNAL_VERSION)
        return struct.unpack("=I", f.read(4))[0]


class Case(unittest.TestCase):
    def client(self, daemon, **hello):
        client = Client(daemon)
        self.addCleanup(client.close)
        self.assertTrue(client.hello(**hello).ok)
        return client

    def try_for(self, client, process, key, more=""):
        """The client takes the lock for that process."""
        pidfd = os.pidfd_open(process.pid)
        request = f"#p TRY {key} process=yes{more}\n"
        socket.send_fds(client.socket, [request.encode()], [pidfd])
        os.close(pidfd)
        self.assertTrue(client.reply("p").ok)

    def wait_in_line(self, daemon, n, request):
        """So many clients that ask for this, one after the other: each with
        the tag of its request."""
        waiters = []
        for _ in range(n):
            waiter = self.client(daemon)
            waiters.append((waiter, waiter.send(request)))
            waiter.call("PING")
        return waiters

    def expect_places(self, daemon, succeed):
        """Waiters keep their places when @succeed() has another daemon."""
        holder = self.client(daemon)
        grant = holder.try_("k")
        waiters = self.wait_in_line(daemon, 5, "ACQUIRE k wait=1h")
        succeed()
        for waiter, tag in waiters:
            self.assertTrue(holder.release(grant).ok)
            last, grant = grant, waiter.reply(tag)
            self.assertTrue(grant.ok, grant)
            self.assertGreater(int(grant["token"]), int(last["token"]))
            holder = waiter
