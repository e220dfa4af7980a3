#!/usr/bin/env python3
"""ddblock why: each state of a lock is told rightly, and what is advised is
true.

The states of one host are on the embedded store; those that take another host,
or a store that does not answer, are on DynamoDB.
"""
import json
import os
import pwd
import signal
import socket
import unittest
import uuid

import fault_proxy
import harness
from fault_proxy import EVER
from harness import Client, Daemon
from runner import PAUSE, READY, Run, ddblock, environment, python
from test_daemon_dynamodb import dynamodb
from test_faults import Base, Host
from test_formats_settings import config
from users import STRANGER, relay

ME = pwd.getpwuid(os.geteuid()).pw_name


class Why:
    """What it says, as an object; for people it fits a terminal."""

    def __init__(self, daemon, *args, status=0, env=None):
        done = ddblock(daemon, "why", *args, env=env)
        assert done.returncode == status, done
        self.text = done.stdout
        self.error = done.stderr
        for line in self.text.split("\n"):
            # Commands are whole, to be pasted.
            assert len(line) < 80 or line.startswith(13 * " "), line
        done = ddblock(daemon, "why", "--json", *args, env=env)
        assert done.returncode == status, done
        self.told = json.loads(done.stdout)
        self.state = self.told["state"]

    def __str__(self):
        return self.text

    @property
    def words(self):
        return " ".join(self.text.split())

    @property
    def commands(self):
        return [advice["command"] for advice in self.told["advice"]
                if "command" in advice]


def stop(pid):
    """SIGSTOP, until it stands still. It is a child's child."""
    os.kill(pid, signal.SIGSTOP)
    while True:
        with open(f"/proc/{pid}/stat", encoding="ascii") as f:
            if f.read().rpartition(")")[2].split()[0] == "T":
                return


class Here(unittest.TestCase):
    def setUp(self):
        self.daemon = self.enterContext(Daemon())
        self.client = self.enterContext(Client(self.daemon))

    def why(self, *args, **more):
        return Why(self.daemon, *args, **more)

    def test_free(self):
        why = self.why("k")
        self.assertEqual(why.state, "free")
        self.assertIn("k is free.", why.text)
        self.assertEqual(why.commands, ["ddblock run -n k -- COMMAND..."])
        # It is true.
        done = ddblock(self.daemon, "run", "-n", "k", "--", "true")
        self.assertEqual(done.returncode, 0)

    def test_free_and_drained(self):
        ddblock(self.daemon, "drain", "-n")
        why = self.why("k")
        self.assertEqual((why.state, why.commands),
                         ("free", ["ddblock undrain"]))

    def test_held(self):
        with Run(self.daemon, "run", "k", "--",
                 *python(READY, PAUSE)) as run:
            run.ready()
            why = self.why("k")
            self.assertEqual(why.state, "held")
            self.assertIn("k is held on this host", why.text)
            pid = run.process.pid
            self.assertIn(f"(process {pid} of {ME}): for", why.words)
            self.assertNotIn(', as "', why.words)
            self.assertIn(f"Process {pid}: ", why.words)
            self.assertIn("without a renewal it is lost in", why.words)
            token = why.told["lock"]["token"]
            self.assertEqual(why.commands, [
                "ddblock run -w 10m k -- COMMAND...", f"kill {pid}",
                f"ddblock break --token={token} --reason=WHY k"])
            # Those of the last two are true, too.
            done = ddblock(self.daemon, *why.commands[2].split()[1:])
            self.assertEqual(done.returncode, 0, done)
            why = self.why("k")
            self.assertIn(why.state, ("lost", "free"), why)
            self.assertIn("Broken by", why.words)

    def test_waiters(self):
        grant = self.client.acquire("k")
        with Client(self.daemon) as two, Client(self.daemon) as three:
            two.hello("two")
            three.hello("three")
            two.send("ACQUIRE k mode=shared limit=3")
            two.call("PING")
            three.send("ACQUIRE a k")
            while len(self.client.call("WAITING key=k").rows) < 2:
                pass
            why = self.why("k")
            self.assertRegex(why.words, r"Waiters: 1\. two \(process \d+ of "
                             + ME + r"\), for [\d.]+s, to share it among 3 2\. "
                             r"three .*, and has 1 of the 2 locks")
            self.assertIn("2 wait here before you.", why.text)
            # What it has on the way, nobody has yet.
            why = self.why("a")
            self.assertEqual(why.state, "held")
            self.assertIn("has 1 of the 2 locks that it asked for: it waits "
                          "for k.", why.words)
            self.assertEqual(why.commands[0], "ddblock why k")
            self.assertEqual(why.told["lock"]["held_ms"], 0)
        self.client.release(grant)

    def test_stopped(self):
        with Run(self.daemon, "run", "k", "--",
                 *python(READY, PAUSE)) as run:
            pid = run.ready()
            stop(pid)
            why = self.why("k")
            self.assertEqual(why.state, "stopped")
            self.assertIn(f"Process {pid}, which it runs, is stopped "
                          "(state T)", why.words)
            self.assertEqual(why.commands[0], f"kill -CONT {pid}")
            os.kill(pid, signal.SIGCONT)
            stop(run.process.pid)
            why = self.why("k")
            self.assertEqual(why.commands[0],
                             f"kill -CONT {run.process.pid}")
            os.kill(run.process.pid, signal.SIGCONT)
            self.assertEqual(self.why("k").state, "held")

    def test_lingering(self):
        with Client(self.daemon) as client:
            client.acquire("k", linger="1h")
        why = self.why("k")
        self.assertEqual(why.state, "lingering")
        self.assertRegex(why.words, r"wait (59m\d\ds|1h00m): if its client "
                         "does not come back by then, the lock is free")
        self.assertFalse([c for c in why.commands if c.startswith("kill")])

    def test_stays(self):
        done = ddblock(self.daemon, "run", "--at-least=1h", "k", "--", "true")
        self.assertEqual(done.returncode, 0, done)
        why = self.why("k")
        self.assertEqual(why.state, "stays", why)
        self.assertRegex(why.words, r"wait (59m\d\ds|1h00m): then it is free")
        self.assertFalse([c for c in why.commands if c.startswith("kill")])

    def test_kept(self):
        with Client(self.daemon) as client:
            grant = client.acquire("k", policy="fail-closed")
        why = self.why("k")
        self.assertEqual(why.state, "kept")
        self.assertIn("only a break ends this", why.words)
        self.assertEqual(len(why.commands), 1)
        self.assertGreaterEqual(why.told["lock"]["token"],
                                int(grant["token"]))
        done = ddblock(self.daemon, *why.commands[0].split()[1:])
        self.assertEqual(done.returncode, 0, done)
        self.assertEqual(self.why("k").state, "free")

    def test_lost(self):
        self.client.acquire("k", max_hold="100ms")
        self.client.event("LOCK_LOST")
        why = self.why("k")
        self.assertEqual(why.state, "lost")
        self.assertIn("was lost by its holder on this host", why.words)
        self.assertIn(f"kill {os.getpid()}", why.commands)

    def test_shared(self):
        self.client.acquire("k", mode="shared")
        with Client(self.daemon) as two:
            two.acquire("k", mode="shared")
            why = self.why("k")
            self.assertEqual(why.state, "held")
            self.assertIn("shared by 2.", why.text)
            self.assertIn("wait until all of them are done", why.words)
            self.assertEqual(len(why.told["held"]), 2)
            # Which of them is in the way, is not for us to say.
            self.assertFalse([c for c in why.commands if "kill" in c])

    def test_semaphore(self):
        self.client.acquire("k", mode="shared", limit=2)
        why = self.why("k")
        self.assertIn("1 of 2 places are taken", why.words)
        self.assertEqual(why.commands,
                         ["ddblock run -n -c 2 k -- COMMAND..."])
        done = ddblock(self.daemon, "run", "-n", "-c", "2", "k", "--", "true")
        self.assertEqual(done.returncode, 0)
        with Client(self.daemon) as two:
            two.acquire("k", mode="shared", limit=2)
            why = self.why("k")
            self.assertIn("shared by 2 of at most 2", why.words)
            self.assertIn("wait until one of them is done", why.words)

    def test_contents_and_a_name_to_quote(self):
        self.client.acquire("it's", data="secret", owner="release 7")
        why = self.why("it's")
        self.assertIn('as "release 7"', why.words)
        self.assertIn("6 bytes of data", why.words)
        self.assertNotIn("secret", why.text)
        self.assertIn("'it'\\''s'", why.commands[0])

    def test_what_cannot_be_pasted(self):
        self.client.acquire("a\x1bb")
        why = self.why("a\x1bb")
        self.assertEqual(why.state, "held")
        self.assertIn("a\\x1bb is held", why.text)
        self.assertFalse([c for c in why.commands if "ddblock" in c])

    def test_there_is_no_such_namespace(self):
        done = ddblock(self.daemon, "why", "--ns=no", "k")
        self.assertEqual((done.returncode, done.stdout), (64, ""))
        self.assertIn('"ddblock status" lists them', done.stderr)

    def test_the_journal(self):
        """Here is none, or this daemon does not write to it."""
        self.client.acquire("k")
        why = self.why("k")
        self.assertIn("Lately:", why.text)
        self.assertIn(why.told["lately"]["journal"], ("none", "ok"))


@unittest.skipUnless(os.geteuid() == 0, "to be another user takes root")
class Rules(unittest.TestCase):
    RULES = (f"[access stranger]\nuser = {STRANGER}\nprefix = open/\n"
             "allow = see\n[access all]\nuser = root\nallow = all\n"
             "[namespace default]\nfile = {dir}/db\n")

    def test_hidden(self):
        with Daemon(self.RULES) as daemon, Client(daemon) as client:
            client.acquire("secret")
            client.acquire("open/k")
            os.chmod(daemon.directory, 0o777)
            os.chmod(daemon.socket, 0o777)
            path = os.path.join(daemon.directory, "relay")
            with socket.socket(socket.AF_UNIX) as listening:
                listening.bind(path)
                listening.listen()

                def ask(key):
                    child = relay(listening, daemon.socket, STRANGER,
                                  STRANGER)
                    done = ddblock(None, "why", f"--socket={path}", key)
                    os.kill(child, signal.SIGKILL)
                    os.waitpid(child, 0)
                    return done.returncode, " ".join(done.stdout.split())
                status, words = ask("secret")
                self.assertEqual(status, 77)
                self.assertIn("you may not see this lock", words)
                self.assertNotIn(str(os.getpid()), words)
                status, words = ask("open/k")
                self.assertEqual(status, 0)
                self.assertIn("a rule of access does not let you see more",
                              words)
                self.assertFalse("kill" in words, words)


class Fleet(Base):
    def hosts(self, **changes):
        one, two = Host(self, **changes), Host(self, **changes)
        return one, two, self.enterContext(Client(one.daemon))

    def test_elsewhere(self):
        one, two, client = self.hosts()
        client.acquire("k")
        why = Why(two.daemon, "k")
        self.assertEqual(why.state, "elsewhere", why)
        self.assertIn("only from now on could it say whether it lives",
                      why.words)
        self.assertNotIn("which is alive", why.words)
        with Client(two.daemon) as waiter:
            waiter.send("ACQUIRE k")
            two.proxy.wait(lambda: two.proxy.count("look") > 1, "a look")
            why = Why(two.daemon, "k")
            self.assertEqual(why.state, "elsewhere", why)
            self.assertIn("which is alive", why.words)
            self.assertIn("Waiters: 1.", why.words)
            # Its own mark is in the record, and there is no other one.
            self.wait_table(two, lambda: self.wishes("k"), "its mark")
            why = Why(two.daemon, "k")
            self.assertIn("No other host has left a mark", why.words)
            why = Why(Host(self).daemon, "k")
            self.assertIn("1 other host has left a mark that it waits.",
                          why.words)

    def test_silent_and_dead(self):
        one, two, client = self.hosts(lease="4s")
        client.acquire("k")
        client.acquire("other")
        with Client(two.daemon) as waiter:
            tag = waiter.send("ACQUIRE k")
            two.proxy.wait(lambda: two.proxy.count("look") > 1, "a look")
            one.daemon.freeze()
            why = Why(two.daemon, "k")
            while "which is silent" not in why.text:
                why = Why(two.daemon, "k")
            self.assertEqual(why.state, "silent", why)
            self.assertRegex(why.words, r"wait [\d.]+s: its host has been "
                             r"silent for [\d.]+s; its lease ends then")
            self.assertTrue(waiter.reply(tag).ok)
            self.assertEqual(Why(two.daemon, "k").state, "held")
            why = Why(two.daemon, "other")
            self.assertEqual(why.state, "dead", why)
            self.assertIn("This gets it:", why.text)
            done = ddblock(two.daemon, "run", "-n", "other", "--", "true")
            self.assertEqual(done.returncode, 0, done)
        one.daemon.thaw()

    def test_unreachable_and_danger(self):
        one, two, client = self.hosts(try_timeout="1s")
        client.acquire("k")
        for host in (one, two):
            for kind in ("beat", "read", "look"):
                host.proxy.on(kind, fault_proxy.mute_before, times=EVER)
        client.event("LOCK_IN_DANGER")
        why = Why(one.daemon, "k")
        self.assertEqual(why.state, "danger", why)
        self.assertIn("its lease is not renewed", why.words)
        self.assertEqual(why.commands, ["ddblock check"])
        why = Why(two.daemon, "k", status=69)
        self.assertEqual(why.state, "unknown", why)
        self.assertEqual(why.told["code"], "UNREACHABLE")
        self.assertEqual(why.commands, ["ddblock check"])


class Format(unittest.TestCase):
    def test_older_client(self):
        harness.need_dynamodb()
        table = f"t-{os.getpid()}-why"
        text = config(table, "format = awslabs\n")
        task = Daemon(text, args=["--init-table"])
        self.addCleanup(task.close)
        self.assertEqual(task.run()[0::2], (0, ""))
        dynamodb("PutItem", TableName=table, Item={
            "key": {"S": "x"}, "ownerName": {"S": "theirs"},
            "leaseDuration": {"S": "600000"},
            "recordVersionNumber": {"S": str(uuid.uuid4())}})
        with Daemon(text) as daemon:
            why = Why(daemon, "x")
            self.assertEqual(why.state, "elsewhere", why)
            self.assertIn("in the format of an older client (awslabs)",
                          why.words)
            self.assertIn("theirs", why.words)
            self.assertIn("ddblock break --reason=WHY x", why.commands)
            with Client(daemon) as client:
                client.acquire("mine")
                why = Why(daemon, "mine")
                self.assertEqual(why.state, "held", why)


if __name__ == "__main__":
    harness.main(dynamodb=True)
