"""Waits until tasks or sessions settle: reads the rows, then again after each change, within limits (B5). Starts and
stops nothing."""

from __future__ import annotations

import asyncio
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from bough.core.store.short_ids import find_id
from bough.core.store.sql import APPROVALS, SESSIONS, TASKS
from bough.core.store.transactions import CHANNEL_EVENTS, Change, Store
from bough.errors import Invalid
from bough.model.session import Caller, Session
from bough.model.task import STEERED, Task
from bough.storage.backend import Tx

# MCP clients of agents give up a call after a minute, so a longer wait is asked for again.
LONGEST = 45.0
MOST = 200
# A turn writes many times a second; checking this often is enough.
PAUSE = 0.05
# Approvals that one answer names.
NAMED = 20
# Reading this many rows takes less time than handing the work to a thread.
SHORT = 20

WaitMode = Literal["any", "all"]


class Wait(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Names what to wait for: tasks until they end, sessions until nothing is running or queued."""

    task_ids: list[str] = []
    session_ids: list[str] = []
    mode: WaitMode = "all"
    timeout_seconds: Annotated[float, Meta(ge=0, le=LONGEST)] = LONGEST
    # Whether to return also as soon as an approval needs a person.
    until_approval: bool = False
    idempotency_key: str | None = None


class Settled(msgspec.Struct, rename="camel"):
    """A task that has ended or a session that is idle; `removed` if it was deleted."""

    id: str
    session_id: str
    status: str


class OpenApproval(msgspec.Struct, rename="camel"):
    """An approval that waits for a person, of what is waited for or of a session spawned below it."""

    id: str
    session_id: str
    title: str


class Waited(msgspec.Struct, rename="camel"):
    """Lists what has settled, what has not, and what will not settle until a person acts."""

    done: list[Settled]
    pending: list[str]
    paused: list[str]
    # The approvals that a person must answer before this settles; those with a deadline are answered without one.
    approvals: list[OpenApproval] = []


class Waiting:
    """Waits on behalf of callers."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._waiters: set[asyncio.Event] = set()
        self._closed = False

    def close(self) -> None:
        """Answers all waits with the current state, because the server is stopping."""
        self._closed = True
        for waiter in self._waiters:
            waiter.set()

    async def wait(self, caller: Caller, request: Wait) -> Waited:
        """Returns when any or all have settled, when nothing can settle by itself, when the time is up, or, if asked,
        when an approval needs a person."""
        fingerprint = msgspec.structs.replace(request, idempotency_key=None)
        stored = await self._store.stored_answer(caller, "wait", fingerprint, Waited)
        if stored is not None:
            return stored
        if not 0 < len(request.task_ids) + len(request.session_ids) <= MOST:
            raise Invalid("bad_wait", f"Give between 1 and {MOST} tasks or sessions to wait for.")
        waited = await self._wait(await self._store.read(lambda tx: _known(tx, request)))
        if caller.idempotency_key is None:
            return waited

        async def keep(_change: Change) -> Waited:
            return waited

        return await self._store.write_once(caller, "wait", fingerprint, Waited, keep)

    async def _wait(self, request: Wait) -> Waited:
        clock = asyncio.get_running_loop()
        deadline = clock.time() + request.timeout_seconds
        long = len(request.task_ids) + len(request.session_ids) > SHORT
        changed = asyncio.Event()
        self._waiters.add(changed)
        forget = self._store.db.listen(CHANNEL_EVENTS, lambda _payload: changed.set())
        try:
            while True:
                changed.clear()
                settled = await self._store.read(lambda tx: read_state(tx, request), long=long)
                remaining = deadline - clock.time()
                if self._closed or remaining <= 0 or _is_over(settled, request):
                    return settled
                try:
                    async with asyncio.timeout(remaining):
                        await changed.wait()
                        await asyncio.sleep(PAUSE)
                except TimeoutError:
                    pass
        finally:
            forget()
            self._waiters.discard(changed)


def _is_over(settled: Waited, request: Wait) -> bool:
    if not settled.pending or (request.mode == "any" and settled.done):
        return True
    return request.until_approval and bool(settled.approvals)


async def _known(tx: Tx, request: Wait) -> Wait:
    """Resolves all ids to full ones, without duplicates. Raises `NotFound` for an unknown id."""
    tasks = [await find_id(tx, "tasks", item) for item in request.task_ids]
    sessions = [await find_id(tx, "sessions", item) for item in request.session_ids]
    return msgspec.structs.replace(
        request, task_ids=list(dict.fromkeys(tasks)), session_ids=list(dict.fromkeys(sessions))
    )


async def read_state(tx: Tx, request: Wait) -> Waited:
    """Reads the current state of everything that is waited for."""
    settled = Waited([], [], [])
    unsettled: set[str] = set()
    for task_id in request.task_ids:
        task = await tx.one(TASKS.get, Task, id=task_id)
        if task is not None and task.ended_at is not None and task.steers_task_id is not None:
            # The agent's answer is part of the turn that the prompt was put into.
            turn = await tx.one(TASKS.get, Task, id=task.steers_task_id)
            if turn is not None and task.stop_reason == STEERED:
                task = msgspec.structs.replace(turn, id=task.id)
        session = await tx.one(SESSIONS.get, Session, id=task.session_id) if task is not None else None
        if task is None or session is None:
            settled.done.append(Settled(task_id, "", "removed"))
        elif task.ended_at is not None:
            settled.done.append(Settled(task.id, task.session_id, task.status))
        else:
            (settled.paused if await _rests(tx, session, [task]) else settled.pending).append(task.id)
            unsettled.add(session.id)
    for session_id in request.session_ids:
        session = await tx.one(SESSIONS.get, Session, id=session_id)
        if session is None:
            settled.done.append(Settled(session_id, session_id, "removed"))
            continue
        tasks = await tx.all(TASKS.open, Task, session_id=session.id)
        if not tasks:
            status = session.activity if session.status == "active" else session.status
            settled.done.append(Settled(session.id, session.id, status))
        else:
            (settled.paused if await _rests(tx, session, tasks) else settled.pending).append(session.id)
            unsettled.add(session.id)
    if unsettled:
        settled.approvals = await tx.all(
            APPROVALS.for_people_below, OpenApproval, session_ids=tuple(unsettled), limit=NAMED
        )
    return settled


async def _rests(tx: Tx, session: Session, tasks: list[Task]) -> bool:
    """Tells whether none of these tasks can proceed by itself: held, behind a held task, or in a paused queue."""
    if any(task.status != "queued" and not task.held for task in tasks):
        return False
    if session.queue_paused or all(task.held for task in tasks):
        return True
    return any(task.held for task in await tx.all(TASKS.open, Task, session_id=session.id))
