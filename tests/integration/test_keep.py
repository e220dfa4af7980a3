#!/usr/bin/env python3
"""Data and attributes: bytes of any kind, as many as there may be, through the
socket, the daemon and the store and back; and what is refused."""
import json
import os
import unittest

import harness
from harness import Client, Daemon

MAX = 300 * 1024
EVERY_BYTE = bytes(range(256)) * (MAX // 256)


def encode(data):
    """Each byte by itself: the longest form that a client may send."""
    return "".join(f"%{byte:02X}" for byte in data)


def data_of(line):
    return line["data"].encode("utf-8", "surrogateescape")


class Keeping(unittest.TestCase):
    def test_every_byte_as_many_as_there_may_be(self):
        with Daemon() as daemon, Client(daemon) as one, \
                Client(daemon) as two:
            grant = one.call(f"TRY x data={encode(EVERY_BYTE)}")
            self.assertTrue(grant.ok, grant)
            self.assertEqual(data_of(two.call("GET x")), EVERY_BYTE)
            waits = two.send("ACQUIRE x")
            reply = one.call(f"RENEW id={grant['id']} "
                             f"data={encode(EVERY_BYTE[::-1])}")
            self.assertTrue(reply.ok, reply)
            self.assertTrue(one.call(f"RELEASE id={grant['id']}").ok)
            # Handed over here: read again, not remembered.
            self.assertEqual(data_of(two.reply(waits)), EVERY_BYTE[::-1])

    def test_it_outlives_the_daemon(self):
        with Daemon() as daemon:
            with Client(daemon) as client:
                grant = client.call("TRY x data=%00kept attr.a%20b=%3D%25")
                self.assertTrue(client.call(
                    f"RELEASE id={grant['id']}").ok)
            daemon.stop()
            daemon.start()
            with Client(daemon) as client:
                grant = client.call("TRY x")
                self.assertEqual(data_of(grant), b"\0kept")
                self.assertEqual(grant["attr.a%20b"], "=%")

    def test_too_much_is_refused(self):
        many = " ".join(f"attr.a{i}=1" for i in range(33))
        with Daemon() as daemon, Client(daemon) as client:
            for line, code in (
                    (f"TRY x data={encode(EVERY_BYTE)}%00", "LIMIT"),
                    (f"TRY x attr.a={'v' * MAX}", "LIMIT"),
                    (f"TRY x {many}", "LIMIT"),
                    (f"TRY x attr.{'n' * 256}=1", "BAD_REQUEST"),
                    ("TRY x attr.a:b=1", "BAD_REQUEST"),
                    ("TRY x attr.a=%FF", "BAD_REQUEST"),
                    ('TRY x attr.a:json={"N":"x"}', "BAD_REQUEST"),
                    ("TRY x attr.a:json={", "BAD_REQUEST"),
                    ("TRY x only_if_exists=1", "BAD_REQUEST"),
                    ("RENEW id=1 replace_data=no", "BAD_REQUEST"),
                    (f"TRY x data={'x' * (1 << 20)}", "BAD_REQUEST")):
                reply = client.call(line)
                self.assertEqual(reply.code, code, line[:60])
            # Together with the present contents; the lock is held
            # nevertheless.
            grant = client.call(f"TRY x data={encode(EVERY_BYTE)}")
            self.assertTrue(grant.ok, grant)
            reply = client.call(f"RENEW id={grant['id']} attr.a=1")
            self.assertEqual(reply.code, "LIMIT")
            self.assertTrue(client.call(f"RENEW id={grant['id']}").ok)
            reply = client.call(f"RELEASE id={grant['id']} attr.a=1")
            self.assertEqual(reply.code, "LIMIT")
            self.assertRegex(client.call("GET x").raw[:20], "state=free")
            self.assertTrue(client.call("PING").ok)

    def test_much_of_one_user_waits_no_more(self):
        """Waiting contents are bounded, and other clients are not hindered."""
        with Daemon("[daemon]\nqueued_bytes_max = 2M\n"
                    "queued_bytes_per_uid_max = 2M\n"
                    "[namespace default]\nstore = sqlite\n"
                    "file = {dir}/default.db\n") as daemon, \
                Client(daemon) as holder, Client(daemon) as greedy:
            grant = holder.acquire("x")
            tags = [greedy.send(f"ACQUIRE x data={'v' * 300000}")
                    for _ in range(5)]
            self.assertEqual(greedy.reply(tags[-1]).code, "LIMIT")
            self.assertTrue(greedy.call("PING").ok)
            self.assertTrue(holder.release(grant).ok)
            self.assertTrue(greedy.reply(tags[0]).ok)


class Deep(unittest.TestCase):
    """What may be written can be read, by each answer that has it."""

    def test_as_deep_as_there_may_be(self):
        harness.need_dynamodb()
        deep = '{"L":[' * 30 + '{"N":"1"}' + "]}" * 30
        with harness.on_new_table(f"deep-{os.getpid()}") as daemon, \
                harness.on_new_table(f"deep-{os.getpid()}") as other:
            with Client(daemon) as one, Client(other) as two:
                self.assertEqual(one.call(
                    f'TRY x attr.a:json={{"L":[{deep}]}}').code, "BAD_REQUEST")
                grant = one.call(f"TRY x attr.a:json={deep}")
                self.assertTrue(grant.ok, grant)
                self.assertEqual(two.call("TRY x").code, "LOCK_BUSY")
                self.assertEqual(two.call("GET x")["attr.a:json"], deep)
                self.assertTrue(one.call(f"RELEASE id={grant['id']}").ok)
                self.assertEqual(two.acquire("x")["attr.a:json"], deep)


if __name__ == "__main__":
    harness.main(dynamodb=True)
