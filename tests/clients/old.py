"""What the document of python_dynamodb_lock shows, by the old names.

test_parity.py says when each is played, and what is to be seen.
"""
import datetime
import decimal
import queue
import time

import ddblock
if hasattr(ddblock, "__path__"):  # the package
    import ddblock.python_dynamodb_lock as moved
else:
    import ddblock_python_dynamodb_lock as moved

DynamoDBLock = moved.DynamoDBLock
DynamoDBLockClient = moved.DynamoDBLockClient
DynamoDBLockError = moved.DynamoDBLockError
MOMENT = datetime.timedelta(milliseconds=50)
LONG_S = 60


def say(*words):
    print(*words, flush=True)


def state(client, key):
    """Asked by a client, or by that beneath."""
    return getattr(client, "client", client).get(key)["state"]


def basic_usage():
    """Basic Usage."""
    lock_client = DynamoDBLockClient()
    look = ddblock.Client()
    lock = lock_client.acquire_lock("my_key")
    say(state(look, "my_key"))
    lock.release()
    say(state(look, "my_key"))
    lock_client.close()
    look.close()


def context_management():
    """Context Management; the exception of its body is always raised."""
    lock_client = DynamoDBLockClient()
    with lock_client.acquire_lock("my_key"):
        say(state(lock_client, "my_key"))
    say(state(lock_client, "my_key"))
    for is_raised in (True, False):
        try:
            with lock_client.acquire_lock(
                    "my_key", raise_context_exception=is_raised) as lock:
                # A release that fails does not hide it.
                lock_client.client.request("RELEASE", id=lock.hold.id)
                raise ValueError("the body")
        except ValueError as e:
            say(e)
    lock_client.close()


def names():
    """Two keys of a lock, and who has it."""
    lock_client = DynamoDBLockClient(owner_name="the_owner")
    other = DynamoDBLockClient()
    lock = lock_client.acquire_lock("my_key", "billing")
    other.acquire_lock("my_key", "shipping", retry_timeout=MOMENT)
    other.acquire_lock("my_key", retry_timeout=MOMENT)
    try:
        other.acquire_lock("my_key", "billing", retry_timeout=MOMENT)
    except DynamoDBLockError as e:
        say(e.code, "/the_owner:" in e.fields["owner"])
    say(lock.partition_key, lock.sort_key, "/the_owner:" in lock.owner_name,
        lock.lease_duration, lock.lock_client is lock_client)
    now = int(time.time())
    say(now <= lock.expiry_time <= time.time() + lock.lease_duration)
    lock_client.close()
    other.close()


def attributes():
    """Arbitrary application metadata, of the types of boto3."""
    kept = {"stage": "first", "run": 7, "price": decimal.Decimal("1.50"),
            "blob": b"\x00\xff", "done": False, "none": None,
            "steps": ["a", {"b": 1}], "tags": {"x", "y"}, "sizes": {1, 2}}
    lock_client = DynamoDBLockClient()
    other = DynamoDBLockClient()
    with lock_client.acquire_lock("my_key", additional_attributes=kept) as lock:
        say(lock.additional_attributes == kept,
            other.additional_attributes("my_key") == kept)
    lock_client.close()
    other.close()


def timeout():
    """This client goes over the retry_timeout period."""
    lock_client = DynamoDBLockClient()
    other = DynamoDBLockClient()
    lock = lock_client.acquire_lock("my_key")
    try:
        other.acquire_lock("my_key", retry_timeout=MOMENT,
                           retry_period=datetime.timedelta(milliseconds=10))
    except DynamoDBLockError as e:
        say(e.code == DynamoDBLockError.ACQUIRE_TIMEOUT, e.message)
    lock.release()
    other.acquire_lock("my_key", retry_timeout=MOMENT)
    say(state(lock_client, "my_key"))
    lock_client.close()
    other.close()


def errors():
    """Any other error; and what can be wrong with a release."""
    lock_client = DynamoDBLockClient()
    other = DynamoDBLockClient()
    try:
        lock_client.acquire_lock("")
    except DynamoDBLockError as e:
        say(e.code, e.code != DynamoDBLockError.UNKNOWN)
    lock = lock_client.acquire_lock("my_key")
    other.release_lock(lock)
    try:
        other.release_lock(lock, best_effort=False)
    except DynamoDBLockError as e:
        say(e.code == DynamoDBLockError.LOCK_NOT_OWNED, lock.status)
    lock_client.client.request("RELEASE", id=lock.hold.id)
    try:
        lock.release(best_effort=False)
    except DynamoDBLockError as e:
        say(e.code)
    lock = lock_client.acquire_lock("my_key")
    lock_client.client.request("RELEASE", id=lock.hold.id)
    lock.release()
    lock_client.release_lock(lock, best_effort=True)
    say(state(other, "my_key"))
    lock_client.close()
    other.close()


def shutdown():
    """Client Close, which may leave the locks to their leases."""
    look = ddblock.Client()
    for arguments in ({}, {"on_close": "lease"}):
        lock_client = DynamoDBLockClient()
        lock_client.acquire_lock("my_key", **arguments)
        lock_client.close(release_locks=True)
        look.acquire("my_key").release()
    leaving = DynamoDBLockClient()
    leaving.acquire_lock("my_key", on_close="lease")
    leaving.close(release_locks=False)
    while not any(row.get("left") for row in look.held()):
        pass
    say(state(look, "my_key"))
    try:
        lock_client.acquire_lock("my_key")
    except DynamoDBLockError as e:
        say(e.code == DynamoDBLockError.CLIENT_SHUTDOWN)
    look.close()


def statuses():
    """Of a lock, and PENDING of one that is not there yet."""
    lock_client = DynamoDBLockClient(owner_name="the_owner")
    other = ddblock.Client()
    hold = other.acquire("my_key")
    request = lock_client.client.start("ACQUIRE", "my_key")
    (row,) = lock_client.client.waiting(key="my_key")
    say(DynamoDBLock.PENDING if row["name"] == "the_owner" else row)
    hold.release()
    request.result().release()
    told = queue.SimpleQueue()
    lock = lock_client.acquire_lock(
        "my_key", app_callback=lambda code, lock: told.put(lock.status))
    say(lock.status)
    say(told.get(timeout=LONG_S))
    say(told.get(timeout=LONG_S))
    lock.release()
    say(lock.status)
    lock_client.close()
    other.close()


def heartbeats():
    """A lock that is told of no trouble, beyond its first lease."""
    lock_client = DynamoDBLockClient()
    lock = lock_client.acquire_lock("my_key", app_callback=say)
    until, version = lock.hold.until_boot_ms, lock.record_version_number
    say("held", until)
    input()
    say(lock.status, lock.hold.until_boot_ms > until,
        lock.record_version_number != version)
    lock_client.close()


def callback():
    """Lock Heartbeat: the callback hears of danger and of the loss."""
    lock_client = DynamoDBLockClient()
    told = queue.SimpleQueue()
    lock = lock_client.acquire_lock(
        "my_key", app_callback=lambda *what: told.put(what))
    say("held")
    code, which = told.get(timeout=LONG_S)
    say(code, which is lock)
    if code != DynamoDBLockError.LOCK_IN_DANGER:
        try:
            lock.release(best_effort=False)
        except DynamoDBLockError as e:
            say(e.code)
    lock_client.close()


def stolen():
    """The lock was stolen by some other client."""
    lock_client = DynamoDBLockClient()
    lock = lock_client.acquire_lock("my_key")
    say("held")
    input()
    try:
        lock.release(best_effort=False)
    except DynamoDBLockError as e:
        say(e.code == DynamoDBLockError.LOCK_STOLEN)
    lock_client.close()


def unreachable():
    """The store does not answer a release: told, or not."""
    lock_client = DynamoDBLockClient()
    locks = [lock_client.acquire_lock(key) for key in ("one", "two")]
    say("held")
    input()
    locks[0].release()
    try:
        locks[1].release(best_effort=False)
    except DynamoDBLockError as e:
        say(e.code)
    lock_client.close()


def restarted():
    """A daemon that is not there, and then there again."""
    lock_client = DynamoDBLockClient()
    lock_client.acquire_lock("my_key").release()
    say("released")
    input()
    try:
        lock_client.acquire_lock("my_key")
    except DynamoDBLockError as e:
        say(e.code)
    input()
    say(lock_client.acquire_lock("my_key").status)
    lock_client.close()


def termination():
    """Process Termination: the test kills it while it has the lock."""
    DynamoDBLockClient().acquire_lock("my_key")
    say("held")
    input()
