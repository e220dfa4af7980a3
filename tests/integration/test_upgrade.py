#!/usr/bin/env python3
"""Two builds that differ in their journal's version, with holds: the newer one
goes on from the older one's journal; the older one refuses the newer one's in
words, and nobody holds twice.

ddblockd-before is the daemon with the journal of the version before.
"""
import os

import harness
import succession
from harness import Client, Daemon
from manager import Managed

CONFIG = """
[namespace default]
file = {dir}/d.db
lease = 4s
"""

class Builds:
    """Mixed into a Daemon: which build the next start is of."""

    def before(self):
        self.program = harness.program("ddblockd-before")
        return self

    def now(self):
        self.program = harness.program("ddblockd")
        return self

    def journal(self):
        return self.socket + ".journal"

    def version(self):
        return succession.journal_version(self.journal())


class Alone(Builds, Daemon):
    pass


class Kept(Builds, Managed):
    """With a service manager that keeps the connections."""


class Case(succession.Case):
    def daemon(self, kind, config=None, **more):
        daemon = kind(config, **more) if kind is Alone else kind(
            config=config, **more)
        self.addCleanup(daemon.close, check=False)
        return daemon

    def resume(self, client, grant):
        return client.call(f"RESUME secret={grant['secret']}")


class Upgrade(Case):
    def test_holds_go_on(self):
        """Of every kind that outlives its connection."""
        daemon = self.daemon(Alone).before().start()
        lingers = self.client(daemon)
        comes_back = self.client(daemon, resume="yes")
        grants = {
            "l": lingers.try_("l", linger="1m"),
            "m n": lingers.call("TRY m n linger=1m"),
            "r": comes_back.try_("r"),
            "s": comes_back.try_("s", mode="shared", limit="3"),
        }
        closed = self.client(daemon)
        self.assertTrue(closed.try_("c", policy="fail-closed").ok)
        with succession.sleeper() as process:
            self.try_for(closed, process, "p")
            daemon.kill()
            self.assertEqual(daemon.version(), 1)
            # That is what makes it the version before.
            self.assertTrue(harness.tells(daemon.journal(),
                                          grants["l"]["secret"]))
            daemon.now().start()
            daemon.wait_log("inherited sessions=1 holds=7 left_out=0$")
            self.assertEqual(daemon.version(), 2)
            heirs = [self.client(daemon), self.client(daemon)]
            for heir, keys in zip(heirs, ("lmn", "rs")):
                grant = grants[keys[0]]
                rows = self.resume(heir, grant).rows
                self.assertEqual([row["key"] for row in rows], list(keys))
                self.assertEqual(rows[0]["token"], grant["token"])
            other = self.client(daemon)
            for key in "lmnrcp":
                self.assertEqual(other.try_(key).code, "LOCK_BUSY", key)
            for grant in grants.values():
                self.assertFalse(harness.tells(daemon.journal(),
                                               grant["secret"]))
            process.kill()
        self.assertTrue(other.acquire("p").ok)

    def test_connections_go_on(self):
        daemon = self.daemon(Kept).before().start()
        client = self.client(daemon, resume="yes", restarted="yes")
        grant = client.try_("k")
        waiters = self.wait_in_line(daemon, 3, "ACQUIRE k")
        client.send_raw(b"#a TRY a%2")
        daemon.now().restart()
        self.assertTrue(client.event("RESTARTED"))
        client.send_raw(b"0b\n")
        self.assertTrue(client.reply("a").ok)
        # The same secret, also after a restart that does not read it in clear.
        for key in ("n1", "n2"):
            self.assertEqual(client.try_(key)["secret"], grant["secret"])
            self.assertFalse(harness.tells(daemon.journal(), grant["secret"]))
            daemon.restart()
        self.assertTrue(client.release(grant).ok)
        for waiter, tag in waiters:
            granted = waiter.reply(tag)
            self.assertTrue(granted.ok, granted)
            self.assertTrue(waiter.release(granted).ok)


class Downgrade(Case):
    """As if there were no journal: no hold is taken over, and none is granted
    again before its lease is over."""

    def expect_nothing(self, daemon, grant):
        line = daemon.wait_log(f"journal {daemon.journal()}: ")
        self.assertIn("entries are of another version of ddblockd (2); "
                      "starting without it", line)
        with Client(daemon) as client:
            self.assertEqual(self.resume(client, grant).code, "NO_SUCH_LOCK")
            self.assertEqual(client.try_("k").code, "LOCK_BUSY")
            again = client.acquire("k")
            self.assertGreater(harness.boot_ms(), int(grant["until_boot_ms"]))
            self.assertGreater(int(again["token"]), int(grant["token"]))
        self.assertEqual(daemon.log().count("starting without it"), 1)
        self.assertEqual(daemon.version(), 1)

    def test_killed(self):
        daemon = self.daemon(Alone, CONFIG).start()
        client = self.client(daemon)
        grant = client.try_("k", linger="1m")
        daemon.kill()
        self.assertEqual(daemon.version(), 2)
        daemon.before().start()
        self.expect_nothing(daemon, grant)

    def test_stopped(self):
        daemon = self.daemon(Alone, CONFIG, args=["--stop-wait=0s"]).start()
        client = self.client(daemon)
        grant = client.try_("k", linger="1m")
        self.assertEqual(daemon.stop(), 0)
        daemon.before().start()
        self.expect_nothing(daemon, grant)

    def test_connections_end(self):
        daemon = self.daemon(Kept, CONFIG).start()
        client = self.client(daemon, resume="yes")
        grant = client.try_("k")
        daemon.before().restart()
        client.wait_end()
        self.expect_nothing(daemon, grant)

    def test_after_a_drain(self):
        """Nobody waits: nothing was held."""
        daemon = self.daemon(Alone, CONFIG).start()
        client = self.client(daemon)
        grant = client.try_("k")
        self.assertTrue(client.call("DRAIN").ok)
        self.assertTrue(client.release(grant).ok)
        self.assertEqual(daemon.stop(), 0)
        self.assertFalse(os.path.exists(daemon.journal()))
        daemon.before().start()
        self.assertTrue(self.client(daemon).try_("k").ok)
        self.assertNotIn("starting without it", daemon.log())

    def test_there_and_back(self):
        """What the older one wrote after that is taken over again."""
        daemon = self.daemon(Alone, CONFIG).start()
        daemon.kill()
        daemon.before().start()
        client = self.client(daemon)
        grant = client.acquire("k", linger="1m")
        daemon.kill()
        daemon.now().start()
        heir = self.client(daemon)
        self.assertEqual(self.resume(heir, grant).rows[0]["token"],
                         grant["token"])


if __name__ == "__main__":
    harness.main()
