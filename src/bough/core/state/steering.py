"""Puts prompts into a running turn, row by row: on their way, sent, taken, or queued again. `turns.steer_turns` sends
them. Each step may be repeated, because the reply to its commit may be lost."""

from __future__ import annotations

from collections.abc import Mapping

from bough.core.state import task_ended
from bough.core.state.queue_order import move_first
from bough.core.store import records
from bough.core.store.sql import TASKS
from bough.core.store.transactions import Change
from bough.model import message
from bough.model.task import IN_FLIGHT, STEERED, Task
from bough.storage.backend import Tx

QUEUED_INSTEAD = "{agent} did not take the prompt during its turn. It is first in the queue."


async def turn_to_steer(tx: Tx, session_id: str) -> Task | None:
    """Returns the session's turn that a prompt can be put into; None if it has none, or is being stopped."""
    tasks = await tx.all(TASKS.open, Task, session_id=session_id)
    return next((task for task in tasks if task.status in IN_FLIGHT and task.status != "stopping"), None)


async def begin(change: Change, task: Task, turn: Task) -> Task:
    """Sends a queued prompt on its way into a turn. It is first in the queue, in case that it comes too late."""
    await move_first(change, task)
    await records.move_task(change, task.id, "steering")
    change.wake()
    return await records.update_task(change, task.id, steers_task_id=turn.id)


async def sent(change: Change, task: Task) -> Task | None:
    """Records that the prompt is about to be sent; None if it must not be anymore, because its turn has ended or is
    being stopped."""
    known = await records.task(change.tx, task.id)
    turn = await records.task(change.tx, known.steers_task_id) if known.steers_task_id is not None else None
    if known.status != "steering" or turn is None or turn.status not in ("running", "waiting_permission"):
        return None
    if known.attempt:
        return known
    fresh = await change.tx.one(TASKS.steer_sent, Task, id=task.id, now=change.now)
    assert fresh is not None
    change.task("task.patched", fresh)
    return fresh


async def taken(change: Change, task: Task) -> None:
    """Ends a prompt that the agent has taken. It enters the transcript at this point, as part of the turn."""
    known = await records.task(change.tx, task.id)
    if known.status != "steering" or known.steers_task_id is None:
        return
    turn = await records.task(change.tx, known.steers_task_id)
    ended = await change.tx.one(TASKS.steer_taken, Task, id=known.id, stop_reason=STEERED, now=change.now)
    assert ended is not None
    change.task("task.patched", ended)
    await records.enter_transcript(change, known, turn)


async def queue_again(change: Change, task: Task, *, heard: bool, agent: str = "") -> None:
    """Makes a prompt that was on its way into a turn the first of the queue; in a session that has ended, it is
    cancelled, and so is a nudge. `heard` says that an agent which is gone may have read it, so it is quoted to the next
    one. With the name of an agent, the transcript says that the agent has not taken the prompt."""
    known = await records.task(change.tx, task.id)
    if known.status != "steering":
        return
    session = await records.session(change.tx, known.session_id)
    if session.status != "active" or known.nudge:
        # A nudge is for this turn only.
        ended = await records.end_task(change, known.id, "cancelled", stop_reason="cancelled")
        assert ended is not None
        await records.enter_transcript(change, ended)
        await task_ended.ended(change, ended)
        return
    await records.move_task(change, known.id, "queued")
    if not heard:
        await records.update_task(change, known.id, attempt=0, steers_task_id=None)
    if agent:
        notice = message.notice(QUEUED_INSTEAD.format(agent=agent))
        await records.add_message(change, known.session_id, known.steers_task_id, "system", notice)
    change.wake()


async def turn_over(change: Change, turn: Task, answers: Mapping[str, bool] | None = None) -> None:
    """Settles the prompts that were on their way into a turn which is over, in its transaction. `answers` says which of
    them the agent took; those without an answer are queued again, and may have been heard if they were sent."""
    for task in await on_their_way(change.tx, turn):
        answer = (answers or {}).get(task.id)
        if answer:
            await taken(change, task)
        else:
            await queue_again(change, task, heard=answer is None and task.attempt > 0)


async def on_their_way(tx: Tx, turn: Task) -> list[Task]:
    """Returns the prompts that are on their way into a turn, in order."""
    return await tx.all(TASKS.steering, Task, turn_id=turn.id)


async def taken_in(tx: Tx, turn: Task) -> list[Task]:
    """Returns the prompts that the agent has taken in the middle of a turn, in order."""
    return await tx.all(TASKS.steered, Task, turn_id=turn.id, stop_reason=STEERED)
