#!/usr/bin/env python3
"""What all users share: none has more than it leaves to the others, and the
last of it is for administrators. Each user here is a real one."""
import os
import socket
import unittest

import harness
import succession
import users
from manager import Managed

CONFIG = """
[daemon]
connections_max = 32
requests_max = 32
locks_max = 16
memory_max = 1M
socket_mode = 0666
[namespace default]
file = {dir}/db
"""
SHARED = 32 - 32 // 16


class Stranger:
    """A process of another user, which connects and asks as it is told."""

    def __init__(self, path, uid):
        self.here, there = socket.socketpair()
        self.pid = os.fork()
        if self.pid > 0:
            there.close()
            self.answers = self.here.makefile("r")
            return
        try:
            self.here.close()
            users.become(uid, uid)
            self.obey(there.makefile("rw"), path)
        finally:
            os._exit(0)

    @staticmethod
    def obey(orders, path):
        clients = []
        for order in orders:
            if order == "connect\n":
                client = socket.socket(socket.AF_UNIX)
                client.connect(path)
                lines = client.makefile("r")
                try:
                    client.sendall(b"#p PING\n")
                    answer = lines.readline()
                except OSError:  # it was refused, and is closed
                    answer = "refused\n"
                if answer.startswith("#p OK"):
                    clients.append((client, lines))
                else:
                    lines.close()
                    client.close()
            elif order == "leave\n":
                clients.pop()[0].close()
                answer = "left\n"
            else:
                client, lines = clients[-1]
                client.sendall(order.replace(";", "\n").encode())
                answer = lines.readline()
            orders.write(answer)
            orders.flush()

    def do(self, order):
        self.here.sendall(order.encode() + b"\n")
        return self.answers.readline().strip()

    def close(self):
        self.answers.close()
        self.here.close()
        os.waitpid(self.pid, 0)


@unittest.skipIf(os.geteuid() != 0, "only root has other users")
class Shares(harness.WithDaemon, unittest.TestCase):
    def setUp(self):
        self.daemon = harness.Daemon(config=CONFIG)
        os.chmod(self.daemon.directory, 0o755)
        self.daemon.start()
        self.addCleanup(self.daemon.close)

    def stranger(self, uid):
        stranger = Stranger(self.daemon.socket, uid)
        self.addCleanup(stranger.close)
        return stranger

    def connect_all(self, stranger):
        n = 0
        while stranger.do("connect").startswith("#p OK"):
            n += 1
        return n

    def leave_and_come_back(self, one):
        """What it had is there for it again when it leaves."""
        self.assertEqual(one.do("leave"), "left")
        self.assertIn("OK", one.do("connect"))
        while "OK" not in one.do("#again TRY mine"):
            pass

    def test_connections(self):
        one, two = self.stranger(2001), self.stranger(2002)
        self.assertEqual(self.connect_all(one), SHARED // 2)
        self.daemon.wait_log(
            "as many connections as are left for the others")
        # A second one has its share of what is left, and root is served.
        self.assertEqual(self.connect_all(two), (SHARED - SHARED // 2 + 1) // 2)
        for _ in range(4):
            self.assertTrue(self.client().call("PING").ok)
        # What one gives back is for all, as soon as the daemon has seen it.
        for _ in range(6):
            self.assertEqual(one.do("leave"), "left")
        while not two.do("connect").startswith("#p OK"):
            pass
        # The last places are root's.
        for _ in range(SHARED + 1 - 9 - 9 - 4):
            self.assertTrue(self.client().call("PING").ok)

    def test_requests(self):
        holder = self.client()
        self.assertTrue(holder.try_("k").ok)
        one, two = self.stranger(2001), self.stranger(2002)
        for stranger in one, two:
            self.assertIn("OK", stranger.do("connect"))
        ask = ";".join(f"#w{i} ACQUIRE k" for i in range(SHARED // 2))
        self.assertRegex(
            one.do(f"{ask};#more ACQUIRE k"),
            "#more ERR LIMIT :15 requests of this user .* for the others")
        self.assertIn("OK", two.do("#t TRY other"))
        self.assertTrue(holder.try_("another").ok)
        self.leave_and_come_back(one)

    def test_locks(self):
        one, two = self.stranger(2001), self.stranger(2002)
        for stranger in one, two:
            self.assertIn("OK", stranger.do("connect"))
        for i in range(8):
            self.assertIn("OK", one.do(f"#t TRY one-{i}"))
        self.assertRegex(one.do("#t TRY one-8"),
                         "ERR LIMIT :this user's programs hold 8 locks, as "
                         "many as are left for the others .locks_max.")
        for i in range(4):
            self.assertIn("OK", two.do(f"#t TRY two-{i}"))
        self.assertIn("ERR LIMIT", two.do("#t TRY two-4"))
        self.assertTrue(self.client().try_("root").ok)

    def test_memory(self):
        one, two = self.stranger(2001), self.stranger(2002)
        for stranger in one, two:
            self.assertIn("OK", stranger.do("connect"))
        holder = self.client()
        self.assertTrue(holder.try_("k").ok)
        data = "x" * 200000
        self.assertRegex(
            one.do(f"#a ACQUIRE k data={data};#b ACQUIRE k data={data};"
                   f"#c ACQUIRE k data={data};#d ACQUIRE k"),
            "#d ERR LIMIT :this user's programs take [0-9]+ bytes of memory, "
            "as many as are left for the others .memory_max.")
        self.assertIn("OK", two.do("#t TRY other"))
        self.assertTrue(holder.try_("another").ok)
        self.leave_and_come_back(one)


@unittest.skipIf(os.geteuid() != 0, "only root has other users")
class Restarted(succession.Case):
    def test_who_waits(self):
        """What was admitted is, also if its user has its share since."""
        daemon = Managed(config=CONFIG)
        self.addCleanup(daemon.close, check=False)
        os.chmod(daemon.directory, 0o755)
        daemon.start()
        os.chmod(daemon.socket, 0o666)
        holder = self.client(daemon, restarted="yes")
        grant = holder.try_("k")
        one = Stranger(daemon.socket, 2001)
        self.addCleanup(one.close)
        self.assertIn("OK", one.do("connect"))
        self.assertIn("OK", one.do("HELLO name=one restarted=yes"))
        self.assertIn("#t OK", one.do("#w ACQUIRE k;#t TRY last"))
        answer = "OK"
        while "OK" in answer:
            answer = one.do(f"#t TRY {os.urandom(8).hex()}")
        self.assertIn("ERR LIMIT", answer)
        daemon.restart()
        self.assertTrue(holder.event("RESTARTED"))
        self.assertTrue(holder.release(grant).ok)
        answer = "!RESTARTED"
        while not answer.startswith("#w"):
            answer = one.do("#p PING")
        self.assertIn("OK", answer)


@unittest.skipIf(os.geteuid() != 0, "only root has other users")
class Rate(unittest.TestCase):
    """What users cause a table, together and each."""

    def setUp(self):
        harness.need_dynamodb()
        self.daemon = harness.on_new_table(f"rate-{os.getpid()}")
        with open(self.daemon.config, "a") as config:
            config.write("request_rate = 40\n[daemon]\nsocket_mode = 0666\n")
        os.chmod(self.daemon.directory, 0o755)
        self.daemon.start()
        self.addCleanup(self.daemon.close)

    def test_requests(self):
        one, two = (Stranger(self.daemon.socket, uid) for uid in (2001, 2002))
        for stranger in one, two:
            self.addCleanup(stranger.close)
            self.assertIn("OK", stranger.do("connect"))
        # More than it may ask in the second that it was silent, at once.
        answer = one.do(";".join(f"#g{i} GET k{i}" for i in range(60)))
        while "OK" in answer:
            answer = one.do("PING")
        self.assertRegex(
            answer, "ERR LIMIT :this user's programs have asked the store for "
            "as much as is left for the others .request_rate of namespace "
            "default.; the next request is in [0-9]+ ms")
        self.assertIn("OK", two.do("#t TRY other"))
        with harness.Client(self.daemon) as root:
            self.assertTrue(root.try_("root").ok)


if __name__ == "__main__":
    harness.main(dynamodb=True)
