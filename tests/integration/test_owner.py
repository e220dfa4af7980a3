"""The owner's name of a lock, for people: as requested, as configured, or by
host, program and process; on either store, and as other hosts see it.
"""
import os
import pwd
import unittest

import harness
from harness import Client, Daemon
from runner import Run, ddblock, environment
from screen import OnTerminal
from users import as_user

TEAM = "the blue team"
SQLITE = ("[namespace default]\nfile = {dir}/default.db\n"
          f"[namespace team]\nfile = {{dir}}/team.db\nowner = {TEAM}\n")
USER = pwd.getpwuid(os.getuid()).pw_name
NOBODYS_UID = 61999		# of no user in /etc/passwd


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
        usual = rf"/.+:[0-9]+ {USER}$"
        for words, ns in (({}, "default"), ({}, "team"),
                          ({"owner": "own"}, "team")):
            grant = one.try_("k", ns=ns, **words)
            self.assertTrue(grant.ok)
            if ns == "default":
                self.assertRegex(owner_of(two, "k"), usual)
                self.assertRegex(two.call("HELD").rows[0]["owner"], usual)
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

    def test_left_without_a_text(self):
        """What may outlive its client keeps its client's name."""
        for terms in {"on_close": "lease"}, {"at_least": "1m"}:
            with self.subTest(terms=terms):
                one, two = self.clients(2)
                one.hello("worker")
                key, = terms
                self.assertTrue(one.try_(key, **terms).ok)
                one.close()
                while not two.call(f"HELD key={key}").rows[0].get("left"):
                    pass
                for where in (two.call(f"GET {key}"), two.try_(key),
                              two.call(f"HELD key={key}").rows[0]):
                    self.assertRegex(where["owner"],
                                     rf"/worker:{os.getpid()} {USER}$")

    def test_command_line(self):
        client, = self.clients(1)
        with Run(self.daemon, "run", "--owner=nightly", "k", "--",
                 "cat") as run:
            while owner_of(client, "k") != "nightly":
                pass
            run.process.stdin.close()
            self.assertEqual(run.end(), 0)

    def name_of(self, *arguments, **more):
        """What the holder of such a run is called, without its host."""
        done = ddblock(self.daemon, "run", *arguments, stdin="",
                       env=environment(self.daemon, **more))
        self.assertEqual(done.returncode, 0, done.stderr)
        owner, = (line.split(maxsplit=1)[1] for line in
                  done.stdout.splitlines() if line.startswith("owner "))
        return owner.strip().partition("/")[2]

    def test_command_names_it(self):
        get = [harness.program("ddblock"), "get", "k"]
        by_shell = " ".join(get)
        for arguments, more, name in (
                (["k", "--", *get], {}, "ddblock"),
                (["k", "-c", f"{by_shell}; true"], {}, "ddblock"),
                (["k", "-c", f" ({by_shell})"], {}, "ddblock"),
                (["--name", "nightly", "k", *get], {}, "nightly"),
                (["k", *get], {"DDBLOCK_NAME": "Fir\u00e9 7"},
                 "Fir\u00e9 7"),
                (["--name=a", "k", *get], {"DDBLOCK_NAME": "b"}, "a")):
            with self.subTest(arguments=arguments, more=more):
                self.assertRegex(self.name_of(*arguments, **more),
                                 rf"^{name}:\d+ {USER}$")

    def test_for_a_process(self):
        """It is called after the process, not after who asked for it."""
        client, = self.clients(1)
        with open("/proc/self/comm", encoding="utf-8") as f:
            command = f.read().strip()
        done = ddblock(self.daemon, "acquire", f"--for-pid={os.getpid()}",
                       "k")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(owner_of(client, "k"),
                         rf"/{command}:{os.getpid()} {USER}$")
        self.assertEqual(ddblock(self.daemon, "release", "k").returncode, 0)

    def test_refusal_says_how_long(self):
        client, = self.clients(1)
        client.hello("holder")
        self.assertTrue(client.try_("k").ok)
        done = ddblock(self.daemon, "run", "-n", "k", "true")
        self.assertRegex(
            done.stderr,
            rf"k: .*; held by \S+/holder:\d+ {USER} for \d+s\n$")


class Users(unittest.TestCase):
    """Whose it is, by the name or by the number; /etc/passwd says it."""

    def setUp(self):
        self.daemon = Daemon(SQLITE).start()
        self.addCleanup(self.daemon.close)

    @unittest.skipUnless(os.geteuid() == 0, "must be root")
    def test_users(self):
        def owner(client):
            self.assertTrue(client.try_("k").ok)
            row, = client.call("HELD key=k").rows
            return f"{row['owner'].partition(' ')[2]}, {row.get('user')}"

        for uid, expected in ((65534, "nobody, nobody"),
                              (NOBODYS_UID, f"uid {NOBODYS_UID}, None")):
            self.assertEqual(as_user(self.daemon, owner, uid, uid), expected)


class Waiting(unittest.TestCase):
    """The line of one that waits, at a terminal."""

    def setUp(self):
        self.daemon = Daemon(SQLITE).start()
        self.addCleanup(self.daemon.close)
        self.holder = Client(self.daemon)
        self.addCleanup(self.holder.close)
        self.holder.hello("holder")
        self.assertTrue(self.holder.try_("k").ok)

    def terminal(self, *command):
        return OnTerminal(command, environment(self.daemon), columns=200)

    def test_line(self):
        with self.terminal(harness.program("ddblock"), "run", "-w", "2h",
                           "k", "true") as person:
            person.until_shown(
                rf"^waiting for k: held by \S+/holder:\d+ {USER} for \d+s; "
                r"\d+s of 2h0m$")

    def test_none_from_the_background(self):
        """It is another process group of the terminal. The lock is refused
        after its first line would have been due."""
        command = (f"set -m; {harness.program('ddblock')} run -w 1.2s k "
                   "true & wait; echo END")
        with self.terminal("/bin/sh", "-c", command) as person:
            person.until_shown("^END$")
            seen = "\n".join(person.screen.lines)
            self.assertIn("did not become free in time", seen)
            self.assertNotIn("waiting for", seen)


class Sqlite(OneDaemon, unittest.TestCase):
    def new_daemon(self):
        return Daemon(SQLITE)


class DynamoDB(OneDaemon, unittest.TestCase):
    def setUp(self):
        harness.need_dynamodb()
        super().setUp()

    def new_daemon(self):
        endpoint = harness.endpoint()
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
            seen = far.call("GET k")
            self.assertEqual(seen.get("owner"), "own", vars(seen))
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
