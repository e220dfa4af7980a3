"""A process with one client of python-dynamodb-lock.

Its lines, and what may be said to it, are described in tests/interop/peers.py.
"""
import datetime
import sys
import urllib.parse

import boto3
from python_dynamodb_lock.python_dynamodb_lock import (
    DynamoDBLock, DynamoDBLockClient, DynamoDBLockError)


def milliseconds(text):
    # The library takes a period of nothing for "not given".
    return datetime.timedelta(milliseconds=max(float(text), 0.001))


def words_of(line):
    """A line as its bare words and its named ones."""
    bare, named = [], {}
    for word in line.split():
        name, is_named, value = word.partition("=")
        if is_named:
            named[name] = urllib.parse.unquote(value)
        else:
            bare.append(urllib.parse.unquote(word))
    return bare, named


def attributes_of(named):
    found = {}
    for name, value in named.items():
        if name.startswith("attr."):
            name, _, kind = name[len("attr."):].partition(":")
            found[name] = int(value) if kind == "n" else value
    return found


def say(word, *bare, **named):
    text = [word] + [urllib.parse.quote(b, safe="") for b in bare]
    text += [f"{name}={urllib.parse.quote(str(value), safe='')}"
             for name, value in named.items()]
    print(" ".join(text), flush=True)


def told(lock):
    """What an answer tells of a lock."""
    named = {"version": lock.record_version_number, "owner": lock.owner_name,
             "lease_ms": int(lock.lease_duration * 1000)}
    for name, value in lock.additional_attributes.items():
        named["attr." + name if isinstance(value, str)
              else f"attr.{name}:n"] = value
    return named


class Peer:
    def __init__(self, options):
        self.options = options
        self.resource = boto3.resource("dynamodb",
                                       endpoint_url=options["endpoint"])
        lease_ms = float(options["lease_ms"])
        self.client = DynamoDBLockClient(
            self.resource, table_name=options["table"],
            partition_key_name=options["key_attribute"],
            sort_key_name=options["sort_attribute"],
            owner_name=options.get("owner"),
            heartbeat_period=milliseconds(options["heartbeat_ms"]),
            safe_period=milliseconds(lease_ms * 0.7),
            lease_duration=milliseconds(lease_ms))
        self.locks = {}

    def create(self, _bare, _named):
        DynamoDBLockClient.create_dynamodb_table(
            self.resource.meta.client, table_name=self.options["table"],
            partition_key_name=self.options["key_attribute"],
            sort_key_name=self.options["sort_attribute"])
        say("created", self.options["table"])

    def acquire(self, bare, named):
        key = bare[0]
        try:
            lock = self.client.acquire_lock(
                key, sort_key=named.get("sort", "-"),
                retry_period=milliseconds(self.options["poll_ms"]),
                retry_timeout=milliseconds(named.get("wait_ms", 0)),
                additional_attributes=attributes_of(named),
                app_callback=lambda code, lock: None)
        except DynamoDBLockError as e:
            if e.code == DynamoDBLockError.ACQUIRE_TIMEOUT:
                say("busy", key)
                return
            raise
        self.locks[key] = lock
        say("acquired", key, **told(lock))

    def release(self, bare, _named):
        self.locks.pop(bare[0]).release(best_effort=False)
        say("released", bare[0])

    def get(self, bare, named):
        # What the library itself reads with; it shows nobody.
        lock = self.client._get_lock_from_dynamodb(
            bare[0], named.get("sort", "-"))
        if lock is None:
            say("free", bare[0])
        else:
            say("held", bare[0], **told(lock))

    def status(self, bare, _named):
        lock = self.locks.get(bare[0])
        holds = lock is not None and lock.status == DynamoDBLock.LOCKED
        say("holds" if holds else "lost", bare[0])


def main():
    peer = Peer(words_of(" ".join(sys.argv[1:]))[1])
    say("ready")
    for line in sys.stdin:
        bare, named = words_of(line)
        if bare[0] == "quit":
            return
        try:
            verb = getattr(Peer, bare[0], None)
            if verb is None or bare[0].startswith("_"):
                say("unsupported", bare[0])
            else:
                verb(peer, bare[1:], named)
        except Exception as e:  # whatever the library throws is an answer
            say("error", f"{type(e).__name__}: {e}")


main()
