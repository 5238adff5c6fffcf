"""Interrupts turns whose agent died, and holds, releases or drops them. The setting `on_interrupt` says when the next
attempt comes: at once, when a person says so, or when the session is resumed. The scheduler starts it."""

from __future__ import annotations

import msgspec

from bough.core.state import session_lifecycle, steering, task_ended
from bough.core.state.limits.cost import grown_cost
from bough.core.state.turn import TurnOutcome, failure, finish
from bough.core.store import records
from bough.core.store.session_secrets import redacted_error
from bough.core.store.sql import KEEPERS, MESSAGES, TASKS
from bough.core.store.transactions import Change
from bough.core.transcripts.fold import Fold
from bough.errors import BoughError
from bough.model import message
from bough.model.message import Message
from bough.model.session import Session
from bough.model.task import IN_FLIGHT, Task
from bough.settings import OnInterrupt

INTERRUPTED = "interrupted"
"""The stop reason of an interrupted turn that is not tried again."""
NOT_AGAIN = "The turn was interrupted, and is not tried again."
NOT_SENT = "The prompt was not sent to the agent, and is dropped."
WHAT_NEXT: dict[OnInterrupt, str] = {
    "continue": "It is started again and told to continue.",
    "ask": "Whether it is started again and told to continue is asked.",
    "hold": "Resume the session to have it started again and told to continue.",
}


async def interrupt(change: Change, task: Task, error: BoughError, policy: OnInterrupt) -> bool:
    """Interrupts a turn whose agent is gone, and returns whether the policy is to ask a person how it continues. A
    prompt that was never sent simply has its next attempt."""
    if not await under_way(change, task):
        return False
    error = redacted_error(error, await change.redactor(task.session_id))
    interrupted = await records.move_task(change, task.id, "interrupted")
    if interrupted is None:
        # It was being stopped: this is how it stopped.
        await finish(change, task, TurnOutcome("failed", error=error), 0, None)
        return False
    await steering.turn_over(change, interrupted)
    if interrupted.sent_attempt != interrupted.attempt:
        policy = "continue"
    await session_lifecycle.withdraw_approvals(change, task.id)
    await close_entries(change, task)
    await records.add_message(change, task.session_id, task.id, "system", failure(error, WHAT_NEXT[policy]))
    if policy != "continue":
        await records.update_task(change, task.id, held=True)
    if policy != "ask":
        await records.update_session(change, task.session_id, activity="idle")
    change.wake()
    return policy == "ask"


async def hold(change: Change, task: Task) -> Task | None:
    """Holds a turn that must not start yet; returns None if it was being stopped, and stops it."""
    if not await under_way(change, task):
        return None
    held = await records.move_task(change, task.id, "interrupted")
    if held is None:
        await finish(change, task, TurnOutcome("cancelled"), 0, None)
        return None
    await steering.turn_over(change, held)
    await session_lifecycle.withdraw_approvals(change, task.id)
    # A prompt that was not sent has not started: the time until then is not agent time.
    started_at = held.started_at if held.sent_attempt else None
    return await records.update_task(change, task.id, held=True, started_at=started_at)


async def under_way(change: Change, task: Task) -> bool:
    """Tells whether this attempt still runs. What is stored may be repeated, because the reply to a commit was lost."""
    known = await records.task(change.tx, task.id)
    return known.attempt == task.attempt and known.status in IN_FLIGHT


async def close_entries(change: Change, task: Task) -> None:
    """Closes the messages that a turn without an agent left open."""
    fold = Fold(redactor=await change.redactor(task.session_id))
    withheld = await change.tx.value(KEEPERS.withheld, session_id=task.session_id)
    rows = await change.tx.all(MESSAGES.of_task, Message, task_id=task.id)
    fold.restore(rows, msgspec.json.decode(withheld, type=dict[str, str]) if withheld else None)
    fold.close()
    for entry in fold.dirty:
        moment = await records.message_time(change, task.session_id)
        closed = await change.tx.one(MESSAGES.rewrite, Message, id=entry.id, content=entry.content(), now=moment)
        if closed is not None:
            change.message("message.patched", closed)


async def go_on(change: Change, session: Session, *, unasked: bool = False) -> Session:
    """Resumes a session's queue and releases its held turn. With `unasked`, which is for other sessions, a turn that a
    person is asked about stays held."""
    for task in await change.tx.all(TASKS.open, Task, session_id=session.id):
        if task.held and not (unasked and await records.pending_approvals(change.tx, task.id)):
            session = await release(change, task)
    if session.queue_paused:
        session = await records.update_session(change, session.id, queue_paused=False)
    return session


async def drop(change: Change, task: Task, reason: str = INTERRUPTED) -> Task:
    """Cancels an interrupted turn instead of trying it again."""
    await session_lifecycle.withdraw_approvals(change, task.id)
    cost = grown_cost(await records.session(change.tx, task.session_id), task)
    ended = await records.end_task(change, task.id, "cancelled", stop_reason=reason, cost=cost)
    assert ended is not None
    text = message.cancelled(NOT_AGAIN if task.sent_attempt else NOT_SENT, reason)
    await records.add_message(change, task.session_id, task.id, "system", text)
    await task_ended.ended(change, ended)
    await records.update_session(change, task.session_id, activity="idle", active_at=change.now)
    change.wake()
    return ended


async def release(change: Change, task: Task) -> Session:
    """Lets a held turn have its next attempt, and withdraws the question whether it may."""
    await session_lifecycle.withdraw_approvals(change, task.id)
    await records.update_task(change, task.id, held=False)
    change.wake()
    return await records.update_session(change, task.session_id, activity="idle")
