"""Doing the same to a session and to all that hangs below it, children first, so that nobody reports to what is gone
(B5). What is done to each is left to `control` and `sessions`."""

from __future__ import annotations

import asyncio
from typing import Literal

import msgspec

from bough.core.sessions.control import Control
from bough.core.store import records
from bough.core.store.sql import TREES
from bough.core.store.transactions import Change, Store
from bough.errors import BoughError, Conflict, NotFound
from bough.model.session import Caller, Session
from bough.model.task import Task
from bough.storage.backend import Tx

# What is stopped last may open sessions until then: those are found when all is looked at again.
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
    """What a cascade came to for one session: the turn that was stopped there, or why it was refused."""

    session_id: str
    outcome: Outcome
    task_id: str | None = None
    code: str | None = None
    message: str | None = None


class Cascade(msgspec.Struct, rename="camel"):
    """The session itself, the turn of it that was stopped, and what became of each, in the order it was done."""

    session: Session
    task: Task | None
    sessions: list[Cascaded]


class AtWork(msgspec.Struct):
    """A session with tasks that have not ended, and how many of them only wait."""

    session_id: str
    tasks: int
    queued: int


class Cascades:
    """Steers whole parts of trees."""

    def __init__(self, store: Store, control: Control) -> None:
        self._store = store
        self._control = control

    async def run(self, caller: Caller, session_id: str, verb: Verb, *, force: bool = False) -> Cascade:
        """Does it to everything below a session, then to the session itself. What would be refused because something
        is at work is refused before anything is done; what is refused after that is told."""
        scope = f"sessions.cascade.{verb}:{session_id}"
        answer = await self._store.write_once(
            caller, scope, force, Cascade, lambda change: _begin(change, session_id, verb, force)
        )
        if all(one.outcome != "pending" for one in answer.sessions):
            return answer
        each = msgspec.structs.replace(caller, idempotency_key=None)
        answer.sessions = []
        for _ in range(ROUNDS):
            known = {one.session_id for one in answer.sessions}
            levels = [[one for one in level if one.id not in known] for level in await self._levels(session_id)]
            if not any(levels):
                break
            for level in levels:
                done = await asyncio.gather(*(self._one(each, one, verb, force) for one in level))
                answer.sessions += [one for one, _, _ in done]
                for _, session, task in done:
                    if session.id == answer.session.id:
                        answer.session, answer.task = session, task
        await self._store.keep_answer(caller, scope, answer)
        return answer

    async def _levels(self, session_id: str) -> list[list[Session]]:
        """All that is there, the deepest first; nothing if it was removed meanwhile."""
        try:
            found = await self._store.read(lambda tx: below(tx, session_id))
        except NotFound:
            return []
        levels: list[list[Session]] = []
        depths: dict[str, int] = {}
        for session in found:
            depths[session.id] = depths.get(_origin(session), -1) + 1
            while len(levels) <= depths[session.id]:
                levels.append([])
            levels[depths[session.id]].append(session)
        return levels[::-1]

    async def _one(
        self, caller: Caller, session: Session, verb: Verb, force: bool
    ) -> tuple[Cascaded, Session, Task | None]:
        try:
            outcome, fresh, task = await self._act(caller, session, verb, force)
        except BoughError as error:
            return Cascaded(session.id, "refused", None, error.code, error.message), session, None
        return Cascaded(session.id, outcome, task.id if task else None), fresh, task

    async def _act(
        self, caller: Caller, session: Session, verb: Verb, force: bool
    ) -> tuple[Outcome, Session, Task | None]:
        if verb == "purge":
            return "removed", await self._control.purge(caller, session.id), None
        if verb == "stop":
            stopped = await self._control.stop(caller, session.id)
            paused = stopped.session.status == "active" and stopped.session.queue_paused
            outcome: Outcome = "stopped" if stopped.task else "paused" if paused else "unchanged"
            return outcome, stopped.session, stopped.task
        if verb in ("archive", "unarchive"):
            wanted = verb == "archive"
            if session.archived == wanted:
                return "unchanged", session, None
            fresh = await self._control.archive(caller, session.id, wanted)
            return "archived" if wanted else "unarchived", fresh, None
        if session.status != "active":
            return "unchanged", session, None
        if verb == "complete":
            return "completed", await self._control.complete(caller, session.id, force=force), None
        return "cancelled", await self._control.cancel(caller, session.id), None


async def below(tx: Tx, session_id: str) -> list[Session]:
    """A session and all that was forked or spawned from it, the deepest last."""
    session = await records.session(tx, session_id)
    return await tx.all(TREES.below, Session, id=session.id)


async def _begin(change: Change, session_id: str, verb: Verb, force: bool) -> Cascade:
    """Refuses what cannot be done to all, and keeps reports from starting turns where all is about to stop."""
    found = await below(change.tx, session_id)
    top, here = found[0], {one.id for one in found}
    at_work = [
        one for one in await change.tx.all(TREES.at_work, AtWork, root=top.root_session_id) if one.session_id in here
    ]
    if verb == "archive" or (verb == "complete" and not force):
        _refuse_work(found, at_work)
    elif verb != "unarchive":
        await _pause(change, found, {one.session_id for one in at_work})
    return Cascade(top, None, [Cascaded(one.id, "pending") for one in reversed(found)])


def _refuse_work(found: list[Session], at_work: list[AtWork]) -> None:
    active = {one.id for one in found if one.status == "active"}
    busy = [one for one in at_work if one.session_id in active]
    if busy:
        names = ", ".join(one.session_id for one in busy)
        raise Conflict(
            "tree_busy",
            f"{len(busy)} of these {len(found)} sessions are at work or have prompts that wait: {names}. Nothing was "
            "done. Let them finish, or complete them with force: true.",
            count=len(busy),
            queued=sum(one.queued for one in busy),
            busy=[one.session_id for one in busy],
        )


async def _pause(change: Change, found: list[Session], at_work: set[str]) -> None:
    """What is stopped reports to its parent: there the report waits."""
    reached = set(at_work)
    for session in reversed(found):
        if session.id in reached:
            reached.add(_origin(session))
            if session.status == "active" and not session.queue_paused:
                await records.update_session(change, session.id, queue_paused=True)


def _origin(session: Session) -> str:
    """What a session hangs below; nothing has the empty id."""
    return session.parent_session_id or session.forked_from_session_id or ""
