#!/usr/bin/env python3
"""The holder of a lock without a token renews it while a user is asked to
break it.

Its record is another host's text, and is shown as one.

The holder is an older client, whose records this test writes.
"""
import os
import re
import shlex
import shutil
import subprocess
import unittest
import uuid

import harness
from harness import Client, Daemon
from test_break import at_terminal
from test_daemon_dynamodb import dynamodb
from test_formats_settings import config
from tmux import Tmux


class Fixture(unittest.TestCase):
    lines = "format = awslabs\n"
    lease = "600000"

    def setUp(self):
        harness.need_dynamodb()
        self.table = f"t-{os.getpid()}-{self.id().split('.')[-1]}"
        text = config(self.table, self.lines)
        task = Daemon(text, args=["--init-table"])
        self.addCleanup(task.close)
        self.assertEqual(task.run()[0::2], (0, ""))
        self.daemon = self.enterContext(Daemon(text))
        self.client = self.enterContext(Client(self.daemon))

    def renew(self, owner="theirs", version=None):
        dynamodb("PutItem", TableName=self.table, Item={
            "key": {"S": "x"}, "ownerName": {"S": owner},
            "leaseDuration": {"S": self.lease},
            "recordVersionNumber": {"S": version or str(uuid.uuid4())}})


class Renewed(Fixture):
    def test_it_goes_on_to_renew(self):
        self.renew()
        status, said = at_terminal(self.daemon, "x", "yes", self.renew)
        self.assertEqual(status, 0, said)
        self.assertEqual(self.client.call("GET x")["state"], "free")

    def test_it_is_named_and_renewed(self):
        self.renew()
        record = self.client.call("GET x")["record"]
        self.renew()
        reply = self.client.call(f"BREAK x record={record} reason=hangs")
        self.assertEqual(reply.code, "WRONG_TOKEN")
        self.assertEqual(self.client.call("GET x")["state"], "held")

    def test_it_is_anothers_by_now(self):
        self.renew()
        status, said = at_terminal(self.daemon, "x", "yes",
                                   lambda: self.renew("others"))
        self.assertEqual(status, 5, said)
        self.assertIn("it has another holder now: held by others", said)
        self.assertEqual(self.client.call("GET x")["state"], "held")


@unittest.skipUnless(shutil.which("tmux"), "tmux is missing (Debian: tmux)")
class OnScreen(Fixture):
    """`ddblock top` breaks what `ddblock break` does."""

    def broken(self, meanwhile):
        """What its last line says after a break, and the waiter's tag."""
        self.renew()
        waits = self.client.send("ACQUIRE x")
        with Tmux(self.daemon.directory, [
                harness.program("ddblock"), f"--socket={self.daemon.socket}",
                "top", "--interval=200ms"]) as top:
            top.until_shown("theirs")
            top.press("b")
            top.until_shown("Break it?")
            meanwhile()
            top.press("y")
            top.until_shown("Why?")
            top.type("hangs")
            top.press("Enter")
            return waits, top.until(lambda lines: re.search(
                "(not )?broken: .*", "\n".join(lines)))[0]

    def test_it_goes_on_to_renew(self):
        waits, said = self.broken(self.renew)
        self.assertEqual(said, "broken: x")
        self.assertTrue(self.client.reply(waits).ok)

    def test_it_is_anothers_by_now(self):
        _, said = self.broken(lambda: self.renew("others"))
        self.assertEqual(said, "not broken: WRONG_TOKEN: it has another "
                         "holder by now")
        self.assertEqual(self.client.call("GET x")["owner"], "others")


class Advice(Fixture):
    """The versions of records of awslabs' Go clients may be any text."""

    lines = "format = awslabs\nlease_text = go\n"
    lease = "600s"

    def advice(self, version):
        """What `ddblock break` says of a record that has that version."""
        self.renew(version=version)
        done = subprocess.run(
            [harness.program("ddblock"), f"--socket={self.daemon.socket}",
             "break", "x", "--reason=hangs"], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            timeout=harness.TIMEOUT_S)
        self.assertEqual(done.returncode, 64, done.stderr)
        return done.stderr.decode().splitlines()[-1]

    def test_it_can_be_pasted(self):
        """The version is another host's text: a shell sees one word."""
        for version in ("1; touch $(id)", "a'b `x` \\", "~ #", "-x y"):
            with self.subTest(version):
                said = self.advice(version)
                words = shlex.split(said.partition("you mean: ")[2])
                self.assertEqual(words, ["--record=" + version], said)

    def test_it_drives_no_terminal(self):
        for version in ("a\x1b[2Jb", "a\nid\n", "a\x9b2Jb", "a\x7f"):
            with self.subTest(version):
                said = self.advice(version)
                self.assertIn("cannot be pasted", said)
                self.assertTrue(said.isprintable(), repr(said))


if __name__ == "__main__":
    harness.main(dynamodb=True)
