"""Writes: one transaction, the events it causes and the answer kept for an idempotency key, all or nothing. SQL
itself is `bough.storage`."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin

import msgspec

from bough.core.store.response_cache import Answers
from bough.core.store.short_ids import Table, whole_id
from bough.core.store.sql import EVENTS, KEYS
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


# Channels of the backend. Payloads are advice: whoever hears one looks at the rows.
CHANNEL_EVENTS = "bough_events"
CHANNEL_WORK = "bough_work"
CHANNEL_APPROVALS = "bough_approvals"

# A message longer than this is announced without its content, so that the table of events stays small.
LARGEST_EVENT_CONTENT = 64 * 1024


class Change:
    """One transaction with the events that it will publish when it commits."""

    def __init__(self, tx: Tx, mute: frozenset[str] = frozenset()) -> None:
        self.tx = tx
        self.mute = mute
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
        """Tells the scheduler, after commit, that there may be work."""
        self.tx.notify(CHANNEL_WORK, "")

    async def publish(self) -> None:
        """Stores the events; the last step of the transaction, since cursors are locked until commit."""
        if not self._events:
            return
        last: Any = await self.tx.value(EVENTS.take_cursors, count=len(self._events))
        first = last - len(self._events) + 1
        self.published = [Event(cursor, *event, self.now) for cursor, event in enumerate(self._events, first)]
        stored = [msgspec.structs.asdict(event) for event in self.published]
        for query, params in queries.in_bulk(EVENTS.add_all, stored):
            await self.tx.run(query, **params)
        self.tx.notify(CHANNEL_EVENTS, str(last))


class KeptAnswer(msgspec.Struct):
    fingerprint: str
    answer: msgspec.Raw | None


class KeyAnswer(msgspec.Struct):
    key: str
    answer: msgspec.Raw | None


class Store:
    """The database as the services use it."""

    def __init__(self, db: Backend) -> None:
        self.db = db
        self.answers = Answers(db)
        # Agents that children do not report to: they would take the report for something to do.
        self.mute: frozenset[str] = frozenset()
        # Whether somebody hears of every commit; then the events of those not heard of yet, by the last cursor of each.
        self.followed = False
        self._unheard: dict[int, list[Event]] = {}

    async def read(self, work: Callable[[Tx], Awaitable[T]], *, long: bool = False) -> T:
        return await self.db.read(work, long=long)

    async def write(self, work: Callable[[Change], Awaitable[T]]) -> T:
        """Runs `work` in one transaction; it may await nothing but the transaction, and may be run again."""
        events: list[Event] = []

        async def run(tx: Tx) -> T:
            nonlocal events
            self._forget(events)
            change = Change(tx, self.mute)
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
        """Whether a transaction of ours may have been committed of which no notification has come yet."""
        return bool(self._unheard)

    def heard(self, payload: str) -> list[Event] | None:
        """The events that a notification tells of, without reading them again; None if they are not ours."""
        return self._unheard.pop(int(payload), None) if payload else None

    def _forget(self, events: list[Event]) -> None:
        """Of a transaction that was not committed, or may not have been, nobody hears in this way."""
        # Its cursors may be those of another transaction by now.
        if events and self._unheard.get(events[-1].cursor) is events:
            self._unheard.pop(events[-1].cursor, None)

    async def write_once(
        self,
        caller: Caller,
        scope: str,
        request: Any,
        kind: type[T],
        work: Callable[[Change], Awaitable[T]],
        *,
        about: tuple[Table, str] | None = None,
    ) -> T:
        """Like `write`, but the same idempotency key in the same scope gives the first answer again (A4). `about` is
        the record that the request is about: however its id is spelled, it is the same scope."""
        key = caller.idempotency_key
        if key is None:
            return await self.write(work)
        fingerprint = hashlib.sha256(msgspec.json.encode(request)).hexdigest()
        name = _scope(caller, scope)

        async def once(change: Change) -> T:
            scope = name if about is None else f"{name}:{await whole_id(change.tx, *about)}"
            claimed = await change.tx.run(KEYS.claim, key=key, scope=scope, fingerprint=fingerprint, now=change.now)
            if not claimed:
                kept = await change.tx.one(KEYS.find, KeptAnswer, scope=scope, key=key)
                return _answer(kept, fingerprint, key, kind)
            result = await work(change)
            await change.tx.run(KEYS.answer, scope=scope, key=key, answer=msgspec.json.encode(result))
            return result

        return await self.write(once)

    async def kept(self, caller: Caller, scope: str, request: Any, kind: type[T]) -> T | None:
        """What `write_once` kept for this key and request, if it did; Conflict if it was for another request."""
        key = caller.idempotency_key
        if key is None:
            return None
        found = await self.read(lambda tx: tx.one(KEYS.find, KeptAnswer, scope=_scope(caller, scope), key=key))
        if found is None:
            return None
        return _answer(found, hashlib.sha256(msgspec.json.encode(request)).hexdigest(), key, kind)

    async def all_kept(self, caller: Caller, scope: str, kind: type[T]) -> dict[str, T]:
        """What was kept for each key of a scope of this caller."""
        found = await self.read(lambda tx: tx.all(KEYS.in_scope, KeyAnswer, scope=_scope(caller, scope)))
        return {one.key: decoded(bytes(one.answer), kind) for one in found if one.answer is not None}

    async def forget_answer(self, caller: Caller, scope: str) -> None:
        """Lets go of a key whose request came to nothing after its transaction: refusals are not kept."""
        if caller.idempotency_key is not None:
            await self.write(lambda change: forget_in(change, caller, scope))

    async def keep_answer(self, caller: Caller, scope: str, answer: Any) -> None:
        """Replaces the answer that `write_once` kept, for what is only known some time after its transaction."""
        if caller.idempotency_key is not None:
            await self.write(lambda change: self.answer_in(change, caller, scope, answer))

    async def answer_in(self, change: Change, caller: Caller, scope: str, answer: Any) -> None:
        """The same in a transaction that does more."""
        key = caller.idempotency_key
        if key is not None:
            kept = msgspec.json.encode(answer)
            await change.tx.run(KEYS.answer, scope=_scope(caller, scope), key=key, answer=kept)


async def forget_in(change: Change, caller: Caller, scope: str) -> None:
    """Lets go of a key in a transaction that does more."""
    await change.tx.run(KEYS.forget, scope=_scope(caller, scope), key=caller.idempotency_key)


def _scope(caller: Caller, scope: str) -> str:
    """Keys are their callers' own: agents choose the same ones."""
    return f"{caller.kind}:{caller.id or ''}:{scope}"


def _answer(kept: KeptAnswer | None, fingerprint: str, key: str, kind: type[T]) -> T:
    if kept is None or kept.answer is None:
        raise Internal("answer_missing", f"The idempotency key {key!r} is taken but holds no answer.")
    if kept.fingerprint != fingerprint:
        raise Conflict(
            "idempotency_key_reused",
            f"The idempotency key {key!r} was used for another request. Use a new key for a new request.",
        )
    return decoded(bytes(kept.answer), kind)


def decoded(data: bytes, kind: Any) -> Any:
    """Reads an answer back. Structs are read field by field, since msgspec itself cannot read a `Raw | None`."""
    either = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    kinds = [one for one in either if one is not NoneType]
    if data == b"null" and len(kinds) < len(either):
        return None
    if msgspec.Raw in kinds:
        return msgspec.Raw(data)
    if len(kinds) > 1 or not isinstance(kinds[0], type) or not issubclass(kinds[0], msgspec.Struct):
        return msgspec.json.decode(data, type=kind)
    given = msgspec.json.decode(data, type=dict[str, msgspec.Raw])
    fields = msgspec.structs.fields(kinds[0])
    return kinds[0](
        **{
            field.name: decoded(bytes(given[field.encode_name]), field.type)
            for field in fields
            if field.encode_name in given
        }
    )
