"""Recovery: what a server does first with whatever the last one left behind. Crash-only: there is no other way in."""

from __future__ import annotations

import structlog

from bough.core import lifecycle
from bough.core.rows import SESSIONS, TASKS
from bough.core.store import Change, Store
from bough.model.session import Session
from bough.model.task import Task

log = structlog.get_logger("bough.recovery")


async def recover(store: Store) -> None:
    """Turns that were under way were cut off with their agents; turns that were being stopped have stopped."""

    async def work(change: Change) -> tuple[list[Task], list[Task]]:
        stopped = await change.tx.all(TASKS.left_stopping, Task, now=change.now)
        cut_off = await change.tx.all(TASKS.cut_off, Task, now=change.now)
        for task in (*stopped, *cut_off):
            change.task("task.patched", task)
            await lifecycle.withdraw_approvals(change, task.id)
        for session in await change.tx.all(SESSIONS.resting, Session, now=change.now):
            change.session("session.patched", session)
        change.wake()
        return stopped, cut_off

    stopped, cut_off = await store.write(work)
    if stopped or cut_off:
        log.info("recovered", stopped=len(stopped), cut_off=len(cut_off))
