"""Every single answer of the store lost in turn, and every request applied
late: no hold is lost by it, none is doubled, no client is told of a false
loss, and no element stays in the table.

Lost means, for each kind of request: before its effect and after it; with the
connection closed, and with silence. Late means: no answer, and applied when
the daemon has long gone on. The proxy arranges it (fault_proxy.py), and the
table itself is asked for what is left.
"""
import os
import unittest

import fault_proxy
import harness
import runner
from fault_proxy import late, lose_after, lose_before, mute_after, mute_before
from harness import Client, Daemon
from test_daemon_dynamodb import dynamodb
from undisturbed import Undisturbed

LOSSES = (lose_before, lose_after, mute_before, mute_after)
EVER = 10 ** 9
SETTINGS = {"lease": "8s", "heartbeat": "1s", "request_timeout": "2s",
            "poll": "200ms", "audit": "2s", "handover_max": "4", "idle": "0s"}
QUICK = {"lease": "3s", "margin": "500ms", "heartbeat": "700ms",
         "request_timeout": "1s"}


class Host:
    """A daemon behind a proxy of its own."""

    def __init__(self, test, start=True, **changes):
        self.proxy = fault_proxy.Proxy()
        settings = {**SETTINGS, **changes}
        self.daemon = Daemon(
            f"[namespace default]\nstore = dynamodb\ntable = {test.table}\n"
            f"region = us-east-1\nendpoint = {self.proxy.url}\n"
            + "".join(f"{k} = {v}\n" for k, v in settings.items()))
        test.addCleanup(self.close)
        if start:
            self.daemon.start()

    def close(self):
        self.proxy.clear()
        try:
            self.daemon.close()
        finally:
            self.proxy.close()

    def status(self):
        with Client(self.daemon) as client:
            return client.call("STATUS").rows[0]


class Base(Undisturbed, unittest.TestCase):
    LEASE_MS = 3000  # QUICK

    def setUp(self):
        harness.need_dynamodb()
        self.table = f"t-{os.getpid()}-{self.serial}-{self._testMethodName}"
        dynamodb("CreateTable", TableName=self.table,
                 BillingMode="PAY_PER_REQUEST", AttributeDefinitions=[
                     {"AttributeName": "key", "AttributeType": "S"}],
                 KeySchema=[{"AttributeName": "key", "KeyType": "HASH"}])

    def item(self, key):
        return dynamodb("GetItem", TableName=self.table, ConsistentRead=True,
                        Key={"key": {"S": key}}).get("Item")

    def holders(self, key):
        item = self.item("lock:" + key) or {}
        return item.get("holders", {}).get("SS", [])

    def wishes(self, key):
        item = self.item("lock:" + key) or {}
        return item.get("xwait", {}).get("SS", [])

    def sessions(self):
        """The sessions in the table that are not dead."""
        items = dynamodb("Scan", TableName=self.table,
                         ConsistentRead=True)["Items"]
        return [i["key"]["S"] for i in items
                if i["key"]["S"].startswith("session:") and "dead" not in i]

    def wait_table(self, host, predicate, what):
        """Until the table is so; asked whenever the proxy sees something,
        which is with every beat at least."""
        host.proxy.wait(predicate, what)

    def wait_free(self, host, key):
        self.wait_table(host, lambda: not self.holders(key),
                        f"{key} to be free in the table")

    def check_well(self, *hosts):
        for host in hosts:
            row = host.status()
            self.assertEqual((row["lost"], row["session"], row["state"]),
                             ("0", "open", "ok"), row)

    def losses(self, host, kind, **which):
        """Each way of losing one request of this kind."""
        for fault in LOSSES:
            with self.subTest(kind=kind, fault=fault.__name__):
                rule = host.proxy.on(kind, fault, **which)
                yield rule
                self.assertEqual(len(rule.hits), 1)
                host.proxy.clear()
        print(f"one answer lost: {kind}", flush=True)


class OneHost(Base):
    def setUp(self):
        super().setUp()
        self.host = Host(self)
        self.client = Client(self.host.daemon)
        self.addCleanup(self.client.close)

    def check_no_event(self):
        self.assertTrue(self.client.call("PING").ok)
        self.assertEqual([e for e in self.client.events
                          if e.word == "LOCK_LOST"], [])

    def test_acquire(self):
        last = 0
        for _ in self.losses(self.host, "acquire"):
            grant = self.client.acquire("k", wait="60s")
            self.assertTrue(grant.ok, grant)
            self.assertEqual(len(self.holders("k")), 1)
            self.assertGreater(int(grant["token"]), last)
            last = int(grant["token"])
            self.assertTrue(self.client.release(grant).ok)
            self.assertEqual(self.holders("k"), [])
        self.check_no_event()
        self.check_well(self.host)

    def test_release(self):
        for _ in self.losses(self.host, "release"):
            grant = self.client.acquire("k", wait="60s")
            answer = self.client.release(grant)
            self.assertTrue(answer.ok, answer)
            self.assertEqual(self.holders("k"), [])
        self.check_well(self.host)

    def test_beat(self):
        grant = self.client.acquire("k", wait="60s")
        for rule in self.losses(self.host, "beat"):
            lost = rule.wait_hit()
            self.host.proxy.wait_seen("beat", 2, since=lost.came)
        self.check_no_event()
        self.check_well(self.host)
        self.assertTrue(self.client.release(grant).ok)

    def test_audit(self):
        grant = self.client.acquire("k", wait="60s")
        for rule in self.losses(self.host, "audit"):
            lost = rule.wait_hit()
            self.host.proxy.wait_seen("audit", 1, since=lost.came)
        rule = self.host.proxy.on("audit", fault_proxy.unprocessed)
        self.host.proxy.wait_seen("audit", 1, since=rule.wait_hit().came)
        self.check_no_event()
        self.check_well(self.host)
        self.assertTrue(self.client.release(grant).ok)

    def test_block(self):
        """The block of tokens that is written ahead for a queue."""
        for rule in self.losses(self.host, "extend"):
            tokens = []
            tags = self.client.send_all(12 * ["ACQUIRE k"])
            for tag in tags:
                grant = self.client.reply(tag)
                self.assertTrue(grant.ok, grant)
                tokens.append(int(grant["token"]))
                self.assertTrue(self.client.release(grant).ok)
            rule.wait_hit()
            self.assertEqual(tokens, sorted(set(tokens)))
            self.wait_free(self.host, "k")
            self.assertGreaterEqual(
                int(self.item("lock:k")["token"]["N"]), tokens[-1])
        self.check_no_event()
        self.check_well(self.host)

    # -- late --------------------------------------------------------------

    def orphan(self, rule):
        """Let it land: no client knows of that hold."""
        rule.stop()
        rule.go()
        landed = rule.wait_late()
        self.assertEqual(landed.status, 200)
        self.assertEqual(len(landed.answer["Attributes"]["holders"]["SS"]), 1)

    def test_late_acquire_after_release(self):
        rule = self.host.proxy.on("acquire", late)
        grant = self.client.acquire("k", wait="60s")
        self.assertTrue(self.client.release(grant).ok)
        self.orphan(rule)
        self.wait_free(self.host, "k")
        again = self.client.acquire("k", wait="60s")
        self.assertGreater(int(again["token"]), int(grant["token"]))
        self.assertTrue(self.client.release(again).ok)
        self.check_no_event()
        self.check_well(self.host)
        print("late: an acquire whose grant was released; no orphan is left")

    def test_late_acquire_given_up(self):
        self.assertTrue(self.client.acquire("other", wait="60s").ok)
        rule = self.host.proxy.on("acquire", late, times=EVER)
        grant = self.client.acquire("k", wait="1s")
        self.assertEqual((grant.code, grant.get("cause")),
                         ("ACQUIRE_TIMEOUT", "UNREACHABLE"))
        # All of its attempts are with the proxy, and the outcome is known.
        self.host.proxy.wait_seen("read", key="k")
        self.orphan(rule)
        self.wait_free(self.host, "k")
        self.check_no_event()
        self.check_well(self.host)
        print("late: an acquire that was given up; no orphan is left")

    def test_late_acquire_somebody_asks(self):
        """The first client to meet the orphan has it removed."""
        rule = self.host.proxy.on("acquire", late)
        grant = self.client.acquire("k", wait="60s")
        self.assertTrue(self.client.release(grant).ok)
        self.orphan(rule)
        again = self.client.try_("k")
        if not again.ok:  # it is being removed just now
            self.assertEqual(again.code, "LOCK_BUSY")
            again = self.client.acquire("k", wait="60s")
        self.assertTrue(again.ok, again)
        self.assertEqual(len(self.holders("k")), 1)
        self.check_no_event()
        print("late: an acquire, met by the next one here")

    def test_late_release(self):
        rule = self.host.proxy.on("release", late)
        grant = self.client.acquire("k", wait="60s")
        self.assertTrue(self.client.release(grant).ok)
        again = self.client.acquire("k", wait="60s")
        rule.go()
        self.assertEqual(rule.wait_late().status, 400)
        self.assertEqual(len(self.holders("k")), 1)
        self.assertTrue(self.client.release(again).ok)
        self.check_no_event()
        self.check_well(self.host)
        print("late: a release, while the next one holds")

    def test_late_beat(self):
        grant = self.client.acquire("k", wait="60s")
        rule = self.host.proxy.on("beat", late)
        lost = rule.wait_hit()
        self.host.proxy.wait_seen("beat", 2, since=lost.came)
        rule.go()
        self.assertEqual(rule.wait_late().status, 400)
        self.host.proxy.wait_seen("beat", 1, since=rule.wait_late().applied)
        self.check_no_event()
        self.check_well(self.host)
        self.assertTrue(self.client.release(grant).ok)
        print("late: a beat")

    def test_late_block(self):
        rule = self.host.proxy.on("extend", late)
        tags = self.client.send_all(12 * ["ACQUIRE k"])
        tokens = []
        for tag in tags:
            grant = self.client.reply(tag)
            tokens.append(int(grant["token"]))
            if tag == tags[-1]:
                rule.go()
                self.assertEqual(rule.wait_late().status, 400)
            self.assertTrue(self.client.release(grant).ok)
        self.assertEqual(tokens, sorted(set(tokens)))
        self.check_no_event()
        self.check_well(self.host)
        print("late: a block of tokens")


class TwoHosts(Base):
    def setUp(self):
        super().setUp()
        quick = QUICK if "dead" in self._testMethodName else {}
        self.one, self.two = Host(self, **quick), Host(self, **quick)
        self.a, self.b = Client(self.one.daemon), Client(self.two.daemon)
        self.addCleanup(lambda: self.a.close())
        self.addCleanup(self.b.close)

    def contend(self, grant, tag):
        """Hand over from a to b."""
        self.assertTrue(self.a.release(grant).ok)
        second = self.b.reply(tag)
        self.assertTrue(second.ok, second)
        self.assertGreater(int(second["token"]), int(grant["token"]))
        self.assertTrue(self.b.release(second).ok)

    def test_want(self):
        for rule in self.losses(self.two, "want"):
            grant = self.a.acquire("k", wait="60s")
            tag = self.b.send("ACQUIRE k wait=120s")
            rule.wait_hit()
            self.wait_table(self.two, lambda: self.wishes("k"), "a wish")
            self.contend(grant, tag)
            self.assertEqual(self.wishes("k"), [])
        self.check_well(self.one, self.two)

    def test_unwant(self):
        grant = self.a.acquire("k", wait="60s")
        for rule in self.losses(self.two, "unwant"):
            tag = self.b.send("ACQUIRE k wait=120s")
            self.wait_table(self.two, lambda: self.wishes("k"), "a wish")
            self.assertTrue(self.b.call(f"CANCEL tag={tag}").ok)
            self.assertEqual(self.b.reply(tag).code, "CANCELLED")
            rule.wait_hit()
            self.wait_table(self.two, lambda: not self.wishes("k"),
                            "no wish")
        self.assertTrue(self.a.release(grant).ok)
        self.check_well(self.one, self.two)

    def test_polls(self):
        for kind in ("read", "look"):
            for rule in self.losses(self.two, kind):
                grant = self.a.acquire("k", wait="60s")
                tag = self.b.send("ACQUIRE k wait=120s")
                rule.wait_hit()
                self.contend(grant, tag)
        self.check_well(self.one, self.two)

    def take_over(self, kind, before=lambda: None):
        """The other host dies once for each fault."""
        for rule in self.losses(self.two, kind):
            grant = self.a.acquire("k", wait="60s")
            self.assertTrue(grant.ok, grant)
            tag = self.b.send("ACQUIRE k wait=120s")
            self.two.proxy.wait_seen("want", key="k")
            self.one.daemon.kill()
            before()
            second = self.b.reply(tag)
            self.assertTrue(second.ok, second)
            self.assertGreater(int(second["token"]), int(grant["token"]))
            self.assertEqual(len(self.holders("k")), 1)
            self.assertEqual(len(rule.hits), 1)
            self.assertTrue(self.b.release(second).ok)
            self.assertEqual(len(self.sessions()), 1)
            self.a.close()
            self.one.daemon.start()
            self.a = Client(self.one.daemon)
        self.check_well(self.two)

    def test_dead_kill(self):
        self.take_over("kill")

    def test_dead_take(self):
        self.take_over("take")

    def test_dead_bury(self):
        """A user deleted the session of the dead host."""
        def delete():
            session = self.holders("k")[0].split(".")[0]
            dynamodb("DeleteItem", TableName=self.table,
                     Key={"key": {"S": "session:" + session}})
        self.take_over("bury", delete)

    # -- late --------------------------------------------------------------

    def test_late_want(self):
        """It lands when no client waits here any more."""
        rule = self.two.proxy.on("want", late)
        grant = self.a.acquire("k", wait="60s")
        tag = self.b.send("ACQUIRE k wait=120s")
        self.two.proxy.wait_seen("want", 1, since=rule.wait_hit().came)
        self.contend(grant, tag)
        grant = self.a.acquire("k", wait="60s")
        self.assertTrue(grant.ok, grant)
        rule.go()
        self.assertEqual(rule.wait_late().status, 200)
        self.wait_table(self.two, lambda: not self.wishes("k"), "no wish")
        self.assertTrue(self.a.release(grant).ok)
        self.check_well(self.one, self.two)
        print("late: a wish of a host where nobody waits")

    def test_late_unwant(self):
        """It lands when a client waits here again."""
        rule = self.two.proxy.on("unwant", late)
        grant = self.a.acquire("k", wait="60s")
        tag = self.b.send("ACQUIRE k wait=120s")
        self.wait_table(self.two, lambda: self.wishes("k"), "a wish")
        self.assertTrue(self.b.call(f"CANCEL tag={tag}").ok)
        rule.wait_hit()
        self.wait_table(self.two, lambda: not self.wishes("k"), "no wish")
        tag = self.b.send("ACQUIRE k wait=120s")
        self.wait_table(self.two, lambda: self.wishes("k"), "a wish")
        rule.go()
        self.assertEqual(rule.wait_late().status, 200)
        self.wait_table(self.two, lambda: self.wishes("k"), "a wish again")
        self.contend(grant, tag)
        self.check_well(self.one, self.two)
        print("late: the end of a wish, while somebody waits again")

    def test_late_acquire_elsewhere(self):
        """It lands on a free lock, and another host wants it."""
        rule = self.one.proxy.on("acquire", late)
        grant = self.a.acquire("k", wait="60s")
        self.assertTrue(self.a.release(grant).ok)
        rule.go()
        self.assertEqual(rule.wait_late().status, 200)
        second = self.b.acquire("k", wait="120s")
        self.assertTrue(second.ok, second)
        self.assertGreater(int(second["token"]), int(grant["token"]))
        self.assertEqual(len(self.holders("k")), 1)
        self.check_well(self.one, self.two)
        print("late: an acquire, met by another host")

    def test_late_take_and_kill_dead(self):
        """They land when the lock is the next one's."""
        kill = self.two.proxy.on("kill", late)
        take = self.two.proxy.on("take", late)
        self.assertTrue(self.a.acquire("k", wait="60s").ok)
        tag = self.b.send("ACQUIRE k wait=120s")
        self.two.proxy.wait_seen("look")
        self.one.daemon.kill()
        grant = self.b.reply(tag)
        self.assertTrue(grant.ok, grant)
        kill.go()
        take.go()
        self.assertEqual(kill.wait_late().status, 400)
        self.assertEqual(take.wait_late().status, 400)
        self.assertEqual(len(self.holders("k")), 1)
        self.assertTrue(self.b.release(grant).ok)
        self.check_well(self.two)
        print("late: a kill and a take, of one that is dead")


class Sessions(Base):
    def test_open(self):
        for fault in LOSSES:
            with self.subTest(fault=fault.__name__):
                host = Host(self, start=False)
                rule = host.proxy.on("open", fault)
                host.daemon.start()
                rule.wait_hit()
                with Client(host.daemon) as client:
                    self.assertTrue(client.acquire("k", wait="60s").ok)
                    self.assertEqual(len(self.sessions()), 1)
                self.wait_free(host, "k")
                self.assertEqual(host.daemon.stop(), 0)
                self.assertEqual(self.sessions(), [])
        print("one answer lost: open")

    def test_late_open(self):
        """An open that was given up: no host uses that session."""
        host = Host(self, start=False, request_timeout="500ms")
        rule = host.proxy.on("open", late, times=EVER)
        host.daemon.start()
        host.proxy.wait(lambda: len({r.key for r in rule.hits}) > 1,
                        "a second session")
        rule.stop()
        given_up = rule.hits[0].key
        with Client(host.daemon) as client:
            self.assertTrue(client.acquire("k", wait="60s").ok)
            rule.go()
            self.assertEqual(rule.wait_late().status, 200)
            self.assertEqual(rule.wait_late().key, given_up)
            self.assertNotEqual(
                "session:" + self.holders("k")[0].split(".")[0], given_up)
            self.assertTrue(client.acquire("k2", wait="60s").ok)
            self.check_well(host)
        print("late: an open that was given up")

    def test_close(self):
        for fault in LOSSES:
            with self.subTest(fault=fault.__name__):
                host = Host(self)
                with Client(host.daemon) as client:
                    grant = client.acquire("k", wait="60s")
                    self.assertTrue(client.release(grant).ok)
                rule = host.proxy.on("close", fault)
                self.assertEqual(host.daemon.stop(), 0)
                self.assertEqual(len(rule.hits), 1)
                self.assertEqual(self.sessions(), [])
        print("one answer lost: close")

    def test_late_close(self):
        """It lands in the next life of the daemon."""
        host = Host(self)
        with Client(host.daemon) as client:
            self.assertTrue(client.acquire("warm", wait="60s").ok)
        self.wait_free(host, "warm")
        rule = host.proxy.on("close", late)
        self.assertEqual(host.daemon.stop(), 0)
        host.daemon.start()
        with Client(host.daemon) as client:
            grant = client.acquire("k", wait="60s")
            rule.go()
            self.assertEqual(rule.wait_late().status, 200)
            host.proxy.wait_seen("beat", 1, since=rule.wait_late().applied)
            self.check_well(host)
            self.assertTrue(client.release(grant).ok)
        print("late: a close, in the daemon's next life")


class Away(Base):
    """The store says nothing, for longer than any test waits, and a client that
    does not wait for so long has its answer all the same."""

    def setUp(self):
        super().setUp()
        self.host = Host(self, lease="5m", request_timeout="4m",
                         try_timeout="200ms")
        self.other = Host(self)
        self.client = Client(self.host.daemon)
        self.addCleanup(self.client.close)

    def run_(self, *args):
        done = runner.ddblock(self.host.daemon, "run", *args, "--", "false")
        self.assertEqual(done.returncode, 69, done)
        return done.stderr

    def test_answers(self):
        self.host.proxy.on(("acquire", "together", "read"), mute_before,
                           times=EVER)
        for request, code in (("TRY t", "UNREACHABLE"),
                              ("TRY t u", "UNREACHABLE"),
                              ("GET g", "UNREACHABLE"),
                              ("ACQUIRE a wait=10ms", "ACQUIRE_TIMEOUT"),
                              ("ACQUIRE b wait=400ms", "ACQUIRE_TIMEOUT")):
            reply = self.client.call(request)
            self.assertEqual(reply.code, code, reply)
            if code == "ACQUIRE_TIMEOUT":
                self.assertEqual(reply["cause"], "UNREACHABLE", reply)
            print(f"no answer of the store: {request}: {code}", flush=True)
        said = self.run_("-n", "n")
        self.assertIn("n: the store does not answer: no answer within "
                      "try_timeout", said)
        self.assertIn("ddblock status", said)
        self.assertIn("w: the store does not answer", self.run_("-w0.4", "w"))

    def test_late_grants(self):
        """What lands afterwards is given back, also if its client has gone:
        another has it then."""
        rule = self.host.proxy.on("acquire", late, times=EVER)
        self.assertEqual(self.client.try_("k").code, "UNREACHABLE")
        self.assertEqual(self.client.acquire("w", wait="400ms").code,
                         "ACQUIRE_TIMEOUT")
        with Client(self.host.daemon) as gone:
            gone.send("TRY g")
            self.host.proxy.wait(
                lambda: any(r.key == "lock:g" for r in rule.hits),
                "the request of who goes")
        rule.stop()
        rule.go()
        with Client(self.other.daemon) as client:
            for key in ("k", "w", "g"):
                grant = client.acquire(key, wait="60s")
                self.assertTrue(grant.ok, grant)
                self.assertEqual(len(self.holders(key)), 1)
        self.check_well(self.host, self.other)
        print("a grant that nobody waits for is given back")


if __name__ == "__main__":
    harness.main(dynamodb=True)
