"""Shared locks and semaphores: among the clients of a daemon, on either store,
and of two daemons on one table.

A resource counts its users. That is done under a lock of Python's, so the
count is exact; a counted client holds the lock, and releases it after that.
"""
import os
import threading
import unittest

import fault_proxy
import harness
from harness import Client, Daemon
from runner import PAUSE, READY, Run, python

LEASE = "5m"  # what ends sooner ended for another reason
SHORT_LEASE = "2s"
SHARERS = 50
LIMIT = 3
USERS = 10
ROUNDS = 20


class Resource:
    """How many use it, and how many ever did at once."""

    def __init__(self):
        self.lock = threading.Lock()
        self.users = {"shared": 0, "exclusive": 0}
        self.most = 0
        self.uses = 0
        self.overlaps = 0  # of exclusive use with any other

    def enter(self, mode):
        with self.lock:
            self.users[mode] += 1
            self.uses += 1
            self.most = max(self.most, sum(self.users.values()))
            if self.users["exclusive"] and sum(self.users.values()) > 1:
                self.overlaps += 1

    def leave(self, mode):
        with self.lock:
            self.users[mode] -= 1


class Users:
    """Threads, each with a connection of its own. join() raises their
    exceptions."""

    def __init__(self):
        self.threads = []
        self.failures = []

    def add(self, daemon, work):
        def run():
            try:
                with Client(daemon) as client:
                    work(client)
            except BaseException as e:  # for join()
                self.failures.append(e)
        self.threads.append(threading.Thread(target=run))

    def start(self):
        for thread in self.threads:
            thread.start()

    def join(self):
        for thread in self.threads:
            thread.join()
        if self.failures:
            raise self.failures[0]


def use(client, resource, key="k", **use_as):
    grant = client.acquire(key, **use_as)
    assert grant.ok, grant
    mode = use_as.get("mode", "exclusive")
    assert grant["mode"] == mode, grant
    resource.enter(mode)
    resource.leave(mode)
    assert client.release(grant).ok
    return grant


def wait_for_waiters(client, n):
    """Ask until exactly so many wait."""
    while len(client.call("WAITING").rows) != n:
        pass


class OneDaemon(harness.WithDaemon):
    """Rules among the clients of a daemon, on every store."""

    def setUp(self):
        self.daemon = self.new_daemon()
        self.addCleanup(self.daemon.close)
        self.daemon.start()

    def clients(self, n):
        return [self.client() for _ in range(n)]

    def test_many_at_once(self):
        """Sharers are in at once; exclusive use waits for the last."""
        sharers = self.clients(SHARERS)
        tags = [c.send("ACQUIRE k mode=shared") for c in sharers]
        grants = [c.reply(t) for c, t in zip(sharers, tags)]
        self.assertEqual({g.code for g in grants}, {"OK"})
        token = max(int(g["token"]) for g in grants)
        other = self.client()
        busy = other.try_("k")
        self.assertEqual((busy.code, busy["mode"], busy["holders"]),
                         ("LOCK_BUSY", "shared", str(SHARERS)))
        held = other.call("GET k")
        self.assertEqual((held["state"], held["mode"], held["holders"]),
                         ("held", "shared", str(SHARERS)))
        tag = other.send("ACQUIRE k")
        wait_for_waiters(sharers[0], 1)
        for client, grant in zip(sharers, grants):
            row, = client.call("WAITING").rows
            self.assertNotIn("mode", row.arguments)
            self.assertTrue(client.release(grant).ok)
        grant = other.reply(tag)
        self.assertEqual(grant["mode"], "exclusive")
        self.assertGreater(int(grant["token"]), token)
        self.assertEqual(sharers[0].try_("k", mode="shared").code,
                         "LOCK_BUSY")

    def test_in_the_order_of_asking(self):
        """The kinds of use take turns as they were asked for."""
        order = ["exclusive", "shared", "shared", "exclusive", "shared",
                 "exclusive", "exclusive", "shared", "shared", "shared"]
        asker = self.client()
        clients = self.clients(len(order))
        first = asker.acquire("k")
        waiting = []
        for n, (client, mode) in enumerate(zip(clients, order), 1):
            waiting.append((client, client.send(f"ACQUIRE k mode={mode}"),
                            mode))
            wait_for_waiters(asker, n)
        rows = asker.call("WAITING").rows
        self.assertEqual([row.get("mode", "exclusive") for row in rows], order)
        self.assertEqual([int(row["ahead"]) for row in rows],
                         list(range(len(order))))
        self.assertTrue(asker.release(first).ok)
        last = int(first["token"])
        while waiting:
            together = [waiting.pop(0)]
            while together[0][2] == "shared" and waiting and \
                    waiting[0][2] == "shared":
                together.append(waiting.pop(0))
            grants = [client.reply(tag) for client, tag, _ in together]
            for grant, (_, _, mode) in zip(grants, together):
                self.assertEqual(grant["mode"], mode)
                self.assertGreater(int(grant["token"]), last)
            last = max(int(grant["token"]) for grant in grants)
            self.assertEqual(len(asker.call("WAITING").rows), len(waiting))
            for grant, (client, _, _) in zip(grants, together):
                self.assertTrue(client.release(grant).ok)

    def test_semaphore(self):
        """Never more than the limit, and as many as that."""
        resource = Resource()
        holders = self.clients(LIMIT)
        grants = [c.try_("k", mode="shared", limit=LIMIT) for c in holders]
        self.assertEqual({g.code for g in grants}, {"OK"})
        self.assertEqual({g["limit"] for g in grants}, {str(LIMIT)})
        busy = self.client().try_("k", mode="shared", limit=LIMIT)
        self.assertEqual((busy.code, busy["holders"], busy["limit"]),
                         ("LOCK_BUSY", str(LIMIT), str(LIMIT)))
        users = Users()
        for _ in range(USERS):
            users.add(self.daemon, lambda client: [
                use(client, resource, mode="shared", limit=LIMIT)
                for _ in range(ROUNDS)])
        users.start()
        wait_for_waiters(self.client(), USERS)
        for client, grant in zip(holders, grants):
            self.assertTrue(client.release(grant).ok)
        users.join()
        self.assertEqual(resource.uses, USERS * ROUNDS)
        self.assertLessEqual(resource.most, LIMIT)

    def test_all_kinds(self):
        """Exclusive use overlaps with no other use."""
        resource = Resource()
        users = Users()
        for n in range(USERS):
            use_as = {} if n % 2 else {"mode": "shared"}
            users.add(self.daemon, lambda client, use_as=use_as: [
                use(client, resource, **use_as) for _ in range(ROUNDS)])
        users.start()
        users.join()
        self.assertEqual(resource.uses, USERS * ROUNDS)
        self.assertEqual(resource.overlaps, 0)

    def test_another_limit(self):
        """A try names both; a waiter gets in when the others have left."""
        one, two, three = self.clients(3)
        grant = one.acquire("k", mode="shared", limit=LIMIT)
        self.assertTrue(grant.ok)
        for words, asked in (({"limit": 5}, "limit=5"), ({}, "none")):
            wrong = two.try_("k", mode="shared", **words)
            self.assertEqual((wrong.code, wrong["limit"]),
                             ("WRONG_LIMIT", str(LIMIT)))
            self.assertEqual(wrong.text, f"limit={LIMIT} is in force, and "
                             f"{asked} was asked for")
            late = two.acquire("k", mode="shared", wait="50ms", poll="10ms",
                               **words)
            self.assertEqual((late.code, late["cause"]),
                             ("ACQUIRE_TIMEOUT", "WRONG_LIMIT"))
            self.assertIn(asked, late.text)
        tag = two.send("ACQUIRE k mode=shared limit=5")
        wait_for_waiters(one, 1)
        tag3 = three.send("ACQUIRE k mode=shared")
        wait_for_waiters(one, 2)
        self.assertTrue(one.release(grant).ok)
        grant = two.reply(tag)
        self.assertEqual((grant["mode"], grant["limit"]), ("shared", "5"))
        wrong = one.try_("k", mode="shared", limit=LIMIT)
        self.assertEqual((wrong.code, wrong["limit"]), ("WRONG_LIMIT", "5"))
        self.assertTrue(two.release(grant).ok)
        self.assertTrue(three.reply(tag3).ok)
        wrong = one.try_("k", mode="shared", limit=LIMIT)
        self.assertEqual(wrong.text, "no limit is in force, and "
                         f"limit={LIMIT} was asked for")
        # Exclusive use has no limit that could be another.
        self.assertEqual(one.try_("k").code, "LOCK_BUSY")

    def test_killed_client(self):
        """Its place is free at once, and not after a lease."""
        self.client_is_killed(["-c", "1"], "mode=shared limit=1")

    def test_killed_sharer(self):
        self.client_is_killed(["-s"], "")

    def client_is_killed(self, options, words):
        command = python(READY, PAUSE)
        with Run(self.daemon, "run", *options, "k", "--", *command) as run:
            run.ready()
            waiter = self.client()
            tag = waiter.send(f"ACQUIRE k {words}")
            wait_for_waiters(self.client(), 1)
            run.kill()
            self.assertTrue(waiter.reply(tag).ok)

    def test_no_change_of_mode(self):
        one, two = self.clients(2)
        grants = [c.acquire("k", mode="shared") for c in (one, two)]
        for client in (one, two):
            refused = client.acquire("k")
            self.assertEqual(refused.code, "ALREADY_HELD")
            self.assertIn("release it", refused.text)
        again = one.acquire("k", mode="shared")
        self.assertEqual(again.code, "ALREADY_HELD")
        self.assertNotIn("release it", again.text)
        for client, grant in zip((one, two), grants):
            self.assertTrue(client.release(grant).ok)
        self.assertTrue(one.acquire("k").ok)
        refused = one.acquire("k", mode="shared", limit=2)
        self.assertEqual(refused.code, "ALREADY_HELD")
        self.assertIn("release it", refused.text)


class Sqlite(OneDaemon, unittest.TestCase):
    def new_daemon(self):
        return Daemon("[namespace default]\nfile = {dir}/default.db\n"
                      f"lease = {LEASE}\n")

    def test_after_a_restart(self):
        """The record of a killed daemon's sharers is read correctly."""
        self.daemon.kill()
        self.daemon.write_config("[daemon]\njournal = no\n"
                                 "[namespace default]\n"
                                 "file = {dir}/default.db\n"
                                 f"lease = {SHORT_LEASE}\n")
        self.daemon.start()
        with Client(self.daemon) as client, Client(self.daemon) as second:
            tokens = [int(c.acquire("k", mode="shared", limit=2)["token"])
                      for c in (client, second)]
            self.daemon.kill()
        self.daemon.start()
        with Client(self.daemon) as client:
            busy = client.try_("k")
            self.assertEqual((busy.code, busy["limit"], busy["holders"]),
                             ("LOCK_BUSY", "2", "2"))
            wrong = client.try_("k", mode="shared")
            self.assertEqual(wrong.code, "WRONG_LIMIT")
            grant = client.acquire("k")
            self.assertTrue(grant.ok)
            self.assertGreater(int(grant["token"]), max(tokens))


class Table:
    """Daemons on a table of the test's own."""

    def on_table(self, table, url=None, args=(), **settings):
        endpoint = url or harness.endpoint()
        if settings["lease"] == LEASE:  # nothing here is about slow stores
            settings["request_timeout"] = "30s"
        lines = [f"{k} = {v}" for k, v in settings.items()]
        config = "\n".join(["[namespace default]", "store = dynamodb",
                            f"table = {table}", "region = us-east-1",
                            f"endpoint = {endpoint}", "poll = 200ms",
                            *lines, ""])
        task = Daemon(config, args=["--init-table"])
        try:
            self.assertEqual(task.run()[0], 0)
        finally:
            task.close()
        return Daemon(config, args=args)


class DynamoDB(OneDaemon, Table, unittest.TestCase):
    def setUp(self):
        harness.need_dynamodb()
        super().setUp()

    def new_daemon(self):
        return self.on_table(f"s-{os.getpid()}-{self._testMethodName}",
                             lease=LEASE)


class TwoHosts(Table):
    """Two daemons on one table, each behind a proxy of its own."""

    def setUp(self):
        harness.need_dynamodb()
        self.proxies = [fault_proxy.Proxy() for _ in range(2)]
        for proxy in self.proxies:
            self.addCleanup(proxy.close)

    def start(self, lease=LEASE):
        daemons = [self.on_table(f"t-{os.getpid()}-{self._testMethodName}",
                                 proxy.url, lease=lease)
                   for proxy in self.proxies]
        for daemon in daemons:
            self.addCleanup(daemon.close)
            daemon.start()
        return daemons


class TwoDaemons(TwoHosts, unittest.TestCase):
    """Across hosts."""

    def clients(self, daemons):
        clients = [Client(daemon) for daemon in daemons]
        for client in clients:
            self.addCleanup(client.close)
        return clients

    def test_shared(self):
        """All are in at once; of each host one element."""
        one, two = self.start()
        clients = self.clients([one, two, one, two])
        grants = [c.acquire("k", mode="shared") for c in clients]
        self.assertEqual({g.code for g in grants}, {"OK"})
        row, = clients[0].call("LIST").rows
        self.assertEqual((row["mode"], row["holders"]), ("shared", "3"))
        self.assertEqual(clients[1].call("GET k")["holders"], "3")
        other, = self.clients([two])
        tag = other.send("ACQUIRE k")
        wait_for_waiters(clients[1], 1)
        marks = [proxy.mark() for proxy in self.proxies]
        for client, grant in zip(clients, grants):
            self.assertTrue(client.release(grant).ok)
        grant = other.reply(tag)
        self.assertGreater(int(grant["token"]),
                           max(int(g["token"]) for g in grants))
        for proxy, mark in zip(self.proxies, marks):
            done = [r for r in proxy.seen("release", since=mark)
                    if r.status == 200]
            self.assertEqual(len(done), 1)

    def test_try_beside_one_who_stays(self):
        """A client that shares it longer than a host may keep it from others
        keeps no client from sharing it, on any host."""
        one, two = self.start(lease=SHORT_LEASE)
        for key, words in (("k", {}), ("l", {"limit": 3})):
            stays, here, there = self.clients([one, one, two])
            self.assertTrue(stays.acquire(key, mode="shared", **words).ok)
            harness.pass_boot_ms(harness.boot_ms() + 2500)
            for client in (here, there):
                grant = client.try_(key, mode="shared", **words)
                self.assertTrue(grant.ok, grant)

    def test_semaphore(self):
        """Never more than the limit in all."""
        daemons = self.start()
        resource = Resource()
        users = Users()
        for n in range(USERS):
            users.add(daemons[n % 2], lambda client: [
                use(client, resource, mode="shared", limit=LIMIT)
                for _ in range(ROUNDS)])
        users.start()
        users.join()
        self.assertEqual(resource.uses, USERS * ROUNDS)
        self.assertLessEqual(resource.most, LIMIT)
        clients = self.clients([daemons[n % 2] for n in range(LIMIT + 1)])
        grants = [c.acquire("k", mode="shared", limit=LIMIT)
                  for c in clients[:LIMIT]]
        self.assertEqual({g.code for g in grants}, {"OK"})
        self.assertEqual(clients[LIMIT].try_("k", mode="shared",
                                             limit=LIMIT).code, "LOCK_BUSY")

    def take_turns(self, mine, theirs):
        """Two clients of a host never let the lock go free between them, or
        not without the next waiter; a client of the other host gets it."""
        one, two = self.start()
        resource = Resource()
        users = Users()
        done = threading.Event()

        def overlap(client):
            while not done.is_set():
                grant = client.acquire("k", **mine)
                assert grant.ok, grant
                resource.enter(grant["mode"])
                # The other one asks while we have it.
                client.call("PING")
                resource.leave(grant["mode"])
                assert client.release(grant).ok

        def turn(client):
            try:
                for _ in range(3):
                    use(client, resource, **theirs)
            finally:
                done.set()
        for _ in range(4):
            users.add(one, overlap)
        users.add(two, turn)
        users.start()
        users.join()
        self.assertEqual(resource.overlaps, 0)

    def test_exclusive_waiter_has_its_turn(self):
        self.take_turns({"mode": "shared"}, {})

    def test_shared_waiter_has_its_turn(self):
        self.take_turns({}, {"mode": "shared"})

    def test_another_limit_has_its_turn(self):
        self.take_turns({"mode": "shared", "limit": 2},
                        {"mode": "shared", "limit": 3})

    def test_wrong_limit(self):
        one, two = self.clients(self.start())
        grant = one.acquire("k", mode="shared", limit=LIMIT)
        wrong = two.try_("k", mode="shared", limit=1)
        self.assertEqual((wrong.code, wrong["limit"]),
                         ("WRONG_LIMIT", str(LIMIT)))
        late = two.acquire("k", mode="shared", wait="500ms")
        self.assertEqual((late.code, late["cause"]),
                         ("ACQUIRE_TIMEOUT", "WRONG_LIMIT"))
        tag = two.send("ACQUIRE k mode=shared limit=1")
        self.proxies[1].wait_seen("want", key="k")
        self.assertEqual(one.release(grant).code, "OK")
        self.assertEqual(two.reply(tag)["limit"], "1")

    def test_killed_daemon(self):
        """Its place of a semaphore is free after its lease, beside living
        holders."""
        one, two = self.start(lease=SHORT_LEASE)
        dead, alive, waiter = self.clients([one, two, two])
        for client in (dead, alive):
            self.assertTrue(client.acquire("k", mode="shared", limit=2).ok)
        tag = waiter.send("ACQUIRE k mode=shared limit=2")
        wait_for_waiters(alive, 1)
        one.kill()
        self.assertTrue(waiter.reply(tag).ok)
        self.assertEqual(alive.call("GET k")["holders"], "2")


if __name__ == "__main__":
    harness.main(dynamodb=True)
