"""What the tests of daemons that follow one another share: clients, which end
with their test, and what is true of any such daemon."""
import contextlib
import os
import socket
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

    def expect_places(self, daemon, succeed):
        """Waiters keep their places when @succeed() has another daemon."""
        holder = self.client(daemon)
        grant = holder.try_("k")
        waiters = [self.client(daemon) for _ in range(5)]
        tags = []
        for waiter in waiters:
            tags.append(waiter.send("ACQUIRE k wait=1h"))
            waiter.call("PING")
        succeed()
        for waiter, tag in zip(waiters, tags):
            self.assertTrue(holder.release(grant).ok)
            last, grant = grant, waiter.reply(tag)
            self.assertTrue(grant.ok, grant)
            self.assertGreater(int(grant["token"]), int(last["token"]))
            holder = waiter
