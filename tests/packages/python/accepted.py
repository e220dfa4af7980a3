"""What a program may write: each checker accepts it, as strict as it is."""
from __future__ import annotations

import asyncio
import datetime
from typing import List, Optional

import ddblock
from ddblock.python_dynamodb_lock import (DynamoDBLock, DynamoDBLockClient,
                                          DynamoDBLockError)


def hear(event: ddblock.Event[ddblock.Hold]) -> None:
    if event.hold is not None:
        print(event.name, event.hold.key, event.fields.get("reason"))


def threads() -> int:
    with ddblock.Client(name="report", on_event=hear, resume=True) as client:
        with client.acquire("jobs/nightly", wait="30s") as hold:
            token: int = hold.token
            hold.renew()
            hold.lost.wait(0)
            left: float = hold.remaining()
        several: ddblock.Hold = client.try_acquire(
            ["a", b"b"], None, every=datetime.timedelta(hours=23),
            counts="succeeded", at_least=None, **{"attr.stage": "first"})
        reason: Optional[str] = several.reason
        several.release(data=b"\0")
        pending: ddblock.Pending[ddblock.Hold] = client.start_acquire("a")
        pending.result(timeout=1.5).release()
        if client.secret is not None:
            again: List[ddblock.Hold] = client.resume(client.secret)
            print(len(again))
        owner: str = client.get("a")["owner"]
        for row in client.list(prefix="jobs/"):
            print(row["key"], row.bytes("key"))
        reply: ddblock.Reply = client.request("NEWVERB", "a", argument=1)
        over: Optional[ddblock.Error] = client.ended
        print(token, left, reason, owner, reply["id"], reply.rows[0], over)
        for event in client.events(timeout=0):
            hear(event)
        return token


async def tasks() -> int:
    try:
        async with await ddblock.AsyncClient.connect(name="web") as client:
            async with await client.acquire("jobs/nightly", wait=30) as hold:
                await hold.lost.wait()
                token: int = hold.token
            async for row in client.held():
                print(row["key"])
            async for event in client.events():
                late: Optional[ddblock.AsyncHold] = event.hold
                print(late)
            return token
    except ddblock.Error as e:
        code: str = e.code
        cause: Optional[str] = e.cause
        print(code, cause, e.fields.get("owner"))
        return 0


def moved() -> str:
    client = DynamoDBLockClient(owner_name="the_owner")
    try:
        with client.acquire_lock(
                "my_key", retry_timeout=datetime.timedelta(seconds=1),
                additional_attributes={"run": 7}, app_callback=told) as lock:
            state: str = client.client.get("my_key")["state"]
            return lock.status + str(lock.hold.token) + state
    except DynamoDBLockError as e:
        return e.message
    finally:
        client.close(release_locks=True)


def told(code: str, lock: DynamoDBLock) -> None:
    print(code, lock.partition_key)


if __name__ == "__main__":
    threads()
    asyncio.run(tasks())
    moved()
