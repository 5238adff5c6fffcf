"""Stops turns, and completes or cancels sessions: first the rows, then the running agent (T3, T6)."""

from __future__ import annotations

import asyncio

import msgspec
import structlog

from bough.core.sessions.tasks import Tasks
from bough.core.state import interruption, session_lifecycle
from bough.core.state.calls import tool_call
from bough.core.state.limits.session_limit import MadeRoom
from bough.core.store import records
from bough.core.store.idempotency import RecordScope
from bough.core.store.sql import TASKS
from bough.core.store.transactions import Change, Store
from bough.core.turns.runner import Runner
from bough.errors import BoughError, Conflict
from bough.model.session import Caller, Session
from bough.model.task import IN_FLIGHT, Task

log = structlog.get_logger("bough.sessions")

# Seconds to wait for a stopped turn to end; by then its process was killed at the latest.
SETTLE = 30.0
UNDER_WAY = (*IN_FLIGHT, "interrupted")


class Stopped(msgspec.Struct):
    """A session, and the task whose turn was stopped, if one was running."""

    session: Session
    task: Task | None


class Control:
    """Operations that need both the rows and the running agent."""

    def __init__(self, store: Store, runner: Runner, tasks: Tasks) -> None:
        self._store = store
        self._runner = runner
        self._tasks = tasks

    async def stop(self, caller: Caller, session_id: str, expected_task: str | None = None) -> Stopped:
        """Stops the running turn and pauses the queue until the next prompt or resume (T6)."""
        scope = RecordScope("sessions.stop", "sessions", session_id)
        stopped = await self._store.write_once(
            caller, scope, expected_task, Stopped, lambda change: self._stop(change, caller, session_id, expected_task)
        )
        if stopped.task is None or stopped.task.ended_at is not None:
            return stopped
        await self._settle(stopped.session.id, stopped.task)
        stopped = await self._fresh(stopped.session.id, stopped.task)
        await self._store.replace_answer(caller, scope._replace(record_id=stopped.session.id), stopped)
        return stopped

    async def _stop(self, change: Change, caller: Caller, session_id: str, expected_task: str | None) -> Stopped:
        session = await records.session(change.tx, session_id)
        task = await self._under_way(change, session.id)
        if expected_task is not None:
            expected = await records.task(change.tx, expected_task)
            if task is None or expected.id != task.id:
                raise Conflict(
                    "task_not_running",
                    f"Task {expected.id} is {expected.status}.",
                    status=expected.status,
                )
        # A repeat finds a turn that stops already.
        is_new = task is not None and task.status != "stopping"
        if task is not None and task.status == "interrupted":
            task = await interruption.drop(change, task)
        elif task is not None:
            await records.move_task(change, task.id, "stopping")
            await session_lifecycle.withdraw_approvals(change, task.id)
            await tool_call.withdraw(change, session.id, "The turn in which this was wanted was stopped.")
        if task is not None and is_new:
            change.audit(caller, "session.stopped", session_id=session.id, subject_id=task.id)
        waiting = await change.tx.value(TASKS.waiting, session_id=session.id)
        if session.status == "active" and (task is not None or waiting) and not session.queue_paused:
            session = await records.update_session(change, session.id, queue_paused=True)
        return Stopped(session, task)

    async def stop_for_prompt(self, change: Change, caller: Caller, session: Session) -> Session:
        """Stops the running turn for a prompt that follows at once, so the queue is not paused. After the commit,
        `settle` tells the agent."""
        await self._stop(change, caller, session.id, None)
        return await records.update_session(change, session.id, queue_paused=False)

    async def settle(self, session_id: str) -> None:
        """Tells a session's agent to end the turn that is being stopped, and waits until it has."""
        open_tasks = await self._store.read(lambda tx: tx.all(TASKS.open, Task, session_id=session_id))
        for task in open_tasks:
            if task.status == "stopping":
                await self._settle(session_id, task)

    async def cancel_task(self, caller: Caller, task_id: str) -> Task:
        """Removes a prompt from the queue, or stops its running turn."""
        known = await self._tasks.get(task_id)
        scope = RecordScope("tasks.cancel", "tasks", known.id)

        async def work(change: Change) -> Task:
            if (await records.task(change.tx, known.id)).status not in UNDER_WAY:
                change.audit(caller, "prompt.changed", session_id=known.session_id, subject_id=known.id, removed=True)
                return await self._tasks.cancel(change, known.id)
            stopped = (await self._stop(change, caller, known.session_id, known.id)).task
            assert stopped is not None
            return stopped

        task = await self._store.write_once(caller, scope, None, Task, work)
        if task.ended_at is not None:
            return task
        await self._settle(task.session_id, task)
        task = await self._tasks.get(task.id)
        await self._store.replace_answer(caller, scope, task)
        return task

    async def cancel(self, caller: Caller, session_id: str) -> Session:
        """Ends a session as cancelled (T3); one that has already ended stays as it is."""

        async def work(change: Change) -> tuple[Session, Task | None]:
            session = await records.session(change.tx, session_id)
            task = await self._under_way(change, session.id)
            if session.status == "active":
                actor = caller.user_name or ("a session" if caller.kind == "session" else "a person")
                session = await session_lifecycle.end(
                    change, session, "cancelled", "cancelled", f"The session was cancelled by {actor}."
                )
                change.audit(caller, "session.cancelled", session_id=session.id, subject_id=session.id)
            return session, task

        return await self._end(*await self._store.write(work))

    async def complete(self, caller: Caller, session_id: str, *, force: bool = False) -> Session:
        """Ends a session as completed; with queued prompts or a running turn only if forced (T6)."""

        async def work(change: Change) -> Stopped:
            session = await records.session(change.tx, session_id)
            if session.status == "completed":
                return Stopped(session, None)
            if session.status != "active":
                raise Conflict(
                    "session_ended",
                    f"Session {session.id} ended ({session.status}). Resume it before you complete it.",
                    status=session.status,
                )
            task = await self._under_way(change, session.id)
            waiting = await change.tx.value(TASKS.waiting, session_id=session.id) or 0
            if (waiting or task is not None) and not force:
                prompts = f"{waiting} prompt{'s are' if waiting > 1 else ' is'} queued" if waiting else ""
                busy = " and ".join(filter(None, ["A turn is running" if task is not None else "", prompts]))
                raise Conflict(
                    "session_busy",
                    f"{busy} in session {session.id}. Send force: true to end it.",
                    queued=waiting,
                )
            change.audit(caller, "session.completed", session_id=session.id, subject_id=session.id)
            return Stopped(await session_lifecycle.end(change, session, "completed", "completed"), task)

        scope = RecordScope("sessions.complete", "sessions", session_id)
        done = await self._store.write_once(caller, scope, force, Stopped, work)
        session = await self._end(done.session, done.task)
        if session.status == "active":
            # It was resumed meanwhile; the first answer tells what this call did.
            return done.session
        await self._store.replace_answer(caller, scope._replace(record_id=session.id), Stopped(session, None))
        return session

    async def end_agent(self, session_id: str) -> Session:
        """Ends the agent of a session that has ended, and returns the session as it is now. It may have been resumed
        meanwhile, by somebody else or before this call was repeated."""
        agent = self._runner.agents.get(session_id)
        session = (await self._fresh(session_id, None)).session
        if agent is not None and session.status != "active":
            await self._runner.agents.suspend(agent)
        return session

    async def end_agent_of(self, made_room: MadeRoom | None) -> None:
        """Ends the agent of a session that was completed to make room for another, if there was one."""
        if made_room is None:
            return
        try:
            await self.end_agent(made_room.id)
        except BoughError as error:
            # The session has ended and the other one is active; maintenance ends the agent.
            log.warning("agent_not_ended", session=made_room.id, error=error.message)

    async def _under_way(self, change: Change, session_id: str) -> Task | None:
        open_tasks = await change.tx.all(TASKS.open, Task, session_id=session_id)
        return next((task for task in open_tasks if task.status in UNDER_WAY), None)

    async def _end(self, session: Session, task: Task | None) -> Session:
        """Waits for the turn that was stopped, then ends the agent of a session that has ended."""
        if task is not None:
            await self._settle(session.id, task)
        return await self.end_agent(session.id)

    async def _settle(self, session_id: str, task: Task) -> None:
        """Waits until a stopped turn has ended, but not forever."""
        if (await self._tasks.get(task.id)).ended_at is not None:
            return
        try:
            async with asyncio.timeout(SETTLE):
                await self._runner.stops.cancel(session_id, task)
                await self._runner.stops.ended(task.id)
        except TimeoutError:
            return

    async def _fresh(self, session_id: str, task: Task | None) -> Stopped:
        async def work(tx: records.Tx) -> Stopped:
            fresh = await records.task(tx, task.id) if task is not None else None
            return Stopped(await records.session(tx, session_id), fresh)

        return await self._store.read(work)
