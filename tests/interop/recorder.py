"""A proxy that remembers when each request came, and may lose some.

    with Recorder() as proxy, Java(table, endpoint=proxy.url) as peer:
        peer.acquire("k")
        proxy.writes()[-1].came_s      # by time.monotonic()
        proxy.writes()[-1].came_wall_s

What came before it was applied, so a lease that begins with a write begins
after its `came_s`: who waits for that lease's end cannot be here before
`came_s` and the lease.
"""
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "integration"))
import fault_proxy  # noqa: E402

WRITES = ("PutItem", "UpdateItem", "DeleteItem")
MARK = ("SET #ddblockd_marks", "ADD #ddblockd_marks")


def is_mark(request):
    """A daemon's that waits: it takes nothing."""
    return request.body.get("UpdateExpression", "").startswith(MARK)


class Loss(fault_proxy.Rule):
    """Of all requests, the shares that meet these faults."""

    def __init__(self, proxy, shares, seed):
        super().__init__(proxy, None, None, 1, fault_proxy.EVER, None)
        self.shares = shares
        self.random = random.Random(seed)

    def matches(self, request):
        share = self.random.random()
        for part, self.fault in self.shares:
            request.lost = share < part
            if request.lost:
                return True
            share -= part
        return False


class Recorder(fault_proxy.Proxy):
    """The shares of answers and of requests that are lost, decided by @seed."""

    def __init__(self, lose_answers=0.0, lose_requests=0.0, seed=1,
                 upstream=None):
        super().__init__(upstream)
        self.loss = Loss(self, ((lose_answers, fault_proxy.lose_after),
                                (lose_requests, fault_proxy.lose_before)),
                         seed)
        self.rules.append(self.loss)

    @property
    def lost(self):
        return len(self.loss.hits)

    def writes(self, since=0):
        """Those that took effect, in the order in which they came."""
        return [r for r in self.seen(since=since)
                if r.operation in WRITES and r.status == 200]

    def until_boot_ms(self, key, lease_ms):
        """Until when the last write of that lock whose answer arrived made it
        its writer's: for a lease from when it came, or, of dlock, until the
        time in it, which a repetition has from the first one."""
        with self.condition:
            r = next(r for r in reversed(self.requests)
                     if r.operation in WRITES and r.status == 200
                     and not r.lost and {"S": key} in
                     (r.body.get("Item") or r.body["Key"]).values())
        until = r.body.get("Item", {}).get("until")
        if until is not None:
            lease_ms = int(until["N"]) - int(r.came_wall_s * 1000)
        return r.came_boot_ms + lease_ms

    def wait_writes(self, n, since=0):
        """Wait for so many, and for their answers."""
        self.wait(lambda: len([r for r in self.writes(since)
                               if r.answered]) >= n, f"{n} writes")
        return self.writes(since)

    def begun_again(self):
        """The keys whose tokens dlock made begin again: its first write of a
        record came when there was one (ddblock-formats(7), "Tokens that
        double").
        """
        return {r.body["Item"]["key"]["S"] for r in self.writes()
                if r.body.get("Item", {}).get("fencingToken") == {"B": "AQ=="}
                and "Attributes" in r.answer}

    def forget(self):
        """Of long runs: what came so far."""
        with self.condition:
            self.requests.clear()


def behind(clean_up, begin):
    """What begin(url) makes, started, behind a proxy of its own: .proxy"""
    proxy = Recorder()
    clean_up(proxy.close)
    one = begin(proxy.url)
    one.proxy = proxy
    one.start()
    return one
