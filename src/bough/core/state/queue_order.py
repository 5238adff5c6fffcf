"""Orders the queue of a session in the caller's transaction: moves a prompt before another one, to the end or to the
front."""

from __future__ import annotations

from bough.core.store import records
from bough.core.store.short_ids import find_id
from bough.core.store.sql import MESSAGES, TASKS
from bough.core.store.transactions import Change
from bough.errors import Conflict
from bough.model.message import QUEUED_BASE, Message
from bough.model.task import Task


async def move_before(change: Change, task: Task, before: str) -> Task:
    """Moves a queued prompt before another one, or to the end if `before` is empty."""
    queue = await _queue(change, task.session_id)
    order = [queued for queued in queue if queued.id != task.id]
    index = len(order)
    if before:
        target = await find_id(change.tx, "tasks", before)
        index = next((number for number, queued in enumerate(order) if queued.id == target), -1)
        if index < 0:
            raise Conflict("task_not_queued", f"Task {before!r} is not queued in the same session.")
    return await _reorder(change, task, queue, index)


async def move_first(change: Change, task: Task) -> Task:
    """Moves a queued prompt to the front, behind those that are on their way into the running turn."""
    queue = await _queue(change, task.session_id)
    return await _reorder(change, task, queue, sum(1 for other in queue if other.status == "steering"))


async def _queue(change: Change, session_id: str) -> list[Task]:
    """Returns the prompts that have not started, in order; those that are on their way into a turn may come back."""
    tasks = await change.tx.all(TASKS.open, Task, session_id=session_id)
    return [task for task in tasks if task.status in ("queued", "steering")]


async def _reorder(change: Change, task: Task, queue: list[Task], index: int) -> Task:
    """Gives the prompt this place among the others."""
    positions = [queued.position for queued in queue]
    order = [queued for queued in queue if queued.id != task.id]
    order.insert(index, task)
    # Positions are unique, so all tasks get negative ones before their new ones.
    for queued in order:
        await change.tx.run(TASKS.set_position, id=queued.id, position=-queued.position, now=change.now)
        await _place_message(change, queued, 2 * QUEUED_BASE + queued.position)
    for queued, position in zip(order, positions, strict=True):
        await change.tx.run(TASKS.set_position, id=queued.id, position=position, now=change.now)
        message = await _place_message(change, queued, QUEUED_BASE + position)
        moved = await records.task(change.tx, queued.id)
        if moved.position != queued.position:
            change.task("task.patched", moved)
            if message is not None:
                change.message("message.patched", message)
    return await records.task(change.tx, task.id)


async def _place_message(change: Change, task: Task, position: int) -> Message | None:
    return await change.tx.one(
        MESSAGES.requeue,
        Message,
        task_id=task.id,
        position=position,
        queued_base=QUEUED_BASE,
        now=await records.message_time(change, task.session_id),
    )
