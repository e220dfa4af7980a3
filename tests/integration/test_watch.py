"""Watches: the holder of a lock, and each change; on either store, and of two
daemons on one table."""
import os
import unittest

import harness
from harness import Client, Daemon, encode
from test_shared import LEASE, SHORT_LEASE, Table, TwoHosts

MANY = 200  # keys of one client, more than go in one request
MOST = 250  # watches of one connection
MOST_OPTION = f"--watches-per-connection-max={MOST}"
WATCHERS = 50


def until(client, key, **wanted):
    """Read changes of the key until the expected one; returns it."""
    while True:
        change = client.event("CHANGED")
        if change["key"] == key and all(
                change.get(name) == value for name, value in wanted.items()):
            return change


def find(client, key, data):
    """Ask for the contents, after each change only, until they are these."""
    while True:
        change = client.event("CHANGED")
        if client.call(f"GET {key}").get("data") == data:
            return change


class OneDaemon:
    """Rules among the clients of a daemon, on every store."""

    def setUp(self):
        self.daemon = self.new_daemon()
        self.addCleanup(self.daemon.close)
        self.daemon.start()

    def clients(self, n):
        clients = [Client(self.daemon) for _ in range(n)]
        for client in clients:
            self.addCleanup(client.close)
        return clients

    def test_holder_changes(self):
        """Each holder is told of, in order, and the end of the last."""
        watcher, one, two = self.clients(3)
        one.hello("one")
        two.hello("two")
        self.assertEqual(watcher.call("WATCH k")["state"], "free")
        first = one.acquire("k")
        change = watcher.event("CHANGED")
        self.assertEqual(
            (change["ns"], change["key"], change["state"], change["token"],
             change["here"], change["mode"]),
            ("default", "k", "held", first["token"], "yes", "exclusive"))
        self.assertIn("/one:", change["owner"])
        self.assertEqual(watcher.call("GET k")["token"], change["token"])
        tag = two.send("ACQUIRE k")
        self.assertTrue(one.release(first).ok)
        second = two.reply(tag)
        change = until(watcher, "k", state="held")
        self.assertEqual(change["token"], second["token"])
        self.assertIn("/two:", change["owner"])
        two.close()
        self.assertEqual(watcher.event("CHANGED")["state"], "free")

    def test_answer_says_who(self):
        """The holder of a held lock; also again after an end."""
        one, watcher = self.clients(2)
        one.hello("one")
        grant = one.acquire("k")
        for _ in range(2):
            answer = watcher.call("WATCH k")
            self.assertEqual((answer["state"], answer["token"]),
                             ("held", grant["token"]))
            self.assertIn("/one:", answer["owner"])
            again = watcher.call("WATCH k")
            self.assertEqual(again.code, "BAD_REQUEST")
            self.assertIn("already", again.text)
            self.assertTrue(watcher.call("UNWATCH k").ok)
            self.assertEqual(watcher.call("UNWATCH k").code, "NO_SUCH_LOCK")
        self.assertTrue(one.release(grant).ok)
        self.assertTrue(watcher.call("PING").ok)
        self.assertEqual(list(watcher.events), [])

    def test_what_is_kept_changes(self):
        """The contents are not told, only their change; a client that asks
        gets them."""
        watcher, one = self.clients(2)
        one.hello("one")
        self.assertEqual(watcher.call("WATCH k")["state"], "free")
        grant = one.call("ACQUIRE k data=web-1")
        find(watcher, "k", "web-1")
        self.assertTrue(one.call(f"RENEW id={grant['id']} data=web-2").ok)
        find(watcher, "k", "web-2")
        self.assertTrue(one.call(f"RELEASE id={grant['id']} attr.x=1").ok)
        while watcher.call("GET k").get("attr.x") != "1":
            watcher.event("CHANGED")

    def test_sharers_are_counted(self):
        watcher, one, two = self.clients(3)
        watcher.call("WATCH k")
        grants = [c.acquire("k", mode="shared") for c in (one, two)]
        change = until(watcher, "k", holders="2")
        self.assertEqual((change["state"], change["mode"]),
                         ("held", "shared"))
        self.assertTrue(one.release(grants[0]).ok)
        until(watcher, "k", holders="1")
        self.assertTrue(two.release(grants[1]).ok)
        until(watcher, "k", state="free")

    def test_many_watch_one(self):
        """All hear of it, and end at the truth."""
        holder, *watchers = self.clients(WATCHERS + 1)
        for watcher in watchers:
            self.assertEqual(watcher.call("WATCH k")["state"], "free")
        grant = holder.acquire("k")
        for watcher in watchers:
            until(watcher, "k", token=grant["token"])
        self.assertTrue(holder.release(grant).ok)
        for watcher in watchers:
            until(watcher, "k", state="free")

    def test_one_watches_many(self):
        """Watches beyond the cap are refused, without a cost for other
        clients."""
        watcher, other = self.clients(2)
        tags = [watcher.send(f"WATCH k{n}") for n in range(MOST + 50)]
        codes = [watcher.reply(tag).code for tag in tags]
        self.assertEqual(codes, ["OK"] * MOST + ["LIMIT"] * 50)
        self.assertEqual(other.call("WATCH k0")["state"], "free")
        grants = {}
        for n in range(0, MANY, 10):
            grants[n] = other.acquire(f"k{n}")
        for n, grant in grants.items():
            until(watcher, f"k{n}", token=grant["token"])
        until(other, "k0", token=grants[0]["token"])
        for n in range(MOST):
            self.assertTrue(watcher.call(f"UNWATCH k{n}").ok)
        self.assertEqual(watcher.call("WATCH more")["state"], "free")

    def test_who_does_not_read(self):
        """It gets the latest, is not cut off, and hinders no other client."""
        slow, holder = self.clients(2)
        key = "k" * 1000
        self.assertTrue(slow.call(f"WATCH {key}").ok)
        for _ in range(2500):  # 5 MB of lines, beyond what may be queued
            grant = holder.acquire(key)
            self.assertTrue(holder.release(grant).ok)
        grant = holder.acquire(key)
        until(slow, key, token=grant["token"])
        self.assertTrue(slow.call("PING").ok)

    def test_half_close(self):
        """The answer still comes; then there is no client to tell."""
        watcher, = self.clients(1)
        tag = watcher.send("WATCH k")
        watcher.half_close()
        self.assertEqual(watcher.reply(tag)["state"], "free")
        watcher.wait_end()

    def test_shutdown(self):
        """A release while the daemon stops is told, too."""
        watcher, holder, late = self.clients(3)
        grant = holder.acquire("k")
        self.assertEqual(watcher.call("WATCH k")["token"], grant["token"])
        self.assertTrue(late.call("PING").ok)
        self.daemon.signal(15)
        late.event("SHUTDOWN")
        self.assertEqual(late.call("WATCH k").code, "SHUTTING_DOWN")
        self.assertTrue(holder.release(grant).ok)
        until(watcher, "k", state="free")
        watcher.wait_end()

    def test_bad_requests(self):
        client, = self.clients(1)
        for request, text in (
                ("WATCH", "needs a KEY"),
                ("WATCH k wait=1s", "no argument"),
                (f"WATCH {'k' * 1025}", "1025 bytes"),
                ("UNWATCH", "needs a KEY"),
                ("WATCH %FF", "not UTF-8")):
            refused = client.call(request)
            self.assertEqual(refused.code, "BAD_REQUEST")
            self.assertIn(text, refused.text)
        self.assertEqual(client.call("WATCH k ns=nowhere").code,
                         "UNKNOWN_NAMESPACE")
        strange = "a b%=:\u00e9"
        self.assertTrue(client.call(f"WATCH {encode(strange)}").ok)
        self.assertTrue(client.acquire(strange).ok)
        until(client, strange, state="held")


class Sqlite(OneDaemon, unittest.TestCase):
    def new_daemon(self, lease=LEASE):
        return Daemon("[namespace default]\nfile = {dir}/default.db\n"
                      f"lease = {lease}\n", args=[MOST_OPTION])

    def test_dead_after_a_restart(self):
        """What a killed daemon held is held, then dead, then another's."""
        self.daemon.kill()
        self.daemon.write_config("[daemon]\njournal = no\n"
                                 "[namespace default]\n"
                                 "file = {dir}/default.db\n"
                                 f"lease = {SHORT_LEASE}\n")
        self.daemon.start()
        with Client(self.daemon) as client:
            grant = client.acquire("k")
            self.daemon.kill()
        self.daemon.start()
        watcher, other = self.clients(2)
        answer = watcher.call("WATCH k")
        self.assertEqual((answer["state"], answer["here"]), ("held", "no"))
        self.assertGreaterEqual(int(answer["token"]), int(grant["token"]))
        until(watcher, "k", state="dead")
        grant = other.acquire("k")
        until(watcher, "k", state="held", token=grant["token"])


class DynamoDB(OneDaemon, Table, unittest.TestCase):
    def setUp(self):
        harness.need_dynamodb()
        super().setUp()

    def new_daemon(self):
        return self.on_table(f"w-{os.getpid()}-{self._testMethodName}",
                             args=[MOST_OPTION], lease=LEASE)


class TwoDaemons(TwoHosts, unittest.TestCase):
    """Across hosts."""

    def start(self, **settings):
        self.daemons = super().start(**settings)

    def client(self, number):
        client = Client(self.daemons[number])
        self.addCleanup(client.close)
        return client

    def test_other_host(self):
        """Actions of another host's clients are seen, by one look for all
        watchers."""
        self.start()
        watchers = [self.client(0) for _ in range(WATCHERS)]
        holder = self.client(1)
        holder.hello("leader")
        for watcher in watchers:
            self.assertEqual(watcher.call("WATCH k")["state"], "free")
        mark = self.proxies[0].mark()
        grant = holder.acquire("k")
        for watcher in watchers:
            change = until(watcher, "k", state="held")
            self.assertEqual(change["here"], "no")
            self.assertIn("/leader:", change["owner"])
        self.assertTrue(holder.release(grant).ok)
        for watcher in watchers:
            until(watcher, "k", state="free")
        self.assertEqual(self.proxies[0].seen("read", since=mark), [])

    def test_leader_s_data(self):
        """However a leader writes where it is, its followers hear of it."""
        self.start()
        leader, follower = self.client(1), self.client(0)
        self.assertEqual(follower.call("WATCH k")["state"], "free")
        grant = leader.call("ACQUIRE k data=first")
        find(follower, "k", "first")
        for data in ("second", "third"):
            self.assertTrue(leader.call(
                f"RENEW id={grant['id']} data={data}").ok)
            change = find(follower, "k", data)
            self.assertEqual(change["state"], "held")
        self.assertTrue(leader.release(grant).ok)
        until(follower, "k", state="free")

    def test_death(self):
        """The end of a host is told when it is certain."""
        self.start(lease=SHORT_LEASE)
        watcher, holder, other = (self.client(n) for n in (0, 1, 0))
        self.assertEqual(watcher.call("WATCH k")["state"], "free")
        grant = holder.acquire("k")
        until(watcher, "k", state="held", here="no")
        self.daemons[1].kill()
        until(watcher, "k", state="dead", here="no")
        mine = other.acquire("k")
        change = until(watcher, "k", state="held")
        self.assertEqual((change["here"], change["token"]),
                         ("yes", mine["token"]))
        self.assertGreater(int(mine["token"]), int(grant["token"]))

    def test_outage(self):
        """If the state is not known any more, the watcher is told so, and the
        truth later."""
        self.start(lease=SHORT_LEASE)
        watcher, holder = self.client(0), self.client(1)
        self.assertEqual(watcher.call("WATCH k")["state"], "free")
        self.proxies[0].down()
        change = until(watcher, "k", state="unknown")
        self.assertEqual(change["cause"], "UNREACHABLE")
        self.assertEqual(self.client(0).call("WATCH k").code, "UNREACHABLE")
        grant = holder.acquire("k")
        self.proxies[0].up()
        change = until(watcher, "k", state="held")
        self.assertGreaterEqual(int(change["token"]), int(grant["token"]))


if __name__ == "__main__":
    harness.main(dynamodb=True)
