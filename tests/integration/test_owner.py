"""The owner's name of a lock, for people: as requested, as configured, or by
host, program and process; on either store, and as other hosts see it.
"""
import os
import unittest

import harness
from harness import Client, Daemon
from runner import Run

TEAM = "the blue team"
SQLITE = ("[namespace default]\nfile = {dir}/default.db\n"
          f"[namespace team]\nfile = {{dir}}/team.db\nowner = {TEAM}\n")


def owner_of(client, key, ns="default"):
    return client.call(f"GET {key} ns={ns}").get("owner")


class OneDaemon:
    def setUp(self):
        self.daemon = self.new_daemon().start()
        self.addCleanup(self.daemon.close)

    def clients(self, n):
        clients = [Client(self.daemon) for _ in range(n)]
        for client in clients:
            self.addCleanup(client.close)
        return clients

    def test_asked_for(self):
        """In errors and listings, until it is another's."""
        one, two = self.clients(2)
        grant = one.try_("k", owner="fir\u00e9 = 1%")
        for where in (two.try_("k"), two.call("GET k"),
                      two.call("LIST prefix=k").rows[0],
                      two.call("HELD key=k").rows[0]):
            self.assertEqual(where["owner"], "fir\u00e9 = 1%")
        tag = two.send("ACQUIRE k owner=second")
        while not one.call("WAITING key=k").rows:
            pass
        self.assertEqual(one.call("WAITING key=k").rows[0]["owner"],
                         "fir\u00e9 = 1%")
        self.assertTrue(one.release(grant).ok)
        self.assertTrue(two.reply(tag).ok)
        self.assertEqual(owner_of(one, "k"), "second")
        grant = two.try_("other", owner="x" * 255)
        self.assertEqual(owner_of(one, "other"), "x" * 255)
        for wrong in ("x" * 256, "", "a\tb"):
            self.assertEqual(two.try_("wrong", owner=wrong).code,
                             "BAD_REQUEST")

    def test_configured(self):
        one, two = self.clients(2)
        usual = r"/.+:[0-9]+$"
        for words, ns in (({}, "default"), ({}, "team"),
                          ({"owner": "own"}, "team")):
            grant = one.try_("k", ns=ns, **words)
            self.assertTrue(grant.ok)
            if ns == "default":
                self.assertRegex(owner_of(two, "k"), usual)
                self.assertIsNone(two.call("HELD").rows[0].get("owner"))
            else:
                expected = words.get("owner", TEAM)
                self.assertEqual(owner_of(two, "k", ns=ns), expected)
                self.assertEqual(two.call("HELD").rows[0]["owner"], expected)
            self.assertTrue(one.release(grant).ok)

    def test_several(self):
        one, two = self.clients(2)
        grant = one.call("TRY a b owner=both")
        self.assertTrue(grant.ok)
        for key in "ab":
            self.assertEqual(owner_of(two, key), "both")
        self.assertTrue(one.release(grant).ok)
        self.assertTrue(one.call("TRY a b").ok)
        self.assertNotEqual(owner_of(two, "a"), "both")

    def test_left(self):
        """Its client is gone."""
        one, two = self.clients(2)
        self.assertTrue(one.try_("k", owner="gone", on_close="lease").ok)
        one.close()
        while not two.call("HELD").rows[0].get("left"):
            pass
        self.assertEqual(owner_of(two, "k"), "gone")

    def test_command_line(self):
        client, = self.clients(1)
        with Run(self.daemon, "run", "--owner=nightly", "k", "--",
                 "cat") as run:
            while owner_of(client, "k") != "nightly":
                pass
            run.process.stdin.close()
            self.assertEqual(run.end(), 0)


class Sqlite(OneDaemon, unittest.TestCase):
    def new_daemon(self):
        return Daemon(SQLITE)


class DynamoDB(OneDaemon, unittest.TestCase):
    def setUp(self):
        harness.need_dynamodb()
        super().setUp()

    def new_daemon(self):
        endpoint = os.environ["AWS_ENDPOINT_URL_DYNAMODB"]
        config = "".join(
            f"[namespace {name}]\nstore = dynamodb\nregion = us-east-1\n"
            f"table = o-{os.getpid()}-{self._testMethodName}-{name}\n"
            f"endpoint = {endpoint}\nrequest_timeout = 5s\n{more}"
            for name, more in (("default", ""), ("team",
                                                 f"owner = {TEAM}\n")))
        for name in ("default", "team"):
            task = Daemon(config, args=["--init-table",
                                        f"--namespace={name}"])
            self.addCleanup(task.close)
            self.assertEqual(task.run()[0], 0)
        self.config = config
        return Daemon(config)

    def test_as_others_see_it(self):
        """From the record: of one lock, of several, downgraded to shared."""
        one, = self.clients(1)
        with Daemon(self.config) as other, Client(other) as far:
            grant = one.try_("k", owner="own")
            self.assertEqual(owner_of(far, "k"), "own")
            self.assertTrue(one.call(f"DOWNGRADE id={grant['id']}").ok)
            self.assertEqual(owner_of(far, "k"), "own")
            self.assertTrue(one.call("TRY a b owner=both").ok)
            self.assertEqual(owner_of(far, "b"), "both")
            grant = one.try_("c", ns="team")
            self.assertTrue(grant.ok)
            self.assertEqual(owner_of(far, "c", ns="team"), TEAM)
            self.assertTrue(one.call(f"DOWNGRADE id={grant['id']}").ok)
            self.assertEqual(owner_of(far, "c", ns="team"), TEAM)


if __name__ == "__main__":
    harness.main(dynamodb=True)
