#!/usr/bin/env python3
"""The audit trail in the log: grants, releases, losses, breaks and refusals,
with the lock and the client; and no user hides what another does.

Another user is a child with another user id: those cases need root.
"""
import json
import os
import unittest

import harness
from harness import Client, Daemon
from users import STRANGER, as_user, ask_as

BURST = 1000  # LOG_BURST_TRAIL


class Base(unittest.TestCase):
    def daemon(self, *args):
        daemon = Daemon(args=["--log=json", "--log-level=info",
                              "--try-timeout=5s", *args]).start()
        self.addCleanup(daemon.close)
        return daemon

    def line(self, daemon, kind):
        return json.loads(daemon.wait_log(f'"DDBLOCK_TRAIL":"{kind}"'))

    def lines(self, daemon, kind):
        """All that have come by now."""
        return [json.loads(line) for line in daemon.log().split("\n")
                if f'"DDBLOCK_TRAIL":"{kind}"' in line]

    def check_client(self, line, name):
        self.assertEqual(line["DDBLOCK_NAME"], name, line)
        self.assertEqual(line["DDBLOCK_USER"], str(os.getuid()))
        self.assertEqual(line["DDBLOCK_PID"], str(os.getpid()))

    def check_lock(self, line, key, grant):
        self.assertEqual(line["DDBLOCK_NAMESPACE"], "default", line)
        self.assertEqual(line["DDBLOCK_KEY"], key)
        self.assertEqual(line["DDBLOCK_TOKEN"], grant["token"])
        self.assertEqual(line["DDBLOCK_HOLD"], grant["id"])


class Trail(Base):
    def test_grant_and_release(self):
        daemon = self.daemon()
        with Client(daemon) as client:
            client.hello("worker")
            grant = client.acquire("k")
            line = self.line(daemon, "grant")
            self.check_lock(line, "k", grant)
            self.check_client(line, "worker")
            self.assertEqual(line["PRIORITY"], "6")
            self.assertIn('lock "k", token', line["MESSAGE"])
            self.assertIn(f"worker (pid {os.getpid()}, uid",
                          line["MESSAGE"])
            client.release(grant)
            line = self.line(daemon, "release")
            self.check_lock(line, "k", grant)
            self.check_client(line, "worker")
            self.assertNotIn("DDBLOCK_REASON", line)

    def test_its_client_leaves(self):
        daemon = self.daemon()
        with Client(daemon) as client:
            client.hello("worker")
            grant = client.acquire("k")
        line = self.line(daemon, "release")
        self.check_lock(line, "k", grant)
        self.check_client(line, "worker")
        self.assertEqual(line["DDBLOCK_REASON"], "its client has left")

    def test_several_and_shared(self):
        """A line for each lock."""
        daemon = self.daemon()
        with Client(daemon) as client:
            grant = client.call("ACQUIRE b a mode=shared")
            self.assertTrue(grant.ok, grant)
            tokens = {row["key"]: row["token"] for row in grant.rows}
            for kind in ("grant", "release"):
                seen = {}
                for _ in tokens:
                    line = self.line(daemon, kind)
                    seen[line["DDBLOCK_KEY"]] = line["DDBLOCK_TOKEN"]
                    if kind == "grant":
                        self.assertEqual(line["DDBLOCK_MODE"], "shared")
                self.assertEqual(seen, tokens)
                if kind == "grant":
                    client.release(grant)

    def test_counted(self):
        """A lock that is held twice ends with the second release."""
        daemon = self.daemon()
        with Client(daemon) as client:
            grant = client.acquire("k", reentrant="yes")
            client.acquire("k", reentrant="yes")
            client.release(grant)
            self.assertTrue(client.call("PING").ok)
            client.acquire("next")
            self.line(daemon, "grant")
            self.line(daemon, "grant")
            self.line(daemon, "grant")
            self.assertEqual(self.lines(daemon, "release"), [])
            client.release(grant)
            self.check_lock(self.line(daemon, "release"), "k", grant)

    def test_loss(self):
        daemon = self.daemon()
        with Client(daemon) as client:
            client.hello("worker")
            grant = client.acquire("k", max_hold="100ms")
            client.event("LOCK_LOST")
            line = self.line(daemon, "loss")
            self.check_lock(line, "k", grant)
            self.check_client(line, "worker")
            self.assertEqual(line["DDBLOCK_REASON"], "max_hold")
        # What was lost is not released.
        with Client(daemon) as client:
            client.acquire("other")
        self.assertEqual(self.line(daemon, "release")["DDBLOCK_KEY"],
                         "other")

    def test_break(self):
        daemon = self.daemon()
        with Client(daemon) as holder, Client(daemon) as admin:
            admin.hello("admin")
            grant = holder.acquire("k")
            self.assertTrue(admin.call(f"BREAK k token={grant['token']} "
                                       "reason=it%20hangs").ok)
            line = self.line(daemon, "loss")
            self.check_lock(line, "k", grant)
            line = self.line(daemon, "break")
            self.assertEqual(line["DDBLOCK_TOKEN"], grant["token"])
            self.assertEqual(line["DDBLOCK_NAMESPACE"], "default")
            self.assertEqual(line["DDBLOCK_REASON"], "it hangs")
            self.check_client(line, "admin")

    def test_raise(self):
        """One that changes something; the second one does not."""
        daemon = self.daemon()
        with Client(daemon) as admin:
            admin.hello("admin")
            grant = admin.acquire("k")
            for raised in ("yes", "no"):
                answer = admin.call("RAISE k to=4503599627370496")
                self.assertEqual(answer["raised"], raised)
            line = self.line(daemon, "raise")
            self.assertEqual((line["DDBLOCK_KEY"], line["DDBLOCK_TOKEN"],
                              line["DDBLOCK_NAMESPACE"]),
                             ("k", answer["token"], "default"))
            self.check_client(line, "admin")
            admin.release(grant)
            self.line(daemon, "release")
            self.assertEqual(len(self.lines(daemon, "raise")), 1)

    def test_resumed(self):
        """Another connection has it from now on."""
        daemon = self.daemon()
        with Client(daemon) as one, Client(daemon) as other:
            other.hello("successor")
            grant = one.acquire("k", linger="60s")
            reply = other.call(f"RESUME secret={grant['secret']}")
            self.assertTrue(reply.ok, reply)
            line = self.line(daemon, "resume")
            self.check_lock(line, "k", grant)
            self.check_client(line, "successor")
            # No line has the secret.
            self.assertNotIn(grant["secret"], daemon.log())

    def test_limit(self):
        daemon = self.daemon("--holds-per-connection-max=1",
                             "--connections-per-uid-max=1")
        with Client(daemon) as client:
            client.hello("worker")
            client.acquire("k")
            self.assertEqual(client.try_("other").code, "LIMIT")
            line = self.line(daemon, "refusal")
            self.check_client(line, "worker")
            self.assertEqual(
                (line["DDBLOCK_CODE"], line["DDBLOCK_KEY"],
                 line["DDBLOCK_VERB"]), ("LIMIT", "other", "ACQUIRE"))
            with Client(daemon) as second:
                self.assertEqual(second.reply().code, "LIMIT")
            line = self.line(daemon, "refusal")
            self.assertEqual(line["DDBLOCK_USER"], str(os.getuid()))
            self.assertNotIn("DDBLOCK_VERB", line)
            self.assertIn("of this user", line["DDBLOCK_REASON"])

    def test_words_of_others(self):
        """No key and no name makes a line, or a field, of its own."""
        daemon = self.daemon()
        key = 'a" of uid 0\nDDBLOCK_USER=7\x1b[2J'
        with Client(daemon) as client:
            client.hello("x\u009b\n")
            grant = client.acquire(key)
            line = self.line(daemon, "grant")
            self.assertEqual(line["DDBLOCK_TOKEN"], grant["token"])
            self.assertEqual(line["DDBLOCK_USER"], str(os.getuid()))
            for text in (line["MESSAGE"], line["DDBLOCK_NAME"]):
                self.assertFalse(set(text) & set("\n\x1b\u009b"), text)

    def test_setting(self):
        """What is logged; a reload changes it."""
        daemon = self.daemon("--audit-trail=no",
                             "--holds-per-connection-max=1")
        with Client(daemon) as client:
            client.acquire("k")
            self.assertEqual(client.try_("other").code, "LIMIT")
        with Client(daemon) as client:
            self.assertTrue(client.acquire("k").ok)
        self.assertNotRegex(daemon.log(), '"DDBLOCK_TRAIL":"(?!start)')

    def test_refusals_only(self):
        daemon = self.daemon("--audit-trail=refusals",
                             "--holds-per-connection-max=1")
        with Client(daemon) as client:
            client.acquire("k")
            self.assertEqual(client.try_("other").code, "LIMIT")
            self.line(daemon, "refusal")
        self.assertEqual(self.lines(daemon, "grant"), [])


@unittest.skipIf(os.geteuid() != 0, "needs root")
class Users(Base):
    def test_denied(self):
        daemon = self.daemon()
        self.assertIn("ERR DENIED", ask_as(
            daemon, "BREAK k token=1 reason=x", STRANGER, STRANGER))
        line = self.line(daemon, "refusal")
        self.assertEqual(
            (line["DDBLOCK_CODE"], line["DDBLOCK_USER"],
             line["DDBLOCK_KEY"], line["DDBLOCK_VERB"]),
            ("DENIED", str(STRANGER), "k", "BREAK"))

    def test_denied_at_length(self):
        """What was not read yet, for want of the right, is no key."""
        daemon = self.daemon()
        long = "k" * 100000
        self.assertIn("ERR DENIED", ask_as(
            daemon, f"BREAK {long} ns={long} sort={long} token=1 reason=x",
            STRANGER, STRANGER))
        line = self.line(daemon, "refusal")
        self.assertTrue(long.startswith(line["DDBLOCK_KEY"]))
        self.assertEqual(line["DDBLOCK_CODE"], "DENIED")

    def test_flood(self):
        """One user's flood hides nothing of another's, and it is said how much
        of whose was left out."""
        daemon = self.daemon()

        def flood(client):
            granted = 0
            for _ in range(BURST + 200):
                grant = client.try_("flood")
                granted += grant.ok
                client.release(grant)
            return granted
        self.assertEqual(as_user(daemon, flood, STRANGER, STRANGER),
                         str(BURST + 200))
        with Client(daemon) as client:
            grant = client.acquire("mine")
            client.release(grant)
            line = json.loads(daemon.wait_log('"DDBLOCK_KEY":"mine"'))
            self.assertEqual(line["DDBLOCK_TRAIL"], "grant")
            line = json.loads(daemon.wait_log('"DDBLOCK_KEY":"mine"'))
            self.assertEqual(line["DDBLOCK_TRAIL"], "release")
        daemon.close()
        said = daemon.log()
        for kind in ("grant", "release"):
            shown = sum(line["DDBLOCK_USER"] == str(STRANGER)
                        for line in self.lines(daemon, kind))
            self.assertGreaterEqual(shown, BURST)
            if shown < BURST + 200:
                self.assertRegex(said, rf'more messages about ..{kind}.. '
                                 rf'of user {STRANGER} were not shown')
        self.assertNotRegex(said, "of user 0 were not shown")


if __name__ == "__main__":
    harness.main()
