#!/usr/bin/env python3
"""What no other language can get wrong as the Python client can: callbacks that
raise, processes that fork, futures that nobody completes.

The names of python_dynamodb_lock are here, too, as far as it is not what their
document shows (test_parity.py).
"""
import asyncio
import gc
import os
import queue
import subprocess
import sys
import threading

import test_clients
from test_clients import harness

sys.path.insert(0, os.path.join(test_clients.CLIENTS, "python"))
import ddblock  # noqa: E402
import ddblock_python_dynamodb_lock as moved  # noqa: E402

CODE_OF = """
import asyncio, os, sys
import ddblock
def code_of(call, *arguments):
    try:
        call(*arguments)
    except ddblock.Error as e:
        return e.code
"""


class WithDaemon(test_clients.WithDaemon):
    def client(self, kind=ddblock.Client):
        client = kind(self.daemon.socket)
        self.addCleanup(client.close)
        return client

    def catch(self):
        """What a thread ends with, or would have: a queue of exceptions."""
        caught = queue.SimpleQueue()
        before = threading.excepthook
        self.addCleanup(setattr, threading, "excepthook", before)
        threading.excepthook = lambda what: caught.put(what.exc_value)
        return caught

    def run_program(self, text):
        """It ends, and what it has said."""
        done = subprocess.run(
            [sys.executable, "-c", CODE_OF + text], check=True, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            timeout=harness.TIMEOUT_S,
            env=dict(os.environ, DDBLOCK_SOCKET=self.daemon.socket,
                     PYTHONPATH=os.path.join(test_clients.CLIENTS, "python")))
        return done.stdout


class Callbacks(WithDaemon):
    """One that raises ends no other."""

    def hear(self, event):
        self.told.put(event.name)
        raise ValueError(event.name)

    def test_event(self):
        self.told, caught = queue.SimpleQueue(), self.catch()
        client = ddblock.Client(self.daemon.socket, on_event=self.hear)
        self.addCleanup(client.close)
        holds = [client.acquire(key) for key in ("one", "two")]
        for hold in holds:
            self.take_away(hold.key)
            self.assertEqual(self.told.get(timeout=harness.TIMEOUT_S),
                             "LOCK_LOST")
            self.assertEqual(
                str(caught.get(timeout=harness.TIMEOUT_S)), "LOCK_LOST")

    def old_hear(self, code, lock):
        self.told.put((code, lock, threading.current_thread()))
        raise ValueError(code)

    def test_old_names(self):
        self.told, caught = queue.SimpleQueue(), self.catch()
        client = self.client(moved.DynamoDBLockClient)
        for key in "one", "two":
            lock = client.acquire_lock(key, app_callback=self.old_hear)
            self.take_away(key)
            self.assertEqual(
                self.told.get(timeout=harness.TIMEOUT_S)[:2],
                ("LOCK_STOLEN", lock))
            self.assertEqual(
                str(caught.get(timeout=harness.TIMEOUT_S)), "LOCK_STOLEN")

    def test_early(self):
        """What is told before acquire_lock() returns does not end it."""
        self.told, caught = queue.SimpleQueue(), self.catch()
        acquire = ddblock.Client.acquire

        def late(client, key, *arguments, **named):
            hold = acquire(client, key, *arguments, **named)
            self.take_away(key)
            while "dynamodb_lock" not in vars(hold) or \
                    not hold.dynamodb_lock.early:
                pass
            return hold

        self.addCleanup(setattr, ddblock.Client, "acquire", acquire)
        ddblock.Client.acquire = late
        client = self.client(moved.DynamoDBLockClient)
        lock = client.acquire_lock("one", app_callback=self.old_hear)
        code, told, thread = self.told.get(timeout=harness.TIMEOUT_S)
        self.assertEqual((code, told), ("LOCK_STOLEN", lock))
        self.assertIsNot(thread, threading.current_thread())
        self.assertEqual(str(caught.get(timeout=harness.TIMEOUT_S)),
                         "LOCK_STOLEN")


class Forks(WithDaemon):
    """A lock is of the process that took it."""

    def test_child(self):
        self.assertEqual(self.run_program("""
client = ddblock.Client()
hold = client.acquire("one")
begun = ddblock.Client().start("ACQUIRE", "one")
listing = client.held()
next(listing)
child = os.fork()
if child == 0:
    print(hold.is_valid(), hold.remaining(), hold.lost.is_set(),
          client.ended.code, code_of(client.acquire, "two"),
          code_of(hold.release), code_of(hold.renew), code_of(client.status),
          code_of(begun.result), code_of(list, listing),
          list(client.events()))
    client.close()
    with ddblock.Client() as own:
        print(own.get("one")["state"], flush=True)
    os._exit(0)
status = os.waitpid(child, 0)[1]
print(status, client.ended, hold.is_valid(), client.get("one")["state"])
"""), "False 0.0 False NO_DAEMON" + 6 * " NO_DAEMON" + " []\nheld\n"
            "0 None True held\n")

    def test_asyncio(self):
        self.assertEqual(self.run_program("""
async def main():
    client = await ddblock.AsyncClient.connect()
    hold = await client.acquire("one")
    child = os.fork()
    if child == 0:
        try:
            client._session.start("PING", None, {})
        except ddblock.Error as e:
            print(hold.is_valid(), client.ended.code, e.code)
        client.close()
        with ddblock.Client() as own:
            print(own.get("one")["state"], flush=True)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    state = (await client.get("one"))["state"]
    print(status, client.ended, hold.is_valid(), state)
asyncio.run(main())
"""), "False NO_DAEMON NO_DAEMON\nheld\n0 None True held\n")

    def child_stays(self, take):
        """The parent ends, and its locks with it, though a child lives."""
        end, write_end = os.pipe()
        self.addCleanup(os.close, write_end)
        process = subprocess.Popen(
            [sys.executable, "-c", f"""
import asyncio, os, sys
import ddblock
{take}
    if os.fork() == 0:
        os.read(0, 1)
    os._exit(0)
{'asyncio.run(main())' if 'async' in take else 'main()'}
"""], stdin=end, env=dict(
                os.environ, DDBLOCK_SOCKET=self.daemon.socket,
                PYTHONPATH=os.path.join(test_clients.CLIENTS, "python")))
        os.close(end)
        self.assertEqual(process.wait(harness.TIMEOUT_S), 0)
        with harness.Client(self.daemon) as client:
            self.assertTrue(client.call("ACQUIRE one wait=10s").ok)

    def test_child_stays(self):
        self.child_stays("""
def main():
    hold = ddblock.Client().acquire("one")""")

    def test_child_stays_asyncio(self):
        self.child_stays("""
async def main():
    client = await ddblock.AsyncClient.connect()
    hold = await client.acquire("one")""")


class Ends(WithDaemon):
    def test_given_up(self):
        """Who asks again for what was given up is told so, at once."""
        client = self.client()
        client.acquire("one")
        pending = self.client().start_acquire("one")
        with self.assertRaises(TimeoutError):
            pending.result(0)
        with self.assertRaises(ddblock.Error) as raised:
            pending.result(harness.TIMEOUT_S)
        self.assertEqual(raised.exception.code, "CANCELLED")

    def test_each_its_own(self):
        """An error that is raised keeps the frames it came through."""
        client = self.client()
        self.assertIsNone(client.ended)
        client.close()
        self.assertEqual(client.ended.code, "NO_DAEMON")
        errors = []
        for _ in range(2):
            with self.assertRaises(ddblock.Error) as raised:
                client.status()
            errors.append(raised.exception)
        self.assertEqual(errors[0].args, errors[1].args)
        self.assertIsNot(errors[0], errors[1])

    def test_under_way(self):
        """The same of those that the end of the connection has failed."""
        self.client().acquire("one")
        client = self.client()
        begun = [client.start_acquire("one") for _ in range(2)]
        client.close()
        errors = []
        for pending in begun:
            with self.assertRaises(ddblock.Error) as raised:
                pending.result(harness.TIMEOUT_S)
            errors.append(raised.exception)
        self.assertIsNot(errors[0], errors[1])

    def test_asyncio(self):
        """A task that is cancelled leaves nothing that complains."""
        async def main():
            loop = asyncio.get_running_loop()
            complaints = []
            loop.set_exception_handler(
                lambda _, context: complaints.append(context))
            self.client().acquire("one")
            async with await ddblock.AsyncClient.connect(
                    self.daemon.socket) as client:
                with self.assertRaises(asyncio.TimeoutError):
                    await asyncio.wait_for(client.acquire("one"), 0.01)
                async for _ in client.held():
                    break
                self.assertIsNone(client.ended)
            self.assertEqual(client.ended.code, "NO_DAEMON")
            gc.collect()
            return complaints
        self.assertEqual(asyncio.run(main()), [])


if __name__ == "__main__":
    harness.main()
