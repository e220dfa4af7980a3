#!/usr/bin/env python3
"""Connections under a real systemd: they go on when the daemon is killed and
when it is restarted, and end when it is stopped."""
import os
import socket
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, os.pardir, "integration"))
# pylint: disable=wrong-import-position
import harness
import test_unit
from test_unit import HOST, SOCKET, show

setUpModule = test_unit.setUpModule
CROWD = 3000
DEATHS = int(os.environ.get("DDBLOCK_DEATHS", "10"))


class Restart(test_unit.Case):
    def client(self):
        client = harness.Client(HOST.path(SOCKET))
        self.addCleanup(client.close)
        self.assertTrue(client.hello(restarted="yes").ok)
        return client

    def await_kept(self, client):
        self.await_(lambda: client.call("STATUS")["unconfirmed"] == "0")

    def kill(self):
        HOST.exec("systemctl", "kill", "-s", "KILL", "--kill-who=main",
                  "ddblockd")

    def restart(self):
        HOST.exec("systemctl", "restart", "ddblockd")

    def go_on(self, end, times):
        """Holders, waiters in their order and half a line."""
        self.start()
        clients = [self.client() for _ in range(20)]
        grants = [client.try_(f"k{i}") for i, client in enumerate(clients)]
        waiters = [self.client() for _ in range(3)]
        tags = []
        for waiter in waiters:
            tags.append(waiter.send("ACQUIRE k0 wait=forever"))
            waiter.call("PING")
        self.await_kept(clients[0])
        self.assertGreaterEqual(int(show("ddblockd", "NFileDescriptorStore")),
                                24)
        for _ in range(times):
            for client in clients:
                client.send_raw(b"#half PI")
            end()
            for client in clients:
                client.send_raw(b"NG\n")
            for client, grant in zip(clients, grants):
                self.assertEqual(client.event().word, "RESTARTED")
                self.assertTrue(client.reply("half").ok)
                self.assertEqual([], list(client.events))
        held = {row["key"]: row["token"] for row in
                clients[0].call("HELD").rows}
        self.assertEqual(held, {f"k{i}": grant["token"]
                                for i, grant in enumerate(grants)})
        holder, grant = clients[0], grants[0]
        for waiter, tag in zip(waiters, tags):
            self.assertTrue(holder.release(grant).ok)
            holder, grant = waiter, waiter.reply(tag)
            self.assertTrue(grant.ok, grant)

    def test_killed(self):
        self.go_on(self.kill, DEATHS)

    def test_restarted(self):
        self.go_on(self.restart, DEATHS)

    def test_stopped(self):
        """Then nobody goes on: clients are told, and end."""
        self.start()
        client = self.client()
        HOST.exec("systemctl", "stop", "ddblockd")
        self.assertEqual(client.event().word, "SHUTDOWN")
        client.wait_end()

    def test_ended_ones_are_dropped(self):
        self.start()
        stays = self.client()
        clients = [self.client() for _ in range(10)]
        self.await_kept(stays)
        for client in clients[:5]:
            client.call("QUIT")
            client.wait_end()
        for client in clients[5:]:
            client.close()
        self.await_(lambda: int(show("ddblockd", "NFileDescriptorStore")) == 2)

    def test_crowd(self):
        """More at once than the manager's queue has room for; and then they
        say nothing any more."""
        self.start(config="[daemon]\nconnections_per_uid_max = 5000\n")
        sockets = []
        for _ in range(CROWD):
            s = socket.socket(socket.AF_UNIX)
            self.addCleanup(s.close)
            s.connect(HOST.path(SOCKET))
            s.send(b"HELLO\n")
            sockets.append(s)
        for s in sockets:
            self.assertTrue(s.recv(1000).startswith(b"OK"))
        self.await_kept(self.client())
        self.await_(lambda: int(show("ddblockd", "NFileDescriptorStore"))
                    == CROWD + 2)
        self.restart()
        for s in sockets:
            s.send(b"PING\n")
            self.assertTrue(s.recv(1000).startswith(b"OK"))

    def test_no_store(self):
        """As before there was one: the connection ends."""
        self.start(store="[Service]\nFileDescriptorStoreMax=0\n")
        client = self.client()
        self.await_(lambda: "descriptor store is full" in self.journal())
        self.kill()
        with self.assertRaises((harness.Ended, BrokenPipeError)):
            while True:
                client.call("PING")


if __name__ == "__main__":
    harness.main()
