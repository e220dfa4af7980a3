#!/usr/bin/env python3
"""Holds that linger when their connection has ended, and their resumption."""
import os
import signal
import subprocess
import sys
import unittest

import harness
from harness import Client, Daemon

NOBODY = 65534
NOTHING = ("NO_SUCH_LOCK",
           "nothing can be resumed with this secret by this user")

# A client in a process of its own, so that it can be killed.
VICTIM = """
import harness, sys, time
client = harness.Client(sys.argv[1])
grant = client.acquire("x", linger="1h")
print(grant["id"], grant["token"], grant["secret"], flush=True)
time.sleep(3600)
"""


class OneDaemon:
    """With either store."""

    def left(self, daemon, key="x", **arguments):
        """A grant whose connection has ended."""
        arguments.setdefault("linger", "1h")
        with Client(daemon) as one:
            grant = one.acquire(key, **arguments)
            self.assertTrue(grant.ok, grant)
        return grant

    def await_left(self, client, key="x"):
        """Until the daemon has noticed."""
        while True:
            rows = client.call(f"HELD key={key}").rows
            if not rows or rows[0].get("left") == "yes":
                return rows

    def resume(self, client, grant):
        return client.call(f"RESUME secret={grant['secret']}")

    def refused(self, reply, code=NOTHING[0], text=NOTHING[1]):
        self.assertEqual((reply.code, reply.text), (code, text))

    def test_killed_and_resumed_by_the_next(self):
        with self.daemon() as daemon, Client(daemon) as other:
            victim = subprocess.Popen(
                [sys.executable, "-c", VICTIM, daemon.socket],
                stdout=subprocess.PIPE, text=True,
                env={**os.environ,
                     "PYTHONPATH": os.path.dirname(harness.__file__)})
            with victim:
                hold, token, secret = victim.stdout.readline().split()
                victim.send_signal(signal.SIGKILL)
            row, = self.await_left(other)
            self.assertIn("lingers", row.arguments)
            self.assertEqual(other.try_("x").code, "LOCK_BUSY")
            seen = other.call("GET x")
            self.assertEqual((seen["state"], seen["here"]), ("held", "yes"))
            status = other.call("STATUS").rows[0]
            self.assertEqual(status["lingering"], "1")
            with Client(daemon) as heir:
                reply = heir.call(f"RESUME secret={secret}")
                self.assertEqual(reply["rows"], "1")
                row, = reply.rows
                self.assertEqual(
                    (row["id"], row["token"], row["state"], row["key"]),
                    (hold, token, "held", "x"))
                self.assertGreater(int(row["until_boot_ms"]),
                                   harness.boot_ms())
                own, = heir.call("HELD").rows
                self.assertEqual(own["mine"], "yes")
                self.assertIsNone(
                    other.call("STATUS").rows[0].get("lingering"))
                self.assertTrue(heir.call(f"RENEW id={hold}").ok)
                self.assertTrue(heir.call(f"RELEASE id={hold}").ok)
            self.assertTrue(other.try_("x").ok)

    def test_time_is_over(self):
        with self.daemon() as daemon, Client(daemon) as other, \
                Client(daemon) as late:
            grant = self.left(daemon, linger="50ms")
            self.assertTrue(other.acquire("x").ok)
            self.refused(self.resume(late, grant))

    def test_all_of_a_connection(self):
        """Several keys as one, shared use, and the same key once more."""
        with self.daemon() as daemon, Client(daemon) as heir:
            with Client(daemon) as one:
                first = one.acquire("x", linger="1h", reentrant="yes")
                one.acquire("x", reentrant="yes")
                several = one.call("ACQUIRE a b linger=1h")
                shared = one.acquire("s", mode="shared", limit=3, linger="2h")
                plain = one.acquire("plain")
                self.assertIsNone(plain.get("secret"))
                self.assertEqual(
                    {g["secret"] for g in (first, several, shared)},
                    {first["secret"]})
            reply = self.resume(heir, first)
            self.assertEqual(
                [(row["key"], row["id"]) for row in reply.rows],
                [("x", first["id"]), ("a", several["id"]),
                 ("b", several["id"]), ("s", shared["id"])])
            x, _, b, s = reply.rows
            self.assertEqual(x["count"], "2")
            self.assertEqual(b["token"], several.rows[1]["token"])
            self.assertEqual((s["mode"], s["limit"]), ("shared", "3"))
            self.assertTrue(heir.call(f"RELEASE id={several['id']}").ok)
            self.assertEqual(heir.call(f"RELEASE id={x['id']}")["count"], "1")
            self.assertTrue(heir.call(f"RELEASE id={x['id']}").ok)
            self.assertEqual(heir.call("RELEASE all=yes")["released"], "1")

    def test_taken_over_from_who_is_there(self):
        with self.daemon() as daemon, Client(daemon) as one, \
                Client(daemon) as heir:
            grant = one.acquire("x", linger="1h")
            one.acquire("plain")
            busy = heir.send("RESUME secret=" + grant["secret"])
            self.assertEqual(heir.reply(busy)["rows"], "1")
            one.wait_end()
            self.refused(one.reply(), "LOCK_NOT_OWNED",
                         "another connection resumed the holds of this one")
            # A hold that did not linger is lost, and the lock stays unused for
            # a margin.
            self.assertEqual(one.event()["reason"], "cut_off")
            self.assertTrue(heir.acquire("plain").ok)
            self.assertTrue(heir.release(grant).ok)

    def test_many_and_what_is_said_next(self):
        """More than a step of the daemon moves; the next lines wait for it."""
        with self.daemon() as daemon, Client(daemon) as one, \
                Client(daemon) as heir:
            tags = [one.send(f"ACQUIRE k{i} linger=1h") for i in range(100)]
            grants = [one.reply(tag) for tag in tags]
            resume = heir.send(f"RESUME secret={grants[0]['secret']}")
            tags = [heir.send(f"RELEASE id={grant['id']}") for grant in grants]
            again = heir.send("ACQUIRE k99")
            reply = heir.reply(resume)
            self.assertEqual([row["id"] for row in reply.rows],
                             sorted((g["id"] for g in grants), key=int))
            self.assertTrue(all(heir.reply(tag).ok for tag in tags))
            self.assertTrue(heir.reply(again).ok)

    def test_again_and_again(self):
        with self.daemon() as daemon, Client(daemon) as other:
            grant = self.left(daemon)
            for _ in range(3):
                with Client(daemon) as heir:
                    self.assertTrue(self.resume(heir, grant).ok)
                self.await_left(other)
            with Client(daemon) as heir:
                self.assertTrue(self.resume(heir, grant).ok)
                self.assertEqual(self.resume(heir, grant)["rows"], "1")
                self.assertTrue(heir.release(grant).ok)
                self.refused(self.resume(heir, grant))

    def test_what_happened_meanwhile(self):
        with self.daemon() as daemon, Client(daemon) as other, \
                Client(daemon) as heir:
            grant = self.left(daemon)
            with Client(daemon) as one:
                both = one.call("ACQUIRE a b linger=1h")
                ends = one.acquire("ends", linger="1h", max_hold="10ms")
            self.await_left(other)
            for key in ("x", "b"):
                token = other.call(f"GET {key}")["token"]
                self.assertTrue(other.call(
                    f"BREAK {key} token={token} reason=test").ok)
            row, = self.resume(heir, grant).rows
            self.assertEqual((row["state"], row["reason"]),
                             ("lost", "broken"))
            self.assertEqual(heir.release(grant).code, "LOCK_LOST")
            with Client(daemon) as next_one:
                while other.call("HELD key=ends").rows[0]["state"] != "lost":
                    pass
                rows = self.resume(next_one, both).rows
                self.assertEqual(
                    [(row["key"], row["state"], row["reason"])
                     for row in rows],
                    [("a", "lost", "broken"), ("b", "lost", "broken"),
                     ("ends", "lost", "max_hold")])
                self.assertEqual(next_one.release(ends).code, "LOCK_LOST")

    def test_a_promise_is_kept_again(self):
        """Silence does not count while no client has it; that of the resuming
        client does."""
        with self.daemon() as daemon, Client(daemon) as heir, \
                Client(daemon) as other:
            grant = self.left(daemon, keepalive="200ms")
            self.await_left(other)
            other.call("ACQUIRE x wait=1s")
            reply = self.resume(heir, grant)
            self.assertEqual(reply.rows[0]["state"], "held")
            self.assertEqual(heir.event("LOCK_LOST")["reason"], "keepalive")

    def test_watchers_hear_who_has_it(self):
        with self.daemon() as daemon, Client(daemon) as watcher, \
                Client(daemon) as heir:
            heir.hello("heir")
            grant = self.left(daemon)
            watcher.call("WATCH x")
            self.resume(heir, grant)
            while "/heir:" not in watcher.event("CHANGED").get("owner", ""):
                pass

    def test_contradictions(self):
        with self.daemon() as daemon, Client(daemon) as client:
            for other in ("policy=fail-closed", "renew=manual",
                          "on_close=lease"):
                reply = client.call(f"TRY x linger=1s {other}")
                self.assertEqual(reply.code, "BAD_REQUEST")
                self.assertIn("linger", reply.text)
                self.assertIn(other, reply.text)
            self.refused(client.call("TRY x linger=0s"), "BAD_REQUEST",
                         "linger is more than 0s")
            self.refused(client.call("TRY x linger=25h"), "BAD_REQUEST",
                         "linger is at most 24h")

    def test_bad_input(self):
        with self.daemon() as daemon, Client(daemon) as heir, \
                Client(daemon) as other:
            grant = self.left(daemon)
            for bad in ("RESUME", "RESUME secret=", "RESUME secret=00",
                        "RESUME secret=" + "g" * 32,
                        "RESUME secret=" + "0" * 33,
                        f"RESUME {grant['secret']}"):
                reply = heir.call(bad)
                self.assertEqual(reply.code, "BAD_REQUEST", bad)
                self.assertNotIn(grant["secret"], reply.raw)
            own = other.acquire("own", linger="1h")
            reply = self.resume(other, grant)
            self.assertEqual(reply.code, "BAD_REQUEST")
            self.assertIn("before it asks", reply.text)
            # One that waits for a lock might meet itself.
            heir.send("ACQUIRE own")
            self.assertEqual(self.resume(heir, grant).code, "BAD_REQUEST")
            self.assertTrue(other.release(own).ok)

    def test_guesses(self):
        with self.daemon() as daemon, Client(daemon) as thief:
            for i in range(7):
                self.refused(thief.call(f"RESUME secret={i:032x}"))
            thief.send("RESUME secret=" + "f" * 32)
            thief.wait_end()
            daemon.wait_log("it guesses at secrets")

    @unittest.skipUnless(os.geteuid() == 0, "needs root, to be another")
    def test_another_user(self):
        args = ["--socket-mode=0666"]
        with self.daemon(args=args) as daemon, Client(daemon) as heir:
            os.chmod(daemon.directory, 0o755)
            grant = self.left(daemon)
            os.seteuid(NOBODY)
            try:
                thief = Client(daemon)
            finally:
                os.seteuid(0)
            with thief:
                self.refused(self.resume(thief, grant))
            self.assertTrue(self.resume(heir, grant).ok)

    def test_secret_is_shown_to_nobody(self):
        with self.daemon() as daemon, Client(daemon) as other:
            with Client(daemon) as one:
                grant = one.acquire("x", linger="1h")
                for request in ("HELD", "GET x", "LIST", "STATUS", "WATCH x"):
                    for client in (one, other):
                        reply = client.call(request)
                        for line in [reply] + reply.rows:
                            self.assertNotIn(grant["secret"], line.raw)
                self.assertRegex(grant["secret"], "^[0-9a-f]{32}$")
            with Client(daemon) as heir:
                self.assertTrue(self.resume(heir, grant).ok)
                self.assertTrue(heir.release(grant).ok)
            daemon.stop()
            self.assertNotIn(grant["secret"], daemon.log())


class Sqlite(OneDaemon, unittest.TestCase):
    def daemon(self, args=()):
        return Daemon(args=args)

    def test_stop(self):
        """It is released like any other when the daemon is told to release; a
        hold left to its lease is not."""
        config = "[daemon]\nstop_wait = 0s\nrelease_on_stop = yes\n" \
            "[namespace default]\nfile = {dir}/d.db\nlease = 10m\n" \
            "margin = 1s\ndrift = 0.01%\nrequest_timeout = 1s\n"
        with Daemon(config) as daemon:
            self.left(daemon)
            with Client(daemon) as one:
                one.acquire("y", on_close="lease")
            with Client(daemon) as other:
                self.await_left(other)
                self.await_left(other, "y")
            self.assertEqual(daemon.stop(), 0)
            daemon.start()
            with Client(daemon) as other:
                self.assertTrue(other.try_("x").ok)
                self.assertEqual(other.try_("y").code, "LOCK_BUSY")


class DynamoDB(OneDaemon, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        harness.need_dynamodb()

    def daemon(self, args=()):
        return harness.on_new_table(f"l-{os.getpid()}-{self._testMethodName}",
                                    args)


if __name__ == "__main__":
    harness.main(dynamodb=True)
