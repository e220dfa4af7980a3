"""LIST on the embedded store: pages, words, namespaces, ends, and its price.

The locks are put into the file while no daemon serves it, as an older daemon
might have left them: each fifth is held in a session that is over.
"""
import json
import os
import pty
import shutil
import sqlite3
import subprocess
import tempfile
import unittest

import harness
from harness import Client, Daemon
from runner import FakeDaemon, ddblock, environment
from screen import read_rest

SESSION = bytes(range(16))
HOLDER = SESSION + bytes(16) + (20000).to_bytes(8, "big") + bytes(8)
CONFIG = """
[namespace default]
file = {dir}/default.db
[namespace other]
file = {dir}/other.db
"""
LOCKS = 2500
MANY = 20000
SORTED_MAX = 10000  # rows that ddblock(1) sorts


def fill(path, names):
    """Put locks into a file: held, dead or free by their place."""
    with sqlite3.connect(path) as db:
        db.execute("INSERT INTO session VALUES(?, 1, 20000, 'gone', 'self',"
                   " 1 << 40)", (SESSION,))
        db.executemany(
            "INSERT INTO lock(key, mode, token, max, holders, owner,"
            " acquired_at, ttl, sequence, random)"
            " VALUES(?, 1, 7, 0, ?, ?, 5, 1 << 40, 0, 0)",
            ((name.encode(), HOLDER if i % 5 == 0 else None,
              "gone/job:1" if i % 5 == 0 else None)
             for i, name in enumerate(names)))
    db.close()


class Listing(unittest.TestCase):
    """Two namespaces with LOCKS and MANY locks."""
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.mkdtemp(prefix="list-")
        cls.addClassCleanup(shutil.rmtree, cls.directory)
        cls.daemon = Daemon(CONFIG, directory=cls.directory)
        cls.addClassCleanup(cls.daemon.close)
        with cls.daemon:
            pass  # it makes the files
        fill(os.path.join(cls.directory, "default.db"),
             (f"{'ab'[i % 2]}/{i:05}" for i in range(LOCKS)))
        fill(os.path.join(cls.directory, "other.db"),
             (f"many/{i:05}/" + "x" * 200 for i in range(MANY)))
        cls.daemon = Daemon(CONFIG, directory=cls.directory).start()
        cls.addClassCleanup(cls.daemon.close)

    def setUp(self):
        self.client = Client(self.daemon)
        self.addCleanup(self.client.close)

    def list(self, arguments, client=None):
        reply = (client or self.client).call("LIST " + arguments)
        self.assertTrue(reply.ok, reply)
        self.assertEqual(int(reply["rows"]), len(reply.rows))
        return reply

    def test_pages(self):
        reply = self.list("")
        self.assertEqual([row["key"] for row in reply.rows],
                         sorted(f"{'ab'[i % 2]}/{i:05}"
                                for i in range(LOCKS)))
        self.assertEqual({row["ns"] for row in reply.rows}, {"default"})
        self.assertEqual(int(reply["examined"]), LOCKS)
        self.assertIsNone(reply.get("units"))

    def test_prefix_and_state(self):
        """A prefix is looked for, the rest is passed over."""
        half, part = LOCKS // 2, LOCKS // 10
        for words, rows in (("", half), (" state=free", half - part),
                            (" state=held", part), (" state=free,held", half),
                            (" state=dead,free,held", half)):
            reply = self.list("prefix=b/" + words)
            self.assertEqual([len(reply.rows), int(reply["examined"])],
                             [rows, half], words)
            self.assertEqual({row["key"][0] for row in reply.rows}, {"b"})
        self.assertEqual(len(self.list("prefix=b/00001").rows), 1)
        self.assertEqual(len(self.list("prefix=c/").rows), 0)

    def test_dead(self):
        """A session is listed as dead if the daemon has found it dead."""
        with Daemon(CONFIG, directory=self.another()) as daemon, \
                Client(daemon) as client:
            self.assertEqual(self.list("state=dead", client).rows, [])
            self.assertEqual(len(self.list("state=held", client).rows),
                             LOCKS // 5)
            grant = client.acquire("a/00000")
            self.assertTrue(grant.ok, grant)
            held, = self.list("state=held", client).rows
            self.assertEqual([held["key"], held["here"]],
                             ["a/00000", "yes"])
            dead = self.list("state=dead", client).rows
            self.assertEqual(len(dead), LOCKS // 5 - 1)
            self.assertEqual({row["state"] for row in dead}, {"dead"})
            self.assertEqual(len(self.list("state=held,dead", client).rows),
                             LOCKS // 5)

    def another(self):
        """Another directory with the same locks."""
        directory = tempfile.mkdtemp(prefix="list-")
        self.addCleanup(shutil.rmtree, directory)
        with Daemon(CONFIG, directory=directory):
            pass
        fill(os.path.join(directory, "default.db"),
             (f"{'ab'[i % 2]}/{i:05}" for i in range(LOCKS)))
        return directory

    def test_wrong_words(self):
        for arguments, code, word in (
                ("state=hold", "BAD_REQUEST", '"hold"'),
                ("state=held,", "BAD_REQUEST", '""'),
                ("ns=nowhere", "UNKNOWN_NAMESPACE", '"nowhere"'),
                ("ns=other,other", "BAD_REQUEST", "named twice"),
                ("progress=now", "BAD_REQUEST", "progress is a time")):
            reply = self.client.call("LIST " + arguments)
            self.assertEqual(reply.code, code)
            self.assertIn(word, reply.text)
        done = ddblock(self.daemon, "list", "--state=hold")
        self.assertEqual(done.returncode, 64)
        self.assertIn("a lock is free, held or dead", done.stderr)

    def test_namespaces(self):
        """One after the other; each row names its own."""
        reply = self.list("ns=other,default state=held")
        self.assertEqual([row["ns"] for row in reply.rows],
                         ["default"] * (LOCKS // 5) + ["other"] * (MANY // 5))
        self.assertEqual(int(reply["examined"]), LOCKS + MANY)
        grant = self.client.try_("many/00001/" + "x" * 200, ns="other")
        rows = self.client.call("HELD ns=default,other").rows
        self.assertEqual([row["ns"] for row in rows], ["other"])
        self.client.release(grant)
        done = ddblock(self.daemon, "list", "--ns=default,other",
                       "--state=held", "--prefix=a/")
        self.assertTrue(done.stdout.startswith("NS       KEY "), done.stdout)
        self.assertEqual(done.stdout.count("\ndefault  a/"), LOCKS // 10)

    def test_slow_reader(self):
        """It stops its own unread listing, and no other client."""
        tag = self.client.send("LIST ns=other progress=0")
        with Client(self.daemon) as other:
            self.assertEqual(len(self.list("", other).rows), LOCKS)
            self.assertTrue(other.release(other.try_("b/00001")).ok)
        reply = self.client.reply(tag)
        self.assertEqual(len(reply.rows), MANY)
        told = {int(e["examined"]) for e in self.client.events}
        self.assertEqual(sorted(told - {0}), list(range(100, MANY + 1, 100)))

    def test_half_close(self):
        tag = self.client.send("LIST ns=other")
        self.client.half_close()
        self.assertEqual(len(self.client.reply(tag).rows), MANY)
        self.client.wait_end()

    def test_who_leaves_in_the_middle(self):
        with Client(self.daemon) as leaver:
            for _ in range(4):
                leaver.send("LIST ns=other")
            leaver.read_line()
        while self.client.call("STATUS")["connections"] != "1":
            pass
        self.assertEqual(len(self.list("").rows), LOCKS)

    def test_cancel(self):
        """Pages not read yet are not listed any more."""
        tag = self.client.send("LIST ns=default,other")
        cancelled = self.client.call(f"CANCEL tag={tag}")
        self.assertEqual(cancelled["cancelled"], "yes")
        reply = self.client.reply(tag)
        self.assertEqual(reply.code, "CANCELLED")
        self.assertLess(len(reply.rows), MANY)
        self.assertEqual(len(self.list("").rows), LOCKS)


class Order(unittest.TestCase):
    """That of the keys, whichever the store has them in, unless they are too
    many to be sorted."""

    def listed(self, rows, *args):
        with FakeDaemon() as fake, tempfile.TemporaryFile("w+") as out:
            with subprocess.Popen(
                    [harness.program("ddblock"), "list", *args],
                    env=environment(fake), stdin=subprocess.DEVNULL,
                    stdout=out) as process:
                fake.accept()
                tag = fake.expect()[0]
                for row in rows:
                    fake.say(f"{tag} + {row}")
                fake.say(f"{tag} OK rows={len(rows)}")
                self.assertEqual(process.wait(harness.TIMEOUT_S), 0)
            out.seek(0)
            return out.read()

    def test_by_key_in_each_namespace(self):
        rows = [f"{row} state=free" for row in (
            "ns=two key=c", "ns=two key=a%2Fb", "ns=two key=a sort=2",
            "ns=two key=a", "ns=two key=a sort=10", "ns=two key=B",
            "ns=one key=b", "ns=one key=a")]
        wanted = ["B", "a", "a 10", "a 2", "a/b", "c", "a", "b"]
        out = self.listed(rows, "--json")
        self.assertEqual([" ".join(filter(None, (
            row["key"], row.get("sort")))) for row in json.loads(out)], wanted)
        lines = [line.split() for line in self.listed(rows).splitlines()]
        self.assertEqual(lines[0][:3], ["KEY", "SORT", "STATE"])
        self.assertEqual([" ".join(line[:2]).removesuffix(" -")
                          for line in lines[1:]], wanted)

    def test_too_many(self):
        keys = [f"k/{i:05}" for i in reversed(range(SORTED_MAX + 1))]
        rows = [f"ns=default key={key} state=free" for key in keys]
        for n, wanted in ((SORTED_MAX + 1, keys), (SORTED_MAX - 1, sorted(
                keys[:SORTED_MAX - 1]))):
            out = self.listed(rows[:n], "--json")
            self.assertEqual([row["key"] for row in json.loads(out)], wanted)
            lines = self.listed(rows[:n]).splitlines()
            self.assertEqual([line.split()[0] for line in lines[1:]], wanted)


class OnATerminal(unittest.TestCase):
    """How far a listing is, is said to people."""

    def run_list(self, *args):
        master, slave = pty.openpty()
        self.addCleanup(os.close, master)
        with FakeDaemon() as fake:
            process = subprocess.Popen(
                [harness.program("ddblock"), "list", *args], text=True,
                env=environment(fake), stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=slave)
            os.close(slave)
            fake.accept()
            tag, *words = fake.expect()
            self.assertEqual(words, ["LIST", "progress=1s"])
            number = tag.lstrip("#")
            fake.say(f"!LISTING tag={number} ns=def%1B rows=0 examined=900 "
                     "units=75")
            fake.say(f"{tag} + ns=default key=k state=free")
            fake.say(f"!LISTING tag={number} ns=default rows=1 examined=1000")
            fake.say(f"{tag} OK rows=1 examined=1000")
            out = process.stdout.read()
            self.assertEqual(process.wait(harness.TIMEOUT_S), 0)
            process.stdout.close()
        return out, read_rest(master).decode()

    def test_progress(self):
        out, err = self.run_list()
        self.assertEqual(out, "KEY  STATE  TOKEN  OWNER  UNCHANGED\n"
                              "k    free   -      -      -\n")
        self.assertEqual(
            err, "listing def\\x1b: 900 looked at, 0 found, 75 read units"
                 "\r\x1b[Klisting default: 1000 looked at, 1 found\r\x1b[K")

    def test_progress_beside_json(self):
        out, err = self.run_list("--json")
        self.assertEqual(out, '[\n{"ns":"default","key":"k","state":"free"}'
                              "\n]\n")
        self.assertIn("900 looked at", err)


if __name__ == "__main__":
    harness.main()
