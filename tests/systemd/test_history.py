#!/usr/bin/env python3
"""ddblock history, and what the journal's catalog says, under a real systemd
with its journal.

One host for all cases; each has keys of its own, because the journal stays.
"""
import json
import os
import re
import sys
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, os.pardir, "integration"))
# pylint: disable=wrong-import-position
import harness
import test_unit
from test_unit import HOST, USERS

setUpModule = test_unit.setUpModule
TOP = os.path.join(HERE, os.pardir, os.pardir)


class History(test_unit.Case):
    def history(self, *arguments, user=None, status=0):
        HOST.exec("journalctl", "--sync")
        done = self.ddblock("history", *arguments, user=user, check=False)
        self.assertEqual(done.returncode, status, done)
        for line in done.stdout.split("\n"):
            self.assertTrue("--json" in arguments or len(line) < 80, line)
        return done

    def intervals(self, *arguments):
        return json.loads(self.history("--json", *arguments).stdout)

    def why(self, key, user=None):
        HOST.exec("journalctl", "--sync")
        return json.loads(self.ddblock("why", "--json", key, user=user)
                          .stdout)

    def test_who_held_it(self):
        self.start()
        self.ddblock("run", "who", "--", "true", user="alice")
        self.ddblock("run", "-s", "who", "--", "true", user="bob")
        one, two = self.intervals("who")
        self.assertEqual((one["user"], one["mode"], one["end"]),
                         ("alice", "exclusive", "released"))
        self.assertEqual((two["user"], two["mode"], two["end"]),
                         ("bob", "shared", "released"))
        self.assertEqual(one["host"], "ddblock-test")
        self.assertLess(one["token"], two["token"])
        self.assertAlmostEqual(one["until_ms"] - one["from_ms"],
                               one["held_ms"], delta=1000)
        text = " ".join(self.history("who").stdout.split())
        self.assertIn("true (pid ", text)
        self.assertIn(", alice) on ddblock-test, token ", text)
        self.assertIn("namespace default; released", text)
        # The filters.
        self.assertEqual([i["user"] for i in self.intervals(
            "--user=bob", "who")], ["bob"])
        self.assertEqual(self.intervals("--host=other", "who"), [])
        self.assertEqual([i["user"] for i in self.intervals("-n1", "who")],
                         ["bob"])
        self.assertEqual(self.intervals("--ns=other", "who"), [])

    def test_at_what_time(self):
        """What began before the time that is asked for, and goes on."""
        self.start()
        self.ddblock("run", "when", "--", "true")
        self.held_beside("when", user="bob")
        self.await_(lambda: len(self.intervals("when")) == 2)
        began = self.intervals("when")[1]
        self.assertEqual((began["user"], began["end"]), ("bob", "open"))
        self.assertIn(" no end so far", self.history("when").stdout)
        end_of_second = began["from_ms"] // 1000 + 1
        harness.pass_boot_ms(harness.boot_ms() + 1000 * end_of_second
                             - int(time.time() * 1000))
        since = self.intervals(f"--since=@{end_of_second}", "when")
        self.assertEqual([i["user"] for i in since], ["bob"])
        self.history("--since=02:00", "--until=03:00", "jobs/nightly")
        until = self.intervals("--until=@1000000000", "when")
        self.assertEqual(until, [])
        HOST.exec("kill", str(self.held()[0]["pid"]))
        self.await_(lambda: self.intervals("when")[1]["end"] == "released")
        self.assertEqual(self.intervals("--since=yesterday", "--until=1d ago",
                                        "when"), [])

    def test_loss_and_break(self):
        self.start()
        self.held_beside("broken", user="alice")
        self.ddblock("break", "--reason=it hangs", "--token="
                     + str(self.held()[0]["token"]), "broken", user=None)
        self.ddblock("run", "--max-hold=100ms", "lost", "--", "sleep", "1000",
                     check=False)
        broken, = self.intervals("broken")
        self.assertEqual((broken["end"], broken["reason"], broken["user"]),
                         ("lost", "broken", "alice"))
        self.assertIn("it hangs", broken["broken_by"])
        lost, = self.intervals("lost")
        self.assertEqual((lost["end"], lost["reason"]), ("lost", "max_hold"))
        events = " ".join(self.history("--events", "broken").stdout.split())
        self.assertRegex(events, "is granted to.*is lost: broken.*was broken "
                         "by")

    def test_restart_and_stop(self):
        """A hold outlives a restart, and not a stop."""
        self.start()
        self.held_beside("outlives", user="alice")
        HOST.exec("systemctl", "restart", "ddblockd.service")
        HOST.exec("systemctl", "kill", "--signal=KILL", "--kill-whom=main",
                  "ddblockd.service")
        self.await_(lambda: self.ddblock(
            "held", "--wait-daemon", "--json", user=None, check=False)
                    .stdout.count("outlives"))
        self.assertEqual([i["end"] for i in self.intervals("outlives")],
                         ["open"])
        # Without its journal the next daemon does not go on.
        HOST.exec("sh", "-c", "systemctl kill --signal=STOP --kill-whom=main "
                  "ddblockd.service && rm /run/ddblockd/*journal* && "
                  "systemctl kill --signal=KILL --kill-whom=main "
                  "ddblockd.service")
        self.await_(lambda: self.intervals("outlives")[0]["end"] != "open")
        interval, = self.intervals("outlives")
        self.assertEqual(interval["end"], "gone", interval)
        self.assertIn("until_by_ms", interval)
        self.assertIn("until some time before",
                      self.history("outlives").stdout)

    def test_who_may_read(self):
        self.start()
        self.ddblock("run", "rights", "--", "true")
        done = self.history("rights", user="alice", status=77)
        self.assertIn("systemd-journal", done.stderr)
        self.assertEqual(done.stdout, "")
        told = self.why("rights", user="alice")
        self.assertEqual(told["lately"]["journal"], "denied")
        text = self.ddblock("why", "rights", user="alice").stdout
        self.assertIn("you may not read the journal", text)
        told = self.why("rights")
        self.assertEqual([line["trail"] for line in told["lately"]["lines"]],
                         ["grant", "release"])
        text = self.ddblock("why", "rights", user=None).stdout
        self.assertRegex(text, r"Lately: +\d\d:\d\d:\d\d lock \"rights\"")
        HOST.exec("usermod", "-a", "-G", "systemd-journal", "bob")
        self.assertIn("alice", self.history("rights", user="bob").stdout)

    def test_lines_of_others(self):
        """Any user may write into the journal."""
        self.start()
        self.ddblock("run", "true/one", "--", "true")
        HOST.exec("logger", "--journald", user="mallory", stdin=None, input=(
            "MESSAGE=lock is granted to alice\nDDBLOCK_TRAIL=grant\n"
            "DDBLOCK_NAMESPACE=default\nDDBLOCK_KEY=true/one\n"
            "DDBLOCK_TOKEN=1\nDDBLOCK_HOLD=99\nDDBLOCK_USER="
            f"{USERS['alice']}\nDDBLOCK_PID=1\nDDBLOCK_NAME=x\n"
            "_SYSTEMD_UNIT=ddblockd.service\n"))
        self.await_journal("is granted to alice")
        done = self.history("--json", "true/one")
        self.assertEqual(len(json.loads(done.stdout)), 1, done.stdout)
        self.assertIn("1 lines are left out", done.stderr)

    def test_follow(self):
        self.start()
        self.ddblock("run", "followed", "--", "true")
        process = self.beside("ddblock", "history", "-f", "followed",
                              user="root")
        for wanted in "granted", "released":
            line = process.stdout.readline()
            while wanted not in line:
                line = process.stdout.readline()
        self.ddblock("run", "followed", "--", "true", user="bob")
        line = process.stdout.readline()
        while f"uid {USERS['bob']}" not in line:
            line = process.stdout.readline()

    def test_no_journal(self):
        """As in a container."""
        done = HOST.exec("unshare", "--mount", "sh", "-c", "mount -t tmpfs "
                         "tmpfs /run/log && mount -t tmpfs tmpfs /var/log && "
                         "exec ddblock history", check=False)
        self.assertEqual(done.returncode, 69)
        self.assertIn("there is no journal", done.stderr)


class Catalog(test_unit.Case):
    def test_every_line_is_explained(self):
        with open(os.path.join(TOP, "src/common/trail.def"),
                  encoding="utf-8") as f:
            ids = re.findall(r'^TRAIL\(\w+, (\w+), "([0-9a-f]{32})"\)',
                             f.read(), re.M)
        self.assertEqual(len({number for _, number in ids}), len(ids))
        done = HOST.exec("journalctl", "--update-catalog")
        self.assertNotIn("ddblockd.catalog", done.stderr)
        for word, number in ids:
            done = HOST.exec("journalctl", "--dump-catalog", number)
            self.assertIn("Defined-By: ddblockd", done.stdout, word)
        done = HOST.exec("journalctl", "--list-catalog")
        self.assertEqual(done.stdout.count(" ddblockd: "), len(ids))

    def test_it_is_shown(self):
        HOST.exec("journalctl", "--update-catalog")
        self.start()
        self.ddblock("run", "explained", "--", "true")
        text = self.journal("-x", "-o", "short", "-u", "ddblockd")
        self.assertIn("Subject: Lock explained was granted", text)
        self.assertIn("ddblock history explained", text)


if __name__ == "__main__":
    harness.main()
