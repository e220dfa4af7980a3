"""A client of ddblockd: locks of this host or of a fleet.

    import ddblock

    with ddblock.Client(name="report") as client:
        with client.acquire("jobs/nightly", wait="30s") as hold:
            write_report(token=hold.token)

One file, standard library only; copy it. It speaks ddblock-protocol(7). A hold
belongs to its connection: when the client is closed or the process ends, the
daemon gives the lock to the next waiter. A hold that was acquired with
linger="1m" stays for so long: client.resume(secret) brings it back, on another
connection.

With Client(resume=True) the client connects again when the daemon ends the
connection, by a restart for example, and its holds go on: meanwhile each is
valid until half a margin before its deadline, afterwards it is either valid or
lost. Requests fail meanwhile (NO_DAEMON), and so do those that were under way;
what they may have been granted is given back. A release is done later. Events
BROKEN and RESUMED tell of it. There must be something to go on with: a client
that keeps no hold at that moment is over (NO_DAEMON, and client.ended says
why), as one without resume is. A program that lives on makes a new client.

Every hold has a deadline that renewals move on, and counts down by itself: a
daemon that is stopped or dead cannot keep `hold.is_valid()` true. `hold.lost`
is a threading.Event; `client.events()` and `on_event=` tell more.

Arguments of a request are keywords, and go to the daemon unchanged: arguments
of newer daemons can be used without a new client (`client.acquire(key,
new_argument="x")`, `client.request("NEWVERB", key, argument=1)`). None leaves
an argument out; True and False are yes and no; a timedelta or a number of
seconds is a duration; a list is joined with commas; bytes are sent as they
are. (A name that is no Python name: `client.acquire(key, None, **{"attr.stage":
"first"})`; the None is the timeout, for what checks types.)

A Client may be used by several threads. AsyncClient is the same for asyncio.
Beside this file is ddblock_python_dynamodb_lock.py: the names of that library,
for programs that move.
"""
from __future__ import annotations

import asyncio
import builtins
import collections
import concurrent.futures
import datetime
import os
import queue
import random
import re
import select
import socket
import sys
import threading
import time
import weakref
from types import TracebackType
from typing import (Any, AsyncIterator, Callable, Dict, Generic, Iterator,
                    List, Mapping, Optional, Protocol, Sequence, Type, TypeVar,
                    Union, cast)

__all__ = ["AsyncClient", "AsyncHold", "Client", "Error", "Event", "Fields",
           "Hold", "Key", "Keys", "Pending", "Reply", "Value", "boot_ms",
           "decode", "encode"]

# What there is for the types alone is spelled for Python 3.8.
Key = Union[str, bytes]
Keys = Union[Key, Sequence[Key]]  # several: a list or a tuple
# Of an argument of a request.
Value = Union[None, bool, int, float, str, bytes, bytearray,
              datetime.timedelta, Sequence[str]]
HoldT = TypeVar("HoldT", bound="_Hold")
ResultT = TypeVar("ResultT")
ClientT = TypeVar("ClientT", bound="Client")

DEFAULT_SOCKET = "/run/ddblockd/ddblockd.sock"
EVENTS_MAX = 1024  # unread; the oldest are dropped first
LINE_MAX = 1 << 20
NEVER_MS = 1 << 62  # the deadline of a hold without a deadline
LOOK_MS = 1000  # timers stop while the host sleeps, deadlines do not
GRANTING = ("ACQUIRE", "TRY")
CANCELLABLE = ("ACQUIRE", "TRY", "LIST", "HELD", "WAITING")
REFUSED = ("BAD_REQUEST", "UNSUPPORTED")  # a request that was not run
# Reasons for the end of a connection after which there is no other: such as
# that another client resumed its holds.
FINAL = ("LOCK_NOT_OWNED", "DENIED", "BAD_REQUEST", "PROTOCOL")
PAUSE_S, PAUSE_MAX_S = 0.05, 1.0  # between two tries to connect again


class Error(Exception):
    """A request failed.

    code is a word of the protocol; NO_DAEMON: there is no connection (any
    more); PROTOCOL: the answer was not understood. text is for people; cause
    is the code behind it, if the daemon says so; fields has all.
    """

    def __init__(self, code: str, text: str = "",
                 fields: Optional[Fields] = None) -> None:
        super().__init__(code, text)
        self.code = code
        self.text = text
        self.fields = Fields() if fields is None else fields

    @property
    def cause(self) -> Optional[str]:
        return self.fields.get("cause")

    def __str__(self) -> str:
        return f"{self.code}: {self.text}" if self.text else self.code

    def _again(self) -> Error:
        """The same for another who is told: what is raised keeps frames."""
        return Error(self.code, self.text, self.fields)


class Fields(Dict[str, str]):
    """The arguments of a line: text, in which bytes() finds the bytes."""

    def bytes(self, name: str) -> builtins.bytes:
        return self[name].encode("utf-8", "surrogateescape")


class Reply:
    """The answer OK: fields, text, and the rows before it."""

    def __init__(self, fields: Fields, text: str,
                 rows: List[Fields]) -> None:
        self.fields = fields
        self.text = text
        self.rows = rows

    def __getitem__(self, name: str) -> str:
        return self.fields[name]


class Event(Generic[HoldT]):
    """An event from the daemon, such as LOCK_IN_DANGER.

    hold is the hold of the event, if any. LOCK_LOST also comes from here, with
    reason=expired or, when the connection ended, reason=disconnected.
    """

    def __init__(self, name: str, fields: Fields,
                 hold: Optional[HoldT] = None) -> None:
        self.name = name
        self.fields = fields
        self.hold = hold


# ---- the wire ------------------------------------------------------------

def boot_ms() -> int:
    """The clock of all deadlines: it goes on while the host sleeps."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000000


def encode(value: Value) -> str:
    """A value in its form on the wire."""
    if isinstance(value, bool):
        value = "yes" if value else "no"
    elif isinstance(value, datetime.timedelta):
        value = f"{value.total_seconds():f}s"
    elif isinstance(value, float):
        value = f"{value:f}"
    elif isinstance(value, (list, tuple)):
        value = ",".join(value)
    if not isinstance(value, (bytes, bytearray)):
        value = str(value).encode("utf-8", "surrogateescape")
    text = "".join(chr(byte) if 0x20 < byte < 0x7f and byte not in b"%="
                   else f"%{byte:02X}" for byte in value)
    return "%3A" + text[1:] if text.startswith(":") else text


def decode(text: str) -> str:
    """The text of a value; bytes that are not UTF-8 become surrogates."""
    data = re.sub(rb"%([0-9A-Fa-f]{2})",
                  lambda match: bytes([int(match[1], 16)]),
                  text.encode("utf-8", "surrogateescape"))
    return data.decode("utf-8", "surrogateescape")


def duration_ms(text: str) -> int:
    """A duration as the daemon writes it: 250ms, 9.5s."""
    match = re.fullmatch(r"([0-9]+)(ms)|([0-9]+(?:\.[0-9]+)?)s", text)
    if match is None:
        raise Error("PROTOCOL", f"{text!r} is not a duration")
    return int(match[1]) if match[2] else int(float(match[3]) * 1000)


def _keys(key: Keys) -> Sequence[Key]:
    return key if isinstance(key, (list, tuple)) else [cast(Key, key)]


def _request_line(tag: str, verb: str, key: Optional[Keys],
                  arguments: Mapping[str, Value]) -> bytes:
    words = [f"#{tag}", verb]
    if key is not None:
        keys = [encode(each) for each in _keys(key)]
        if "" in keys:  # it would not be seen on the wire
            raise Error("BAD_REQUEST", "a key is empty")
        words += keys
    words += [f"{encode(name)}={encode(value)}"
              for name, value in arguments.items() if value is not None]
    return " ".join(words).encode() + b"\n"


def _parse(line: str) -> tuple[Optional[str], str, str, Fields, str]:
    """(tag, kind, word, fields, text) of a line."""
    words = line.rstrip("\r").split(" ")
    tag = words.pop(0)[1:] if words[0].startswith("#") else None
    kind = words.pop(0) if words else ""
    word = ""
    if kind.startswith("!"):
        kind, word = "!", kind[1:]
    elif kind == "ERR":
        word = words.pop(0) if words else "PROTOCOL"
    fields = Fields()
    while words:
        if words[0].startswith(":"):
            return tag, kind, word, fields, " ".join(words)[1:]
        name, is_named, value = words.pop(0).partition("=")
        if is_named:
            fields[decode(name)] = decode(value)
    return tag, kind, word, fields, ""


def _token(fields: Fields) -> int:
    """Of any size; 0: the namespace's record format has none."""
    return int(fields.get("token_text") or fields.get("token") or 0)


class _Hold:
    """The common part of the holds of both clients."""

    def __init__(self, session: _Session[Any], pending: _Pending,
                 reply: Reply) -> None:
        fields = reply.fields
        self._session = session
        # Known only from RESUME, if that is the request.
        self.key: Keys = fields.get("key", pending.key or "")
        self.reply = reply
        self.id = fields["id"]
        keys = [decode(encode(each)) for each in _keys(self.key)]
        rows = reply.rows or [Fields({**fields, "key": keys[0]})]
        self.tokens = {row["key"]: _token(row) for row in rows}
        self.token = self.tokens[keys[0]]  # of several, that of the first
        self.mode = fields.get("mode", "exclusive")
        self.ns = str(fields.get("ns") or pending.arguments.get("ns")
                      or session.default_ns)
        self.is_manual = pending.arguments.get("renew") == "manual"
        self.until_boot_ms = int(fields.get("until_boot_ms", NEVER_MS))
        self.end_boot_ms = fields.get("end_boot_ms")  # of its max_hold
        self.margin_ms = duration_ms(fields.get("margin", "0s"))
        # By the daemon, if it ends the connection.
        self.is_kept = session.resumes and (
            "secret" in fields or pending.verb == "RESUME")
        self.reason: Optional[str] = None  # of the loss
        self.count = 1  # how often it is held: once, if it is not reentrant
        # Each RELEASE that is under way.
        self.releasing: List[_Pending] = []

    @property
    def is_released(self) -> bool:
        return self.count <= 0

    def is_valid(self) -> bool:
        """May the guarded resource be used? True only before the deadline."""
        return (not self.is_released and self.reason is None
                and boot_ms() < self.good_ms())

    def good_ms(self) -> int:
        """The deadline; without a connection half a margin earlier."""
        if self._session.is_foreign:
            return 0
        return self.until_boot_ms - (
            self.margin_ms // 2 if self._session.is_away else 0)

    def remaining(self) -> float:
        """Seconds to the deadline, unless a renewal moves it on."""
        if self.is_released or self.reason is not None:
            return 0.0
        return max(self.good_ms() - boot_ms(), 0) / 1000

    def extend(self, fields: Fields) -> None:
        """A deadline moves forward only, and not beyond the hold's end."""
        until = int(fields.get("until_boot_ms", 0))
        if self.end_boot_ms is not None:
            until = min(until, int(self.end_boot_ms))
        self.until_boot_ms = max(self.until_boot_ms, until)

    def lost_error(self) -> Error:
        return Error("LOCK_LOST", f"the lock was lost: {self.reason}")


class _Pending:
    """A request under way: future gets its Reply or, for a grant, its hold.

    It is a future of concurrent.futures or of asyncio.
    """

    def __init__(self, tag: str, verb: str, key: Optional[Keys],
                 arguments: Mapping[str, Value], future: Any,
                 on_row: Optional[Callable[[Fields], object]] = None) -> None:
        self.tag = tag
        self.verb = verb
        self.key = key
        self.arguments = arguments
        self.future = future
        self.rows: List[Fields] = []
        self.on_row = on_row or self.rows.append
        self.is_abandoned = False
        self.resumed: Dict[str, _Hold] = {}  # by their ids

    @property
    def is_awaited(self) -> bool:
        return not (self.is_abandoned or self.future.done())


class _Owner(Protocol[HoldT]):
    """The client of a session: what the session asks for."""

    def _write(self, line: bytes) -> None: ...
    def _new_hold(self, pending: _Pending, reply: Reply) -> HoldT: ...
    def _new_future(self) -> Any: ...
    def _tell(self, event: Event[HoldT]) -> None: ...


class _Session(Generic[HoldT]):
    """The protocol without socket, thread or loop: lines in, lines out.

    Its client calls it from one thread at a time.
    """

    def __init__(self, client: _Owner[HoldT]) -> None:
        self.client = client
        self.buffer = b""
        self.serial = 0
        self.line_max = LINE_MAX
        self.default_ns = "default"
        self.pending: Dict[str, _Pending] = {}
        self.holds: Dict[str, HoldT] = {}
        self.secret: Optional[str] = None
        self.ended: Optional[Error] = None  # for later callers
        self.hello: Dict[str, Value] = {}  # the arguments of HELLO
        self.resumes = False  # does it connect again?
        self.is_away = False  # until RESUME is answered
        self.found: set[str] = set()  # by its rows
        self.pause_s = 0.0
        self.is_foreign = False  # of the process that has forked this one

    def start(self, verb: str, key: Optional[Keys],
              arguments: Mapping[str, Value],
              on_row: Optional[Callable[[Fields], object]] = None) -> _Pending:
        """Send a request: a _Pending."""
        if self.ended is not None:
            raise self.ended._again()
        if self.is_away:
            raise Error("NO_DAEMON", "the connection broke; another is tried")
        return self._send(verb, key, arguments, on_row)

    def _send(self, verb: str, key: Optional[Keys],
              arguments: Mapping[str, Value],
              on_row: Optional[Callable[[Fields], object]] = None) -> _Pending:
        self.serial += 1
        tag = str(self.serial)
        line = _request_line(tag, verb, key, arguments)
        if len(line) > self.line_max:
            raise Error("BAD_REQUEST", "the request is longer than a line")
        pending = _Pending(tag, verb, key, arguments,
                           self.client._new_future(), on_row)
        self.pending[tag] = pending
        self.client._write(line)
        return pending

    def release(self, hold: HoldT, arguments: Mapping[str, Value]) -> Any:
        """Once, as often as it is held: a future; None: it was released."""
        if hold.is_released:
            return None
        if hold.reason is not None:
            hold.count -= 1
            self.send_unheard("RELEASE", id=hold.id)
            raise hold.lost_error()
        if self.is_away:  # it is given back when it is found
            hold.count -= 1
            self._forget(hold)
            return None
        pending = self.start("RELEASE", None, {"id": hold.id, **arguments})
        hold.count -= 1
        hold.releasing.append(pending)
        return pending.future

    def abandon(self, pending: _Pending) -> None:
        """The caller does not wait any more. A grant is released."""
        future = pending.future
        if pending.tag not in self.pending:
            if future.done() and not future.cancelled() and \
                    future.exception() is None and \
                    isinstance(future.result(), _Hold):
                future.result().count -= 1
                self._forget(future.result())
                self._give_back(future.result().id)
        elif not pending.is_abandoned:
            pending.is_abandoned = True
            if pending.verb in CANCELLABLE:
                self.send_unheard("CANCEL", tag=pending.tag)

    def send_unheard(self, verb: str, **arguments: Value) -> None:
        if self.ended is None and not self.is_away:
            self.start(verb, None, arguments).is_abandoned = True

    def feed(self, data: bytes) -> None:
        lines = (self.buffer + data).split(b"\n")
        self.buffer = lines.pop()
        for line in lines:
            tag, kind, word, fields, text = _parse(
                line.decode("utf-8", "surrogateescape"))
            if kind == "!":
                self._event(word, fields)
            elif tag is not None and tag in self.pending:
                self._answer(self.pending[tag], kind, word, fields, text)
            elif kind == "ERR" and (not self.resumes or word in FINAL):
                # It refuses the connection, not a request of ours.
                self.end(Error(word, text, fields))

    def _answer(self, pending: _Pending, kind: str, word: str, fields: Fields,
                text: str) -> None:
        try:
            if kind == "+":
                self._row(pending, fields)
                return
            del self.pending[pending.tag]
            if self.is_away and pending.verb == "RESUME":
                self._reopened(kind, word)
                return
            if pending.verb == "RELEASE":
                self._released(pending, kind, word, fields)
            if kind != "OK":
                raise Error(word or "PROTOCOL", text, fields)
            result = self._result(pending, Reply(fields, text, pending.rows))
        except Error as e:
            self._fail(pending, e)
        except (KeyError, ValueError) as e:
            self._fail(pending, Error(
                "PROTOCOL", f"cannot read the reply: {e!r}", fields))
        else:
            if pending.is_awaited:
                pending.future.set_result(result)

    def _fail(self, pending: _Pending, error: Error) -> None:
        if pending.is_awaited:
            pending.future.set_exception(error._again())

    def _result(self, pending: _Pending, reply: Reply) -> object:
        if pending.verb in GRANTING:
            return self._grant(pending, reply)
        if pending.verb == "RESUME":
            self.secret = str(pending.arguments["secret"])
            return list(pending.resumed.values())
        if pending.verb == "HELLO":
            self.line_max = int(reply.fields.get("line_max", LINE_MAX))
        return reply

    def _row(self, pending: _Pending, fields: Fields) -> None:
        """A row of RESUME: a lock that this client holds from here on."""
        if pending.verb != "RESUME":
            pending.on_row(fields)
            return
        if self.is_away:
            self._find(fields)
            return
        hold = pending.resumed.get(fields["id"])
        if hold is not None:
            hold.key = [*hold.tokens, fields["key"]]
            hold.tokens[fields["key"]] = _token(fields)
            return
        hold = self._begin(pending, Reply(fields, "", []))
        hold.count = int(fields.get("count", 1))
        pending.resumed[hold.id] = hold
        if fields["state"] == "lost":
            self.lose(hold, fields["reason"])

    def _grant(self, pending: _Pending, reply: Reply) -> Optional[HoldT]:
        if not pending.is_awaited:
            self._give_back(reply["id"])
            return None
        self.secret = reply.fields.get("secret", self.secret)
        hold = self.holds.get(reply["id"])
        if hold is None:
            return self._begin(pending, reply)
        hold.count += 1
        hold.extend(reply.fields)
        return hold

    def _begin(self, pending: _Pending, reply: Reply) -> HoldT:
        hold = self.client._new_hold(pending, reply)
        left = hold.until_boot_ms - boot_ms()
        if "until_boot_ms" in reply.fields and \
                left > duration_ms(reply["remaining"]) + LOOK_MS:
            self._give_back(reply["id"])
            raise Error("PROTOCOL", "the daemon has another boot-time clock",
                        reply.fields)
        self.holds[hold.id] = hold
        return hold

    def _give_back(self, hold_id: str) -> None:
        self.send_unheard("RELEASE", id=hold_id)

    def _released(self, pending: _Pending, kind: str, word: str,
                  fields: Fields) -> None:
        """The daemon says how often it is still held.

        A release that was refused for its arguments is repeated without them.
        """
        hold = self.holds.get(str(pending.arguments.get("id")))
        if hold is None or pending not in hold.releasing:
            return
        hold.releasing.remove(pending)
        if kind == "OK":
            hold.count = min(hold.count, int(fields.get("count", 0)))
        elif word in REFUSED:
            self._give_back(hold.id)
        self._forget(hold)

    def _forget(self, hold: HoldT) -> None:
        """Unless it is held once more, or a release is under way."""
        if hold.is_released and not hold.releasing:
            self.holds.pop(hold.id, None)

    def _event(self, name: str, fields: Fields) -> None:
        hold = self.holds.get(fields.get("id", ""))
        if name == "RENEWED":
            for each in self.holds.values():
                if each.ns == fields.get("ns") and not each.is_manual and \
                        (not self.is_away or each.id in self.found):
                    each.extend(fields)
            return
        if name == "LOCK_LOST":
            if hold is not None:
                self.lose(hold, fields.get("reason", "unknown"), fields)
            return
        if hold is not None:
            hold.extend(fields)
        self.client._tell(Event(name, fields, hold))

    def lose(self, hold: HoldT, reason: str,
             fields: Optional[Fields] = None) -> None:
        """The hold is lost: once, and for ever."""
        del self.holds[hold.id]
        hold.reason = reason
        # The daemon is stopped; its lock is free by now nevertheless.
        for pending in hold.releasing:
            self._fail(pending, hold.lost_error())
        if hold.is_released:
            return
        self.client._tell(Event("LOCK_LOST", Fields(fields or {
            "id": hold.id, "reason": reason}), hold))

    def next_ms(self) -> Optional[int]:
        """When to look at the deadlines next, from now; None: at no time."""
        if not self.holds:
            return None
        first = min(hold.good_ms() for hold in self.holds.values())
        return min(max(first - boot_ms(), 0), LOOK_MS)

    def judge(self) -> None:
        """Call it when all input was fed: it may be a renewal."""
        now = boot_ms()
        for hold in list(self.holds.values()):
            if now >= hold.good_ms():
                self.lose(hold,
                          "disconnected" if self.is_away else "expired")
        if self.is_away and not self.holds:
            self.end(Error("NO_DAEMON", "the connection broke"))

    # -- the connection breaks, and there is another --------------------------

    def part(self, error: Error) -> bool:
        """It broke. True: another is tried, for what the daemon keeps."""
        if self.ended is not None:
            return False
        self.buffer = b""
        for pending in list(self.pending.values()):
            self._fail(pending, error)
        self.pending.clear()
        for hold in list(self.holds.values()):
            hold.releasing.clear()
            if not hold.is_kept and not hold.is_released:
                self.lose(hold, "disconnected")
            self._forget(hold)
        if not self.holds:
            self.end(error)
            return False
        if not self.is_away:
            self.is_away = True
            self.client._tell(Event("BROKEN", Fields()))
        return True

    def next_pause_s(self) -> float:
        """None at first."""
        pause_s = self.pause_s
        self.pause_s = min(max(2 * pause_s, PAUSE_S), PAUSE_MAX_S)
        return pause_s * random.uniform(0.5, 1.5)

    def reopen(self) -> None:
        """The first requests of another connection."""
        self.found.clear()
        requests: tuple[tuple[str, Mapping[str, Value]], ...] = (
            ("HELLO", self.hello), ("HELLO", {"resume": True}),
            ("RESUME", {"secret": self.secret}))
        for verb, arguments in requests:
            self._send(verb, None, arguments).is_abandoned = True

    def _find(self, fields: Fields) -> None:
        """A row of its answer: ours again, or to be given back."""
        if fields["id"] in self.found:
            return
        self.found.add(fields["id"])
        hold = self.holds.get(fields["id"])
        if hold is not None and "until_boot_ms" in fields:
            hold.until_boot_ms = int(fields["until_boot_ms"])
        known = hold.count if hold is not None else 0
        for _ in range(int(fields.get("count", 1)) - known):
            self._send("RELEASE", None, {
                "id": fields["id"]}).is_abandoned = True
        if hold is not None and fields["state"] == "lost":
            self.lose(hold, fields["reason"])

    def _reopened(self, kind: str, word: str) -> None:
        if word == "SHUTTING_DOWN":
            return  # its end follows, and then another try
        if kind != "OK":
            self.end(Error("NO_DAEMON", "the daemon does not know the holds"))
            return
        for hold in list(self.holds.values()):
            if hold.id not in self.found:
                self.lose(hold, "disconnected")
        self.is_away = False
        self.pause_s = 0.0
        self.client._tell(Event("RESUMED", Fields()))

    def end(self, error: Error) -> None:
        """The connection is over, and with it all holds."""
        if self.ended is not None:
            return
        self.ended = error
        for pending in list(self.pending.values()):
            self._fail(pending, error)
        self.pending.clear()
        for hold in list(self.holds.values()):
            self.lose(hold, "disconnected")

    def close(self) -> None:
        """The same, on purpose: the holds are released, not lost."""
        for hold in self.holds.values():
            hold.count = 0
        self.holds.clear()
        self.end(Error("NO_DAEMON", "the client was closed"))

    def leave(self) -> None:
        """In a child: connection and holds are its parent's, and stay so."""
        self.is_foreign = True
        self.is_away = False
        if self.ended is None:
            self.ended = Error("NO_DAEMON", "the client is of the process "
                               "that has forked this one")

    def check_process(self) -> None:
        """Nothing comes to a child."""
        if self.is_foreign and self.ended is not None:
            raise self.ended._again()


def _path(path: Optional[str]) -> str:
    return path or os.environ.get("DDBLOCK_SOCKET") or DEFAULT_SOCKET


def _default_ns(hello: Reply) -> str:
    return hello.fields.get("namespaces", "default").split(",")[0]


def _no_daemon(path: str, error: OSError) -> Error:
    return Error("NO_DAEMON", f"cannot connect to {path}: {error}")


# Those that have a connection; a child that is forked has it, too.
_clients: weakref.WeakSet[Union[Client, AsyncClient]] = weakref.WeakSet()


def _after_fork() -> None:
    for client in list(_clients):
        client._leave()


os.register_at_fork(after_in_child=_after_fork)


# ---- for threads ---------------------------------------------------------

class Hold(_Hold):
    """A lock that this client holds. As a context manager, it is released.

    An exception of the body is raised even if the release fails.
    """

    def __init__(self, client: Client, pending: _Pending,
                 reply: Reply) -> None:
        super().__init__(client._session, pending, reply)
        self.client = client
        self.lost = threading.Event()

    def release(self, **arguments: Value) -> None:
        """Release it, once. Raises Error LOCK_LOST if it was lost before."""
        self.client._release(self, arguments)

    def renew(self, **arguments: Value) -> None:
        """Renew it now: a proof that the store answers."""
        self.client._renew(self, arguments)

    def __enter__(self) -> Hold:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]],
                 error: Optional[BaseException],
                 traceback: Optional[TracebackType]) -> None:
        try:
            self.release()
        except Error:
            if kind is None:
                raise


def _complain() -> None:
    """As a thread does that ends by an exception; this one goes on."""
    threading.excepthook(threading.ExceptHookArgs(
        [*sys.exc_info(), threading.current_thread()]))


class Client:
    """A connection to the daemon.

    on_event(event) is called in a thread of its own, one event at a time;
    without it, events() yields them. What it raises goes to
    threading.excepthook, and the next event is told. Other arguments go into
    HELLO.

    A client and its holds are of the process that made it. In a child that is
    forked no hold is valid, requests fail (NO_DAEMON), and close() ends nothing
    of the parent's.
    """

    def __init__(self, path: Optional[str] = None, name: Optional[str] = None,
                 on_event: Optional[Callable[[Event[Hold]], object]] = None,
                 resume: bool = False, **hello: Value) -> None:
        self._path = _path(path)
        self._mutex = threading.RLock()
        self._events: collections.deque[Event[Hold]] = collections.deque(
            maxlen=EVENTS_MAX)
        self._told = threading.Condition(self._mutex)
        self._session: _Session[Hold] = _Session(self)
        try:
            self._connect()
        except OSError as e:
            raise _no_daemon(self._path, e) from None
        _clients.add(self)
        threading.Thread(target=self._read, daemon=True).start()
        self._session.hello = {"proto": 1, "name": name, "renewed": True,
                               **hello}
        try:
            self.hello: Reply = self._ask("HELLO", None, self._session.hello)
            self._session.default_ns = _default_ns(self.hello)
            if resume:
                self._session.resumes = True
                # An older daemon refuses that, and keeps what lingers.
                with self._mutex:
                    self._session.send_unheard("HELLO", resume=True)
        except BaseException:
            self.close()
            raise
        if on_event is not None:
            threading.Thread(target=self._call, args=(on_event,),
                             daemon=True).start()

    def __enter__(self: ClientT) -> ClientT:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]],
                 error: Optional[BaseException],
                 traceback: Optional[TracebackType]) -> None:
        self.close()

    @property
    def secret(self) -> Optional[str]:
        """The secret that resumes lingering holds; also after the end."""
        return self._session.secret

    @property
    def ended(self) -> Optional[Error]:
        """Why the client is over; None: it is not.

        It stays so: a program that goes on makes another.
        """
        return self._session.ended

    def _connect(self) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._socket.connect(self._path)
        except OSError:
            self._socket.close()
            raise
        self._outgoing: queue.SimpleQueue[Optional[bytes]] = \
            queue.SimpleQueue()
        self._writer = threading.Thread(target=self._write_out, daemon=True)
        self._writer.start()

    def close(self) -> None:
        """End the connection. The daemon releases all holds that do not
        linger."""
        with self._mutex:
            self._session.close()
            self._told.notify_all()
        self._outgoing.put(None)
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # it has ended already

    def _leave(self) -> None:
        """In a child, which has no thread that reads. Another thread may have
        had the mutex."""
        self._mutex = threading.RLock()
        self._told = threading.Condition(self._mutex)
        self._session.leave()
        self._socket.close()  # or it would last as long as the child

    # -- requests ------------------------------------------------------------

    def start(self, verb: str, key: Optional[Keys] = None,
              **arguments: Value) -> Pending[Reply]:
        """Send a request and go on. Any number may be under way.

        ACQUIRE and TRY, which have holds for replies: start_acquire().
        """
        return self._start(verb, key, arguments)

    def request(self, verb: str, key: Optional[Keys] = None,
                timeout: Optional[float] = None, **arguments: Value) -> Reply:
        """Send a request and wait for its reply.

        After timeout (seconds, counted here), TimeoutError; the request is
        given up then, and a late grant is released.
        """
        return self.start(verb, key, **arguments).result(timeout)

    def acquire(self, key: Keys, timeout: Optional[float] = None,
                **arguments: Value) -> Hold:
        """A Hold on the lock, as soon as it is free (wait="5s": at most).

        A list of keys: on all of these locks as one, each with its own token
        in hold.tokens.
        """
        return self.start_acquire(key, **arguments).result(timeout)

    def try_acquire(self, key: Keys, timeout: Optional[float] = None,
                    **arguments: Value) -> Hold:
        """A Hold if the lock is free, else Error LOCK_BUSY."""
        hold: Hold = self._ask("TRY", key, arguments, timeout)
        return hold

    def start_acquire(self, key: Keys, **arguments: Value) -> Pending[Hold]:
        """Stand in line for the lock and go on."""
        return self._start("ACQUIRE", key, arguments)

    def resume(self, secret: str) -> List[Hold]:
        """The lingering Holds of another client, by its secret.

        Before the first acquire here. Holds that were lost meanwhile are among
        them. To give this up, close the client, and they linger again.
        """
        holds: List[Hold] = self._ask("RESUME", None, {"secret": secret})
        return holds

    def get(self, key: Keys, timeout: Optional[float] = None,
            **arguments: Value) -> Fields:
        """Fields about the holder of the lock."""
        return self.request("GET", key, timeout, **arguments).fields

    def watch(self, key: Keys, timeout: Optional[float] = None,
              **arguments: Value) -> Fields:
        """The same, and from now on an event CHANGED at each change."""
        return self.request("WATCH", key, timeout, **arguments).fields

    def unwatch(self, key: Keys, timeout: Optional[float] = None,
                **arguments: Value) -> None:
        self.request("UNWATCH", key, timeout, **arguments)

    def break_lock(self, key: Keys, token: Union[None, int, str], reason: str,
                   timeout: Optional[float] = None,
                   **arguments: Value) -> Fields:
        """For administrators: take the lock from its holder, if it has this
        token.

        With token None: if the record still is the `record` of get().
        """
        return self.request("BREAK", key, timeout, token=token,
                            reason=reason, **arguments).fields

    def list(self, **arguments: Value) -> Iterator[Fields]:
        """The locks in the store."""
        return self._listing("LIST", arguments)

    def held(self, **arguments: Value) -> Iterator[Fields]:
        """The holds of this daemon's clients."""
        return self._listing("HELD", arguments)

    def waiting(self, **arguments: Value) -> Iterator[Fields]:
        """The locks that they wait for."""
        return self._listing("WAITING", arguments)

    def status(self) -> Reply:
        """A Reply: its rows are the namespaces, its fields the daemon's."""
        return self.request("STATUS")

    def events(self, timeout: Optional[float] = None) -> Iterator[Event[Hold]]:
        """The daemon's events, as they come, until the client is closed.

        With a timeout (seconds), until no event came for so long.
        """
        while True:
            with self._mutex:
                self._told.wait_for(
                    lambda: bool(self._events or self._session.ended), timeout)
                if not self._events:
                    return
                event = self._events.popleft()
            yield event

    def _start(self, verb: str, key: Optional[Keys],
               arguments: Mapping[str, Value]) -> Pending[Any]:
        with self._mutex:
            return Pending(self, self._session.start(verb, key, arguments))

    def _ask(self, verb: str, key: Optional[Keys],
             arguments: Mapping[str, Value],
             timeout: Optional[float] = None) -> Any:
        return self._start(verb, key, arguments).result(timeout)

    def _listing(self, verb: str,
                 arguments: Mapping[str, Value]) -> Iterator[Fields]:
        """Rows as they come; stopping early cancels the listing."""
        rows: queue.SimpleQueue[Optional[Fields]] = queue.SimpleQueue()
        with self._mutex:
            pending = self._session.start(verb, None, arguments, rows.put)
            future: concurrent.futures.Future[Any] = pending.future
            future.add_done_callback(lambda _: rows.put(None))
        try:
            while (row := self._next_row(rows)) is not None:
                yield row
            future.result()
        finally:
            with self._mutex:
                self._session.abandon(pending)

    def _next_row(self, rows: queue.SimpleQueue[Optional[Fields]]
                  ) -> Optional[Fields]:
        self._session.check_process()
        return rows.get()

    def _release(self, hold: Hold, arguments: Mapping[str, Value]) -> None:
        with self._mutex:
            released = self._session.release(hold, arguments)
        if released is not None:
            released.result()

    def _renew(self, hold: Hold, arguments: Mapping[str, Value]) -> None:
        reply = self.request("RENEW", None, None, id=hold.id, **arguments)
        with self._mutex:
            hold.extend(reply.fields)

    # -- what the session asks for -------------------------------------------

    def _write(self, line: bytes) -> None:
        self._outgoing.put(line)

    def _new_future(self) -> concurrent.futures.Future[Any]:
        return concurrent.futures.Future()

    def _new_hold(self, pending: _Pending, reply: Reply) -> Hold:
        return Hold(self, pending, reply)

    def _tell(self, event: Event[Hold]) -> None:
        if event.name == "LOCK_LOST" and event.hold is not None:
            event.hold.lost.set()
        self._events.append(event)
        self._told.notify_all()

    # -- threads -------------------------------------------------------------

    def _read(self) -> None:
        while True:
            error = self._serve()
            self._outgoing.put(None)
            self._writer.join()
            self._socket.close()
            with self._mutex:
                goes_on = self._session.part(error)
                self._told.notify_all()
            if not goes_on or not self._connect_again():
                return

    def _connect_again(self) -> bool:
        """False: the last hold is lost, or the client was closed."""
        while True:
            with self._mutex:
                self._told.wait(self._session.next_pause_s())
                self._session.judge()
                self._told.notify_all()
                if self._session.ended is not None:
                    return False
                try:
                    self._connect()
                except OSError:
                    continue
                self._session.reopen()
                return True

    def _serve(self) -> Error:
        """Until the connection ends: why it did."""
        poller = select.poll()
        poller.register(self._socket, select.POLLIN)
        error = Error("NO_DAEMON", "the daemon ended the connection")
        while True:
            with self._mutex:
                timeout_ms = self._session.next_ms()
            try:
                if poller.poll(timeout_ms):
                    data = self._socket.recv(1 << 16)
                    if not data:
                        return error
                    with self._mutex:
                        self._session.feed(data)
                    continue
            except OSError as e:
                return Error("NO_DAEMON", f"the connection ended: {e}")
            with self._mutex:
                self._session.judge()
                if self._session.ended is not None:
                    return error

    def _write_out(self) -> None:
        """In a thread: a daemon that does not read blocks no caller."""
        try:
            while (line := self._outgoing.get()) is not None:
                self._socket.sendall(line)
        except OSError:
            pass  # the reader finds it, too, with the reason

    def _call(self, on_event: Callable[[Event[Hold]], object]) -> None:
        for event in self.events():
            try:
                on_event(event)
            except Exception:  # the next event is told nevertheless
                _complain()


class Pending(Generic[ResultT]):
    """A request under way."""

    def __init__(self, client: Client, pending: _Pending) -> None:
        self.tag = pending.tag
        self._client = client
        self._pending = pending

    def result(self, timeout: Optional[float] = None) -> ResultT:
        """The Reply or, for ACQUIRE and TRY, the Hold; or Error is raised.

        A caller that is interrupted, or has waited for timeout seconds, gives
        the request up: the next is told CANCELLED.
        """
        future: concurrent.futures.Future[ResultT] = self._pending.future
        if not future.done():
            self._client._session.check_process()
        try:
            return future.result(timeout)
        except Error:
            raise
        except concurrent.futures.TimeoutError:
            self._abandon()
            raise TimeoutError(f"no reply within {timeout} s") from None
        except BaseException:
            self._abandon()
            raise

    def cancel(self) -> bool:
        """Give it up: result() raises Error CANCELLED, unless it was late."""
        return self._client.request("CANCEL", tag=self.tag)["cancelled"] \
            == "yes"

    def _abandon(self) -> None:
        with self._client._mutex:
            self._client._session.abandon(self._pending)
            # Who asks for it again would wait for ever.
            if not self._pending.future.done():
                self._pending.future.set_exception(
                    Error("CANCELLED", "the caller gave it up"))


# ---- for asyncio ---------------------------------------------------------

class AsyncHold(_Hold):
    """A lock that this client holds; `async with` releases it."""

    def __init__(self, client: AsyncClient, pending: _Pending,
                 reply: Reply) -> None:
        super().__init__(client._session, pending, reply)
        self.client = client
        self.lost = asyncio.Event()

    async def release(self, **arguments: Value) -> None:
        """Release it, once. Raises Error LOCK_LOST if it was lost before."""
        released = self.client._session.release(self, arguments)
        if released is not None:
            await released

    async def renew(self, **arguments: Value) -> None:
        """Renew it now: a proof that the store answers."""
        reply = await self.client.request("RENEW", None, id=self.id,
                                          **arguments)
        self.extend(reply.fields)

    async def __aenter__(self) -> AsyncHold:
        return self

    async def __aexit__(self, kind: Optional[Type[BaseException]],
                        error: Optional[BaseException],
                        traceback: Optional[TracebackType]) -> None:
        try:
            await self.release()
        except Error:
            if kind is None:
                raise


class AsyncClient(asyncio.Protocol):
    """The same for asyncio. Cancelling a task gives up its request.

        async with await ddblock.AsyncClient.connect(name="web") as client:
            async with await client.acquire("jobs/nightly") as hold:
                ...
    """

    hello: Reply
    _path: str
    _transport: asyncio.Transport

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._session: _Session[AsyncHold] = _Session(self)
        self._events: collections.deque[Event[AsyncHold]] = collections.deque(
            maxlen=EVENTS_MAX)
        self._told = asyncio.Event()
        self._timer: Optional[asyncio.TimerHandle] = None

    @classmethod
    async def connect(cls, path: Optional[str] = None,
                      name: Optional[str] = None, resume: bool = False,
                      **hello: Value) -> AsyncClient:
        path = _path(path)
        try:
            _, self = await asyncio.get_running_loop().create_unix_connection(
                cls, path)
        except OSError as e:
            raise _no_daemon(path, e) from None
        self._path = path
        self._session.hello = {"proto": 1, "name": name, "renewed": True,
                               **hello}
        try:
            self.hello = await self._ask("HELLO", None, self._session.hello)
            self._session.default_ns = _default_ns(self.hello)
            if resume:
                self._session.resumes = True
                self._session.send_unheard("HELLO", resume=True)
        except BaseException:
            self.close()
            raise
        return self

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, kind: Optional[Type[BaseException]],
                        error: Optional[BaseException],
                        traceback: Optional[TracebackType]) -> None:
        self.close()

    @property
    def secret(self) -> Optional[str]:
        return self._session.secret

    @property
    def ended(self) -> Optional[Error]:
        return self._session.ended

    def close(self) -> None:
        """End the connection. The daemon releases all holds that do not
        linger."""
        self._session.close()
        self._transport.abort()
        self._told.set()

    def _leave(self) -> None:
        """In a child. The loop is the parent's, too: it goes by the number of
        the descriptor, which is of nothing now."""
        self._session.leave()
        try:
            with open(os.devnull, "rb") as nothing:
                os.dup2(nothing.fileno(), self._transport.get_extra_info(
                    "socket").fileno(), False)
        except OSError:
            pass  # it is closed already

    # -- requests ------------------------------------------------------------

    async def request(self, verb: str, key: Optional[Keys] = None,
                      **arguments: Value) -> Reply:
        reply: Reply = await self._ask(verb, key, arguments)
        return reply

    async def acquire(self, key: Keys, **arguments: Value) -> AsyncHold:
        hold: AsyncHold = await self._ask("ACQUIRE", key, arguments)
        return hold

    async def try_acquire(self, key: Keys, **arguments: Value) -> AsyncHold:
        hold: AsyncHold = await self._ask("TRY", key, arguments)
        return hold

    async def resume(self, secret: str) -> List[AsyncHold]:
        holds: List[AsyncHold] = await self._ask("RESUME", None,
                                                 {"secret": secret})
        return holds

    async def get(self, key: Keys, **arguments: Value) -> Fields:
        return (await self.request("GET", key, **arguments)).fields

    async def watch(self, key: Keys, **arguments: Value) -> Fields:
        return (await self.request("WATCH", key, **arguments)).fields

    async def unwatch(self, key: Keys, **arguments: Value) -> None:
        await self.request("UNWATCH", key, **arguments)

    async def break_lock(self, key: Keys, token: Union[None, int, str],
                         reason: str, **arguments: Value) -> Fields:
        return (await self.request("BREAK", key, token=token, reason=reason,
                                   **arguments)).fields

    def list(self, **arguments: Value) -> AsyncIterator[Fields]:
        return self._listing("LIST", arguments)

    def held(self, **arguments: Value) -> AsyncIterator[Fields]:
        return self._listing("HELD", arguments)

    def waiting(self, **arguments: Value) -> AsyncIterator[Fields]:
        return self._listing("WAITING", arguments)

    async def status(self) -> Reply:
        return await self.request("STATUS")

    async def events(self) -> AsyncIterator[Event[AsyncHold]]:
        """The daemon's events, as they come, until the client is closed."""
        while True:
            while self._events:
                yield self._events.popleft()
            if self._session.ended is not None:
                return
            self._told.clear()
            await self._told.wait()

    async def _ask(self, verb: str, key: Optional[Keys],
                   arguments: Mapping[str, Value]) -> Any:
        return await self._wait(self._session.start(verb, key, arguments))

    async def _wait(self, pending: _Pending) -> Any:
        try:
            return await pending.future
        except asyncio.CancelledError:
            self._session.abandon(pending)
            raise

    async def _listing(self, verb: str, arguments: Mapping[str, Value]
                       ) -> AsyncIterator[Fields]:
        rows: asyncio.Queue[Optional[Fields]] = asyncio.Queue()
        pending = self._session.start(verb, None, arguments, rows.put_nowait)
        future: asyncio.Future[Any] = pending.future
        future.add_done_callback(lambda _: rows.put_nowait(None))
        try:
            while (row := await rows.get()) is not None:
                yield row
            await future
        finally:
            self._session.abandon(pending)

    # -- what the session asks for -------------------------------------------

    def _write(self, line: bytes) -> None:
        self._transport.write(line)

    def _new_future(self) -> asyncio.Future[Any]:
        return self._loop.create_future()

    def _new_hold(self, pending: _Pending, reply: Reply) -> AsyncHold:
        return AsyncHold(self, pending, reply)

    def _tell(self, event: Event[AsyncHold]) -> None:
        if event.name == "LOCK_LOST" and event.hold is not None:
            event.hold.lost.set()
        self._events.append(event)
        self._told.set()

    # -- what the loop calls -------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        _clients.add(self)

    def data_received(self, data: bytes) -> None:
        self._session.feed(data)
        self._set_timer()

    def connection_lost(self, exc: Optional[Exception]) -> None:
        if self._session.part(Error(
                "NO_DAEMON", "the daemon ended the connection"
                + (f": {exc}" if exc else ""))):
            self._again = self._loop.create_task(self._connect_again())
        self._told.set()
        self._set_timer()

    async def _connect_again(self) -> None:
        while True:
            await asyncio.sleep(self._session.next_pause_s())
            if self._session.ended is not None:
                return
            try:
                await self._loop.create_unix_connection(lambda: self,
                                                        self._path)
            except OSError:
                continue
            if self._session.ended is not None:
                self._transport.abort()
            else:
                self._session.reopen()
            return

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        wait_ms = self._session.next_ms()
        self._timer = None if wait_ms is None else \
            self._loop.call_later(wait_ms / 1000, self._look)

    def _look(self) -> None:
        self._session.judge()
        if self._session.ended is not None:
            self._told.set()
        self._set_timer()
