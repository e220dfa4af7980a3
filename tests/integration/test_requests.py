"""What locks cost: the requests, counted at the endpoint.

Nothing is measured against the clock: how much time went by is told by the
beats, whose numbers are the boot times at which they were sent. On a machine so
busy that the endpoint takes seconds, a request is sent again; those are told
by their bodies, which are the same, or by the daemon's own count. What comes of
it, a look at what became of a write, say, is right but not what is counted
here: then it is done once more.
"""
import collections
import os
import unittest

import fault_proxy
import harness
from harness import Client, Daemon

KEY_ID = "AKIDEXAMPLE"
SECRET = "not-a-secret"
LOCKS = 1000
WAITERS = 50
TRIES = 20
IDLE = ("beat", "audit", "look")  # requests that do not depend on clients


class Requests(unittest.TestCase):
    def setUp(self):
        harness.need_dynamodb()
        self.table = f"t-{os.getpid()}-{self._testMethodName}"
        self.proxy = fault_proxy.Proxy()
        self.addCleanup(self.proxy.close)

    def daemon(self, proxy=None, **settings):
        config = (f"[namespace default]\nstore = dynamodb\n"
                  f"table = {self.table}\nregion = us-east-1\n"
                  f"endpoint = {(proxy or self.proxy).url}\n"
                  f"access_key_id = {KEY_ID}\nsecret_access_key = {SECRET}\n")
        config += "".join(f"{k} = {v}\n" for k, v in settings.items())
        if proxy is None:
            task = Daemon(config, args=["--init-table"])
            try:
                self.assertEqual(task.run()[0], 0)
            finally:
                task.close()
        return Daemon(config)

    def kinds(self, since, proxy=None, doubted=(), **which):
        """What was asked for since then, each once however often it was
        sent; but for looks at what was left in doubt before."""
        requests = [r for r in (proxy or self.proxy).seen(since=since, **which)
                    if r.kind != "read" or r.key not in doubted]
        return [r.kind for r in {r.raw: r for r in requests}.values()]

    @staticmethod
    def repetitions(client):
        return int(client.call("STATUS").rows[0]["repetitions"])

    def answered(self, client, act):
        """What @act asks for, with a number of its own each time, until the
        endpoint has answered all of it in time."""
        for n in range(TRIES):
            mark, repetitions = self.proxy.mark(), self.repetitions(client)
            before = {r.key for r in self.proxy.seen()}
            replies = act(n)
            kinds = self.kinds(mark, but=IDLE, doubted=before)
            if self.repetitions(client) == repetitions:
                self.assertTrue(all(reply.ok for reply in replies), replies)
                return kinds
        self.fail("the endpoint is too slow to count what is asked of it")

    def test_uncontended(self):
        """Two requests for an acquire and a release, in any prior state."""
        with self.daemon(idle="0s") as daemon, Client(daemon) as client:
            self.assertTrue(client.acquire("warm").ok)  # the session is open

            def one(take, key):
                grant = take(key)
                return [grant, client.release(grant)] if grant.ok else [grant]

            def twice(n):
                return one(client.try_, f"new/{n}") + \
                    one(client.try_, f"new/{n}")

            def many(n):
                tags = [client.send(f"ACQUIRE many/{n}/{i}")
                        for i in range(100)]
                grants = [client.reply(tag) for tag in tags]
                tags = [client.send(f"RELEASE id={grant['id']}")
                        for grant in grants if grant.ok]
                return grants + [client.reply(tag) for tag in tags]

            def passing(n):
                with Client(daemon) as other:
                    grant = other.acquire(f"passing/{n}")
                if grant.ok:
                    self.proxy.wait_seen("release", key=f"passing/{n}")
                return [grant]

            both = ["acquire", "release"]
            self.assertEqual(self.answered(client, twice), both * 2)
            self.assertEqual(self.answered(client, lambda n: one(
                client.acquire, f"other/{n}")), both)
            self.assertEqual(sorted(self.answered(client, many)),
                             sorted(both * 100))
            self.assertEqual(self.answered(client, passing), both)
            print("uncontended acquire + release: 2 requests, 104 times; "
                  f"{self.repetitions(client)} repetitions", flush=True)
        for request in self.proxy.seen():
            self.assertTrue(fault_proxy.signature_is_good(
                request, "us-east-1", KEY_ID, SECRET), request)
        print(f"signatures worked out again: {self.proxy.count()}")

    def test_again_and_again(self):
        """The third time a lock is kept, and asks nothing; but for a look and
        more tokens after each run."""
        cycles = 1000
        with self.daemon(idle="1s", poll="1s") as daemon, \
                Client(daemon) as client:
            self.assertTrue(client.acquire("warm").ok)
            for _ in range(cycles):
                self.assertTrue(client.release(client.acquire("again")).ok)
            asked = collections.Counter(
                request.kind for request in self.proxy.seen(
                    ("acquire", "release", "read", "extend"), "again"))
            print(f"{cycles} locks and releases of one key by one client: "
                  f"{dict(asked)}", flush=True)
            self.assertLessEqual(sum(asked.values()), 4 + cycles // 25)
            # A moment after the last one it is free, for others to have.
            self.proxy.wait_seen("release", n=2, key="again")

    def test_several_at_once(self):
        """Ten locks at once: they are taken together, and read together."""
        with self.daemon() as daemon, Client(daemon) as client:
            self.assertTrue(client.acquire("warm").ok)

            def ten(n):
                self.keys = [f"part/{n}/{i}" for i in range(10)]
                grant = client.call("ACQUIRE " + " ".join(self.keys))
                if not grant.ok:
                    return [grant]
                self.assertEqual([row["key"] for row in grant.rows], self.keys)
                return [grant, client.release(grant)]

            self.assertEqual(self.answered(client, ten),
                             ["together"] + ["release"] * 10)
            items = {f"lock:{key}" for key in self.keys}
            reads = {r.raw: {k["key"]["S"] for k in r.body["RequestItems"][
                self.table]["Keys"]} for r in self.proxy.seen("audit")}
            self.assertEqual([read for read in reads.values() if read & items],
                             [items])
            print("uncontended acquire of 10 locks at once: 2 requests; "
                  f"{self.repetitions(client)} repetitions", flush=True)

    def check_beats(self, beats, heartbeat_ms, repetitions):
        """One for each heartbeat period."""
        sent = [int(b.value(":n")) for b in beats]
        self.assertLessEqual(
            len(sent), (sent[-1] - sent[0]) / heartbeat_ms + 1 + repetitions)

    def test_a_thousand_locks(self):
        """At rest they cost the beats and the audit, nothing else."""
        with self.daemon(lease="20s", heartbeat="2s", audit="2s") as daemon, \
                Client(daemon) as client:
            # Not all at once: it is no test of what an endpoint can bear.
            for start in range(0, LOCKS, 20):
                tags = [client.send(f"ACQUIRE k/{n}")
                        for n in range(start, start + 20)]
                for tag in tags:
                    self.assertTrue(client.reply(tag).ok)
            keys = {f"lock:k/{n}" for n in range(LOCKS)}
            repetitions = self.repetitions(client)
            mark = self.proxy.mark()

            def rounds():
                """The audit's reads since then; a round ends with the
                first key that was read in it already."""
                found = [[]]
                for request in self.proxy.seen("audit", since=mark):
                    read = {k["key"]["S"] for k in request.body[
                        "RequestItems"][self.table]["Keys"]}
                    if found[-1] and read & set.union(*found[-1]):
                        found.append([])
                    found[-1].append(read)
                return found
            # A round may have begun with what was held by then: the first
            # whole one is the second.
            self.proxy.wait(lambda: len(rounds()) > 2 or (
                len(rounds()) == 2 and
                set.union(*rounds()[-1]) == keys), "a whole audit")
            self.proxy.wait_seen("beat", 3, since=mark)
            beats = self.proxy.seen("beat", since=mark)
            self.assertEqual(set.union(*rounds()[1]), keys)
            for batches in rounds():
                self.assertLessEqual(len(batches), LOCKS / 100)
            self.assertEqual(self.kinds(mark, but=("beat", "audit")), [])
            self.check_beats(beats, 2000,
                             self.repetitions(client) - repetitions)
            row = client.call("STATUS").rows[0]
            self.assertEqual((row["held"], row["lost"]), (str(LOCKS), "0"))
            print(f"{LOCKS} locks at rest: during {len(beats)} heartbeats no "
                  f"other write, {[len(r) for r in rounds()]} batch reads in "
                  "the rounds of the audit", flush=True)

    def contend(self, client, count):
        """Queue up @count waiters, see how they poll during four beats."""
        tags = [client.send("ACQUIRE k") for _ in range(count)]
        self.other.wait_seen("want", key="k")
        repetitions = self.repetitions(client)
        mark = self.other.mark()
        beats = self.other.wait_seen("beat", 4, since=mark)
        reads = [r for r in self.other.seen(("read", "want"), "k", mark)
                 if r.came < beats[3].came]
        took_ms = int(beats[3].value(":n")) - int(beats[0].value(":n")) + 1000
        # The shortest pause between two polls; and what is looked at while
        # the lock has not been held for long: every 44 ms for two of these,
        # and then after half as long again.
        allowed = took_ms / 875 + 1 + 12
        repetitions = self.repetitions(client) - repetitions
        self.assertLessEqual(len(reads), allowed + repetitions)
        self.assertEqual(set(r.kind for r in reads), {"read"})
        print(f"{count} more waiters: {len(reads)} reads of the lock in "
              f"{took_ms} ms with poll=1s", flush=True)
        return tags

    def test_contended(self):
        """One poller for a key, whatever the number of waiters, and the lock
        goes through the queue without a request."""
        settings = {"lease": "20s", "heartbeat": "1s", "poll": "1s",
                    "audit": "60s"}
        self.other = fault_proxy.Proxy()
        self.addCleanup(self.other.close)
        with self.daemon(**settings) as one, \
                self.daemon(self.other, **settings) as two, \
                Client(one) as a, Client(two) as b:
            grant = a.acquire("k")
            self.assertTrue(grant.ok)
            tags = self.contend(b, 1) + self.contend(b, WAITERS - 1)
            self.assertTrue(a.release(grant).ok)
            last = int(grant["token"])
            grant = b.reply(tags[0])
            mark = self.other.mark()
            for tag in tags[1:]:
                self.assertGreater(int(grant["token"]), last)
                last = int(grant["token"])
                self.assertTrue(b.release(grant).ok)
                grant = b.reply(tag)
            self.assertEqual(self.kinds(mark, self.other, key="k"), [])
            print(f"{WAITERS} grants in a row on a host: no request but for "
                  "the first")
            self.assertTrue(b.release(grant).ok)
            self.assertEqual(self.kinds(mark, self.other, key="k"),
                             ["release"])


if __name__ == "__main__":
    harness.main(dynamodb=True)
