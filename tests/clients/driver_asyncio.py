"""The driver of the asyncio client: that of the other one, over a facade."""
import asyncio
import concurrent.futures
import os
import sys
import threading

sys.path.append(os.path.dirname(os.path.abspath(__file__)))
import driver  # noqa: E402
import ddblock  # noqa: E402

loop = asyncio.new_event_loop()


def await_(coroutine):
    return asyncio.run_coroutine_threadsafe(coroutine, loop).result()


async def collect(rows):
    return [row async for row in rows]


async def call(function, *arguments, **named):
    return function(*arguments, **named)


class Lost:
    def __init__(self, hold):
        self.hold = hold

    def wait(self, timeout):
        return await_(asyncio.wait_for(self.hold.lost.wait(), timeout))


class Hold:
    """An AsyncHold, for a program that waits for everything."""

    known = {}

    def __new__(cls, hold):
        if hold is not None and hold not in cls.known:
            cls.known[hold] = super().__new__(cls)
            cls.known[hold].hold = hold
            cls.known[hold].lost = Lost(hold)
        return cls.known.get(hold)

    def __getattr__(self, name):
        return getattr(self.hold, name)

    def release(self, **named):
        await_(self.hold.release(**named))

    def renew(self, **named):
        await_(self.hold.renew(**named))

    def __enter__(self):
        await_(self.hold.__aenter__())
        return self

    def __exit__(self, *error):
        return await_(self.hold.__aexit__(*error))


def wrap(result):
    if isinstance(result, list):
        return [wrap(each) for each in result]
    return Hold(result) if isinstance(result, ddblock.AsyncHold) else result


class Task:
    """A request under way. To cancel its task is to give it up."""

    def __init__(self, client, verb, arguments, named):
        self.pending = await_(call(client._session.start, verb,
                                   (*arguments, None)[0], named))
        self.future = asyncio.run_coroutine_threadsafe(
            client._wait(self.pending), loop)
        self.client = client

    def result(self, timeout=None):
        try:
            return wrap(self.future.result(timeout))
        except concurrent.futures.TimeoutError:
            self.future.cancel()
            raise TimeoutError from None

    def cancel(self):
        return await_(self.client.request(
            "CANCEL", tag=self.pending.tag))["cancelled"]


class Client:
    def __init__(self, **named):
        self.client = await_(ddblock.AsyncClient.connect(**named))
        self.hello = self.client.hello
        self.queue = self.client.events()

    def start(self, verb, *arguments, **named):
        return Task(self.client, verb, arguments, named)

    def events(self, _timeout):
        while True:
            event = await_(asyncio.wait_for(self.queue.__anext__(), 60))
            event.hold = Hold(event.hold)
            yield event

    def close(self):
        await_(call(self.client.close))

    def __getattr__(self, name):
        method = getattr(self.client, name)
        if name == "secret":
            return method
        if name in ("list", "held", "waiting"):
            return lambda **named: await_(collect(method(**named)))
        return lambda *arguments, **named: wrap(
            await_(method(*arguments, **named)))


threading.Thread(target=loop.run_forever, daemon=True).start()
driver.Client = Client
driver.main()
