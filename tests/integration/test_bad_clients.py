#!/usr/bin/env python3
"""Clients that misbehave get a clear reply, and other clients do not notice.

Beside each of them a bystander holds a lock, answers to PING, and has its lock
at the end.
"""
import os
import re
import resource
import socket
import unittest

import harness

LINE_MAX = 1 << 20
IDLE = 10000
IDLE_KB_MAX = 40 * 1024


def resident_kb(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        for line in f:
            if line.startswith("VmRSS:"):
                return int(line.split()[1])
    raise AssertionError("no VmRSS")


class Case(harness.WithDaemon, unittest.TestCase):
    config = None

    def setUp(self):
        config = self.config or "[namespace default]\nfile = {dir}/db\n"
        self.daemon = harness.Daemon(config=config)
        self.daemon.start()
        self.addCleanup(self.daemon.close)
        self.bystander = harness.Client(self.daemon)
        self.addCleanup(self.bystander.close)
        self.hold = self.bystander.try_("bystander")
        self.assertTrue(self.hold.ok, self.hold)

    def undisturbed(self):
        """The bystander is served and has its lock."""
        self.assertTrue(self.bystander.call("PING").ok)
        rows = self.bystander.call("HELD key=bystander").rows
        self.assertEqual([row["state"] for row in rows], ["held"])
        self.assertEqual(len(self.bystander.events), 0)

    def refuses(self, client, data, code="BAD_REQUEST", tag=None):
        client.send_raw(data)
        reply = client.reply(tag)
        self.assertEqual(reply.code, code, reply)
        self.assertTrue(reply.text)
        return reply

    def lives(self, client):
        self.assertTrue(client.call("PING").ok)
        self.undisturbed()


class BadLines(Case):
    def test_unknown_verb(self):
        client = self.client()
        reply = self.refuses(client, b"ACQUIER a\n")
        self.assertIn('"ACQUIRE"', reply.text)
        self.lives(client)

    def test_unknown_argument(self):
        client = self.client()
        reply = self.refuses(client, b"#t ACQUIRE a wiat=5s\n", tag="t")
        self.assertIn('"wiat"', reply.text)
        self.assertIn('"wait"', reply.text)
        self.assertEqual(client.call("GET a")["state"], "free")
        self.lives(client)

    def test_line_of_one_mebibyte(self):
        client = self.client()
        line = b"#ok PING" + b" " * (LINE_MAX - 9) + b"\n"
        self.assertEqual(len(line), LINE_MAX)
        client.send_raw(line)
        self.assertTrue(client.reply("ok").ok)
        self.lives(client)

    def test_line_of_one_mebibyte_and_one_byte(self):
        client = self.client()
        line = b"#no PING" + b" " * (LINE_MAX - 8) + b"\n"
        self.assertEqual(len(line), LINE_MAX + 1)
        reply = self.refuses(client, line, tag="no")
        self.assertIn("1 MiB", reply.text)
        self.lives(client)

    def test_endless_line(self):
        client = self.client()
        before = resident_kb(self.daemon.pid)
        for _ in range(64):
            client.send_raw(b"x" * LINE_MAX)
        self.assertEqual(client.reply().code, "BAD_REQUEST")
        self.undisturbed()
        client.send_raw(b"\n")
        self.lives(client)
        self.assertEqual(len(client.replies[None]), 0)  # once
        if not harness.sanitized():
            self.assertLess(resident_kb(self.daemon.pid) - before, 16 * 1024)

    def test_half_closed_connection(self):
        client = self.client()
        client.send_raw(b"#a TRY a\n#b ACQUIRE bystander\n#c PING\n")
        client.half_close()
        client.wait_end()
        self.assertTrue(client.reply("a").ok)
        self.assertEqual(client.reply("b").code, "CANCELLED")
        self.assertTrue(client.reply("c").ok)
        self.assertTrue(self.bystander.acquire("a").ok)
        self.undisturbed()

    def test_half_closed_in_a_request(self):
        client = self.client()
        client.send_raw(b"#a TRY bystander-and-mo")
        client.half_close()
        self.assertEqual(client.reply().code, "BAD_REQUEST")
        with self.assertRaises(harness.Ended):
            client.read_line()
        self.undisturbed()

    def test_invalid_utf8(self):
        client = self.client()
        for key in (b"\xff", b"a\xc0\x80", b"%ED%A0%80", b"a%80"):
            self.refuses(client, b"TRY " + key + b"\n")
        self.refuses(client, b"HELLO name=%FF\n")
        self.refuses(client, b"\xff\xfe\xfd\n")
        self.refuses(client, b"#\xff PING\n")
        self.lives(client)

    def test_nul_bytes(self):
        client = self.client()
        self.refuses(client, b"TRY a\0b\n")
        self.refuses(client, b"TRY a%00b\n")
        self.refuses(client, b"\0\n")
        self.refuses(client, b"\0" * 5000 + b"\n")
        self.lives(client)

    def test_too_many_arguments_and_long_tags(self):
        client = self.client()
        self.refuses(client, b"TRY" + b" a" * 65 + b"\n")
        self.refuses(client, b"#" + b"t" * 33 + b" PING\n")
        self.lives(client)

    def test_gone_in_mid_request(self):
        for data in (b"", b"TRY m", b"TRY m\nTRY mm", b"#w ACQUIRE bystander",
                     b"#w ACQUIRE bystander\n", b"RELEASE id="):
            client = self.client()
            client.send_raw(data)
            client.close()
        self.undisturbed()
        # "TRY m" was complete once, and its hold is gone with its client.
        self.assertTrue(self.bystander.acquire("m").ok)
        self.assertEqual(self.bystander.call("GET mm")["state"], "free")

    def test_holder_and_waiter_killed(self):
        """The end is noticed although their input is not being read."""
        first = self.client()
        self.assertTrue(first.try_("k").ok)
        waiting = self.bystander.send("ACQUIRE k")
        first.close()
        self.assertTrue(self.bystander.reply(waiting).ok)
        self.undisturbed()


LONG = "k" * 1024
UMLAUTS = "%C3%A4" * 512
LIMIT = "limit is how many may share the lock, 1 to 1000"
TIME = "is a time up to ten years, such as 500ms, 30s, 5m or 7d"
NO_TEXT = "is not UTF-8 text without NUL"
TOO_LONG = "has 1025 bytes; it needs"


class BadArguments(Case):
    """Well-formed lines that ask for what cannot be."""

    # All of them BAD_REQUEST, with the words of the text.
    REFUSED = (
        # keys
        ("TRY", "TRY needs a KEY as its first argument"),
        ("TRY ns=default", "TRY needs a KEY as its first argument"),
        ("GET", "GET needs a KEY as its first argument"),
        ("TRY =", "no name before its '='"),
        ("TRY key=a", 'TRY has no argument "key"'),
        (f"TRY {LONG}k", f"the key {TOO_LONG} 1 to 1024"),
        (f"ACQUIRE {UMLAUTS}k", f"the key {TOO_LONG} 1 to 1024"),
        (f"GET {LONG}k", f"the key {TOO_LONG} 1 to 1024"),
        (f"HELD key={LONG}k", f"the key {TOO_LONG}"),
        (f"WAITING key={LONG}k", f"the key {TOO_LONG}"),
        (f"LIST prefix={LONG}k", f"the prefix {TOO_LONG}"),
        ("GET %FF", f"the key {NO_TEXT}"),
        ("TRY a%00", f"the key {NO_TEXT}"),
        ("TRY a%C3", f"the key {NO_TEXT}"),
        ("HELD key=%ED%A0%80", f"the key {NO_TEXT}"),
        ("WAITING key=%C0%80", f"the key {NO_TEXT}"),
        ("LIST prefix=%FF", f"the prefix {NO_TEXT}"),
        ("TRY 50%", "% is not followed by two hexadecimal digits"),
        # how a lock is to be used
        ("TRY a limit=2", "limit goes with mode=shared"),
        ("TRY a mode=exclusive limit=1", "limit goes with mode=shared"),
        ("TRY a mode=shared limit=0", LIMIT),
        ("TRY a mode=shared limit=1001", LIMIT),
        ("TRY a mode=shared limit=-1", LIMIT),
        ("TRY a mode=shared limit=", LIMIT),
        ("TRY a mode=", "mode is exclusive or shared"),
        ("TRY a mode=both", "mode is exclusive or shared"),
        ("TRY a mode=shared mode=exclusive", '"mode" is given twice'),
        ("TRY a wait=5s", 'TRY has no argument "wait"'),
        ("ACQUIRE a wait=-1", f"wait {TIME}"),
        ("ACQUIRE a wait=5w", f"wait {TIME}"),
        ("ACQUIRE a wait=3661d", f"wait {TIME}"),
        ("ACQUIRE a wait=200000h", f"wait {TIME}"),
        ("ACQUIRE a poll=1ms", "poll is at least 10ms"),
        # holds and requests
        ("RELEASE", "RELEASE needs id="),
        ("RELEASE id=", "id is the number that a grant came with"),
        ("RELEASE id=-1", "id is the number that a grant came with"),
        ("RELEASE id=18446744073709551616",
         "id is the number that a grant came with"),
        ("RENEW id=1 id=1", '"id" is given twice'),
        ("CANCEL", "CANCEL needs tag="),
        ("CANCEL tag=", "only a request with a tag can be cancelled"),
        ("HELLO renewed=maybe", "renewed is yes or no"),
        ("PING pong", "PING takes only arguments of the form name=value"),
    )

    def test_each_has_its_text(self):
        client = self.client()
        for line, text in self.REFUSED:
            with self.subTest(line=line[:40]):
                reply = client.call(line)
                self.assertEqual(reply.code, "BAD_REQUEST", reply)
                self.assertIn(text, reply.text)
        # None of them had an effect or hindered another.
        held = self.bystander.call("HELD").rows
        self.assertEqual([row["key"] for row in held], ["bystander"])
        self.assertEqual(self.bystander.call("WAITING").rows, [])
        self.assertEqual(client.call("GET a")["state"], "free")
        self.lives(client)

    def test_longest_keys(self):
        """One byte less, and it is a key like any other."""
        client = self.client()
        for key, shown in ((LONG, LONG), (UMLAUTS, "\u00e4" * 512)):
            self.assertTrue(client.call(f"TRY {key}").ok)
            row, = self.bystander.call(f"HELD key={key}").rows
            self.assertEqual(row["key"], shown)
            row, = self.bystander.call(f"LIST prefix={key}").rows
            self.assertEqual(row["key"], shown)
        self.lives(client)

    def test_what_is_not_there(self):
        client = self.client()
        for line, code, text in (
                ("TRY a ns=", "UNKNOWN_NAMESPACE", 'no namespace ""'),
                ("TRY a ns=default,default", "UNKNOWN_NAMESPACE",
                 '"default,default"'),
                ("RENEW id=77", "NO_SUCH_LOCK", "no such lock"),
                (f"RELEASE id={self.hold['id']}", "LOCK_NOT_OWNED",
                 "this connection does not hold")):
            reply = client.call(line)
            self.assertEqual(reply.code, code, reply)
            self.assertIn(text, reply.text)
        self.lives(client)

    def test_another_use_of_what_one_has(self):
        """Refused, and the hold does not change; others join as before."""
        alone, sharer, other = self.client(), self.client(), self.client()
        self.assertTrue(alone.try_("alone").ok)
        self.assertTrue(sharer.try_("some", mode="shared", limit=3).ok)
        for client, line, text in (
                (alone, "TRY alone", "already holds the lock"),
                (alone, "TRY alone mode=shared", "holds the lock exclusively"),
                (alone, "ACQUIRE alone mode=shared limit=3",
                 "holds the lock exclusively"),
                (sharer, "TRY some", "this connection shares the lock"),
                (sharer, "ACQUIRE some wait=1h",
                 "this connection shares the lock"),
                (sharer, "TRY some mode=shared", "already holds the lock"),
                (sharer, "TRY some mode=shared limit=4",
                 "already holds the lock")):
            with self.subTest(line=line):
                reply = client.call(line)
                self.assertEqual(reply.code, "ALREADY_HELD", reply)
                self.assertIn(text, reply.text)
        self.assertTrue(other.try_("some", mode="shared", limit=3).ok)
        self.assertEqual(other.try_("alone").code, "LOCK_BUSY")
        rows = {row["key"]: row for row in other.call("HELD").rows}
        self.assertEqual(rows["alone"]["state"], "held")
        self.assertNotIn("mode", rows["alone"].arguments)
        self.assertEqual(other.call("WAITING").rows, [])
        self.lives(alone)

    def test_two_uses_that_one_waits_for(self):
        """Its requests wait in line like those of several clients."""
        client = self.client()
        first = client.send("ACQUIRE bystander")
        second = client.send("ACQUIRE bystander mode=shared")
        self.assertTrue(client.call("PING").ok)
        waiting = self.bystander.call("WAITING key=bystander").rows
        self.assertEqual([row["ahead"] for row in waiting], ["0", "1"])
        self.bystander.release(self.hold)
        grant = client.reply(first)
        self.assertEqual(grant["mode"], "exclusive")
        waiting = self.bystander.call("WAITING key=bystander").rows
        self.assertEqual([row["mode"] for row in waiting], ["shared"])
        self.assertTrue(client.release(grant).ok)
        grant = client.reply(second)
        self.assertEqual(grant["mode"], "shared")
        self.assertTrue(client.release(grant).ok)
        self.assertTrue(self.bystander.try_("bystander").ok)


class BadReaders(Case):
    """Small caps, so that they are reached soon."""

    config = """
[daemon]
queued_bytes_max = 2M
requests_per_connection_max = 16
connections_per_uid_max = 8
[namespace default]
file = {dir}/db
"""

    def stuff(self, client, data):
        """Send until the daemon takes no more."""
        client.socket.setblocking(False)
        try:
            while True:
                client.socket.send(data)
        except BlockingIOError:
            return True
        except (BrokenPipeError, ConnectionResetError):
            return False

    def test_never_reads(self):
        client = self.client()
        self.assertTrue(client.try_("stuffed").ok)
        # A PING of the bystander lets the daemon catch up in between.
        for _ in range(200):
            if not self.stuff(client, b"HELP\n" * 1000):
                break
            self.undisturbed()
        waiting = self.bystander.send("ACQUIRE stuffed")
        client.close()
        self.assertTrue(self.bystander.reply(waiting).ok)
        self.undisturbed()

    def test_reads_late(self):
        """Not cut off: it is only slow, and gets each of its replies."""
        client = self.client()
        client.socket.settimeout(harness.TIMEOUT_S)
        sent = 0
        client.socket.setblocking(False)
        data = b"HELP\n" * 100
        while True:
            try:
                sent += client.socket.send(data[sent % 5:])
            except BlockingIOError:
                break
        client.socket.setblocking(True)
        if sent % 5:
            client.send_raw(b"HELP\n"[sent % 5:])
            sent += 5 - sent % 5
        for _ in range(sent // 5):
            self.assertTrue(client.reply().ok)
        self.lives(client)

    def test_too_many_requests(self):
        client = self.client()
        for _ in range(17):
            client.send_raw(b"ACQUIRE bystander\n")
        reply = client.reply()
        self.assertEqual(reply.code, "LIMIT")
        self.lives(client)

    def test_too_many_connections(self):
        clients = [self.client() for _ in range(7)]
        for client in clients:
            self.assertTrue(client.call("PING").ok)
        refused = self.client()
        self.assertEqual(refused.reply().code, "LIMIT")
        refused.wait_end()
        self.undisturbed()
        clients[0].send_raw(b"QUIT\n")
        clients[0].wait_end()
        self.lives(self.client())


class TooMuch(Case):
    config = """
[daemon]
holds_per_connection_max = 3
locks_max = 8
[namespace default]
file = {dir}/db
idle = 0
"""

    def refused(self, reply):
        self.assertEqual(reply.code, "LIMIT", reply)
        self.assertTrue(reply.text)

    def test_too_many_holds(self):
        client = self.client()
        grants = [client.try_(f"k{i}") for i in range(3)]
        self.assertTrue(all(grant.ok for grant in grants))
        self.refused(client.try_("k3"))
        self.lives(client)
        self.assertTrue(client.release(grants[0]).ok)
        self.assertTrue(client.try_("k3").ok)

    def test_too_many_locks(self):
        clients = [self.client() for _ in range(3)]
        for i in range(7):
            self.assertTrue(clients[i // 3].try_(f"k{i}").ok)
        self.refused(clients[2].try_("k7"))
        self.lives(clients[2])
        # Their room is free again soon after them.
        clients[0].close()
        while not clients[2].try_("k7").ok:
            pass
        self.undisturbed()


class TooManyRequests(Case):
    config = """
[daemon]
requests_max = 20
[namespace default]
file = {dir}/db
"""

    def test_too_many_in_total(self):
        client = self.client()
        tags = [client.send("ACQUIRE bystander") for _ in range(21)]
        self.assertEqual(client.reply(tags[-1]).code, "LIMIT")
        # Clients that come and go are answered at once.
        self.assertEqual(self.client().try_("other").code, "LIMIT")
        client.call(f"CANCEL tag={tags[0]}")
        self.assertEqual(client.reply(tags[0]).code, "CANCELLED")
        self.assertTrue(self.client().try_("other").ok)
        self.lives(client)


class TooFewFiles(unittest.TestCase):
    """What clients may take leaves enough for the stores."""

    CONFIG = """
[daemon]
connections_max = 5000
[namespace default]
file = {dir}/db
[namespace fleet]
store = dynamodb
table = tab
region = r
endpoint = http://127.0.0.1:1
access_key_id = k
secret_access_key = s
"""

    def test_files(self):
        daemon = harness.Daemon(self.CONFIG)
        command = ["prlimit", "--nofile=500:500"] + daemon.command()
        daemon.command = lambda: command
        with daemon:
            line = daemon.wait_log("connections_max = 5000")
            self.assertIn("only 500 files may be open, and 224 are for other",
                          line)
            clients = [harness.Client(daemon) for _ in range(276)]
            for client in clients:
                self.assertTrue(client.call("PING").ok)
            with harness.Client(daemon) as refused:
                self.assertEqual(refused.reply().code, "LIMIT")
            if os.geteuid() == 0:  # nobody else may look
                self.assertLess(len(os.listdir(f"/proc/{daemon.pid}/fd")),
                                500 - 72)
            self.assertTrue(clients[0].try_("k").ok)
            for client in clients:
                client.close()

    def test_room_for_their_numbers(self):
        """The kernel's table of files grows before clients come, and not as
        they come: that stops the daemon for a while, each time."""
        with harness.Daemon(self.CONFIG) as daemon:
            with open(f"/proc/{daemon.pid}/status", encoding="ascii") as f:
                size = re.search(r"^FDSize:\s+(\d+)", f.read(), re.M)
            self.assertGreater(int(size.group(1)), 5000)


class TenThousand(Case):
    def setUp(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = IDLE + 500
        if hard != resource.RLIM_INFINITY and hard < wanted:
            raise unittest.SkipTest(f"at most {hard} open files")
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
        super().setUp()

    def test_ten_thousand_connections(self):
        sockets = []
        self.addCleanup(lambda: [s.close() for s in sockets])
        for _ in range(IDLE):
            s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            sockets.append(s)
            # Without a timeout, or Python would not wait in connect() for
            # the daemon to take earlier callers off the queue.
            s.connect(self.daemon.socket)
            s.settimeout(harness.TIMEOUT_S)
        for s in sockets:
            s.sendall(b"PING\n")
        for s in sockets:
            self.assertEqual(s.recv(100), b"OK\n")
        self.assertEqual(self.bystander.call("STATUS")["connections"],
                         str(IDLE + 1))
        self.undisturbed()
        kb = resident_kb(self.daemon.pid)
        print(f"{IDLE} idle connections: {kb} kB resident")
        if not harness.sanitized():
            self.assertLess(kb, IDLE_KB_MAX)
        for s in sockets:
            s.close()
        while int(self.bystander.call("STATUS")["connections"]) > 1:
            pass
        self.undisturbed()


if __name__ == "__main__":
    harness.main()
