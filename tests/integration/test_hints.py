"""Hints between daemons: what a poll would show after an hour is known at once.

Most daemons poll once an hour here: what happens within a test has happened
because of a hint. Where hints are to be of no use they poll often.
"""
import os
import socket
import time
import unittest

import harness
from harness import Client, Daemon

SELDOM = {"poll": "1h", "audit": "1h", "lease": "5h", "idle": "0s"}
OFTEN = {"poll": "100ms", "idle": "0s"}


class Base(unittest.TestCase):
    def setUp(self):
        harness.need_dynamodb()
        self.table = f"t-{os.getpid()}-{harness.boot_ms()}"
        self.made = False

    def host(self, settings, hints="127.0.0.1:0", **daemon):
        lines = {"hints": hints, **daemon}
        config = "[daemon]\n" + "".join(
            f"{k} = {v}\n" for k, v in lines.items() if v is not None)
        config += (f"[namespace default]\nstore = dynamodb\n"
                   f"table = {self.table}\nregion = us-east-1\n"
                   f"endpoint = {harness.endpoint()}\n")
        config += "".join(f"{k} = {v}\n" for k, v in settings.items())
        if not self.made:
            self.made = True
            task = Daemon(config, args=["--init-table"])
            try:
                status, _, errors = task.run()
                self.assertEqual(status, 0, errors)
            finally:
                task.close()
        d = Daemon(config, args=["--stop-wait=0"])
        self.addCleanup(d.close)
        d.start()
        # Then its session is in the table, with what it says of hints.
        while self.status(d)["session"] != "open":
            pass
        return d

    def client(self, daemon):
        c = Client(daemon)
        self.addCleanup(c.close)
        c.hello()
        return c

    def status(self, daemon):
        """The fields of the daemon and of its namespace."""
        with Client(daemon) as c:
            answer = c.call("STATUS")
        fields = dict(answer.rows[0].arguments)
        fields.update(answer.arguments)
        return fields

    def figure(self, daemon, name):
        return int(self.status(daemon)[name])

    def wait_until(self, true, what):
        end = time.monotonic() + harness.TIMEOUT_S
        while not true():
            self.assertLess(time.monotonic(), end, what)

    def wait_figure(self, daemon, name, least):
        self.wait_until(lambda: self.figure(daemon, name) >= least,
                        f"{name} < {least}")

    def wait_for(self, daemon, client, key="k"):
        """It waits for another host's lock, in line, and is done asking."""
        before = self.figure(daemon, "requests")
        tag = client.send(f"ACQUIRE {key} wait=forever")
        # An acquire, and a place in line.
        self.wait_figure(daemon, "requests", before + 2)
        self.wait_until(lambda: self.figure(daemon, "in_flight") == 0,
                        "requests have no answer")
        return tag

    def pair(self, settings=None):
        """Two hosts, and a client of each."""
        hosts = [self.host(settings or SELDOM) for _ in range(2)]
        return hosts, [self.client(h) for h in hosts]


class Heard(Base):
    def test_freed(self):
        """To and fro, by hints alone."""
        hosts, clients = self.pair()
        grant = clients[0].acquire("k")
        for i in range(4):
            there = 1 - i % 2
            tag = self.wait_for(hosts[there], clients[there])
            self.assertTrue(clients[i % 2].release(grant).ok)
            grant = clients[there].reply(tag)
            self.assertTrue(grant.ok, grant)
            self.assertEqual(self.figure(hosts[there], "hints_useful"),
                             1 + i // 2)

    def test_ended(self):
        """A client that dies releases, too."""
        hosts, clients = self.pair()
        clients[0].acquire("k")
        tag = self.wait_for(hosts[1], clients[1])
        clients[0].close()
        self.assertTrue(clients[1].reply(tag).ok)

    def test_in_turn(self):
        """Three wait; each hears when its turn comes."""
        hosts = [self.host(SELDOM) for _ in range(4)]
        clients = [self.client(h) for h in hosts]
        grant = clients[0].acquire("k")
        tags = [self.wait_for(hosts[i], clients[i]) for i in (1, 2, 3)]
        for i in (1, 2, 3):
            row, = clients[i].call("WAITING").rows
            self.assertEqual((row["place"], row["ahead"]), (str(i), "0"))
        for i, tag in enumerate(tags):
            clients[i].release(grant)
            grant = clients[i + 1].reply(tag)
            self.assertTrue(grant.ok, grant)

    def test_leaves(self):
        """The next one leaves the line of a free lock: the one behind it is
        told."""
        hosts = [self.host(SELDOM) for _ in range(3)]
        clients = [self.client(h) for h in hosts]
        grant = clients[0].acquire("k")
        first = self.wait_for(hosts[1], clients[1])
        second = self.wait_for(hosts[2], clients[2])
        hosts[1].freeze()
        clients[0].release(grant)
        self.wait_until(lambda: self.figure(hosts[0], "hints_sent") >= 1,
                        "no hint was sent")
        clients[1].close()
        hosts[1].thaw()
        self.assertTrue(clients[2].reply(second).ok, first)

    def test_shared(self):
        """Sharers wait for an exclusive holder."""
        hosts, clients = self.pair()
        grant = clients[0].acquire("k")
        before = self.figure(hosts[1], "requests")
        tag = clients[1].send("ACQUIRE k mode=shared wait=forever")
        self.wait_figure(hosts[1], "requests", before + 2)
        self.wait_until(lambda: self.figure(hosts[1], "in_flight") == 0, "")
        clients[0].release(grant)
        self.assertTrue(clients[1].reply(tag).ok)

    def test_wanted(self):
        """A host keeps a lock that its clients take again and again, until
        another one wants it."""
        hosts, clients = self.pair({**SELDOM, "idle": "1h"})
        for _ in range(3):
            clients[0].release(clients[0].acquire("k"))
        grant = clients[1].acquire("k", wait="forever")
        self.assertTrue(grant.ok, grant)
        self.assertEqual(self.figure(hosts[0], "hints_useful"), 1)

    def test_tried(self):
        """So does a try there, though it does not wait."""
        hosts, clients = self.pair({**SELDOM, "idle": "1h"})
        for _ in range(3):
            clients[0].release(clients[0].acquire("k"))
        grant = clients[1].try_("k")
        self.assertTrue(grant.ok, grant)
        self.assertEqual(self.figure(hosts[0], "hints_useful"), 1)

    def test_broken(self):
        """A holder is told at once, not by its daemon's next audit."""
        hosts, clients = self.pair()
        grant = clients[0].acquire("k")
        token = clients[1].call("GET k")["token"]
        answer = clients[1].call(f"BREAK k token={token} reason=test")
        self.assertTrue(answer.ok, answer)
        lost = clients[0].event("LOCK_LOST")
        self.assertEqual((lost["id"], lost["reason"]),
                         (grant["id"], "broken"))

    def test_broken_for_another(self):
        """And the one that waits for what is broken."""
        hosts = [self.host(SELDOM) for _ in range(3)]
        clients = [self.client(h) for h in hosts]
        grant = clients[0].acquire("k")
        tag = self.wait_for(hosts[1], clients[1])
        token = clients[2].call("GET k")["token"]
        answer = clients[2].call(f"BREAK k token={token} reason=test")
        self.assertTrue(answer.ok, answer)
        self.assertTrue(clients[1].reply(tag).ok)


class Followed(Base):
    """Who watches a lock on another host hears of what changes there."""

    def follow(self, hosts, clients):
        """The last one watches, and all the others know: it says so again, as
        with each poll, because a hint may be lost."""
        follower = self.client(hosts[-1])

        def known():
            follower.call("UNWATCH k")
            self.assertTrue(follower.call("WATCH k").ok)
            return all(self.status(host).get("followers") == "1"
                       for host in hosts[:-1])
        self.wait_until(known, "nobody follows")
        return follower

    def test_data(self):
        """Each change of what a leader says of itself."""
        hosts, clients = self.pair()
        grant = clients[0].acquire("k", data="here")
        follower = self.follow(hosts, clients)
        for n in range(3):
            answer = clients[0].call(f"RENEW id={grant['id']} data=there-{n}")
            self.assertTrue(answer.ok, answer)
            self.assertEqual(follower.event("CHANGED")["state"], "held")
            self.assertEqual(follower.call("GET k")["data"], f"there-{n}")

    def test_next_leader(self):
        """And of the next one, which was next in line."""
        hosts = [self.host(SELDOM) for _ in range(3)]
        clients = [self.client(h) for h in hosts]
        grant = clients[0].acquire("k")
        tag = self.wait_for(hosts[1], clients[1])
        follower = self.follow(hosts, clients)
        clients[0].release(grant)
        token = clients[1].reply(tag)["token"]
        while True:
            change = follower.event("CHANGED")
            if change["state"] == "held" and \
                    int(change["token"]) >= int(token):
                break

    def test_end(self):
        """A leader that dies leaves a free lock, and that is heard of."""
        hosts, clients = self.pair()
        clients[0].acquire("k")
        follower = self.follow(hosts, clients)
        clients[0].close()
        self.assertEqual(follower.event("CHANGED")["state"], "free")


class Unheard(Base):
    """Without hints, or with worse, locks are what they were."""

    def test_off(self):
        host = self.host(OFTEN, hints=None)
        status = self.status(host)
        self.assertNotIn("hints", status)
        self.assertEqual(status["hints_heard"], "0")

    def test_nowhere(self):
        """What is sent to the first does not arrive: a poll finds it."""
        hosts = [self.host(OFTEN, hints_address="192.0.2.1:9"),
                 self.host(OFTEN, hints_address="192.0.2.2:9")]
        clients = [self.client(h) for h in hosts]
        grant = clients[0].acquire("k")
        tag = clients[1].send("ACQUIRE k wait=forever")
        self.wait_figure(hosts[1], "requests", 6)
        clients[0].release(grant)
        self.assertTrue(clients[1].reply(tag).ok)

    def test_one_without(self):
        hosts = [self.host(OFTEN, hints=None), self.host(OFTEN)]
        clients = [self.client(h) for h in hosts]
        for _ in range(2):
            grant = clients[0].acquire("k", wait="forever")
            tag = clients[1].send("ACQUIRE k wait=forever")
            self.wait_figure(hosts[1], "requests", 6)
            clients[0].release(grant)
            grant = clients[1].reply(tag)
            self.assertTrue(clients[1].release(grant).ok, grant)
            hosts.reverse()
            clients.reverse()

    def test_junk(self):
        """To anybody who sends it nothing is answered, and all is counted."""
        host = self.host(OFTEN)
        client = self.client(host)
        address, _, port = self.status(host)["hints"].rpartition(":")
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.settimeout(0)
            s.connect((address, int(port)))
            n = 0
            before = self.figure(host, "hints_refused")
            for junk in (b"", b"x", b"ddh\1", b"ddh\1" + bytes(188),
                         b"ddh\1" + os.urandom(188), os.urandom(192),
                         os.urandom(65507)):
                s.send(junk)
                n += 1
                self.wait_figure(host, "hints_refused", before + n)
            with self.assertRaises(BlockingIOError):
                s.recv(1)
        self.assertTrue(client.release(client.try_("k")).ok)

    def test_port_in_use(self):
        """It starts without, says so, and has it when it is free."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
            host = self.host(OFTEN, hints=f"127.0.0.1:{port}")
            host.wait_log("cannot bind 127.0.0.1.*in use; trying again")
            self.assertEqual(self.status(host)["hints"], "")
        host.wait_log("other hosts reach this one at 127.0.0.1")


if __name__ == "__main__":
    harness.main(dynamodb=True)
