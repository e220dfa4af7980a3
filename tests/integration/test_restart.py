#!/usr/bin/env python3
"""Connections that go on when the daemon is killed and started again.

The service manager is the test (manager.py); a real one is in tests/systemd/.
"""
import os
import random
import select
import signal
import threading

import harness
import succession
from harness import Client, Daemon, TIMEOUT_S
from manager import Managed
from succession import sleeper


class Case(succession.Case):
    def daemon(self, **more):
        daemon = Managed(**more)
        self.addCleanup(daemon.close, check=False)
        return daemon.start()

    def await_kept(self, daemon, n):
        with Client(daemon) as client:
            while True:
                status = client.call("STATUS")
                if int(status["kept"]) >= n and status["unconfirmed"] == "0":
                    return


class Connections(Case):
    def test_a_hold_goes_on(self):
        daemon = self.daemon()
        client = self.client(daemon, restarted="yes")
        other = self.client(daemon)
        grant = client.try_("k")
        daemon.restart()
        self.assertTrue(client.event("RESTARTED"))
        self.assertTrue(client.call("PING").ok)
        self.assertEqual(other.try_("k").code, "LOCK_BUSY")
        held = client.call("HELD").rows
        self.assertEqual([(row["id"], row["token"], row["name"])
                          for row in held],
                         [(grant["id"], grant["token"], "test")])
        self.assertTrue(client.release(grant).ok)
        self.assertGreater(int(other.acquire("k")["token"]),
                           int(grant["token"]))

    def test_a_waiter_keeps_its_place(self):
        daemon = self.daemon()
        self.expect_places(daemon, daemon.restart)

    def test_half_a_line(self):
        daemon = self.daemon()
        client = self.client(daemon)
        client.send_raw(b"#a TRY k%2")
        daemon.restart()
        client.send_raw(b"0x\n#b PI")
        self.assertTrue(client.reply("a").ok)
        daemon.restart()
        daemon.kill()
        client.send_raw(b"NG\n#c PING\n")
        daemon.start()
        self.assertTrue(client.reply("b").ok)
        self.assertTrue(client.reply("c").ok)
        self.assertEqual(client.call("HELD").rows[0]["key"], "k x")

    def test_a_watch_goes_on(self):
        daemon = self.daemon()
        watcher = self.client(daemon)
        tag = watcher.send("WATCH k")
        self.assertEqual(watcher.reply(tag)["state"], "free")
        watcher.call("WATCH gone")
        watcher.call("UNWATCH gone")
        # Its tag is in use again.
        watcher.send_raw(f"#{tag} ACQUIRE other\n".encode())
        watcher.reply(tag)
        watcher.send_raw(f"#{tag} ACQUIRE other reentrant=yes\n".encode())
        daemon.restart()
        told = watcher.event("CHANGED")
        self.assertEqual((told["key"], told["state"]), ("k", "free"))
        holder = self.client(daemon)
        holder.try_("k")
        self.assertEqual(watcher.event("CHANGED")["state"], "held")
        daemon.restart()
        self.assertEqual(watcher.event("CHANGED")["state"], "held")
        self.assertTrue(watcher.call("UNWATCH k").ok)
        self.assertEqual(watcher.call("UNWATCH gone").code, "NO_SUCH_LOCK")
        self.assertEqual(len(watcher.replies[tag]), 1)
        self.assertEqual(list(watcher.events), [])

    def test_a_process_goes_on(self):
        daemon = self.daemon()
        with sleeper() as process:
            client = self.client(daemon)
            self.try_for(client, process, "k")
            client.close()
            waiter = self.client(daemon)
            tag = waiter.send("ACQUIRE k")
            waiter.call("PING")
            daemon.restart()
            waiter.call("PING")
            self.assertEqual(waiter.call("HELD").rows[0]["process"],
                             str(process.pid))
            process.kill()
            self.assertTrue(waiter.reply(tag).ok)

    def test_a_process_that_ended_meanwhile(self):
        daemon = self.daemon()
        with sleeper() as process:
            client = self.client(daemon)
            self.try_for(client, process, "k")
            daemon.kill()
            process.kill()
        daemon.start()
        self.assertTrue(client.call("PING").ok)
        other = self.client(daemon)
        self.assertTrue(other.acquire("k").ok)

    def test_what_is_left_of_a_wait(self):
        daemon = self.daemon()
        holder = self.client(daemon)
        holder.try_("k")
        client = self.client(daemon)
        begin = harness.boot_ms()
        tag = client.send("ACQUIRE k wait=2s")
        client.call("PING")
        daemon.restart()
        self.assertEqual(client.reply(tag).code, "ACQUIRE_TIMEOUT")
        self.assertGreaterEqual(harness.boot_ms() - begin, 2000)

    def test_a_client_that_left_meanwhile(self):
        """Nobody saw it leave: its hold stays for its deadline and a margin,
        for it may have gone on with it."""
        daemon = self.daemon(args=["--lease=4s"])
        client = self.client(daemon)
        grant = client.try_("k")
        other = self.client(daemon)
        daemon.kill()
        client.close()
        daemon.start()
        self.assertEqual(other.try_("k").code, "LOCK_BUSY")
        after = other.acquire("k")
        self.assertTrue(after.ok)
        self.assertGreater(int(after["token"]), int(grant["token"]))

    def test_a_listing_is_to_be_asked_again(self):
        daemon = self.daemon()
        client = self.client(daemon)
        daemon.restart()
        self.assertTrue(client.call("LIST").ok)

    def test_a_half_closed_one(self):
        daemon = self.daemon()
        holder = self.client(daemon)
        holder.try_("k")
        client = self.client(daemon)
        client.call("PING")
        client.half_close()
        client.wait_end()
        daemon.restart()
        self.assertTrue(holder.call("PING").ok)

    def test_ended_ones_are_not_kept(self):
        daemon = self.daemon()
        clients = [self.client(daemon) for _ in range(20)]
        self.await_kept(daemon, 20)
        for client in clients[:10]:
            client.call("QUIT")
            client.wait_end()
        for client in clients[10:]:
            client.close()
        while daemon.kept() > 0:
            select.select([], [], [], 0.01)

    def test_a_secret_goes_on(self):
        """Its grant was not sent yet; and the next daemon tells the same one,
        which no journal tells."""
        daemon = self.daemon()
        path = daemon.socket + ".journal"
        client = self.client(daemon, resume="yes")
        tags = [client.send("STATUS") for _ in range(3000)]
        tag = client.send("ACQUIRE k")
        with Client(daemon) as other:
            while other.try_("k").ok:
                other.call("RELEASE all=yes")
        client.send_raw(b"#r RESUME secret=0123456789abcdef0123456789abcdef")
        daemon.freeze()
        daemon.kill()
        with open(path, "rb") as f:
            left = f.read()
        for unsaid in (b"secret=", b"0123456789abcdef"):
            self.assertFalse(unsaid in left, unsaid)
        daemon.start()
        grant = client.reply(tag)
        self.assertTrue(all(client.reply(tag).ok for tag in tags))
        self.assertFalse(harness.tells(path, grant["secret"]))
        client.send_raw(b"\n")
        self.assertEqual(client.reply("r").code, "BAD_REQUEST")
        for key in ("k2", "k3"):
            daemon.restart()
            again = client.acquire(key)
            self.assertEqual(again["secret"], grant["secret"])
            self.assertFalse(harness.tells(path, grant["secret"]))
        daemon.kill()
        client.close()
        daemon.start()
        heir = self.client(daemon)
        self.assertEqual(len(heir.call(
            f"RESUME secret={grant['secret']}").rows), 3)

    def test_unsent_output(self):
        """A client that does not read."""
        daemon = self.daemon()
        client = self.client(daemon)
        tags = []
        for _ in range(3000):
            tags.append(client.send("STATUS"))
        daemon.restart()
        for tag in tags:
            self.assertTrue(client.reply(tag).ok)


    def test_a_journal_that_is_not_inherited(self):
        """No connection goes on with a lock that the daemon does not know."""
        daemon = self.daemon(config="[namespace default]\nstore = sqlite\n"
                             "file = {dir}/default.db\nlease = 4s\n")
        client = self.client(daemon)
        client.try_("k")
        daemon.kill()
        daemon.write_config("[namespace default]\nstore = sqlite\n"
                            "file = {dir}/default.db\nlease = 5s\n")
        daemon.start()
        client.wait_end()

    def test_a_store_that_ends_with_the_daemon(self):
        daemon = self.daemon(config="[namespace default]\nstore = memory\n")
        client = self.client(daemon)
        client.try_("k")
        daemon.restart()
        client.wait_end()


class Stores(Case):
    def has_ended(self, client):
        try:
            client.call("PING")
        except (harness.Ended, BrokenPipeError):
            return True
        return False

    def test_none(self):
        """As before: the connection ends with the daemon."""
        with Daemon(args=["--journal=no"]) as daemon, \
                Client(daemon) as client:
            status = client.call("STATUS")
            self.assertNotIn("kept", status.arguments)

    def test_full(self):
        daemon = self.daemon(store_max=4)
        clients = [self.client(daemon) for _ in range(8)]
        daemon.wait_log("descriptor store is full or not there")
        self.assertEqual(daemon.log().count("store is full"), 1)
        daemon.restart()
        ended = 0
        for client in clients:
            ended += self.has_ended(client)
        self.assertGreaterEqual(ended, 5)

    def test_zero(self):
        daemon = self.daemon(store_max=0)
        client = self.client(daemon)
        daemon.wait_log("descriptor store is full or not there")
        daemon.restart()
        self.assertTrue(self.has_ended(client))

    def test_a_manager_that_does_not_read(self):
        daemon = self.daemon()
        daemon.reading.clear()
        clients = [self.client(daemon) for _ in range(40)]
        status = clients[0].call("STATUS")
        self.assertEqual(int(status["kept"]) + int(status["unconfirmed"]), 40)
        self.assertGreater(int(status["unconfirmed"]), 30)
        daemon.reading.set()
        self.await_kept(daemon, 40)
        daemon.restart()
        for client in clients:
            self.assertTrue(client.call("PING").ok)


class HandedOver(Case):
    def test_on_purpose(self):
        """SIGUSR2: it waits for no holder, and tells nobody of an end."""
        daemon = self.daemon()
        client = self.client(daemon, restarted="yes")
        grant = client.try_("k")
        with sleeper() as process:
            holder = self.client(daemon)
            self.try_for(holder, process, "p", " signal=9")
            holder.close()
            for _ in range(3):
                daemon.signal(signal.SIGUSR2)
                self.assertEqual(daemon.wait(), 0)
                client.send_raw(b"#m PING\n")
                daemon.start()
                self.assertEqual(client.event().word, "RESTARTED")
                self.assertTrue(client.reply("m").ok)
            self.assertEqual({row["key"] for row in client.call("HELD").rows},
                             {"k", "p"})
            self.assertIsNone(process.poll())
            process.kill()
        self.assertTrue(client.release(grant).ok)

    def test_without_a_journal_it_stops(self):
        daemon = Managed(args=["--stop-wait=10ms", "--journal=no"])
        self.addCleanup(daemon.close, check=False)
        daemon.start()
        client = self.client(daemon)
        client.try_("k")
        daemon.signal(signal.SIGUSR2)
        daemon.wait()
        self.assertEqual(client.event().word, "SHUTDOWN")
        client.wait_end()


class Killed(Case):
    """At any moment."""
    DEATHS = int(os.environ.get("DDBLOCK_DEATHS", "20"))

    def work(self, daemon, number, stop, failures):
        try:
            with Client(daemon) as client:
                client.hello(restarted="yes")
                last = {}
                while not stop.is_set():
                    key = f"k{random.randrange(4)}"
                    grant = client.acquire(key, wait="1m")
                    if not grant.ok:
                        raise AssertionError(grant)
                    token = int(grant["token"])
                    if token <= last.get(key, 0):
                        raise AssertionError(f"token {token} of {key}")
                    last[key] = token
                    if self.holders.setdefault(key, number) != number:
                        raise AssertionError(f"two holders of {key}")
                    client.call("PING")
                    del self.holders[key]
                    done = client.release(grant)
                    if not done.ok:
                        raise AssertionError(done)
                    self.n_grants += 1
                    lost = [e for e in client.events if e.word == "LOCK_LOST"]
                    if lost:
                        raise AssertionError(lost)
        except Exception as error:  # pylint: disable=broad-except
            failures.append(f"client {number}: {error!r}")
            stop.set()

    def test_under_load(self):
        daemon = self.daemon()
        stop, failures = threading.Event(), []
        self.holders, self.n_grants = {}, 0
        threads = [threading.Thread(target=self.work, args=(
            daemon, i, stop, failures)) for i in range(20)]
        for thread in threads:
            thread.start()
        self.await_kept(daemon, 20)
        for _ in range(self.DEATHS):
            before = self.n_grants
            stop.wait(random.uniform(0.01, 0.2))
            daemon.restart()
            while self.n_grants < before + 5 and not stop.is_set():
                stop.wait(0.01)
        stop.set()
        for thread in threads:
            thread.join(TIMEOUT_S)
        self.assertEqual(failures, [])


if __name__ == "__main__":
    harness.main()
