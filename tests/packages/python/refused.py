"""What a program must not write: each checker refuses the lines that say so,
and no other."""
import ddblock
from ddblock.python_dynamodb_lock import DynamoDBLockClient


def threads(client: ddblock.Client) -> None:
    client.acquire()  # refused
    client.acquire(1.5)  # refused
    client.acquire("a", wait={"seconds": 5})  # refused
    client.acquire("a").token.upper()  # refused
    client.acquire("a").lease  # refused
    client.request("STATUS").release()  # refused
    client.get("a")["token"] + 1  # refused
    client.resume(None)  # refused
    client.hold("a")  # refused
    ddblock.Client(on_event=print, resume="yes")  # refused
    ddblock.Error("LOCK_BUSY").kind  # refused


async def tasks(client: ddblock.AsyncClient) -> None:
    client.acquire("a").token  # refused
    with await client.acquire("a"):  # refused
        pass
    for row in client.held():  # refused
        print(row)
    await client.acquire("a", timeout={})  # refused


def moved(client: DynamoDBLockClient) -> None:
    client.acquire_lock("a").token  # refused
    client.acquire_lock("a", app_callback=lambda: None)  # refused
