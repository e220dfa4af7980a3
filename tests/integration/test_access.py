#!/usr/bin/env python3
"""Rules of access: what users may do and see, by the first rule that fits, also
after a reload and a restart. Users are children with other user ids, so this
needs root.
"""
import contextlib
import json
import os
import socket
import unittest

import harness
from harness import Client, Daemon
from manager import Managed
from test_check import ddblock
from test_reload import reload
from users import relay

APP, BACKUP, GUEST, OTHER = 2001, 2002, 2003, 2004
STAFF = 2100

SPACES = "[namespace default]\nstore = memory\n" \
         "[namespace jobs]\nstore = memory\n"
RULES = f"""[access app]
user = {APP}
prefix = db/, jobs/
allow = see, share, take, list
[access app-rest]
user = {APP}
allow = see
[access backup]
user = {BACKUP}
prefix = db/
allow = see, break, fail-closed, take
[access guests]
group = {STAFF}
namespace = default
allow = share, list
connections_max = 2
[access jobs]
namespace = jobs
allow = take
[access nothing]
allow = none
"""

LIMITED = SPACES + f"""[access guests]
group = {STAFF}
prefix = none/
allow = none
locks_max = 3
watches_max = 1
memory_max = 450K
[access all]
allow = see, share, take
locks_max = 100
request_rate = 20
"""


class As(Client):
    """A client that another user has connected: every line must be written by a
    process of that user."""

    def __init__(self, daemon, user, others=(), leaves=False):
        for path in (daemon.directory, daemon.socket):
            os.chmod(path, 0o777)
        As.count = getattr(As, "count", 0) + 1
        path = os.path.join(daemon.directory, f"relay{As.count}")
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
            listening.bind(path)
            listening.listen()
            self.child = relay(listening, daemon.socket, user, user, others,
                               leaves)
            super().__init__(path)
        if leaves:  # it is a zombie until this client is closed
            os.waitid(os.P_PID, self.child, os.WEXITED | os.WNOWAIT)

    def reap(self):
        os.waitpid(self.child, 0)
        self.child = None

    def close(self):
        # Children of later clients have copies of it.
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        super().close()
        if self.child:
            self.reap()


@unittest.skipUnless(os.geteuid() == 0, "only root can be somebody else")
class Access(unittest.TestCase):
    def denied(self, reply, *words):
        self.assertEqual(reply.code, "DENIED", reply)
        for word in words:
            self.assertIn(word, reply.raw)

    def keys(self, reply):
        self.assertTrue(reply.ok, reply)
        return [row["key"] for row in reply.rows]

    def test_take_and_share(self):
        with Daemon(SPACES + RULES) as daemon, As(daemon, APP) as app, \
                As(daemon, GUEST, (STAFF,)) as guest, \
                As(daemon, OTHER) as other:
            self.assertTrue(app.call("TRY db/x").ok)
            self.denied(app.call("TRY x"), 'rule "app-rest" (line 9 of '
                        f'{daemon.config}) does not let uid {APP} take "x" '
                        'in namespace "default"')
            self.denied(app.call("TRY db/x policy=fail-closed"),
                        'hold "db/x" fail-closed')
            # For each of several.
            self.denied(app.call("TRY db/a x"), '"x"')
            self.assertTrue(app.call("TRY db/a jobs/b").ok)
            self.denied(guest.call("ACQUIRE g"), "take")
            self.assertTrue(guest.call("ACQUIRE g mode=shared").ok)
            self.denied(guest.call("TRY g ns=jobs mode=shared"), "share")
            self.assertTrue(guest.call("TRY g ns=jobs").ok)
            self.denied(other.call("TRY g"), 'rule "nothing"')
            self.assertTrue(other.call("TRY h ns=jobs").ok)
            daemon.wait_log(f'does not let uid {OTHER} take "g"')

    def test_what_is_hidden(self):
        """The holder of a lock, and whether there is one."""
        with Daemon(SPACES + RULES) as daemon, As(daemon, APP) as app, \
                As(daemon, OTHER) as other, Client(daemon) as root:
            self.assertTrue(app.call("TRY db/x").ok)
            for key in ("db/x", "db/none"):
                self.denied(other.call(f"GET {key}"), f'"{key}"')
                self.denied(other.call(f"WATCH {key}"), f'"{key}"')
                self.denied(other.call(f"TRY {key}"), f'"{key}"')
                self.denied(other.call(f"BREAK {key} token=1 reason=a"))
            mine = root.call("TRY j ns=jobs owner=root")
            busy = other.call("TRY j ns=jobs")
            self.assertEqual(busy.code, "LOCK_BUSY")
            for name in ("owner", "token", "unchanged", "holders"):
                self.assertIsNone(busy.get(name), busy)
            waits = other.send("ACQUIRE j ns=jobs report=queue")
            told = other.event("QUEUED")
            self.assertEqual(told["ahead"], "0")
            for name in ("owner", "token", "state", "pid"):
                self.assertIsNone(told.get(name), told)
            self.assertEqual(
                self.keys(root.call("WAITING ns=jobs")), ["j"])
            self.assertTrue(root.call(f"RELEASE id={mine['id']}").ok)
            self.assertTrue(other.reply(waits).ok)

    def test_listings(self):
        with Daemon(SPACES + RULES) as daemon, As(daemon, APP) as app, \
                As(daemon, GUEST, (STAFF,)) as guest, \
                As(daemon, OTHER) as other, Client(daemon) as root:
            for key in ("db/1", "x", "jobs/2"):
                self.assertTrue(root.call(f"TRY {key}").ok)
            self.assertTrue(other.call("TRY o ns=jobs").ok)
            reply = app.call("LIST")
            self.assertEqual(sorted(self.keys(reply)), ["db/1", "jobs/2"])
            self.assertEqual((reply["rows"], reply.get("examined")),
                             ("2", None))
            self.assertEqual(self.keys(app.call("LIST prefix=db/")), ["db/1"])
            self.denied(app.call("LIST prefix=x"), 'rule "app-rest"',
                        'list "x"')
            self.denied(guest.call("LIST"), 'rule "guests"', "see namespace")
            self.denied(other.call("LIST ns=default,jobs"), 'rule "nothing"')
            self.assertEqual(sorted(self.keys(app.call("HELD"))),
                             ["db/1", "jobs/2"])
            # What it holds itself it may know, whatever the rules say.
            self.assertEqual(self.keys(other.call("HELD")), ["o"])
            every = root.call("LIST ns=default,jobs")
            self.assertEqual(len(every.rows), 4)
            self.assertIsNotNone(every.get("examined"))
            status = {row["ns"]: row for row in app.call("STATUS").rows}
            self.assertIsNone(status["default"].get("held"))
            self.assertIsNone(status["default"].get("grants"))
            self.assertEqual(root.call("STATUS").rows[0]["held"], "3")

    def test_break(self):
        with Daemon(SPACES + RULES) as daemon, As(daemon, APP) as app, \
                As(daemon, BACKUP) as backup, Client(daemon) as root:
            token = app.call("TRY db/x")["token"]
            self.denied(app.call(f"BREAK db/x token={token} reason=a"),
                        'rule "app"', "break")
            self.assertTrue(backup.call(
                f"BREAK db/x token={token} reason=stuck").ok)
            self.assertEqual(app.event("LOCK_LOST")["reason"], "broken")
            token = app.call("TRY jobs/x")["token"]
            self.denied(backup.call(f"BREAK jobs/x token={token} reason=a"),
                        'rule "nothing"')
            # No rule names root, so none is for it.
            self.assertTrue(root.call(
                f"BREAK jobs/x token={token} reason=a").ok)
            self.denied(backup.call("DRAIN"), "administer namespace")
            self.denied(backup.call("CHECK"), "administer namespace")
            self.assertTrue(root.call("DRAIN").ok)

    def test_a_rule_that_names_root(self):
        rules = "[access root]\nuser = root\nallow = see\n" \
                f"[access ops]\nuser = {OTHER}\nnamespace = jobs\n" \
                "allow = admin\n"
        with Daemon(SPACES + rules) as daemon, Client(daemon) as root, \
                As(daemon, OTHER) as ops:
            self.denied(root.call("TRY x"), 'rule "root"')
            self.denied(root.call("DRAIN"), "administer")
            self.denied(ops.call("DRAIN"), 'namespace "default"',
                        "no rule lets")
            self.assertTrue(ops.call("DRAIN ns=jobs").ok)
            self.assertTrue(ops.call("CHECK ns=jobs").ok)

    def test_connections_of_a_user(self):
        with Daemon(SPACES + RULES) as daemon:
            guests = [As(daemon, GUEST, (STAFF,)) for _ in range(2)]
            self.assertTrue(guests[0].call("PING").ok)
            self.assertTrue(guests[1].call("PING").ok)
            with As(daemon, GUEST, (STAFF,)) as third:
                self.assertEqual(third.reply().code, "LIMIT")
            with As(daemon, OTHER) as other:
                self.assertTrue(other.call("PING").ok)
            for guest in guests:
                guest.close()

    def limited(self, reply, setting, rule='rule "guests"'):
        self.assertEqual(reply.code, "LIMIT", reply)
        self.assertRegex(reply.raw, f"this user's programs .*{setting} of "
                         f"{rule} .line [0-9]+ of /.*/ddblockd.conf. is ")

    def test_locks_of_a_user(self):
        with Daemon(LIMITED) as daemon, \
                As(daemon, GUEST, (STAFF,)) as one, \
                As(daemon, GUEST, (STAFF,)) as two, \
                As(daemon, OTHER, (STAFF,)) as other, \
                As(daemon, APP) as app, Client(daemon) as root:
            # However much it asks for at once, on several connections.
            self.assertTrue(two.call("TRY first").ok)
            replies = [one.reply(tag) for tag in
                       [one.send(f"TRY k{i}") for i in range(5)]]
            self.assertEqual([reply.code for reply in replies],
                             ["OK"] * 2 + ["LIMIT"] * 3)
            self.limited(replies[2], "locks_max")
            self.limited(two.call("TRY m n"), "locks_max")
            daemon.wait_log('"k2" of .* is refused: LIMIT: this user\'s '
                            "programs have or have asked for 3 locks; "
                            "locks_max of rule")
            # Who waits has a place, and gives it back.
            self.assertTrue(one.call(f"RELEASE id={replies[0]['id']}").ok)
            waits = one.send("ACQUIRE first")
            self.assertTrue(one.call("PING").ok)
            self.limited(two.call("TRY k5"), "locks_max")
            self.assertTrue(one.call(f"CANCEL tag={waits}").ok)
            self.assertEqual(one.reply(waits).code, "CANCELLED")
            self.assertTrue(two.call("TRY k5").ok)
            # Each user by itself, and not whom the rule is not for.
            for i in range(3):
                self.assertTrue(other.call(f"TRY o{i}").ok)
            self.limited(other.call("TRY o3"), "locks_max")
            for i in range(5):
                self.assertTrue(app.call(f"TRY app{i}").ok)
                self.assertTrue(root.call(f"TRY root{i}").ok)

    def test_other_limits_of_a_user(self):
        with Daemon(LIMITED) as daemon, \
                As(daemon, GUEST, (STAFF,)) as guest, \
                As(daemon, OTHER, (STAFF,)) as other, \
                Client(daemon) as root:
            self.assertTrue(guest.call("WATCH a").ok)
            self.limited(guest.call("WATCH b"), "watches_max")
            self.assertTrue(other.call("WATCH b").ok)
            self.assertTrue(guest.call("UNWATCH a").ok)
            self.assertTrue(guest.call("WATCH b").ok)
            self.assertTrue(root.call("TRY k").ok)
            data = "x" * 250000
            waits = guest.send(f"ACQUIRE k data={data}")
            self.limited(guest.call(f"TRY other data={data}"), "memory_max")
            self.assertTrue(other.call(f"TRY other data={data}").ok)
            self.assertTrue(guest.call(f"CANCEL tag={waits}").ok)
            self.assertEqual(guest.reply(waits).code, "CANCELLED")
            # The first rule that has the limit need not be the first one.
            # (One by one: of many at once the memory may be too much, too.)
            refused = next(
                reply for reply in (guest.call(f"GET g{i}")
                                    for i in range(1000)) if not reply.ok)
            self.limited(refused, "request_rate", 'rule "all"')
            self.assertRegex(refused.raw, "is 20; the next request is in "
                             "[0-9]+ ms")
            self.assertTrue(other.call("GET g").ok)
            for i in range(60):
                self.assertTrue(root.call(f"GET g{i}").ok)

    def test_limits_after_a_reload(self):
        """What there is stays, and nothing comes to it until there is room."""
        def rules(limits):
            return f"{SPACES}[access app]\nuser = {APP}\nallow = all\n{limits}"

        with Daemon(rules("")) as daemon, As(daemon, APP) as app, \
                Client(daemon) as root:
            k = root.call("TRY k")["id"]
            holds = [app.call(f"TRY a{i}")["id"] for i in range(3)]
            waits = app.send("ACQUIRE k")
            for i in range(3):
                self.assertTrue(app.call(f"WATCH w{i}").ok)
            self.assertTrue(reload(daemon, rules(
                "locks_max = 2\nwatches_max = 2\n")))
            self.limited(app.call("TRY b"), "locks_max", 'rule "app"')
            self.limited(app.call("WATCH b"), "watches_max", 'rule "app"')
            self.assertTrue(root.call(f"RELEASE id={k}").ok)
            holds.append(app.reply(waits)["id"])
            self.assertEqual(len(self.keys(app.call("HELD"))), 4)
            for hold in holds[:3]:
                self.assertTrue(app.call(f"RENEW id={hold}").ok)
                self.limited(app.call("TRY b"), "locks_max", 'rule "app"')
                self.assertTrue(app.call(f"RELEASE id={hold}").ok)
            self.assertTrue(app.call("TRY b").ok)
            self.limited(app.call("TRY c"), "locks_max", 'rule "app"')
            self.assertTrue(reload(daemon, rules("")))
            self.assertTrue(app.call("TRY c").ok)
            self.assertTrue(app.call("WATCH b").ok)

    def test_limits_after_a_restart(self):
        file = "[namespace default]\nfile = {dir}/d.db\n" \
               f"[access app]\nuser = {APP}\nallow = all\n"
        with Managed(config=file) as daemon, As(daemon, APP) as app, \
                Client(daemon) as root:
            for client in root, app:
                client.call("HELLO resume=yes")
            k = root.call("TRY k")["id"]
            holds = [app.call(f"TRY a{i}")["id"] for i in range(2)]
            waits = app.send("ACQUIRE k")
            self.assertTrue(app.call("WATCH w").ok)
            daemon.write_config(file + "locks_max = 2\nwatches_max = 1\n")
            daemon.restart()
            self.limited(app.call("TRY b"), "locks_max", 'rule "app"')
            self.limited(app.call("WATCH x"), "watches_max", 'rule "app"')
            self.assertEqual(len(self.keys(app.call("HELD"))), 3)
            # What was asked before goes on.
            self.assertTrue(root.call(f"RELEASE id={k}").ok)
            holds.append(app.reply(waits)["id"])
            for hold in holds[:2]:
                self.limited(app.call("TRY b"), "locks_max", 'rule "app"')
                self.assertTrue(app.call(f"RELEASE id={hold}").ok)
            self.assertTrue(app.call("TRY b").ok)

    def test_reload(self):
        """What it holds stays; what waits and watches ends."""
        free = f"[access app]\nuser = {APP}\nallow = see take\n"
        with Daemon(SPACES) as daemon, As(daemon, APP) as app, \
                Client(daemon) as root:
            self.assertTrue(root.call("TRY a").ok)
            held = app.call("TRY b")
            waits = app.send("ACQUIRE a")
            self.assertTrue(app.call("WATCH a").ok)
            self.assertTrue(app.call("WATCH w").ok)
            self.assertEqual(len(self.keys(app.call("WAITING"))), 1)
            self.assertTrue(reload(daemon, SPACES + free))
            self.assertEqual(len(self.keys(app.call("HELD"))), 1)
            self.denied(app.call("TRY c mode=shared"), 'rule "app"')
            self.assertTrue(reload(daemon, SPACES + "[access other]\n"
                                   f"user = {OTHER}\nallow = all\n"
                                   f"[access app]\nuser = {APP}\n"
                                   "prefix = w\nallow = see\n"))
            self.denied(app.reply(waits))
            told = app.event("CHANGED")
            self.assertEqual((told["key"], told["state"], told["cause"]),
                             ("a", "unknown", "DENIED"))
            self.assertTrue(root.call("TRY w").ok)
            self.assertEqual(app.event("CHANGED")["key"], "w")
            self.assertEqual(self.keys(app.call("HELD")), ["b"])
            self.assertTrue(app.call(f"RENEW id={held['id']}").ok)
            self.assertTrue(app.call(f"RELEASE id={held['id']}").ok)
            self.denied(app.call("TRY b"))
            self.assertTrue(reload(daemon, SPACES))
            self.assertTrue(app.call("TRY b").ok)

    def test_restart(self):
        """The next daemon judges by its own file."""
        file = "[namespace default]\nfile = {dir}/d.db\n"
        with Managed(config=file) as daemon, As(daemon, APP) as app, \
                Client(daemon) as root:
            root.call("HELLO resume=yes")
            held = app.call("TRY b")
            self.assertTrue(held.ok, held)
            self.assertTrue(root.call("TRY a").ok)
            waits = app.send("ACQUIRE a")
            self.assertTrue(app.call("WATCH a").ok)
            daemon.write_config(file + f"[access app]\nuser = {APP}\n"
                                "prefix = z\nallow = take\n")
            daemon.restart()
            self.denied(app.reply(waits), "no rule lets")
            told = app.event("CHANGED")
            self.assertEqual((told["state"], told["cause"]),
                             ("unknown", "DENIED"))
            self.denied(app.call("TRY y"))
            self.assertTrue(app.call("TRY z").ok)
            self.assertTrue(app.call(f"RELEASE id={held['id']}").ok)

    def test_a_unit_that_is_not_known(self):
        """The process that connected has ended before it was accepted: then a
        rule for a unit may be for it, and refuses, but allows nothing."""
        rules = "[access bad]\nunit = bad.service\nallow = share\n" \
                "[access good]\nunit = good.slice\nprefix = g\n" \
                "allow = all\n[access rest]\nallow = take, share\n"
        with Daemon(SPACES + rules) as daemon:
            daemon.freeze()
            hidden = As(daemon, OTHER, leaves=True)
            hidden.reap()
            zombie = As(daemon, OTHER, leaves=True)
            daemon.thaw()
            with hidden, zombie, As(daemon, APP) as app:
                self.denied(zombie.call("TRY k"), 'rule "bad"')
                self.denied(hidden.call("TRY k"), 'rule "bad"')
                self.assertTrue(hidden.call("TRY s mode=shared").ok)
                self.denied(hidden.call("GET g"), "see")
                self.assertTrue(app.call("TRY k").ok)
                self.denied(app.call("GET g"), 'rule "rest"')
                # It was not asked for when it connected.
                self.assertTrue(reload(daemon, SPACES))
                with As(daemon, APP) as late:
                    self.assertTrue(late.call("TRY l").ok)
                    self.assertTrue(reload(daemon, SPACES + rules))
                    self.assertTrue(late.call("TRY m").ok)
                    self.denied(hidden.call("TRY n"), 'rule "bad"')

    def explain(self, daemon, *args):
        """{right: (allowed, rule)}, as `ddblock check --access` says it."""
        status, out, err = ddblock(daemon, "check", "--json", *args)
        self.assertEqual((status, err), (0, ""))
        return {row["right"]: (row["allowed"], row.get("rule"))
                for row in json.loads(out) if "right" in row}

    def test_check(self):
        with Daemon(SPACES + RULES) as daemon, As(daemon, APP) as app:
            told = self.explain(daemon, f"--access={APP}:db/x")
            self.assertEqual(list(told), ["see", "share", "take",
                                          "fail-closed", "break", "list",
                                          "admin"])
            self.assertEqual(told["take"], (True, "app"))
            self.assertEqual(told["break"], (False, "app"))
            self.assertEqual(told["admin"], (False, "app-rest"))
            told = self.explain(daemon, f"--access={APP}:other")
            self.assertEqual((told["see"], told["take"]),
                             ((True, "app-rest"), (False, "app-rest")))
            told = self.explain(daemon, f"--access={BACKUP}")
            self.assertEqual(told["take"], (False, "nothing"))
            told = self.explain(daemon, f"--access={OTHER}:k", "--ns=jobs")
            self.assertEqual(told["take"], (True, "jobs"))
            # By name, with groups; and no rule is for an administrator.
            told = self.explain(daemon, "--access=root:k")
            self.assertEqual(told["break"], (True, None))
            status, out, _ = ddblock(daemon, "check", f"--access={APP}:db/x")
            self.assertEqual(status, 0)
            self.assertRegex(out, r"RIGHT +ALLOWED +RULE +WHERE\n"
                             rf"see +yes +app +{daemon.config}:5\n")
            self.assertRegex(out, r"break +no +app +")
            for args, status, word in (
                    (["--access=nobody-of-that-name"], 64, "no user"),
                    (["--unit=a.service"], 64, "goes with --access"),
                    (["--access=7", "--ns=mian"], 64, "no namespace")):
                done = ddblock(daemon, "check", *args)
                self.assertEqual(done[0], status, done)
                self.assertIn(word, done[2])
            self.denied(app.call(f"ACCESS uid={APP}"), "administer")
            admin = Client(daemon)
            with admin:
                for line in ("ACCESS", "ACCESS uid=-1", "ACCESS uid=1 groups=a",
                             "ACCESS uid=1 groups=1,,2"):
                    self.assertEqual(admin.call(line).code, "BAD_REQUEST")
                rows = admin.call(f"ACCESS uid=9 groups=7,{STAFF} key=k").rows
                self.assertEqual((rows[1]["right"], rows[1]["allowed"],
                                  rows[1]["rule"]), ("share", "yes", "guests"))

    def test_check_of_limits(self):
        with Daemon(LIMITED) as daemon, As(daemon, GUEST) as guest, \
                Client(daemon) as root:
            status, out, _ = ddblock(daemon, "check", f"--access={GUEST}")
            self.assertEqual(status, 0)
            self.assertRegex(out, r"ALLOWED +SETTING +MOST +RULE +WHERE")
            self.assertRegex(out, r"locks_max +100 +all +\S+ddblockd.conf:12")
            rows = root.call(f"ACCESS uid={GUEST} groups={STAFF}").rows
            self.assertEqual(
                [(row["setting"], row["most"], row["rule"])
                 for row in rows if row.get("setting")],
                [("locks_max", "3", "guests"), ("watches_max", "1", "guests"),
                 ("memory_max", "460800", "guests"),
                 ("request_rate", "20", "all")])
            self.assertTrue(all(row.get("setting") is None for row in
                                root.call("ACCESS uid=0").rows))
            self.denied(guest.call(f"ACCESS uid={GUEST}"), "administer")

    def test_check_without_rules(self):
        with Daemon(SPACES) as daemon, As(daemon, OTHER) as other:
            told = self.explain(daemon, f"--access={OTHER}")
            self.assertEqual([right for right, (allowed, _) in told.items()
                              if not allowed], ["break", "admin"])
            self.assertEqual(other.call(f"ACCESS uid={OTHER}").code, "DENIED")

    def test_check_of_a_unit(self):
        with Daemon(SPACES + "[access web]\nunit = a.service web.slice\n"
                    "allow = see\n") as daemon:
            for unit, allowed in (("a.service", True), ("b.service", False),
                                  ("web.slice/b.service", True)):
                self.assertEqual(self.explain(
                    daemon, "--access=9", f"--unit={unit}")["see"][0], allowed)

    def test_mistakes(self):
        with Daemon(SPACES) as daemon:
            self.assertFalse(reload(daemon, SPACES + "[access a]\n"
                                    "user = nobody-of-that-name\n"
                                    "namespace = mian\nallow = tkae\n"))
            daemon.wait_log("ddblockd.conf:6: access a: user = "
                            "nobody-of-that-name: there is no such user")
            daemon.wait_log("ddblockd.conf:7: access a: namespace = mian: "
                            "there is no such namespace")
            daemon.wait_log("ddblockd.conf:8: access a: allow = tkae: must be "
                            "some of")
            with As(daemon, OTHER) as other:
                self.assertTrue(other.call("TRY x").ok)


if __name__ == "__main__":
    harness.main()
