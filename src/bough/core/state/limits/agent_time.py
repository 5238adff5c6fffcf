"""Computes the agent time of a turn. The minutes in which it waited for a person or for the end of a limit do not
count."""

from __future__ import annotations

from bough.core.store.sql import TREES
from bough.core.store.transactions import Change
from bough.model.approval import BESIDE_TURN_KINDS
from bough.model.task import Task
from bough.model.values.times import seconds_between


async def worked_seconds(change: Change, task: Task) -> float:
    """Returns the seconds that a turn took, without the time it waited."""
    began = task.started_at or change.now
    worked, since = 0.0, began
    waits = await change.tx.all(
        TREES.waits, tuple[str, str], task_id=task.id, other_kinds=BESIDE_TURN_KINDS, now=change.now
    )
    for asked, answered in waits:
        # Several questions may be open at a time; one from before the turn began does not count.
        worked += seconds_between(since, max(asked, began))
        since = max(since, answered)
    return worked + seconds_between(since, change.now)
