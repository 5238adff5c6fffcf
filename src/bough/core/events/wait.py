"""Waiting for tasks or sessions to come to rest: a look at the rows, then at each change, within bounds (B5). Nothing
is started or stopped by it."""

from __future__ import annotations

import asyncio
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from bough.core.store.short_ids import find_id
from bough.core.store.sql import SESSIONS, TASKS
from bough.core.store.transactions import CHANNEL_EVENTS, Change, Store
from bough.errors import Invalid
from bough.model.session import Caller, Session
from bough.model.task import Task
from bough.storage.backend import Tx

# Agents' own clients give a call up after a minute; a wait that is not over by then is asked again.
LONGEST = 45.0
MOST = 200
# A turn writes many times a second; looking again this often is often enough.
PAUSE = 0.05
# So many rows are read in less time than it takes to hand the work to a thread and back.
SHORT = 20

WaitMode = Literal["any", "all"]


class Wait(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """What to wait for: tasks until they have ended, sessions until nothing runs or waits in them."""

    task_ids: list[str] = []
    session_ids: list[str] = []
    mode: WaitMode = "all"
    timeout_seconds: Annotated[float, Meta(ge=0, le=LONGEST)] = LONGEST
    idempotency_key: str | None = None


class Settled(msgspec.Struct, rename="camel"):
    """A task that has ended or a session that is at rest, and how; `removed` if it is gone for good."""

    id: str
    session_id: str
    status: str


class Waited(msgspec.Struct, rename="camel"):
    """What is at rest and how, what is not yet, and what will not be until a person does something."""

    done: list[Settled]
    pending: list[str]
    paused: list[str]


class Waiting:
    """Waits on behalf of callers."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._waiters: set[asyncio.Event] = set()
        self._closed = False

    def close(self) -> None:
        """The server ends: all waits are answered with how things stand."""
        self._closed = True
        for waiter in self._waiters:
            waiter.set()

    async def wait(self, caller: Caller, wanted: Wait) -> Waited:
        """Answers when any, or all, are at rest, when nothing more can come by itself, or when the time is over."""
        request = msgspec.structs.replace(wanted, idempotency_key=None)
        kept = await self._store.kept(caller, "wait", request, Waited)
        if kept is not None:
            return kept
        if not 0 < len(wanted.task_ids) + len(wanted.session_ids) <= MOST:
            raise Invalid("bad_wait", f"Name between 1 and {MOST} tasks or sessions to wait for.")
        wanted = await self._store.read(lambda tx: _known(tx, wanted))
        waited = await self._wait(wanted)
        if caller.idempotency_key is None:
            return waited

        async def keep(_change: Change) -> Waited:
            return waited

        return await self._store.write_once(caller, "wait", request, Waited, keep)

    async def _wait(self, wanted: Wait) -> Waited:
        clock = asyncio.get_running_loop()
        deadline = clock.time() + wanted.timeout_seconds
        long = len(wanted.task_ids) + len(wanted.session_ids) > SHORT
        changed = asyncio.Event()
        self._waiters.add(changed)
        forget = self._store.db.listen(CHANNEL_EVENTS, lambda _payload: changed.set())
        try:
            while True:
                changed.clear()
                found = await self._store.read(lambda tx: look(tx, wanted), long=long)
                left = deadline - clock.time()
                if self._closed or left <= 0 or _is_over(found, wanted.mode):
                    return found
                try:
                    async with asyncio.timeout(left):
                        await changed.wait()
                        await asyncio.sleep(PAUSE)
                except TimeoutError:
                    pass
        finally:
            forget()
            self._waiters.discard(changed)


def _is_over(found: Waited, mode: WaitMode) -> bool:
    return not found.pending or (mode == "any" and bool(found.done))


async def _known(tx: Tx, wanted: Wait) -> Wait:
    """The same with whole ids, each once; NotFound if one is of nothing."""
    tasks = [await find_id(tx, "tasks", one) for one in wanted.task_ids]
    sessions = [await find_id(tx, "sessions", one) for one in wanted.session_ids]
    return msgspec.structs.replace(
        wanted, task_ids=list(dict.fromkeys(tasks)), session_ids=list(dict.fromkeys(sessions))
    )


async def look(tx: Tx, wanted: Wait) -> Waited:
    """How everything that is waited for stands now."""
    found = Waited([], [], [])
    for task_id in wanted.task_ids:
        task = await tx.one(TASKS.get, Task, id=task_id)
        session = await tx.one(SESSIONS.get, Session, id=task.session_id) if task is not None else None
        if task is None or session is None:
            found.done.append(Settled(task_id, "", "removed"))
        elif task.ended_at is not None:
            found.done.append(Settled(task.id, task.session_id, task.status))
        else:
            (found.paused if await _rests(tx, session, [task]) else found.pending).append(task.id)
    for session_id in wanted.session_ids:
        session = await tx.one(SESSIONS.get, Session, id=session_id)
        if session is None:
            found.done.append(Settled(session_id, session_id, "removed"))
            continue
        tasks = await tx.all(TASKS.open, Task, session_id=session.id)
        if not tasks:
            status = session.activity if session.status == "active" else session.status
            found.done.append(Settled(session.id, session.id, status))
        else:
            (found.paused if await _rests(tx, session, tasks) else found.pending).append(session.id)
    return found


async def _rests(tx: Tx, session: Session, tasks: list[Task]) -> bool:
    """Whether none of these goes on by itself: it is held, or waits behind what is, or in a paused queue."""
    if any(task.status != "queued" and not task.held for task in tasks):
        return False
    if session.queue_paused or all(task.held for task in tasks):
        return True
    return any(task.held for task in await tx.all(TASKS.open, Task, session_id=session.id))
