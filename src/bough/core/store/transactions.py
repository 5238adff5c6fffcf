"""Runs writes: one transaction with the events that it causes and the answer stored for its idempotency key, all or
nothing."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from types import NoneType, UnionType
from typing import Any, NamedTuple, TypeVar, Union, get_args, get_origin

import msgspec

from bough.core.store.response_cache import ResponseCache
from bough.core.store.short_ids import Table, whole_id
from bough.core.store.sql import COMMON, EVENTS, KEYS
from bough.errors import Conflict, Internal
from bough.model.approval import Approval
from bough.model.event import Event, EventType
from bough.model.message import Message
from bough.model.session import Caller, Session
from bough.model.task import Task
from bough.model.times import now
from bough.storage import queries
from bough.storage.backend import Backend, Tx

T = TypeVar("T")


# Notification channels. A payload is only a hint: the listener reads the rows.
CHANNEL_EVENTS = "bough_events"
CHANNEL_WORK = "bough_work"
CHANNEL_APPROVALS = "bough_approvals"

# A longer message is announced without its content, to keep the events table small.
LARGEST_EVENT_CONTENT = 64 * 1024


class Change:
    """Collects the events of one transaction and stores them as its last step."""

    def __init__(self, tx: Tx) -> None:
        self.tx = tx
        self.now = now()
        self._events: list[tuple[EventType, str | None, str, msgspec.Raw]] = []
        self.published: list[Event] = []

    def emit(self, kind: EventType, record: Any, session_id: str | None = None) -> None:
        self._events.append((kind, session_id, record.id, msgspec.Raw(msgspec.json.encode(record))))

    def session(self, kind: EventType, record: Session) -> None:
        self.emit(kind, record, record.id)

    def task(self, kind: EventType, record: Task) -> None:
        self.emit(kind, record, record.session_id)

    def approval(self, kind: EventType, record: Approval) -> None:
        self.emit(kind, record, record.session_id)

    def message(self, kind: EventType, record: Message) -> None:
        size = len(bytes(record.content))
        if size > LARGEST_EVENT_CONTENT:
            content = msgspec.Raw(msgspec.json.encode({"type": "omitted", "bytes": size}))
            record = msgspec.structs.replace(record, content=content)
        self.emit(kind, record, record.session_id)

    def wake(self) -> None:
        """Wakes the scheduler after commit."""
        self.tx.notify(CHANNEL_WORK, "")

    async def publish(self) -> None:
        """Stores the events. Must come last, because the cursor row stays locked until commit."""
        if not self._events:
            return
        last: Any = await self.tx.value(EVENTS.take_cursors, count=len(self._events))
        first = last - len(self._events) + 1
        self.published = [Event(cursor, *event, self.now) for cursor, event in enumerate(self._events, first)]
        stored = [msgspec.structs.asdict(event) for event in self.published]
        for query, params in queries.in_bulk(EVENTS.add_all, stored):
            await self.tx.run(query, **params)
        self.tx.notify(CHANNEL_EVENTS, str(last))


class RecordScope(NamedTuple):
    """The scope of an idempotency key for an action on one record. Every spelling of the record's id is the same
    scope."""

    action: str
    table: Table
    record_id: str


# An action that concerns no existing record is a scope by its name alone.
KeyScope = str | RecordScope


class _StoredAnswer(msgspec.Struct):
    fingerprint: str
    answer: msgspec.Raw | None


class _KeyAnswer(msgspec.Struct):
    key: str
    answer: msgspec.Raw | None


class Store:
    """Gives the services access to the database."""

    def __init__(self, db: Backend) -> None:
        self.db = db
        self.responses = ResponseCache(db)
        # Whether the hub receives notifications of commits. If so, `_unheard` holds the events of commits that it has
        # not been notified of, by their last cursor.
        self.followed = False
        self._unheard: dict[int, list[Event]] = {}

    async def read(self, work: Callable[[Tx], Awaitable[T]], *, long: bool = False) -> T:
        return await self.db.read(work, long=long)

    async def ping(self) -> None:
        """Raises if the database does not answer."""
        await self.read(lambda tx: tx.value(COMMON.ping))

    async def write(self, work: Callable[[Change], Awaitable[T]]) -> T:
        """Runs `work` in one transaction. `work` may await only the transaction and may run more than once."""
        events: list[Event] = []

        async def run(tx: Tx) -> T:
            nonlocal events
            self._forget(events)
            change = Change(tx)
            result = await work(change)
            await change.publish()
            events = change.published
            if events and self.followed:
                self._unheard[events[-1].cursor] = events
            return result

        try:
            return await self.db.transaction(run)
        except BaseException:
            self._forget(events)
            raise

    @property
    def unheard(self) -> bool:
        """Tells whether one of our transactions may have committed without its notification having arrived."""
        return bool(self._unheard)

    def announced(self, payload: str) -> list[Event] | None:
        """Returns the events that a notification announces, without reading them again; None if another process wrote
        them."""
        return self._unheard.pop(int(payload), None) if payload else None

    def _forget(self, events: list[Event]) -> None:
        """Drops the events of a transaction that did not commit, or may not have."""
        # Another transaction may have taken the same cursors by now.
        if events and self._unheard.get(events[-1].cursor) is events:
            self._unheard.pop(events[-1].cursor, None)

    async def write_once(
        self, caller: Caller, scope: KeyScope, request: Any, kind: type[T], work: Callable[[Change], Awaitable[T]]
    ) -> T:
        """Runs `work` like `write`, but returns the first answer again for a repeated idempotency key in the same scope
        (A4)."""
        key = caller.idempotency_key
        if key is None:
            return await self.write(work)
        fingerprint = _fingerprint(request)

        async def once(change: Change) -> T:
            name = await _full_scope(change.tx, caller, scope)
            claimed = await change.tx.run(KEYS.claim, key=key, scope=name, fingerprint=fingerprint, now=change.now)
            if not claimed:
                stored = await change.tx.one(KEYS.find, _StoredAnswer, scope=name, key=key)
                return _answer(stored, fingerprint, key, kind)
            result = await work(change)
            await change.tx.run(KEYS.answer, scope=name, key=key, answer=msgspec.json.encode(result))
            return result

        return await self.write(once)

    async def stored_answer(self, caller: Caller, scope: KeyScope, request: Any, kind: type[T]) -> T | None:
        """Returns the answer that `write_once` stored for this key, if any. Raises `Conflict` if it was for another
        request."""
        key = caller.idempotency_key
        if key is None:
            return None

        async def work(tx: Tx) -> _StoredAnswer | None:
            return await tx.one(KEYS.find, _StoredAnswer, scope=await _full_scope(tx, caller, scope), key=key)

        stored = await self.read(work)
        return None if stored is None else _answer(stored, _fingerprint(request), key, kind)

    async def stored_answers(self, caller: Caller, scope: KeyScope, kind: type[T]) -> dict[str, T]:
        """Returns every stored answer in one of the caller's scopes, by key."""

        async def work(tx: Tx) -> list[_KeyAnswer]:
            return await tx.all(KEYS.in_scope, _KeyAnswer, scope=await _full_scope(tx, caller, scope))

        rows = await self.read(work)
        return {row.key: decoded(bytes(row.answer), kind) for row in rows if row.answer is not None}

    async def replace_answer(self, caller: Caller, scope: KeyScope, answer: Any) -> None:
        """Replaces the stored answer with one that was not known at commit."""
        if caller.idempotency_key is not None:
            await self.write(lambda change: replace_answer_in(change, caller, scope, answer))

    async def forget_answer(self, caller: Caller, scope: KeyScope) -> None:
        """Releases the key of a request that failed after its transaction, because refusals are not stored."""
        if caller.idempotency_key is not None:
            await self.write(lambda change: forget_answer_in(change, caller, scope))


async def replace_answer_in(change: Change, caller: Caller, scope: KeyScope, answer: Any) -> None:
    """Replaces the stored answer as part of a larger transaction."""
    key = caller.idempotency_key
    if key is not None:
        name = await _full_scope(change.tx, caller, scope)
        await change.tx.run(KEYS.answer, scope=name, key=key, answer=msgspec.json.encode(answer))


async def forget_answer_in(change: Change, caller: Caller, scope: KeyScope) -> None:
    """Releases a key as part of a larger transaction."""
    name = await _full_scope(change.tx, caller, scope)
    await change.tx.run(KEYS.forget, scope=name, key=caller.idempotency_key)


async def _full_scope(tx: Tx, caller: Caller, scope: KeyScope) -> str:
    """Returns the scope as it is stored, with the caller, because different callers may choose the same keys."""
    if isinstance(scope, RecordScope):
        scope = f"{scope.action}:{await whole_id(tx, scope.table, scope.record_id)}"
    return f"{caller.kind}:{caller.id or ''}:{scope}"


def _fingerprint(request: Any) -> str:
    return hashlib.sha256(msgspec.json.encode(request)).hexdigest()


def _answer(stored: _StoredAnswer | None, fingerprint: str, key: str, kind: type[T]) -> T:
    if stored is None or stored.answer is None:
        raise Internal("answer_missing", f"The idempotency key {key!r} is in use but has no stored answer.")
    if stored.fingerprint != fingerprint:
        raise Conflict(
            "idempotency_key_reused",
            f"The idempotency key {key!r} was already used for a different request. Use a new key.",
        )
    return decoded(bytes(stored.answer), kind)


def decoded(data: bytes, kind: Any) -> Any:
    """Decodes a stored answer. Structs are decoded field by field, because msgspec cannot decode `Raw | None`."""
    either = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    kinds = [option for option in either if option is not NoneType]
    if data == b"null" and len(kinds) < len(either):
        return None
    if msgspec.Raw in kinds:
        return msgspec.Raw(data)
    if len(kinds) > 1 or not isinstance(kinds[0], type) or not issubclass(kinds[0], msgspec.Struct):
        return msgspec.json.decode(data, type=kind)
    values = msgspec.json.decode(data, type=dict[str, msgspec.Raw])
    fields = msgspec.structs.fields(kinds[0])
    return kinds[0](
        **{
            field.name: decoded(bytes(values[field.encode_name]), field.type)
            for field in fields
            if field.encode_name in values
        }
    )
