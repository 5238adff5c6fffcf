"""Runs writes: one transaction with the events and audit entries that it causes, all or nothing. `idempotency` answers
repeated requests."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Awaitable, Callable, Generator, Sequence
from typing import Any, TypeVar

import msgspec

from bough.core.store import idempotency
from bough.core.store.idempotency import KeyScope, RequestKey, fingerprint
from bough.core.store.response_cache import ResponseCache
from bough.core.store.session_secrets import redactor_of, remember_values, shown_task
from bough.core.store.sql import AUDIT, COMMON, EVENTS
from bough.errors import Unavailable
from bough.model.access.audit import AuditAction, AuditEntry
from bough.model.approval import Approval
from bough.model.event import Event, EventType
from bough.model.message import Message
from bough.model.session import Caller, Session
from bough.model.task import Task
from bough.model.values.redaction import Redactor
from bough.model.values.times import now
from bough.storage import queries
from bough.storage.backend import Backend, Tx

T = TypeVar("T")


# Notification channels. A payload is only a hint: the listener reads the rows.
CHANNEL_EVENTS = "bough_events"
CHANNEL_WORK = "bough_work"
CHANNEL_APPROVALS = "bough_approvals"
# A person has changed which hosts strictly confined agents may reach.
CHANNEL_HOSTS = "bough_hosts"

# Seconds for which the database may fail while a server starts.
START_WITHIN = 30.0
# A longer message is announced without its content, to keep the events table small.
LARGEST_EVENT_CONTENT = 64 * 1024


class Change:
    """Collects the events and audit entries of one transaction and stores them as its last step."""

    def __init__(self, tx: Tx) -> None:
        self.tx = tx
        self.now = now()
        # The time of the messages that this change writes, by session; `records.message_time` sets it.
        self.message_times: dict[str, str] = {}
        # What masks the secret values of sessions, by their ids.
        self._redactors: dict[str, Redactor] = {}
        # The tasks in the events, by the events' places.
        self._tasks: list[tuple[int, Task]] = []
        self._events: list[tuple[EventType, str | None, str, msgspec.Raw]] = []
        self.published: list[Event] = []
        self._audited: list[AuditEntry] = []
        self.afterwards: list[Callable[[Store], Awaitable[None]]] = []

    def emit(self, kind: EventType, record: Any, session_id: str | None = None) -> None:
        self._events.append((kind, session_id, record.id, msgspec.Raw(msgspec.json.encode(record))))

    def session(self, kind: EventType, record: Session) -> None:
        self.emit(kind, record, record.id)

    def task(self, kind: EventType, record: Task) -> None:
        self._tasks.append((len(self._events), record))
        self.emit(kind, record, record.session_id)

    def approval(self, kind: EventType, record: Approval) -> None:
        self.emit(kind, record, record.session_id)

    def message(self, kind: EventType, record: Message) -> None:
        size = len(bytes(record.content))
        if size > LARGEST_EVENT_CONTENT:
            content = msgspec.Raw(msgspec.json.encode({"type": "omitted", "bytes": size}))
            record = msgspec.structs.replace(record, content=content)
        self.emit(kind, record, record.session_id)

    def audit(
        self,
        caller: Caller,
        action: AuditAction,
        *,
        session_id: str | None = None,
        subject_id: str | None = None,
        **details: Any,
    ) -> None:
        """Adds an entry to the audit trail. Details must not contain prompts or secrets; None values are left out."""
        known = {name: value for name, value in details.items() if value is not None}
        entry = AuditEntry(
            # The number is taken when the entry is stored.
            number=0,
            at=self.now,
            kind=caller.kind,
            user_id=caller.user_id,
            user_name=caller.person,
            role=caller.role if caller.kind == "person" else None,
            caller_session_id=caller.id,
            door=caller.door,
            token_id=caller.token_id,
            action=action,
            session_id=session_id,
            subject_id=subject_id,
            details=msgspec.Raw(msgspec.json.encode(known)),
        )
        self._audited.append(entry)

    def wake(self) -> None:
        """Wakes the scheduler after commit."""
        self.tx.notify(CHANNEL_WORK, "")

    def after_commit(self, work: Callable[[Store], Awaitable[None]]) -> None:
        """Runs `work` once after commit, outside of the transaction. It must not fail: the change is made."""
        self.afterwards.append(work)

    async def redactor(self, session_id: str) -> Redactor:
        """Returns the redactor of a session, for everything that this change stores about it."""
        if session_id not in self._redactors:
            self._redactors[session_id] = await redactor_of(self.tx, session_id)
        return self._redactors[session_id]

    async def mask(self, session_id: str, values: Sequence[str]) -> None:
        """Masks more values in everything about a session from now on."""
        await remember_values(self.tx, session_id, values)
        self._redactors.pop(session_id, None)

    async def shown(self, task: Task) -> Task:
        """Returns a task without the secret values in its prompt."""
        if task.source_session_id is not None:
            return await shown_task(self.tx, task)
        text = (await self.redactor(task.session_id)).text(task.prompt)
        return task if text == task.prompt else msgspec.structs.replace(task, prompt=text)

    async def publish(self) -> None:
        """Stores the audit entries and the events. Must come last, because the rows of their counters stay locked until
        commit; they are always locked in this order."""
        if self._audited:
            await self._store_audit()
        if not self._events:
            return
        for number, task in self._tasks:
            shown = await self.shown(task)
            if shown is not task:
                record = msgspec.Raw(msgspec.json.encode(shown))
                self._events[number] = (*self._events[number][:3], record)
        last: Any = await self.tx.value(EVENTS.take_cursors, count=len(self._events))
        first = last - len(self._events) + 1
        self.published = [Event(cursor, *event, self.now) for cursor, event in enumerate(self._events, first)]
        stored = [msgspec.structs.asdict(event) for event in self.published]
        for query, params in queries.in_bulk(EVENTS.add_all, stored):
            await self.tx.run(query, **params)
        self.tx.notify(CHANNEL_EVENTS, str(last))

    async def _store_audit(self) -> None:
        last: Any = await self.tx.value(AUDIT.take_numbers, count=len(self._audited))
        first = last - len(self._audited) + 1
        stored = [
            msgspec.structs.asdict(msgspec.structs.replace(entry, number=number))
            for number, entry in enumerate(self._audited, first)
        ]
        for query, params in queries.in_bulk(AUDIT.add_all, stored):
            await self.tx.run(query, **params)


class Store:
    """Gives the services access to the database."""

    def __init__(self, db: Backend) -> None:
        self.db = db
        self.responses = ResponseCache(db)
        # Whether the hub receives notifications of commits. If so, `_unheard` holds the events of commits that it has
        # not been notified of, by their last cursor.
        self.followed = False
        # When to give up: whether the server stops, how long the database may fail, and since when reads and writes do:
        # on a full disk reads succeed.
        self._stopping = False
        self._longest_outage: float | None = None
        self._failing_since: dict[str, float] = {}
        self._unheard: dict[int, list[Event]] = {}

    async def read(self, work: Callable[[Tx], Awaitable[T]], *, long: bool = False) -> T:
        with self._noting_failures("read"):
            return await self.db.read(work, long=long)

    def hurry(self) -> None:
        """Makes everything that waits for the database try at most once more, because the server stops."""
        self._stopping = True
        self.db.hurry()

    @contextlib.contextmanager
    def starting(self) -> Generator[None]:
        """Makes everything inside give up if the database fails for too long, so that the start fails with a reason
        instead of waiting forever."""
        self._longest_outage = START_WITHIN
        try:
            yield
        finally:
            self._longest_outage = None

    @contextlib.contextmanager
    def _noting_failures(self, kind: str) -> Generator[None]:
        """Marks failures as final, so that `until_available` does not try again, if there is no time for it."""
        began = time.monotonic()
        try:
            yield
        except Unavailable as error:
            since = self._failing_since.setdefault(kind, began)
            too_long = self._longest_outage is not None and time.monotonic() - since > self._longest_outage
            error.is_final = error.is_final or self._stopping or too_long
            raise
        self._failing_since.pop(kind, None)

    async def ping(self) -> None:
        """Raises `Unavailable` if the database does not answer, or would not store what is written now."""
        await self.db.check()
        await self.read(lambda tx: tx.value(COMMON.ping))

    async def write(self, work: Callable[[Change], Awaitable[T]]) -> T:
        """Runs `work` in one transaction. `work` may await only the transaction and may run more than once."""
        events: list[Event] = []
        afterwards: list[Callable[[Store], Awaitable[None]]] = []

        async def run(tx: Tx) -> T:
            nonlocal events, afterwards
            self._forget(events)
            change = Change(tx)
            result = await work(change)
            await change.publish()
            events, afterwards = change.published, change.afterwards
            if events and self.followed:
                self._unheard[events[-1].cursor] = events
            return result

        try:
            with self._noting_failures("write"):
                result = await self.db.transaction(run)
        except BaseException:
            self._forget(events)
            raise
        for follow_up in afterwards:
            await follow_up(self)
        return result

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
        if caller.idempotency_key is None:
            return await self.write(work)
        key = RequestKey(caller.idempotency_key, fingerprint(request))
        return await self.write(
            lambda change: idempotency.answer_once(
                change.tx, change.now, caller, scope, key, kind, lambda: work(change)
            )
        )

    async def stored_answer(self, caller: Caller, scope: KeyScope, request: Any, kind: type[T]) -> T | None:
        """Returns the answer that `write_once` stored for this key, if any. Raises `Conflict` if it was for another
        request."""
        if caller.idempotency_key is None:
            return None
        key = RequestKey(caller.idempotency_key, fingerprint(request))
        return await self.read(lambda tx: idempotency.find_answer(tx, caller, scope, key, kind))

    async def stored_answers(self, caller: Caller, scope: KeyScope, kind: type[T]) -> dict[str, T]:
        """Returns every stored answer in one of the caller's scopes, by key."""
        return await self.read(lambda tx: idempotency.find_answers(tx, caller, scope, kind))

    async def replace_answer(self, caller: Caller, scope: KeyScope, answer: Any) -> None:
        """Replaces the stored answer with one that was not known at commit."""
        if caller.idempotency_key is not None:
            await self.write(lambda change: idempotency.replace_answer(change.tx, caller, scope, answer))

    async def forget_answer(self, caller: Caller, scope: KeyScope) -> None:
        """Releases the key of a request that failed after its transaction, because refusals are not stored."""
        if caller.idempotency_key is not None:
            await self.write(lambda change: idempotency.forget_answer(change.tx, caller, scope))
