"""Ends and reopens sessions. `sessions.control` ends the processes behind them."""

from __future__ import annotations

from typing import Literal

import structlog

from bough.core.state import task_ended
from bough.core.state.calls import tool_call
from bough.core.state.end_reasons import MARKED_FAILED, reason
from bough.core.state.limits.cost import grown_cost
from bough.core.store import records
from bough.core.store.sql import APPROVALS, QUESTIONS, SESSIONS, TASKS
from bough.core.store.transactions import Change, Store
from bough.core.worktrees.records import usable
from bough.errors import Conflict, Unavailable
from bough.model.approval import CALL_KIND, Approval
from bough.model.message import cancelled, raw
from bough.model.session import Session, Status
from bough.model.task import Task

log = structlog.get_logger("bough.sessions")


def check_resumable(session: Session) -> None:
    """Raises `Conflict` if a session ended in a fatal error; such a session can only be forked."""
    if session.status == "error" and reason(session) != MARKED_FAILED:
        raise Conflict(
            "session_failed",
            f"Session {session.id} ended in an error and cannot be resumed. Fork it to continue from its transcript.",
            status=session.status,
        )


def refuse_side_question(session: Session) -> None:
    """Raises `Conflict` if the session is a side question, which takes no further prompt."""
    if session.kind == "btw":
        raise Conflict(
            "aside_asked_once",
            f"Session {session.id} is a side question and takes no other prompt. Ask session "
            f"{session.parent_session_id} again, or fork this one.",
        )


async def check_reopening(change: Change, session: Session) -> None:
    """Raises if an ended session cannot become active again, whatever the limit on sessions says."""
    refuse_side_question(session)
    check_resumable(session)
    if session.worktree_id is not None:
        await usable(change.tx, session.worktree_id)


async def reopen(change: Change, session: Session) -> Session:
    """Makes an ended session active again. `session_limit.readmit` checks first whether it may be."""
    reopened = await records.update_session(
        change,
        session.id,
        status="active",
        activity="idle",
        queue_paused=False,
        archived=False,
        ended_at=None,
        active_at=change.now,
        end_reason=None,
    )
    _log(change, "session_resumed", session=session.id)
    return reopened


async def end(change: Change, session: Session, status: Status, why: str, text: str | None = None) -> Session:
    """Ends a session: cancels its queue, stops its running turn and says why in a system message."""
    await cancel_queue(change, session, why)
    for task in await change.tx.all(TASKS.open, Task, session_id=session.id):
        await records.move_task(change, task.id, "stopping")
        await withdraw_approvals(change, task.id)
    await tool_call.withdraw(change, session.id, f"The session that wanted this has ended ({status}).")
    if text is not None:
        await records.add_message(change, session.id, None, "system", cancelled(text, why))
    ended = await records.update_session(
        change,
        session.id,
        status=status,
        activity="idle" if session.activity != "not_started" else "not_started",
        ended_at=change.now,
        end_reason=why,
    )
    _log(change, "session_ended", session=session.id, status=status, reason=why)
    return ended


def _log(change: Change, event: str, **facts: str) -> None:
    """Logs an event with the number of active sessions once it is committed. Counting inside the transaction would make
    it collide with every other that opens or ends a session, and a repeat would log twice."""

    async def count_and_log(store: Store) -> None:
        try:
            active = await store.read(lambda tx: tx.value(SESSIONS.active_total))
        except Unavailable:
            active = None
        log.info(event, **facts, active_sessions=active)

    change.after_commit(count_and_log)


async def end_as(change: Change, session: Session, mark: Literal["completed", "failed"]) -> Session:
    """Ends a session as completed or failed, as somebody marked it. One that was marked as failed can be resumed."""
    session = await records.update_session(change, session.id, ending=None)
    if mark == "completed":
        return await end(change, session, "completed", "completed")
    return await end(change, session, "error", MARKED_FAILED)


async def turn_over(change: Change, session: Session) -> None:
    """Ends a session that was marked during its turn, once its queue is empty."""
    mark = session.metadata.ending
    if mark is not None and not await change.tx.value(TASKS.waiting, session_id=session.id):
        await end_as(change, session, mark)


async def cancel_queue(change: Change, session: Session, why: str) -> None:
    """Cancels every queued prompt; it stays readable in the transcript."""
    tasks = await change.tx.all(TASKS.cancel_queued, Task, session_id=session.id, stop_reason=why, now=change.now)
    for waiting in tasks:
        # An interrupted one may have cost something before.
        cost = grown_cost(session, waiting)
        task = await records.update_task(change, waiting.id, cost=cost) if cost is not None else waiting
        if cost is None:
            change.task("task.patched", task)
        await records.enter_transcript(change, task)
        await withdraw_approvals(change, task.id)
        await task_ended.ended(change, task)


async def withdraw_approvals(change: Change, task_id: str) -> None:
    """Withdraws the open approvals of a turn that is over."""
    withdrawn = await change.tx.all(
        APPROVALS.withdraw,
        Approval,
        task_id=task_id,
        call_kind=CALL_KIND,
        decided_by=raw({"kind": "system", "id": None}),
        now=change.now,
    )
    for approval in withdrawn:
        change.approval("approval.patched", approval)
    await change.tx.run(QUESTIONS.forget, task_id=task_id)
