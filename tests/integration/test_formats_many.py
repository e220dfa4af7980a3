"""Very many locks whose records are renewed one by one, far from the store.

Locks in the Java client's format, renewed every 5 seconds, on an endpoint that
is 50 ms away: none is lost, while one whose renewals are held back is, and
delays no other. There are 200 of them, twice as many as one request after the
other could renew, and so few that a slow machine can serve them from its own
DynamoDB Local beside other tests; DDBLOCK_MANY=2000 takes a quick one that has
nothing else to do.
"""
import asyncio
import collections
import os
import re
import threading
import unittest
import urllib.parse

import harness
from harness import Client, Daemon
from test_daemon_dynamodb import config, create_table
from undisturbed import Undisturbed

LOCKS = int(os.environ.get("DDBLOCK_MANY", "200"))
LATENCY_S = 0.050
HEARTBEAT_S = 5
BEATS = 3
# What a renewal has and an acquire has not, and its key.
RENEWAL = re.compile(rb'"SET #leaseDuration.*"key":\{"S":"(\w+)"\}', re.S)


class Way(asyncio.Protocol):
    """One direction of a connection: bytes go on a little later."""

    def __init__(self, far, other=None):
        self.far = far
        self.other = other
        self.transport = None
        self.waiting = []

    def connection_made(self, transport):
        self.transport = transport
        if self.other is None:
            self.far.loop.create_task(self.reach_upstream())

    async def reach_upstream(self):
        _, self.other = await self.far.loop.create_connection(
            lambda: Way(self.far, self), *self.far.upstream)
        for data in self.waiting:
            self.pass_on(data)

    def data_received(self, data):
        if self.far.swallows(data):
            return
        if self.other is None:
            self.waiting.append(data)
        else:
            self.pass_on(data)

    def pass_on(self, data):
        self.far.loop.call_later(LATENCY_S / 2, self.other.transport.write,
                                 data)

    def connection_lost(self, _reason):
        if self.other is not None:
            self.other.transport.close()


class Far:
    """A way to the endpoint that takes its time, and counts the renewals."""

    def __init__(self):
        url = urllib.parse.urlparse(harness.endpoint())
        self.upstream = url.hostname, url.port
        self.loop = asyncio.new_event_loop()
        self.renewed = collections.Counter()
        self.counted = threading.Condition()
        self.server = self.loop.run_until_complete(
            self.loop.create_server(lambda: Way(self), "127.0.0.1", 0))
        host, port = self.server.sockets[0].getsockname()
        self.url = f"http://{host}:{port}"
        self.thread = threading.Thread(target=self.loop.run_forever)
        self.thread.start()

    def close(self):
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()

    def swallows(self, data):
        """Count it if it is a renewal; the slow one's never arrive."""
        key = RENEWAL.search(data)
        if key is None:
            return False
        with self.counted:
            self.renewed[key[1].decode()] += 1
            self.counted.notify_all()
        return key[1] == b"slow"

    def wait(self, keys, times):
        with self.counted:
            return self.counted.wait_for(
                lambda: all(self.renewed[k] >= times for k in keys),
                2 * harness.TIMEOUT_S)


class Many(Undisturbed, unittest.TestCase):
    LEASE_MS = 4000 * HEARTBEAT_S

    def test_none_is_lost(self):
        harness.need_dynamodb()
        table = f"many-{os.getpid()}-{self.serial}"
        create_table(table, "key")
        far = Far()
        self.addCleanup(far.close)
        lease = 4 * HEARTBEAT_S
        daemon = Daemon(config(table, endpoint=far.url, lease=f"{lease}s") +
                        f"format = awslabs\nheartbeat = {HEARTBEAT_S}s\n")
        self.addCleanup(daemon.close)
        daemon.start()
        client = Client(daemon)
        self.addCleanup(client.close)
        keys = [f"k{i}" for i in range(LOCKS)]
        for some in range(0, LOCKS, 500):
            tags = [client.send(f"ACQUIRE {key} wait=60s")
                    for key in keys[some:some + 500]]
            for tag in tags:
                self.assertEqual(client.reply(tag).code, "OK")
        slow = client.call("ACQUIRE slow wait=60s")
        if not far.wait(keys, BEATS):
            self.fail(self.seen(client, far, keys))
        lost = client.event("LOCK_LOST")
        self.assertEqual((lost["id"], lost["reason"]),
                         (slow["id"], "expired"))
        self.assertEqual(self.states(client)["held"], LOCKS)
        self.assertFalse([e for e in client.events if e.word == "LOCK_LOST"])

    def states(self, client):
        """How many of its locks are in which."""
        return collections.Counter(
            row["state"] for row in client.call("HELD").rows)

    def seen(self, client, far, keys):
        """What there is to tell of renewals that stopped."""
        events = [event.raw for event in client.events]
        with far.counted:
            times = collections.Counter(far.renewed[key] for key in keys)
        return (f"keys by renewals: {sorted(times.items())}; "
                f"{dict(self.states(client))}\n"
                f"{client.call('STATUS').rows[0].raw}\n"
                f"{len(events)} events: {events[:5]}")


if __name__ == "__main__":
    harness.main(dynamodb=True)
