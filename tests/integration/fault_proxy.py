"""A proxy in front of DynamoDB Local that counts, and breaks things on order.

It stands between a daemon and the endpoint, so it sees the real requests:
every request is kept, named by what it is for and by its key, with the status
of its answer and with the moment (a serial number) at which it came and at
which it was applied. On order it loses, holds, delays, forges or cuts off
single requests or answers. Nothing here is random.

    with Proxy() as proxy, Daemon(config(endpoint=proxy.url)) as daemon:
        rule = proxy.on("release", lose_after)
        ...
        rule.wait_hit()
        assert proxy.count("release") == 2

Kinds of requests: acquire, take, release, extend, want, unwant, read (of a
lock); mark (of a record as older clients have it); together (several locks at
once); open, beat, look, kill, bury, close (of a session); audit (or another
read of several locks), list, table; anything else is the name of DynamoDB's
operation.

The proxy runs in a thread of its own. A test always waits for a condition
(`wait`), never for a time.
"""
import asyncio
import hashlib
import hmac
import json
import re
import socket
import threading
import time
import urllib.parse

import harness

TIMEOUT_S = 60
EVER = 10 ** 9  # so many times
HELD = {"SET #token = if_not_exists": "acquire", "SET #holders = :me": "take",
        "SET #token = #token + :n": "extend", "SET #ttl = :ttl DEL": "release",
        "DELETE #holders": "release", "ADD #xwait": "want",
        "SET #line = list_append": "want", "REMOVE #line": "unwant",
        "DELETE #xwait": "unwant", "ADD #swait": "want",
        "DELETE #swait": "unwant", "SET #beat": "beat",
        "SET #ddblockd_marks": "mark", "ADD #ddblockd_marks": "mark",
        "SET #dead = :by": "kill", "SET #dead = if_not_exists": "close"}
PLAIN = {"BatchGetItem": "audit", "TransactWriteItems": "together",
         "Scan": "list", "DescribeTable": "table"}


def classify(operation, body):
    """What a request is for, and the key of its item."""
    item = body.get("Key") or body.get("Item") or {}
    key = next((value["S"] for value in item.values()
                if value.get("S", "").startswith(("lock:", "session:"))), None)
    if operation == "GetItem":
        return ("look" if (key or "").startswith("session:") else "read"), key
    if operation == "PutItem":
        return ("bury" if "dead" in item else "open"), key
    if operation == "UpdateItem":
        update = body.get("UpdateExpression", "")
        for start, kind in HELD.items():
            if update.startswith(start):
                return kind, key
    return PLAIN.get(operation, operation), key


def signature_is_good(request, region, key_id, secret):
    """Signature Version 4, worked out again from what came over the wire."""
    found = re.fullmatch(
        r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([^/]+)/dynamodb/"
        r"aws4_request, ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})",
        request.headers.get("authorization", ""))
    if found is None:
        return False
    who, day, where, names, signature = found.groups()
    canonical = "\n".join(
        ["POST", "/", ""]
        + [f"{n}:{request.headers.get(n, '').strip()}"
           for n in names.split(";")]
        + ["", names, hashlib.sha256(request.raw).hexdigest()])
    scope = f"{day}/{region}/dynamodb/aws4_request"
    text = "\n".join(["AWS4-HMAC-SHA256", request.headers["x-amz-date"], scope,
                      hashlib.sha256(canonical.encode()).hexdigest()])
    key = ("AWS4" + secret).encode()
    for part in (*scope.split("/"), text):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return (who, where) == (key_id, region) and \
        hmac.compare_digest(key.hex(), signature)


class Request:
    """One request as it came, and its fate."""

    def __init__(self, headers, raw):
        self.headers = headers
        self.raw = raw
        self.operation = headers.get("x-amz-target", ".").split(".")[-1]
        try:
            self.body = json.loads(raw)
        except ValueError:
            self.body = {}
        self.kind, self.key = classify(self.operation, self.body)
        self.came_s = time.monotonic()
        self.came_wall_s = time.time()
        self.came_boot_ms = time.clock_gettime_ns(
            time.CLOCK_BOOTTIME) // 10 ** 6
        self.lost = False
        self.port = None  # the other end of its connection
        self.came = None  # serial numbers of the proxy's moments
        self.applied = None
        self.answered = None
        self.status = None  # of the endpoint's answer
        self.answer = None  # its body, if it is JSON

    def value(self, name):
        """One of the ExpressionAttributeValues, without its type."""
        return next(iter(self.body["ExpressionAttributeValues"][name].values()))

    def __repr__(self):
        return f"<{self.kind} {self.key} {self.status}>"


class Lost(Exception):
    """The connection is to be closed without another byte."""


class Exchange:
    """A request on its way, in the hands of a fault."""

    def __init__(self, proxy, request, upstream, writer):
        self.proxy = proxy
        self.request = request
        self.upstream = upstream
        self.writer = writer

    async def forward(self, upstream=None):
        """Apply it: (status, the answer as bytes, head and all)."""
        status, head, body = await (upstream or self.upstream).send(
            self.request.raw, self.request.headers)
        self.request.status = status
        try:
            self.request.answer = json.loads(body)
        except ValueError:
            pass
        self.request.applied = self.proxy.note()
        return status, head, body

    async def write(self, data):
        self.writer.write(data)
        await self.writer.drain()
        self.request.answered = self.proxy.note()

    async def reply(self, status, body):
        await self.write(head_of(status, len(body)) + body)


def head_of(status, length):
    return (f"HTTP/1.1 {status} {'OK' if status == 200 else 'Trouble'}\r\n"
            "Content-Type: application/x-amz-json-1.0\r\n"
            f"Date: {time.strftime('%a, %d %b %Y %H:%M:%S GMT', time.gmtime())}"
            f"\r\nContent-Length: {length}\r\n\r\n").encode()


# ---- faults: the treatment of a request that a rule matches ----

async def pass_on(exchange, _rule):
    _, head, body = await exchange.forward()
    await exchange.write(head + body)


async def lose_before(_exchange, _rule):
    """The request is lost: it has no effect, and no answer comes."""
    raise Lost


async def lose_after(exchange, _rule):
    """It is applied, and then the connection is closed without an answer."""
    await exchange.forward()
    raise Lost


async def mute_before(exchange, rule):
    """As lose_before, but the connection stays open: silence."""
    await rule.gone(exchange)
    raise Lost


async def mute_after(exchange, rule):
    await exchange.forward()
    await rule.gone(exchange)
    raise Lost


async def late(exchange, rule):
    """No answer ever; it is applied when the test says rule.go()."""
    task = asyncio.ensure_future(rule.apply_late(exchange))
    exchange.proxy.tasks.add(task)
    raise Lost


async def hold(exchange, rule):
    """It waits until rule.go(), then is applied and answered."""
    await rule.going()
    await pass_on(exchange, rule)


async def hold_answer(exchange, rule):
    """It is applied at once; its answer waits until rule.go()."""
    _, head, body = await exchange.forward()
    await rule.going()
    await exchange.write(head + body)


async def garbage(exchange, _rule):
    await exchange.write(b"\x16\x03\x01 this is not HTTP\r\n\r\n")
    raise Lost


async def truncate(exchange, _rule):
    """It is applied, and half of the answer comes."""
    _, head, body = await exchange.forward()
    await exchange.write(head + body[:len(body) // 2])
    raise Lost


def answer(status, body):
    """Not applied; answered with this."""
    if not isinstance(body, bytes):
        body = json.dumps(body).encode()

    async def fault(exchange, _rule):
        await exchange.reply(status, body)
    return fault


def error(name, text="said the proxy", status=400):
    """Not applied; answered with an error of AWS."""
    return answer(status, {
        "__type": "com.amazonaws.dynamodb.v20120810#" + name,
        "message": text})


async def unprocessed(exchange, _rule):
    """A BatchGetItem of which nothing was done."""
    await exchange.reply(200, json.dumps({
        "Responses": {}, "UnprocessedKeys":
        exchange.request.body["RequestItems"]}).encode())


class Rule:
    """Requests of one kind (and key), from the nth on, meet a fault."""

    def __init__(self, proxy, kind, fault, nth, times, key):
        self.proxy = proxy
        self.kinds = (kind,) if isinstance(kind, str) else kind
        self.fault = fault
        self.skip = nth - 1
        self.left = times
        self.key = key
        self.hits = []  # the requests, when their fault began
        self.late = []  # those that were applied late, in that order
        self.event = asyncio.Event()
        self.turn = asyncio.Lock()

    def matches(self, request):
        if (self.kinds is not None and request.kind not in self.kinds) or \
                (self.key is not None and request.key != self.key):
            return False
        if self.skip > 0:
            self.skip -= 1
            return False
        return self.left > 0

    async def going(self):
        await self.event.wait()

    async def gone(self, exchange):
        """Until the other side has closed, or the test says go()."""
        going = asyncio.ensure_future(self.going())
        gone = asyncio.ensure_future(exchange.proxy.gone(exchange))
        await asyncio.wait({going, gone}, return_when=asyncio.FIRST_COMPLETED)
        going.cancel()
        gone.cancel()

    async def apply_late(self, exchange):
        await self.going()
        async with self.turn:
            upstream = Upstream(self.proxy.upstream)
            try:
                await exchange.forward(upstream)
            finally:
                upstream.close()
            self.late.append(exchange.request)
        self.proxy.note()

    # -- for the test's thread

    def go(self):
        """Let held requests go on."""
        self.proxy.call(self.event.set)

    def stop(self):
        """Match nothing more."""
        self.left = 0

    def wait_hit(self, n=1):
        self.proxy.wait(lambda: len(self.hits) >= n,
                        f"{n} of {self.kinds} to break")
        return self.hits[n - 1]

    def wait_late(self, n=1):
        self.proxy.wait(lambda: len(self.late) >= n,
                        f"{n} of {self.kinds} to be applied late")
        return self.late[n - 1]


async def read_message(reader):
    """Head (lines), headers and body; None at the end of the connection."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    lines = head.decode("latin-1").split("\r\n")
    headers = {}
    for line in lines[1:-2]:
        name, _, value = line.partition(":")
        headers[name.strip().lower()] = value.strip()
    if headers.get("transfer-encoding", "").lower() == "chunked":
        body = b""
        while True:
            size = int((await reader.readline()).split(b";")[0], 16)
            body += await reader.readexactly(size)
            await reader.readline()
            if size == 0:
                break
    else:
        body = await reader.readexactly(int(headers.get("content-length", 0)))
    return lines[0], headers, body


class Upstream:
    """A kept-alive connection to the endpoint."""

    def __init__(self, address):
        self.address = address
        self.reader = self.writer = None

    async def send(self, raw, headers):
        if self.writer is None:
            self.reader, self.writer = await asyncio.open_connection(
                *self.address, limit=1 << 24)
        names = ("content-type", "x-amz-date", "x-amz-target", "authorization",
                 "x-amz-security-token", "host")
        head = "".join(f"{n}: {headers[n]}\r\n" for n in names if n in headers)
        self.writer.write(f"POST / HTTP/1.1\r\n{head}Content-Length: "
                          f"{len(raw)}\r\n\r\n".encode("latin-1") + raw)
        await self.writer.drain()
        message = await read_message(self.reader)
        if message is None:
            raise Lost
        first, _, body = message
        status = int(first.split(" ")[1])
        return status, head_of(status, len(body)), body

    def close(self):
        if self.writer is not None:
            self.writer.close()


class Proxy:
    """The proxy; a context manager. @upstream is an URL."""

    def __init__(self, upstream=None):
        url = urllib.parse.urlparse(
            upstream or harness.endpoint())
        self.upstream = (url.hostname, url.port)
        self.condition = threading.Condition()
        self.serial = 0
        self.requests = []  # in the order in which they came
        self.rules = []
        self.connections = set()
        self.tasks = set()
        self.loop = asyncio.new_event_loop()
        self.server = None
        self.address = ("127.0.0.1", 0)
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()
        self.up()
        self.url = f"http://127.0.0.1:{self.address[1]}"

    # -- the proxy's thread --------------------------------------------------

    def _run(self):
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()
        tasks = asyncio.all_tasks(self.loop)
        for task in tasks:
            task.cancel()
        self.loop.run_until_complete(
            asyncio.gather(*tasks, return_exceptions=True))
        self.loop.close()

    @staticmethod
    async def gone(exchange):
        """Until the daemon has closed this connection (which is doomed)."""
        try:
            await exchange.reader.read(1)
        except ConnectionError:
            pass

    async def _serve(self, reader, writer):
        upstream = Upstream(self.upstream)
        self.connections.add(writer)
        try:
            while True:
                message = await read_message(reader)
                if message is None:
                    return
                request = Request(*message[1:])
                request.port = writer.get_extra_info("peername")[1]
                exchange = Exchange(self, request, upstream, writer)
                exchange.reader = reader
                await self._exchange(exchange, request)
        except (Lost, ConnectionError, asyncio.IncompleteReadError,
                asyncio.CancelledError):
            pass
        finally:
            self.connections.discard(writer)
            writer.close()
            upstream.close()

    async def _exchange(self, exchange, request):
        with self.condition:
            self.serial += 1
            request.came = self.serial
            self.requests.append(request)
            rule = next((r for r in self.rules if r.matches(request)), None)
            if rule is not None:
                rule.left -= 1
                rule.hits.append(request)
            self.condition.notify_all()
        await (rule.fault if rule else pass_on)(exchange, rule)

    def note(self):
        """A moment has come: waiting threads look again."""
        with self.condition:
            self.serial += 1
            self.condition.notify_all()
            return self.serial

    # -- the test's thread ---------------------------------------------------

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def call(self, function, *arguments):
        self.loop.call_soon_threadsafe(function, *arguments)

    def close(self):
        self.down()
        self.call(self.loop.stop)
        self.thread.join()

    async def _up(self):
        self.server = await asyncio.start_server(
            self._serve, sock=socket.create_server(self.address, backlog=512),
            limit=1 << 24)
        self.address = self.server.sockets[0].getsockname()

    async def _down(self):
        self.server.close()
        for writer in list(self.connections):
            writer.transport.abort()
        await self.server.wait_closed()

    def down(self):
        """Break every connection, and refuse new ones."""
        asyncio.run_coroutine_threadsafe(
            self._down(), self.loop).result(TIMEOUT_S)

    def up(self):
        """Listen, again at the same place."""
        asyncio.run_coroutine_threadsafe(
            self._up(), self.loop).result(TIMEOUT_S)

    def on(self, kind, fault, nth=1, times=1, key=None):
        """From now on the @nth request of this @kind meets @fault, and the
        @times - 1 that follow it. @kind: a name, several, or None: any."""
        rule = Rule(self, kind, fault, nth, times,
                    None if key is None else "lock:" + key)
        with self.condition:
            self.rules.append(rule)
        return rule

    def clear(self):
        """No more faults. Held requests go on."""
        with self.condition:
            rules, self.rules = self.rules, []
        for rule in rules:
            rule.go()

    def mark(self):
        """The moment now, for @since."""
        with self.condition:
            return self.serial

    def seen(self, kind=None, key=None, since=0, but=()):
        """The requests of this kind that came since."""
        kinds = (kind,) if isinstance(kind, str) else kind
        with self.condition:
            return [r for r in self.requests if r.came > since
                    and (kinds is None or r.kind in kinds)
                    and r.kind not in but
                    and (key is None or r.key == "lock:" + key)]

    def count(self, kind=None, key=None, since=0, but=()):
        return len(self.seen(kind, key, since, but))

    def wait(self, predicate, what, timeout=TIMEOUT_S):
        end = time.monotonic() + timeout
        with self.condition:
            while not predicate():
                left = end - time.monotonic()
                if left <= 0:
                    raise AssertionError(
                        f"waited in vain for {what}; the last requests: "
                        f"{self.requests[-20:]}")
                self.condition.wait(left)

    def wait_seen(self, kind, n=1, key=None, since=0, answered=True):
        """Wait for @n requests of this kind, and for their answers."""
        def there():
            return len([r for r in self.seen(kind, key, since)
                        if r.answered or not answered]) >= n
        self.wait(there, f"{n} of {kind} {key or ''}")
        return self.seen(kind, key, since)
