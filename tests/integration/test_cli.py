"""ddblock: what it lists, what it says, and locks held for processes."""
import base64
import grp
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import unittest

import harness
from harness import Client, Daemon
from runner import (PAUSE, READY, FakeDaemon, Run, assigned, ddblock,
                    environment, need_run, python, runs)

KEY = "jobs/nightly"


class Listings(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon().start()
        cls.addClassCleanup(cls.daemon.close)

    def json(self, *args):
        done = ddblock(self.daemon, "--json", *args)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_all_of_them(self):
        with Client(self.daemon) as client, Client(self.daemon) as waiter:
            client.hello("holder")
            grant = client.try_("123")
            tag = waiter.send("ACQUIRE 123")
            while not client.call("WAITING").rows:
                pass
            got = self.json("get", "123")
            self.assertEqual(got["key"], "123")
            self.assertEqual(got["state"], "held")
            self.assertEqual(got["token"], int(grant["token"]))
            self.assertIs(got["here"], True)
            held, = self.json("held", "123")
            self.assertEqual(held["id"], int(grant["id"]))
            self.assertEqual(held["key"], "123")
            self.assertEqual(held["name"], "holder")
            self.assertEqual(held["pid"], os.getpid())
            self.assertGreater(held["remaining_ms"], 0)
            waiting, = self.json("waiting")
            self.assertEqual(waiting["key"], "123")
            self.assertIn("ahead", waiting)
            keys = [row["key"] for row in self.json("list", "--prefix=12")]
            self.assertEqual(keys, ["123"])
            self.assertEqual(self.json("list", "--state=free"), [])
            for args, text in ((["get", "123"], "state        held"),
                               (["list"], "KEY  STATE"),
                               (["held"], "holder"), (["waiting"], "AHEAD")):
                done = ddblock(self.daemon, *args)
                self.assertEqual(done.returncode, 0)
                self.assertIn(text, done.stdout)
            client.release(grant)
            self.assertTrue(waiter.reply(tag).ok)

    def test_sort(self):
        with Client(self.daemon) as client:
            client.try_("rows", sort="b c")
            client.try_("rows")
            self.assertEqual(self.json("get", "rows", "--sort=b c")["state"],
                             "held")
            self.assertEqual(self.json("get", "rows", "--sort=x")["state"],
                             "free")
            for sort, state in (("b c", "held"), ("x", "free")):
                self.assertEqual(self.json("watch", "rows", f"--sort={sort}",
                                           "-n1")["state"], state)
            for command in ("held", "list"):
                self.assertEqual([row.get("sort") for row in self.json(
                    command, "--sort=b c")], ["b c"])
                plain = self.json(command, "--sort=-")
                self.assertIn("rows", [row["key"] for row in plain])
                self.assertNotIn("sort", [name for row in plain
                                          for name in row])
                shown = ddblock(self.daemon, command).stdout
                self.assertIn("SORT", shown)
                self.assertIn("b c", shown)
            need_run()
            for sort, status in (("d", 0), ("b c", 1), ("-", 1)):
                done = ddblock(self.daemon, "run", f"--sort={sort}", "-n",
                               "rows", "true")
                self.assertEqual(done.returncode, status, sort)

    def test_shared(self):
        with Client(self.daemon) as one, Client(self.daemon) as two, \
                Client(self.daemon) as waiter:
            for client in (one, two):
                self.assertTrue(client.try_("some", mode="shared",
                                            limit=2).ok)
            tag = waiter.send("ACQUIRE some mode=shared limit=2")
            while not one.call("WAITING key=some").rows:
                pass
            got = self.json("get", "some")
            self.assertEqual([got["mode"], got["limit"], got["holders"]],
                             ["shared", 2, 2])
            for args, heading in ((["list", "--prefix=some"],
                                   "KEY   STATE  MODE    LIMIT  HOLDERS"),
                                  (["held", "some"], "MODE    LIMIT"),
                                  (["waiting", "some"], "HOLDERS")):
                row = self.json(*args)[0]
                self.assertEqual([row["mode"], row["limit"]], ["shared", 2])
                done = ddblock(self.daemon, *args)
                self.assertIn(heading, done.stdout)
            one.close()
            self.assertTrue(waiter.reply(tag).ok)

    def test_columns_for_shared_use(self):
        """They are there when some lock is shared, and else not."""
        listings = (["list", "--prefix=plain"], ["held", "plain"],
                    ["waiting", "plain"])
        with Client(self.daemon) as client, Client(self.daemon) as waiter:
            grant = client.try_("plain")
            self.assertTrue(grant.ok)
            waiter.send("ACQUIRE plain")
            while not client.call("WAITING key=plain").rows:
                pass
            for args in listings:
                heading = ddblock(self.daemon, *args).stdout.split("\n")[0]
                self.assertIn("KEY", heading)
                for word in ("MODE", "LIMIT", "HOLDERS", "CAUSE"):
                    self.assertNotIn(word, heading, args)
            sharer = waiter.send("ACQUIRE plain mode=shared")
            while len(client.call("WAITING key=plain").rows) < 2:
                pass
            done = ddblock(self.daemon, "waiting", "plain")
            self.assertRegex(done.stdout.split("\n")[0], r"KEY +MODE +AHEAD")
            self.assertRegex(done.stdout, r"plain  -       0 ")
            self.assertRegex(done.stdout, r"plain  shared  1 ")
            waiter.call(f"CANCEL tag={sharer}")

    def test_shared_after_many_that_are_not(self):
        """What comes late is shown too, under a heading of its own."""
        with Client(self.daemon) as client:
            tags = [client.send(f"TRY late/{i:04}") for i in range(250)]
            tags.append(client.send("TRY late/x mode=shared limit=3"))
            for tag in tags:
                self.assertTrue(client.reply(tag).ok)
            done = ddblock(self.daemon, "held")
            lines = done.stdout.splitlines()
            self.assertEqual(lines[0].split()[:5],
                             ["ID", "NS", "KEY", "TOKEN", "STATE"])
            self.assertEqual(len(lines), 251 + 1 + 2)
            self.assertEqual(lines[-3], "")
            self.assertEqual(lines[-2].split()[2:6],
                             ["KEY", "TOKEN", "MODE", "LIMIT"])
            self.assertEqual(lines[-1].split()[2:3] + lines[-1].split()[4:7],
                             ["late/x", "shared", "3", "held"])

    def test_status(self):
        status = self.json("status")
        self.assertEqual(status["daemon"]["pid"], self.daemon.pid)
        row, = status["namespaces"]
        self.assertEqual([row["ns"], row["store"], row["scope"]],
                         ["default", "sqlite", "host"])
        self.assertIn("held", row)
        done = ddblock(self.daemon, "status")
        self.assertIn(f"pid {self.daemon.pid}", done.stdout)
        self.assertLessEqual(max(map(len, done.stdout.split("\n"))), 79, done)
        self.assertIn(f"\n\ndefault (host): {row['where']}\n",
                      done.stdout)

    def test_types_in_json(self):
        """Every number, duration and boolean of the protocol."""
        with Client(self.daemon) as client, Client(self.daemon) as left:
            for _ in range(2):
                self.assertTrue(client.call("TRY types reentrant=yes").ok)
            self.assertTrue(left.call("TRY left linger=1h").ok)
            self.assertTrue(client.call("TRY 5").ok)
            left.close()
            while client.call("HELD key=left").rows[0].get("left") != "yes":
                pass
            row, = self.json("held", "types")
            self.assertEqual(row["count"], 2)
            row, = self.json("held", "left")
            self.assertIs(row["left"], True)
            self.assertIsInstance(row["lingers_ms"], int)
            row, = self.json("held", "5")
            self.assertEqual((row["key"], row["state"]), ("5", "held"))

    def test_nothing(self):
        done = ddblock(self.daemon, "waiting")
        self.assertEqual([done.returncode, done.stdout, done.stderr],
                         [0, "", "No waiters.\n"])
        self.assertEqual(self.json("waiting"), [])

    def test_long_list(self):
        with Client(self.daemon) as client:
            tags = [client.send(f"TRY long/{i:04}") for i in range(450)]
            for tag in tags:
                self.assertTrue(client.reply(tag).ok)
            done = ddblock(self.daemon, "list", "--prefix=long/")
            lines = done.stdout.splitlines()
            self.assertEqual(len(lines), 451)
            self.assertEqual(len({line.index("held") for line in lines[1:]}),
                             1)
            self.assertEqual(len(self.json("list", "--prefix=long/")), 450)

    def test_odd_bytes(self):
        with FakeDaemon() as fake:
            with Run(fake, "--json", "list") as run:
                fake.accept()
                tag = fake.expect()[0]
                fake.say(f"{tag} + key=%1B[2J%22%5C%FF%C3%A4 token=x9 held=3")
                fake.say(f"{tag} OK rows=1")
                row, = json.loads(run.process.stdout.read())
                self.assertEqual(row, {"key": "\x1b[2J\"\\\ufffdä",
                                       "token": "x9", "held": 3})
            with Run(fake, "list") as run:
                fake.accept()
                tag = fake.expect()[0]
                fake.say(f"{tag} + key=%1B[2J%FFä%C2%85 state=a%0Ab")
                fake.say(f"{tag} OK rows=1")
                self.assertIn("\\x1b[2J\\xffä\\xc2\\x85  a\\x0ab  -",
                              run.process.stdout.read())

    def test_what_is_kept_in_a_lock(self):
        data = bytes(range(256)) * 1199
        with Client(self.daemon) as client:
            encoded = "".join(f"%{byte:02X}" for byte in data)
            grant = client.call(f"TRY kept data={encoded}"
                                " attr.%1B[2J=%1B[1m")
            self.assertTrue(grant.ok, grant)
            got = self.json("get", "kept")
            self.assertEqual(base64.b64decode(got["data_base64"]), data)
            self.assertEqual(got["attr.\x1b[2J"], "\x1b[1m")
            shown = ddblock(self.daemon, "get", "kept").stdout
            self.assertIn("data         \\x00\\x01", shown)
            self.assertIn("attr.\\x1b[2J \\x1b[1m", shown)
            self.assertNotIn("\x1b", shown)

    def test_failures(self):
        for args, status in ((["list", "--ns=nowhere"], 64),
                             (["list", "--state=odd"], 64),
                             (["get"], 64), (["get", "a", "b"], 64),
                             (["get", ""], 64), (["no-such"], 64), ([], 64),
                             (["--no-such", "get"], 64), (["help"], 0),
                             (["help", "run"], 0), (["get", "--help"], 0),
                             (["help", "no-such"], 64), (["--version"], 0)):
            done = ddblock(self.daemon, *args)
            self.assertEqual(done.returncode, status, (args, done.stderr))
            self.assertEqual(bool(done.stderr), status != 0, done.stderr)

    def test_statuses_for_scripts(self):
        """Of --exit-code; what is printed is the same."""
        def both(status, *args):
            plain = ddblock(self.daemon, *args)
            done = ddblock(self.daemon, *args, "--exit-code")
            self.assertEqual([plain.returncode, done.returncode],
                             [0, status], args)
            if "--json" not in args:
                self.assertEqual(done.stderr, plain.stderr)
            return done.stdout

        self.assertIn("free", both(1, "get", "scripts"))
        self.assertEqual(both(1, "held", "scripts"), "")
        self.assertEqual(json.loads(both(1, "--json", "held", "scripts")), [])
        with Client(self.daemon) as client:
            for mode in "exclusive", "shared":
                grant = client.try_("scripts", mode=mode)
                self.assertIn("held", both(0, "get", "scripts"))
                for args in ["held", "scripts"], ["held"]:
                    self.assertIn("scripts", both(0, *args))
                both(1, "held", "scripts/other")
                both(1, "get", "scripts", "--sort=other")
                self.assertTrue(client.release(grant).ok)
            both(1, "get", "scripts")
            both(1, "held")
            # A loss is listed until its client has let go.
            self.assertTrue(client.try_("scripts", max_hold="10ms").ok)
            self.assertTrue(client.event("LOCK_LOST"))
            self.assertIn(" lost ", both(1, "held"))
            self.assertEqual(
                ddblock(self.daemon, "get", "--exit-code", "").returncode, 64)
        for args in ["get", "scripts"], ["held"]:
            done = ddblock(self.daemon, *args, "--exit-code", "--ns=nowhere")
            self.assertEqual(done.returncode, 64)
            done = ddblock(None, *args, "--exit-code", "--socket=/nowhere")
            self.assertEqual(done.returncode, 69)

    def test_output_that_cannot_be_written(self):
        with open("/dev/full", "w", encoding="ascii") as full:
            done = subprocess.run(
                [harness.program("ddblock"), "status"], stdout=full,
                env=environment(self.daemon), stderr=subprocess.PIPE,
                check=False, timeout=harness.TIMEOUT_S)
        self.assertEqual(done.returncode, 74)


class Watch(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon().start()
        cls.addClassCleanup(cls.daemon.close)

    def watch(self, *args):
        process = subprocess.Popen(
            [harness.program("ddblock"), "watch", *args], text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=environment(self.daemon))
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def test_lines_for_people(self):
        with Client(self.daemon) as client:
            client.hello("leader")
            watch = self.watch("-n", "3", KEY)
            self.assertRegex(watch.stdout.readline(),
                             r"^\d\d:\d\d:\d\d  free$")
            grant = client.acquire(KEY)
            self.assertRegex(watch.stdout.readline(),
                             r"  held by \S+/leader:\d+ \S+, token "
                             + grant["token"] + "$")
            client.release(grant)
            self.assertRegex(watch.stdout.readline(), "  free$")
            self.assertEqual(watch.wait(harness.TIMEOUT_S), 0)

    def next_line(self, watch, ns="default"):
        """Of one for programs, without what all lines have."""
        line = json.loads(watch.stdout.readline())
        self.assertGreater(line.pop("time_ms"), 1700000000000)
        self.assertEqual((line.pop("ns"), line.pop("key")), (ns, KEY))
        return line

    def test_lines_for_programs(self):
        """With the time, the namespace and the key, which the daemon's first
        answer does not tell."""
        with Client(self.daemon) as client:
            for args in ([], ["--ns=default"], ["--data"]):
                watch = self.watch("--json", *args, KEY)
                first = self.next_line(watch)
                self.assertEqual(first["state"], "free")
                grant = client.acquire(KEY)
                change = self.next_line(watch)
                self.assertEqual(
                    (change["state"], change["token"], change["here"]),
                    ("held", int(grant["token"]), True))
                client.release(grant)

    def test_bad_calls(self):
        for args in ([], ["a", "b"], ["-n", "0", "a"], ["-n", "x", "a"]):
            watch = self.watch(*args)
            self.assertEqual(watch.wait(harness.TIMEOUT_S), 64)
        watch = self.watch("--ns=nowhere", KEY)
        self.assertNotEqual(watch.wait(harness.TIMEOUT_S), 0)
        self.assertIn("UNKNOWN_NAMESPACE", watch.stderr.read())

    def of(self, daemon, *args):
        process = subprocess.Popen(
            [harness.program("ddblock"), "watch", *args], text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=environment(daemon))
        self.enterContext(process)
        self.addCleanup(process.kill)
        return process

    def test_restart(self):
        """It goes on with the next daemon, and says that there was a gap."""
        with Daemon() as daemon:
            watch = self.of(daemon, "-n", "3", "--data", KEY)
            self.assertRegex(watch.stdout.readline(), "  free$")
            with Client(daemon) as client:
                client.acquire(KEY, data="v1")
                self.assertRegex(watch.stdout.readline(), "data v1$")
                daemon.kill()
            self.assertRegex(
                watch.stdout.readline(),
                r"^\d\d:\d\d:\d\d  connection lost; trying again$")
            daemon.start()
            self.assertRegex(
                watch.stdout.readline(), r"^\d\d:\d\d:\d\d  connected again; "
                "changes in between may be missing$")
            self.assertRegex(watch.stdout.readline(), "data v1$")
            self.assertEqual(watch.wait(harness.TIMEOUT_S), 0)

    def test_restart_for_programs(self):
        with Daemon() as daemon:
            watch = self.of(daemon, "--json", KEY)
            for _ in range(2):
                self.assertEqual(self.next_line(watch), {"state": "free"})
                daemon.kill()
                self.assertEqual(self.next_line(watch),
                                 {"connection": "lost"})
                daemon.start()
                self.assertEqual(self.next_line(watch),
                                 {"connection": "back"})

    def played(self, resumes):
        fake = self.enterContext(FakeDaemon(resumes))
        watch = self.of(fake, "--json", "--ns=of", KEY)
        fake.accept()
        self.answer(fake, "OK state=free")
        self.assertEqual(self.next_line(watch, "of"), {"state": "free"})
        fake.hang_up()
        return fake, watch

    def answer(self, fake, line):
        tag, verb = fake.expect()[:2]
        self.assertEqual(verb, "WATCH")
        fake.say(f"{tag} {line}")

    def test_older_daemon(self):
        """There is no way back to it."""
        _, watch = self.played(resumes=False)
        self.assertEqual(watch.wait(harness.TIMEOUT_S), 69)

    def test_refused_by_the_next_daemon(self):
        """For the moment, and for good."""
        fake, watch = self.played(resumes=True)
        fake.accept()
        self.answer(fake, "ERR UNREACHABLE :no answer")
        self.answer(fake, "ERR UNREACHABLE :no answer")
        self.answer(fake, "OK state=free")
        for wanted in ({"connection": "lost"}, {"connection": "back"},
                       {"state": "free"}):
            self.assertEqual(self.next_line(watch, "of"), wanted)
        fake.accept()
        self.answer(fake, "ERR UNKNOWN_NAMESPACE :no such namespace")
        self.answer(fake, "ERR UNKNOWN_NAMESPACE :no such namespace")
        self.assertEqual(watch.wait(harness.TIMEOUT_S), 64)
        self.assertIn("no such namespace", watch.stderr.read())


class Complaints(unittest.TestCase):
    """Each says what failed, why, and what may help."""

    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon().start()
        cls.addClassCleanup(cls.daemon.close)

    CALLS = (
        ("--nosuch", 'there is no option "--nosuch"\nTry "ddblock help"'),
        ("run", "which lock?\nusage: ddblock run"),
        ("run k", "which command?"),
        ("run -w", "-w needs a value"),
        ("run --wait", "--wait needs a value"),
        ("run --nonblock=yes k true", "--nonblock takes no value"),
        ("run -y k true", 'there is no option "-y"'),
        ("run --nosuch k true", 'there is no option "--nosuch"\nusage: '),
        ("run -w x k true", '--wait is forever, or a time, such as 500ms, '
                            '30s, 5m, 1h or 7d, not "x"'),
        ("run -c 0 k true", "--limit is how many may share the lock, "
                            '1 to 1000, not "0"'),
        ("run -c 1001 k true", "k: limit is how many may share the lock, "
                               "1 to 1000"),
        ("run --on-danger=XX k true", "the name of a signal, such as TERM"),
        ("run -E 256 k true", '--conflict-exit-code is a number, 0 to 255, '
                              'not "256"'),
        ("run --ns=no k true", 'k: there is no namespace "no" '
         '(UNKNOWN_NAMESPACE); "ddblock status" lists them'),
        ("acquire --for-pid=x k", 'the number of a process, not "x"'),
        ("acquire --on-lost=XX k", "the name of a signal, such as TERM, or 0"),
        ("release", "which lock?\nusage: ddblock release"),
        ("release --all k", 'all of them, or "k"?'),
        ("release --for-pid=x k", 'the number of a process, not "x"'),
        ("get", "which lock?\nusage: ddblock get [OPTION...] KEY\n"),
        ("get a b", '"b" is too much\nusage: ddblock get [OPTION...] KEY\n'),
        ("status x", '"x" is too much\nusage: ddblock status\n'),
        ("held --ns=no", '"ddblock status" lists them'),
        ("list --state=odd", "a lock is free, held or dead"),
    )

    def test_calls_that_make_no_sense(self):
        for call, text in self.CALLS:
            with self.subTest(call=call):
                done = ddblock(self.daemon, *call.split())
                self.assertEqual([done.returncode, done.stdout], [64, ""])
                self.assertTrue(done.stderr.startswith("ddblock: "), done)
                self.assertIn(text, done.stderr)

    def test_keys(self):
        """For any bytes, the complaint can be read."""
        for key, text in (("", '"": the key is empty'),
                          ("k" * 1025, "k" * 100 + "...: the key has 1025 by"),
                          ("\u00e4" * 513, "\u00e4" * 50 + "...: the key has"),
                          ("x" + "\u00e4" * 513,
                           "x" + "\u00e4" * 49 + "...: the key has"),
                          ("a\udcff", "a\\xff: the key is not UTF-8")):
            for args in (["get", key], ["run", key, "true"],
                         ["acquire", f"--for-pid={os.getpid()}", key]):
                done = ddblock(self.daemon, *args)
                self.assertEqual(done.returncode, 64, done)
                self.assertTrue(done.stderr.startswith(f"ddblock: {text}"),
                                done)

    def test_a_lock_that_is_not_there(self):
        done = ddblock(self.daemon, "release", "nobody's")
        self.assertEqual(done.returncode, 5)
        self.assertIn('"ddblock get" shows its holder', done.stderr)

    def test_help_is_one(self):
        """However it is asked for."""
        listed = re.findall(r"^  ([a-z]\S+) ",
                            ddblock(None, "help").stdout, re.M)
        self.assertIn("run", listed)
        for command in listed:
            if command.endswith("-table"):
                continue  # --help is that of ddblockd
            told = [ddblock(None, *args) for args in (
                ["help", command], [command, "--help"], [command, "-h"])]
            self.assertEqual([done.returncode for done in told], [0, 0, 0])
            self.assertEqual(len({done.stdout for done in told}), 1, told)
            self.assertTrue(told[0].stdout.startswith(
                f"usage: ddblock {command}"))

    def test_no_daemon(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "sock")
            for prepare, why in ((lambda: None, "No such file"),
                                 (lambda: open(path, "xb").close(),
                                  "Connection refused")):
                prepare()
                done = ddblock(None, "--socket", path, "get", KEY)
                self.assertEqual(done.returncode, 69)
                self.assertEqual(
                    done.stderr.partition(": ")[2].partition(": ")[0],
                    f"no daemon at {path}")
                self.assertIn(why, done.stderr)
                self.assertIn("start ddblockd, or name its socket",
                              done.stderr)
        done = ddblock(None, "--socket=" + "x" * 200, "get", KEY)
        self.assertEqual(done.returncode, 64)
        self.assertIn("too long for the path of a socket", done.stderr)

    def test_not_allowed(self):
        """Who may, and what is to be done."""
        group = next(g for g in grp.getgrall() if g.gr_gid not in (0, 65534))
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o755)
            path = os.path.join(folder, "sock")
            os.makedirs(os.path.join(folder, "closed"), 0o700)
            program = shutil.copy(harness.program("ddblock"), folder)
            root = os.getuid() == 0
            more = {"user": 65534, "group": 65534, "extra_groups": []} \
                if root else {}
            with socket.socket(socket.AF_UNIX) as listener:
                listener.bind(path)
                listener.listen()
                for name, mode, wanted in (
                        ("sock", 0, "not allowed .*: .* its group may"),
                        ("sock", 0o660, f"not allowed .* of {group.gr_name} "
                         f"may; .*usermod -a -G {group.gr_name} USER"),
                        ("closed/x", 0, "not allowed .* enter its directory"),
                        ("closed", 0, "closed is no socket")):
                    if mode or name != "sock":
                        if not root:  # it would be the owner
                            continue
                        os.chown(path, 0, group.gr_gid)
                    os.chmod(path, mode)
                    done = subprocess.run(
                        [program, "--socket", os.path.join(folder, name),
                         "get", KEY], check=False, capture_output=True,
                        text=True, timeout=harness.TIMEOUT_S, **more)
                    self.assertRegex(done.stderr, wanted)
                    self.assertEqual(done.returncode, 77)
                os.chmod(path, 0)
                for words in (["run", KEY, "true"], ["elect", KEY, "true"],
                              ["status"]):
                    done = subprocess.run(
                        [program, "--socket", path, *words], check=False,
                        capture_output=True, text=True,
                        timeout=harness.TIMEOUT_S, **more)
                    self.assertEqual(done.returncode, 77, done.stderr)

    def test_daemon_that_goes(self):
        with FakeDaemon() as fake, Run(fake, "get", KEY) as run:
            fake.accept()
            fake.expect()
            fake.hang_up()
            self.assertEqual(run.end(), 69)
            said = run.errors()
            self.assertTrue(said.startswith(f"ddblock: {KEY}: "), said)
            self.assertIn("(NO_DAEMON); does ddblockd still run?", said)

    def test_what_may_help(self):
        for code, text in (("UNREACHABLE", '"ddblock status" says how'),
                           ("NO_TABLE", '"ddblock init-table" makes it, '
                            "with the options that ddblockd was started "),
                           ("WRONG_TABLE", '"ddblock check-table" says why'),
                           ("ACCESS_DENIED", '"ddblock check" says why'),
                           ("STORE_BROKEN", "the log of ddblockd"),
                           ("STORE_FULL", "make room"),
                           ("SHUTTING_DOWN", "try again")):
            with FakeDaemon() as fake, Run(fake, "run", KEY, "true") as run:
                fake.accept()
                fake.say(f"{fake.expect()[0]} ERR {code} :it is so")
                self.assertNotEqual(run.end(), 0)
                self.assertRegex(
                    run.errors(), rf"^ddblock: {KEY}: .+: it is so \({code}\)"
                    f"; {text}")


class Defaults(unittest.TestCase):
    """A namespace's defaults for requests that name none."""

    def test_wait(self):
        need_run()
        config = "[namespace default]\nfile = {dir}/db\nwait = 50ms\n"
        with Daemon(config) as daemon, Client(daemon) as client:
            grant = client.acquire(KEY)
            done = ddblock(daemon, "run", KEY, "true")
            self.assertEqual(done.returncode, 1)
            self.assertIn("in time", done.stderr)
            self.assertEqual(ddblock(daemon, "run", "-w", "10ms", KEY,
                                     "true").returncode, 1)
            with Run(daemon, "run", "--wait=forever", KEY, "true") as run, \
                    Run(daemon, "elect", "--once", KEY, "--", "true") as elect:
                while len(client.call("WAITING").rows) < 2:
                    pass
                harness.pass_boot_ms(harness.boot_ms() + 200)
                self.assertEqual(len(client.call("WAITING").rows), 2)
                client.release(grant)
                self.assertEqual([run.end(), elect.end()], [0, 0])


class ForProcess(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon().start()
        cls.addClassCleanup(cls.daemon.close)

    def acquire(self, pid, *args):
        return ddblock(self.daemon, "acquire", f"--for-pid={pid}", *args)

    def test_acquire_and_release(self):
        done = self.acquire(os.getpid(), KEY)
        self.assertEqual(done.returncode, 0, done.stderr)
        fields = assigned(done.stdout)
        with Client(self.daemon) as client:
            self.assertEqual(client.try_(KEY).code, "LOCK_BUSY")
            row, = client.call(f"HELD key={KEY}").rows
            self.assertEqual(row["token"], fields["token"])
            self.assertEqual(row["name"], f"for-pid:{os.getpid()}")
            self.assertEqual(row["pid"], fields["helper"])
            again = self.acquire(os.getpid(), "-n", "-E9", KEY)
            self.assertEqual(again.returncode, 9)
            self.assertEqual(ddblock(self.daemon, "release",
                                     KEY).returncode, 0)
            while runs(int(fields["helper"])):
                pass
            self.assertTrue(client.try_(KEY).ok)
            done = ddblock(self.daemon, "release", KEY)
            self.assertEqual(done.returncode, 5)
            self.assertIn("a connection of its own", done.stderr)

    def test_several(self):
        done = self.acquire(os.getpid(), "-k", "pair/2", "-k", "pair/1")
        self.assertEqual(done.returncode, 0, done.stderr)
        fields = assigned(done.stdout)
        with Client(self.daemon) as client:
            rows = client.call("HELD").rows
            self.assertEqual([[row["key"], row["token"], row["id"]]
                              for row in rows],
                             [["pair/1", fields["token_2"], fields["id"]],
                              ["pair/2", fields["token_1"], fields["id"]]])
            self.assertEqual(fields["token"], fields["token_1"])
            self.assertEqual(ddblock(self.daemon, "release",
                                     "pair/1").returncode, 0)
            self.assertTrue(client.try_("pair/2").ok)
        done = self.acquire(os.getpid(), "--json", "-kpair/1", "-kpair/3")
        self.assertEqual(set(json.loads(done.stdout)),
                         {"token", "id", "helper", "token_1", "token_2"})
        self.assertEqual(ddblock(self.daemon, "release",
                                 "pair/3").returncode, 0)
        for args in (["a", "b"], ["-k", "a", "b"], []):
            self.assertEqual(self.acquire(os.getpid(), *args).returncode, 64)

    def test_ends_with_the_process(self):
        need_run()
        with Run(self.daemon, "run", "other", "--",
                 *python(READY, PAUSE)) as run:
            pid = run.ready()
            self.assertEqual(self.acquire(pid, KEY).returncode, 0)
            with Client(self.daemon) as client:
                tag = client.send(f"ACQUIRE {KEY}")
                while not client.call("WAITING").rows:
                    pass
                os.kill(pid, signal.SIGKILL)
                self.assertTrue(client.reply(tag).ok)

    def test_in_a_script(self):
        need_run()
        program = harness.program("ddblock")
        script = (f"eval \"$({program} acquire {KEY} --for-pid $$)\" || exit\n"
                  f"{program} run -n {KEY} true && exit 50\n"
                  f"{program} release {KEY} || exit 51\n"
                  f"{program} run -n {KEY} true || exit 52\n"
                  "test \"$token\" -gt 0\n")
        done = subprocess.run(["sh", "-c", script], check=False,
                              env=environment(self.daemon),
                              timeout=harness.TIMEOUT_S)
        self.assertEqual(done.returncode, 0)

    def test_calls_that_make_no_sense(self):
        done = ddblock(self.daemon, "acquire", KEY)
        self.assertEqual(done.returncode, 64)
        self.assertIn("--for-pid=$$", done.stderr)
        self.assertEqual(self.acquire("0", KEY).returncode, 64)
        self.assertEqual(self.acquire("1").returncode, 64)
        with subprocess.Popen(["true"]) as gone:
            pass
        self.assertEqual(self.acquire(gone.pid, KEY).returncode, 71)

    def test_shared(self):
        for args in (["-s"], ["--limit=3"]):
            self.assertEqual(self.acquire(os.getpid(), *args,
                                          KEY).returncode, 0)
            with Client(self.daemon) as client:
                row, = client.call(f"HELD key={KEY}").rows
                self.assertEqual(row["mode"], "shared")
            self.assertEqual(ddblock(self.daemon, "release",
                                     KEY).returncode, 0)

    def test_release_of_one_who_shares(self):
        """No user ends another's hold because both share a lock."""
        pids = [os.getpid(), os.getppid()]
        for pid in pids:
            self.assertEqual(self.acquire(pid, "-s", KEY).returncode, 0)
        done = ddblock(self.daemon, "release", KEY)
        self.assertEqual(done.returncode, 64)
        self.assertIn("--for-pid", done.stderr)
        with Client(self.daemon) as client:
            for n, pid in enumerate(pids, 1):
                rows = client.call(f"HELD key={KEY}").rows
                self.assertEqual(len(rows), 3 - n)
                done = ddblock(self.daemon, "release", f"--for-pid={pid}", KEY)
                self.assertEqual(done.returncode, 0, done.stderr)
                names = [row["name"] for row in
                         client.call(f"HELD key={KEY}").rows]
                self.assertNotIn(f"for-pid:{pid}", names)
            self.assertTrue(client.try_(KEY).ok)
        done = ddblock(self.daemon, "release", "--for-pid=0", KEY)
        self.assertEqual(done.returncode, 64)

    def test_release_of_all(self):
        """Helpers of one lock and of several; of one process, or any; and the
        holds of other connections stay."""
        pids = [os.getpid(), os.getppid()]
        for pid in pids:
            self.assertEqual(self.acquire(pid, "-s", KEY).returncode, 0)
        self.assertEqual(self.acquire(pids[0], "-ka", "-kb").returncode, 0)
        with Client(self.daemon) as client:
            self.assertTrue(client.try_("own").ok)

            def held():
                return sorted([row["key"], row["name"]] for row in
                              client.call("HELD").rows
                              if row["mine"] == "no")

            for args in ([f"--for-pid={pids[0]}"], [], []):
                done = ddblock(self.daemon, "release", "--all", *args)
                self.assertEqual([done.returncode, done.stderr], [0, ""])
                self.assertEqual(held(), [[KEY, f"for-pid:{pids[1]}"]]
                                 if args else [])
            self.assertEqual(len(client.call("HELD").rows), 1)
        done = ddblock(self.daemon, "release", "--all", "--ns=nowhere")
        self.assertEqual(done.returncode, 64)

    def test_release_as_far_as_it_goes(self):
        done = ddblock(self.daemon, "release", KEY)
        self.assertEqual(done.returncode, 5)
        done = ddblock(self.daemon, "release", "--best-effort", KEY)
        self.assertEqual([done.returncode, done.stderr], [0, ""])
        self.assertEqual(self.acquire(os.getpid(), KEY).returncode, 0)
        done = ddblock(self.daemon, "release", "--best-effort", KEY)
        self.assertEqual([done.returncode, done.stderr], [0, ""])
        with Client(self.daemon) as client:
            self.assertTrue(client.try_(KEY).ok)
            done = ddblock(self.daemon, "release", "--best-effort", KEY)
            self.assertEqual(done.returncode, 5)
            self.assertIn("a connection of its own", done.stderr)

    def test_interrupted_while_waiting(self):
        with Client(self.daemon) as client:
            grant = client.try_(KEY)
            with Run(self.daemon, "acquire", f"--for-pid={os.getpid()}",
                     KEY) as run:
                while not client.call("WAITING").rows:
                    pass
                run.kill()
                while client.call("WAITING").rows:
                    pass
            client.release(grant)

    def test_granted_when_nobody_asks_any_more(self):
        """The process would have it to its end, and not know."""
        with FakeDaemon() as fake, Run(
                fake, "acquire", f"--for-pid={os.getpid()}", KEY) as run:
            fake.accept()
            asked = fake.expect()[0]
            run.kill()
            tag, *words = fake.expect()
            self.assertEqual(words, ["CANCEL", f"tag={asked[1:]}"])
            fake.grant(asked)
            fake.say(f"{tag} OK cancelled=no")
            tag, *words = fake.expect()
            self.assertEqual(words, ["RELEASE", "id=7"])
            fake.say(f"{tag} OK")

    def test_loss(self):
        # Blocked, or it might come before the wait for it.
        code = ("import signal; "
                "signal.pthread_sigmask(signal.SIG_BLOCK, [10]); ", READY,
                "signal.sigwait([10]); print('lost', flush=True)")
        with subprocess.Popen(python(*code), text=True,
                              stdout=subprocess.PIPE) as process:
            pid = int(process.stdout.readline().split()[1])
            with FakeDaemon() as fake:
                with Run(fake, "acquire", f"--for-pid={pid}",
                         "--on-lost=USR1", KEY) as run:
                    fake.accept()
                    fake.grant(fake.expect()[0])
                    self.assertEqual(run.end(), 0)
                fake.hang_up()
                self.assertEqual(process.stdout.readline(), "lost\n")


class Tables(unittest.TestCase):
    def test_the_daemon_s_program_does_it(self):
        harness.need_processor("the kernel begins none of its programs")
        with Daemon() as daemon:
            pass
        done = ddblock(None, "init-table", "--version",
                       env=environment(None))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("ddblockd", done.stdout)
        done = ddblock(None, "check-table", "--no-such-option",
                       env=environment(None))
        self.assertEqual(done.returncode, 64, done.stderr)

    def test_of_a_daemon_with_options(self):
        """They are nowhere else: without them it is about another store."""
        harness.need_processor("the kernel begins none of its programs")
        done = ddblock(None, "check-table", "--config=/dev/null",
                       env=environment(None))
        self.assertIn("says anything of it, so this is about the default "
                      "store, sqlite; where the daemon was started with "
                      "options", done.stderr)
        done = ddblock(None, "check-table", "--config=/dev/null",
                       "--store=memory", env=environment(None))
        self.assertNotIn("options", done.stderr)


if __name__ == "__main__":
    sys.exit(harness.main())
