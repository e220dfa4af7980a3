"""The names of python_dynamodb_lock, over ddblockd.

    from ddblock.python_dynamodb_lock import DynamoDBLockClient

    client = DynamoDBLockClient()
    with client.acquire_lock("my_key") as lock:
        write_report(token=lock.hold.token)

For programs that move. The table, heartbeats and leases are the daemon's
configuration, and a lock has a hold of the client beneath, with its fencing
token. Without the package, copy this file with ddblock.py, and import from
ddblock_python_dynamodb_lock.
"""
from __future__ import annotations

import base64
import datetime
import decimal
import json
import sys
import threading
import time
import weakref
from types import TracebackType
from typing import Any, Callable, Dict, List, Mapping, Optional, Type, Union

from ddblock import Client, Error, Event, Fields, Hold, Value

__all__ = ["DynamoDBLock", "DynamoDBLockClient", "DynamoDBLockError"]


def _typed(value: Any) -> Dict[str, Any]:
    """A value of a DynamoDB type, with the types that boto3 distinguishes."""
    if value is None:
        return {"NULL": True}
    if isinstance(value, bool):
        return {"BOOL": value}
    if isinstance(value, str):
        return {"S": value}
    if isinstance(value, (int, decimal.Decimal)):
        return {"N": str(value)}
    if isinstance(value, (bytes, bytearray)):
        return {"B": base64.b64encode(value).decode()}
    if isinstance(value, dict):
        return {"M": {name: _typed(each) for name, each in value.items()}}
    if isinstance(value, (list, tuple)):
        return {"L": [_typed(each) for each in value]}
    if isinstance(value, (set, frozenset)) and value:
        members = [_typed(each) for each in value]
        (kind,) = {kind for member in members for kind in member}
        return {kind + "S": [member[kind] for member in members]}
    raise TypeError(f"there is no type for {value!r}")


def _plain(typed: Mapping[str, Any]) -> Any:
    """The value that _typed() has written."""
    ((kind, value),) = typed.items()
    if kind == "M":
        return {name: _plain(each) for name, each in value.items()}
    if kind == "L":
        return [_plain(each) for each in value]
    if kind in ("SS", "NS", "BS"):
        return {_plain({kind[0]: each}) for each in value}
    if kind == "NULL":
        return None
    if kind == "N":
        return decimal.Decimal(value)
    return base64.b64decode(value) if kind == "B" else value


def _attributes(fields: Fields) -> Dict[str, Any]:
    """The contents of a lock in fields, by name."""
    kept: Dict[str, Any] = {}
    for name, value in fields.items():
        if name.startswith("attr."):
            name, _, is_typed = name[5:].partition(":")
            kept[name] = _plain(json.loads(value)) if is_typed else value
    return kept


def _seconds(duration: str) -> float:
    """A duration as the daemon writes it: 250ms, 9.5s."""
    return float(duration[:-2]) / 1000 if duration.endswith("ms") \
        else float(duration[:-1])


class DynamoDBLockError(Error):
    """An error of DynamoDBLockClient; code is one of these, or another."""

    CLIENT_SHUTDOWN = "NO_DAEMON"
    ACQUIRE_TIMEOUT = "ACQUIRE_TIMEOUT"
    LOCK_NOT_OWNED = "LOCK_NOT_OWNED"
    LOCK_STOLEN = "LOCK_STOLEN"
    LOCK_IN_DANGER = "LOCK_IN_DANGER"
    UNKNOWN = "INTERNAL"

    @property
    def message(self) -> str:
        return self.text


class DynamoDBLock:
    """A lock of a DynamoDBLockClient, which has it by its hold.

    What the old lock knew of its record, it asks the daemon.
    """

    PENDING = "PENDING"  # rows of waiting() are in line; this is not yet
    LOCKED = "LOCKED"
    RELEASED = "RELEASED"
    IN_DANGER = "IN_DANGER"
    INVALID = "INVALID"

    def __init__(self, client: DynamoDBLockClient, hold: Hold,
                 partition_key: str, sort_key: str,
                 additional_attributes: Mapping[str, Any],
                 app_callback: Optional[AppCallback]) -> None:
        self.hold = hold
        self.lock_client = client
        self.partition_key = partition_key
        self.sort_key = sort_key
        self.additional_attributes = additional_attributes
        self.app_callback = app_callback
        self.is_in_danger = False

    @property
    def status(self) -> str:
        if self.hold.is_released:
            return self.RELEASED
        if not self.hold.is_valid():
            return self.INVALID
        return self.IN_DANGER if self.is_in_danger else self.LOCKED

    @property
    def owner_name(self) -> str:
        return self._record()["owner"]

    @property
    def lease_duration(self) -> float:
        """In seconds."""
        return _seconds(self._record()["lease"])

    @property
    def record_version_number(self) -> str:
        """It changes with each heartbeat."""
        return self._record()["version"]

    @property
    def expiry_time(self) -> int:
        """In seconds of the epoch: the lease's end, if no heartbeat comes."""
        return int(time.time() + _seconds(self._record()["expires"]))

    def _record(self) -> Fields:
        return self.lock_client.client.get(
            self.partition_key, sort=self.sort_key, ns=self.hold.ns)

    def release(self, best_effort: bool = True) -> None:
        self.lock_client.release_lock(self, best_effort)

    def __enter__(self) -> DynamoDBLock:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]],
                 error: Optional[BaseException],
                 traceback: Optional[TracebackType]) -> None:
        self.release()

    def _hear(self, event: Event[Hold]) -> None:
        """Of trouble, or of its end, for the application."""
        code = event.name
        if code in ("LOCK_IN_DANGER", "LOCK_SAFE"):
            self.is_in_danger = code == "LOCK_IN_DANGER"
        if event.fields.get("reason") in ("stolen", "broken"):
            code = "LOCK_STOLEN"
        if self.app_callback is not None and code in (
                "LOCK_IN_DANGER", "LOCK_LOST", "LOCK_STOLEN"):
            try:
                self.app_callback(code, self)
            except Exception:  # what is next is told nevertheless
                threading.excepthook(threading.ExceptHookArgs(
                    [*sys.exc_info(), threading.current_thread()]))


AppCallback = Callable[[str, DynamoDBLock], object]


class _Kept:
    """What is kept with a hold, for as long as there is the hold."""

    def __init__(self) -> None:
        self.mutex = threading.RLock()
        self.lock: Optional[DynamoDBLock] = None
        # What was heard before acquire_lock() has made its lock.
        self.early: List[Event[Hold]] = []

    def hear(self, *events: Event[Hold]) -> None:
        """In the order in which they came, whichever thread has them."""
        with self.mutex:
            self.early += events
            while self.lock is not None and self.early:
                self.lock._hear(self.early.pop(0))

    @staticmethod
    def of(hold: Hold) -> _Kept:
        kept: _Kept = vars(hold).setdefault("dynamodb_lock", _Kept())
        return kept


class DynamoDBLockClient:
    """The old calls. The table, heartbeats and leases are the daemon's.

    Locks go on when the daemon is restarted. When there is none to go on with,
    the next call connects again.
    """

    def __init__(self, path: Optional[str] = None,
                 owner_name: Optional[str] = None) -> None:
        self._leasing = threading.Lock()
        self._leased: weakref.WeakSet[Hold] = weakref.WeakSet()
        self._path = path
        self._owner_name = owner_name
        self._connecting = threading.Lock()
        self._is_closed = False
        self._client = self._connect()

    def _connect(self) -> Client:
        return Client(self._path, name=self._owner_name, on_event=self._hear,
                      resume=True)

    @property
    def client(self) -> Client:
        """The client beneath; a new one, if that has ended."""
        with self._connecting:
            if self._client.ended is not None and not self._is_closed:
                self._client = self._connect()
                if self._is_closed:  # meanwhile
                    self._client.close()
            return self._client

    def acquire_lock(
            self, partition_key: str, sort_key: str = "-",
            retry_period: Union[None, float, datetime.timedelta] = None,
            retry_timeout: Union[None, float, datetime.timedelta]
            = datetime.timedelta(seconds=35),
            additional_attributes: Optional[Mapping[str, Any]] = None,
            app_callback: Optional[AppCallback] = None,
            raise_context_exception: bool = True,
            **arguments: Value) -> DynamoDBLock:
        """app_callback(code, lock): LOCK_IN_DANGER, LOCK_STOLEN, ...

        An exception of a `with` is always raised.
        """
        del raise_context_exception
        attributes = additional_attributes or {}
        for name, value in attributes.items():
            if isinstance(value, str):
                arguments[f"attr.{name}"] = value
            else:
                arguments[f"attr.{name}:json"] = json.dumps(_typed(value))
        try:
            hold = self.client.acquire(
                partition_key, None, sort=sort_key, poll=retry_period,
                wait=retry_timeout, **arguments)
        except Error as e:
            raise DynamoDBLockError(e.code, e.text, e.fields) from None
        if arguments.get("on_close") == "lease":
            with self._leasing:
                self._leased.add(hold)
        kept = _Kept.of(hold)
        with kept.mutex:
            if kept.lock is None:  # else it is reentrant
                kept.lock = DynamoDBLock(self, hold, partition_key, sort_key,
                                         attributes, app_callback)
            if kept.early:  # callbacks are called in a thread of their own
                threading.Thread(target=kept.hear, daemon=True).start()
            return kept.lock

    def release_lock(self, lock: DynamoDBLock,
                     best_effort: bool = True) -> None:
        """The lock of another client stays: LOCK_NOT_OWNED."""
        try:
            if lock.lock_client is self:
                lock.hold.release()
            else:
                self.client.request("RELEASE", id=lock.hold.id)
        except Error as e:
            if not best_effort:
                raise DynamoDBLockError(e.code, e.text, e.fields) from None

    def additional_attributes(self, partition_key: str,
                              sort_key: str = "-") -> Dict[str, Any]:
        """The fields of a lock, with or without a holder."""
        return _attributes(self.client.get(partition_key, sort=sort_key))

    def close(self, release_locks: bool = True) -> None:
        """The end of a connection releases its locks, except those that were
        acquired with on_close="lease", which stay without release_locks.
        """
        self._is_closed = True
        with self._leasing:
            leased = list(self._leased)
        for hold in leased if release_locks else []:
            try:
                hold.release()
            except Error:
                pass  # it is lost, or the connection is
        self._client.close()

    def _hear(self, event: Event[Hold]) -> None:
        """In the thread of the events."""
        if event.hold is not None:
            _Kept.of(event.hold).hear(event)
