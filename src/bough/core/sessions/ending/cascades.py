"""Applies an operation of `control` to a session and all of its descendants, children first, so that none reports to a
parent that is gone (B5)."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any, Literal
from weakref import WeakValueDictionary

import msgspec

from bough.core.sessions.ending.archive import Archiving
from bough.core.sessions.ending.control import Control
from bough.core.sessions.ending.purge import Purging
from bough.core.store import records
from bough.core.store.idempotency import RecordScope
from bough.core.store.sql import TREES
from bough.core.store.transactions import Change, Store
from bough.core.store.until_available import until_available
from bough.errors import BoughError, Conflict, NotFound, Unavailable
from bough.model.session import Caller, Session
from bough.model.task import Task
from bough.storage.backend import Tx

# Sessions that are stopped late may create others until then; so many passes look for those.
ROUNDS = 3

Verb = Literal["stop", "complete", "archive", "unarchive", "cancel", "purge"]
Outcome = Literal[
    "pending",
    "stopped",
    "paused",
    "completed",
    "archived",
    "unarchived",
    "cancelled",
    "removed",
    "unchanged",
    "refused",
]


class Cascaded(msgspec.Struct, rename="camel"):
    """The outcome for one session: the task whose turn was stopped, or why the operation was refused."""

    session_id: str
    outcome: Outcome
    task_id: str | None = None
    code: str | None = None
    message: str | None = None


class Cascade(msgspec.Struct, rename="camel"):
    """The session itself, the task whose turn was stopped in it, and the outcome for each session, in order."""

    session: Session
    task: Task | None
    sessions: list[Cascaded]


class AtWork(msgspec.Struct):
    """A session with unfinished tasks, and how many of them are queued."""

    session_id: str
    tasks: int
    queued: int


class Cascades:
    """Applies operations to whole subtrees."""

    def __init__(self, store: Store, control: Control, archiving: Archiving, purging: Purging) -> None:
        self._store = store
        self._control = control
        self._archiving = archiving
        self._purging = purging
        self._locks: WeakValueDictionary[tuple[str | None, str], asyncio.Lock] = WeakValueDictionary()

    async def run(self, caller: Caller, session_id: str, verb: Verb, *, force: bool = False) -> Cascade:
        """Applies an operation to all descendants of a session, then to the session. If work that is running forbids
        it, nothing is done; later refusals are reported per session."""
        async with self._once(caller):
            return await self._run(caller, session_id, verb, force)

    def _once(self, caller: Caller) -> AbstractAsyncContextManager[Any]:
        """Returns a lock by which a repeated request waits for the first. Otherwise that one could continue after the
        second was answered, and stop what the caller has resumed since."""
        if caller.idempotency_key is None:
            return nullcontext()
        return self._locks.setdefault((caller.id, caller.idempotency_key), asyncio.Lock())

    async def _run(self, caller: Caller, session_id: str, verb: Verb, force: bool) -> Cascade:
        scope = RecordScope(f"sessions.cascade.{verb}", "sessions", session_id)
        answer = await self._store.write_once(
            caller, scope, force, Cascade, lambda change: _begin(change, session_id, verb, force)
        )
        if all(outcome.outcome != "pending" for outcome in answer.sessions):
            return answer
        each = msgspec.structs.replace(caller, idempotency_key=None)
        answer.sessions = []
        for _ in range(ROUNDS):
            known = {outcome.session_id for outcome in answer.sessions}
            levels = [
                [session for session in level if session.id not in known] for level in await self._levels(session_id)
            ]
            if not any(levels):
                break
            for level in levels:
                done = await asyncio.gather(*(self._apply(each, session, verb, force) for session in level))
                answer.sessions += [outcome for outcome, _, _ in done]
                for _, session, task in done:
                    if session.id == answer.session.id:
                        answer.session, answer.task = session, task
        await self._store.replace_answer(caller, scope._replace(record_id=answer.session.id), answer)
        return answer

    async def _levels(self, session_id: str) -> list[list[Session]]:
        """Returns the session and its descendants by level, the deepest first; nothing if it was removed meanwhile."""
        try:
            # The queues are paused already.
            read = self._store.read
            sessions = await until_available(
                lambda: read(lambda tx: below(tx, session_id)), "a cascade", session=session_id
            )
        except NotFound:
            return []
        levels: list[list[Session]] = []
        depths: dict[str, int] = {}
        for session in sessions:
            depths[session.id] = depths.get(_origin(session), -1) + 1
            while len(levels) <= depths[session.id]:
                levels.append([])
            levels[depths[session.id]].append(session)
        return levels[::-1]

    async def _apply(
        self, caller: Caller, session: Session, verb: Verb, force: bool
    ) -> tuple[Cascaded, Session, Task | None]:
        try:
            # A session that was left out because the database was away for a moment would stay paused forever.
            outcome, fresh, task = await until_available(
                lambda: self._act(caller, session, verb, force), "a cascade", session=session.id
            )
        except Unavailable:
            # The server stops. This is no refusal: a repeated request does the rest.
            raise
        except BoughError as error:
            if verb == "purge" and isinstance(error, NotFound):
                # Somebody else removed it, or the reply to its removal was lost.
                return Cascaded(session.id, "removed"), session, None
            return Cascaded(session.id, "refused", None, error.code, error.message), session, None
        return Cascaded(session.id, outcome, task.id if task else None), fresh, task

    async def _act(
        self, caller: Caller, session: Session, verb: Verb, force: bool
    ) -> tuple[Outcome, Session, Task | None]:
        if verb == "purge":
            return "removed", await self._purging.purge(caller, session.id), None
        if verb == "stop":
            stopped = await self._control.stop(caller, session.id)
            paused = stopped.session.status == "active" and stopped.session.queue_paused
            outcome: Outcome = "stopped" if stopped.task else "paused" if paused else "unchanged"
            return outcome, stopped.session, stopped.task
        if verb in ("archive", "unarchive"):
            archive = verb == "archive"
            if session.archived == archive:
                return "unchanged", session, None
            fresh = await self._archiving.archive(caller, session.id, archive)
            return "archived" if archive else "unarchived", fresh, None
        if session.status != "active":
            return "unchanged", session, None
        if verb == "complete":
            return "completed", await self._control.complete(caller, session.id, force=force), None
        return "cancelled", await self._control.cancel(caller, session.id), None


async def below(tx: Tx, session_id: str) -> list[Session]:
    """Returns a session and everything forked or spawned from it, deepest last."""
    session = await records.session(tx, session_id)
    return await tx.all(TREES.below, Session, id=session.id)


async def _begin(change: Change, session_id: str, verb: Verb, force: bool) -> Cascade:
    """Raises if the operation cannot be applied to all, and pauses queues so that reports start no new turns."""
    sessions = await below(change.tx, session_id)
    top, here = sessions[0], {session.id for session in sessions}
    at_work = [
        busy for busy in await change.tx.all(TREES.at_work, AtWork, root=top.root_session_id) if busy.session_id in here
    ]
    if verb == "archive" or (verb == "complete" and not force):
        _refuse_work(sessions, at_work)
    elif verb != "unarchive":
        await _pause(change, sessions, {busy.session_id for busy in at_work})
    return Cascade(top, None, [Cascaded(session.id, "pending") for session in reversed(sessions)])


def _refuse_work(sessions: list[Session], at_work: list[AtWork]) -> None:
    active = {session.id for session in sessions if session.status == "active"}
    busy = [work for work in at_work if work.session_id in active]
    if busy:
        names = ", ".join(work.session_id for work in busy)
        raise Conflict(
            "tree_busy",
            f"{len(busy)} of these {len(sessions)} sessions are running or have queued prompts: {names}. Nothing was "
            "done. Let them finish, or complete them with force: true.",
            count=len(busy),
            queued=sum(work.queued for work in busy),
            busy=[work.session_id for work in busy],
        )


async def _pause(change: Change, sessions: list[Session], at_work: set[str]) -> None:
    """Pauses the queues of stopped sessions and of their parents, where the reports arrive."""
    reached = set(at_work)
    for session in reversed(sessions):
        if session.id in reached:
            reached.add(_origin(session))
            if session.status == "active" and not session.queue_paused:
                await records.update_session(change, session.id, queue_paused=True)


def _origin(session: Session) -> str:
    """Returns the parent or fork source of a session; empty for a root."""
    return session.parent_session_id or session.forked_from_session_id or ""
