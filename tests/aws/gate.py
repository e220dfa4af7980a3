"""A gate between daemons and DynamoDB Local, which lets through what it is
told to, and writes down what that was.

    gate.py DIRECTORY UPSTREAM-PORT

Reads commands from its standard input, a JSON object a line:

    {"listen": NAME, "host": ADDRESS, "port": PORT or 0, "tls": true}
    {"of": NAME, "mode": MODE, ...}      from now on; "pass" is no fault
    "drop": true, what is connected is reset; "only": ADDRESS, silence at others

and writes JSON lines: {"listening": NAME, "port": PORT} for the first; for the
second {"of": NAME, "mode": MODE, "at": MS}; and for each request that it read
to the end what became of it. "done" is when the whole answer had been handed
over; "kept" says that the other side was still there to take it. All moments
are of CLOCK_BOOTTIME in milliseconds. {"late_ms": MS} says how late this
process was at the latest: what it read may have come so much earlier.

Modes: latency (low, high: seconds, each way); accept, request, answer: silence
from there on; refuse, reset (at any byte, of either direction); status (5xx, of
which some are carried out first); throttle; expired, name, unknown (kinds of
certificates); garbage, cut (anywhere in the handshake); walk (every
other request: at each byte of request and answer in turn, see Walk).

In a process of its own, so that it cannot delay what is measured beside it.
"""
import asyncio
import collections
import json
import os
import random
import socket
import ssl
import struct
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, os.pardir, "integration"))

import certificates  # noqa: E402
from fault_proxy import Lost, Request, Upstream, head_of  # noqa: E402

TICK_S = 0.02
KEPT_S = 0.3  # nobody who is still there after that was about to go
HANDSHAKE_BYTES = 1024  # of ours, or nearly
HANDSHAKE_STEP = 37  # to be at each of them in the end, and all over at first
RESET = struct.pack("ii", 1, 0)
HTML = b"<html><body><h1>503 Service Temporarily Unavailable</h1></body></html>"
TYPE = "com.amazonaws.dynamodb.v20120810#"
TROUBLE = [(500, b'{"__type":"' + TYPE.encode() + b'InternalServerError",'
            b'"message":"The request processing has failed."}'),
           (503, b'{"__type":"com.amazon.coral.availability#'
            b'ServiceUnavailableException","message":"later"}'),
           (502, HTML), (503, HTML), (504, b"")]
THROTTLES = ["ProvisionedThroughputExceededException", "ThrottlingException",
             "RequestLimitExceeded"]


def now_ms():
    return time.clock_gettime(time.CLOCK_BOOTTIME) * 1000


def say(**what):
    print(json.dumps(what), flush=True)


class Closed(Exception):
    """The connection is to be closed in order."""


class Wire:
    """A connection as its user sees it, with TLS or without."""

    def __init__(self, reader, writer):
        self.reader, self.writer = reader, writer
        self.tls = None
        self.data = b""
        self.accepted = now_ms()
        self.used = False
        self.home = writer.get_extra_info("sockname")[0]

    async def handshake(self, context, send_max=None):
        """With @send_max, no more than so many bytes of ours go out: Lost."""
        self.coming, self.going = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self.coming, self.going, server_side=True)
        while True:
            try:
                self.tls.do_handshake()
                done = True
            except ssl.SSLWantReadError:
                done = False
            out = self.going.read()
            if send_max is not None:
                out, send_max = out[:send_max], send_max - len(out)
            self.writer.write(out)
            await self.writer.drain()
            if send_max is not None and send_max <= 0:
                raise Lost
            if done:
                return
            await self.receive(self.coming.write)

    async def receive(self, take, most=65536):
        data = await self.reader.read(most)
        if not data:
            raise Lost
        take(data)

    async def more(self, most=65536):
        """Some more bytes; at most so many, if they are not encrypted."""
        if self.tls is None:
            def take(data):
                self.data += data
            await self.receive(take, most)
            return
        while True:
            try:
                found = self.tls.read(65536)
                if not found:
                    raise Lost
                self.data += found
                return
            except ssl.SSLWantReadError:
                await self.receive(self.coming.write)

    async def write(self, data):
        if self.tls is not None:
            self.tls.write(data)
            data = self.going.read()
        self.writer.write(data)
        await self.writer.drain()

    def reset(self):
        sock = self.writer.get_extra_info("socket")
        if sock is not None and sock.fileno() >= 0:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        self.writer.transport.abort()


def whole(data):
    """Where the request in @data ends, and its headers; None: not yet."""
    end = data.find(b"\r\n\r\n")
    if end < 0:
        return None
    headers = {}
    for line in data[:end].decode("latin-1").split("\r\n")[1:]:
        name, _, value = line.partition(":")
        headers[name.strip().lower()] = value.strip()
    end += 4
    length = int(headers.get("content-length", 0))
    return (end + length, end, headers) if len(data) >= end + length else None


class Walk:
    """Where to cut next, so that in the end it was everywhere.

    A request is cut as it comes, after so many bytes, whatever it is; one that
    is shorter passes. An answer is cut by the kind of its request, from no byte
    to all of them. Every other cut is a reset, the rest are closed; and every
    other request passes. Requests need one round, then it is the answers' turn.
    """

    def __init__(self):
        self.turn = 0
        self.at = 1
        self.longest = 1
        self.rounds = 0
        self.answers = collections.Counter()

    def next(self):
        """pass, request or answer."""
        self.turn += 1
        return ("pass", "answer" if self.turn % 4 == 3 or self.rounds > 0
                else "request")[self.turn % 2]

    def cut_request(self):
        """It was; the next a byte later."""
        self.at += 1
        if self.at > self.longest:
            self.at = 1
            self.rounds += 1

    def cut_answer(self, kind, length):
        at = self.answers[kind] % (length + 1)
        self.answers[kind] += 1
        return at


class Gate:
    """One listener."""

    def __init__(self, name, upstream, contexts, seed):
        self.name = name
        self.upstream = upstream
        self.contexts = contexts
        self.mode = {"mode": "pass"}
        self.random = random.Random(seed)
        self.walk = Walk()
        self.handshakes = 0
        self.wires = set()

    # ---- a connection's life

    async def serve(self, reader, writer):
        wire = Wire(reader, writer)
        upstream = Upstream(self.upstream)
        # The loop itself holds no task that waits for an upstream.
        wire.task = asyncio.current_task()
        self.wires.add(wire)
        try:
            await self.begin(wire)
            while await self.exchange(wire, upstream):
                pass
        except (Lost, OSError, ssl.SSLError, asyncio.IncompleteReadError):
            wire.reset()
        except Closed:
            pass
        finally:
            self.wires.discard(wire)
            upstream.close()
            writer.close()

    async def silence(self, wire):
        """Until the other side has gone."""
        while await wire.reader.read(65536):
            pass
        raise Lost

    def elsewhere(self, wire):
        return self.mode.get("only", wire.home) != wire.home

    async def begin(self, wire):
        mode = self.mode["mode"]
        if mode == "refuse":
            raise Lost
        if mode == "accept" or self.elsewhere(wire):
            await self.silence(wire)
        if self.contexts is None:
            return
        await self.delay()
        if mode == "garbage":
            await wire.receive(lambda data: None)
            wire.writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            await wire.writer.drain()
            raise Lost
        cut = None
        if mode == "cut":
            self.handshakes += 1
            cut = 1 + self.handshakes * HANDSHAKE_STEP % HANDSHAKE_BYTES
            say(of=self.name, handshake_cut=cut, length=HANDSHAKE_BYTES)
        await wire.handshake(
            self.contexts[mode if mode in self.contexts else "good"], cut)

    async def delay(self):
        if self.mode["mode"] == "latency":
            await asyncio.sleep(self.random.uniform(
                self.mode["low"], self.mode["high"]))

    # ---- a request

    async def read(self, wire, cut):
        """A request; with @cut, Lost after so many bytes."""
        while (found := whole(wire.data)) is None:
            if len(wire.data) == cut:
                raise Lost
            await wire.more(65536 if cut is None else cut - len(wire.data))
        end, start, headers = found
        raw = wire.data[start:end]
        wire.data = wire.data[end:]
        request = Request(headers, raw)
        request.length = end
        return request

    async def exchange(self, wire, upstream):
        first, wire.used = not wire.used, True
        if not wire.data:
            await wire.more(1 if self.contexts is None else 65536)
        came = now_ms()
        step = self.walk.next() if self.mode["mode"] == "walk" else "pass"
        cut = self.walk.at if step == "request" else None
        try:
            request = await self.read(wire, cut)
        except Lost:
            if len(wire.data) == cut:
                self.walk.cut_request()
                say(of=self.name, request_cut=cut, length=self.walk.longest)
            raise
        self.walk.longest = max(self.walk.longest, request.length)
        log = {"of": self.name, "request": request.kind, "key": request.key,
               "sent": wire.accepted if first else came, "came": came}
        try:
            await self.carry(wire, upstream, request, log, step)
        finally:
            if not log.pop("said", False):
                say(**log)
        return True

    async def carry(self, wire, upstream, request, log, step):
        mode = self.mode["mode"]
        if mode == "request" or self.elsewhere(wire):
            await self.silence(wire)
        await self.delay()
        if mode == "throttle":
            name = self.random.choice(THROTTLES)
            body = json.dumps({"__type": TYPE + name, "message": "slow down"})
            await self.answer(wire, 400, body.encode(), log)
            return
        if mode == "status" and self.random.random() < 0.5:
            await self.answer(wire, *self.random.choice(TROUBLE), log)
            return
        if mode == "reset" and self.random.random() < 0.3:
            raise Lost
        status, head, body = await upstream.send(request.raw, request.headers)
        log["applied"] = now_ms()
        if mode == "answer":
            await self.silence(wire)
        if mode == "status":
            status, body = self.random.choice(TROUBLE)
        await self.delay()
        if mode == "reset":
            data = head_of(status, len(body)) + body
            await wire.write(data[:self.random.randrange(len(data))])
            raise Lost
        if step == "answer":
            await self.cut_answer(wire, request, head + body)
        await self.answer(wire, status, body, log)

    async def cut_answer(self, wire, request, data):
        at = self.walk.cut_answer(request.kind, len(data))
        if at > 0:
            await wire.write(data[:at])
        say(of=self.name, answer_cut=at, kind=request.kind, length=len(data))
        if at % 2 == 1:
            raise Lost
        raise Closed

    async def answer(self, wire, status, body, log):
        await wire.write(head_of(status, len(body)) + body)
        log["status"], log["done"] = status, now_ms()
        task = asyncio.ensure_future(wire.more())
        ready, _ = await asyncio.wait({task}, timeout=KEPT_S)
        if not ready:
            say(**log, kept=True)
            log["said"] = True
        await task
        log["kept"] = True


async def watch_itself():
    worst_ms = 0
    while True:
        due_ms = now_ms() + 1000 * TICK_S
        await asyncio.sleep(TICK_S)
        late_ms = now_ms() - due_ms
        if late_ms > worst_ms:
            worst_ms = late_ms
            say(late_ms=worst_ms)


async def commands(directory, upstream):
    contexts = certificates.contexts(directory)
    gates = {}
    _watch = asyncio.create_task(watch_itself())
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        command = json.loads(line)
        name = command.pop("listen", None)
        if name is not None:
            gate = gates.setdefault(name, Gate(
                name, upstream, contexts if command["tls"] else None, name))
            server = await asyncio.start_server(
                gate.serve, command["host"], command["port"])
            say(listening=name, port=server.sockets[0].getsockname()[1])
            continue
        gate = gates[command.pop("of")]
        gate.mode = command
        if command.get("drop"):
            for wire in list(gate.wires):
                wire.reset()
        say(**command, at=now_ms())


if __name__ == "__main__":
    asyncio.run(commands(sys.argv[1], ("127.0.0.1", int(sys.argv[2]))))
