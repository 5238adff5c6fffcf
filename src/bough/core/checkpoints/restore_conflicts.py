"""Finds what other sessions have done in a folder since a checkpoint, so that a restore does not undo it by accident
(W4)."""

from __future__ import annotations

import msgspec

from bough.core.checkpoints.rows import AT_WORK, moments
from bough.core.store import records
from bough.core.store.sql import CHECKPOINTS
from bough.core.store.transactions import Store
from bough.errors import Conflict
from bough.git.run import GitFailed
from bough.git.working_copy.restore import RestorePlan, changed_paths
from bough.model.checkpoint import Checkpoint
from bough.model.task import Task
from bough.storage.backend import Tx


class TaskCommits(msgspec.Struct, frozen=True):
    """The commits of a folder's files before and after a task."""

    task_id: str | None
    session_id: str | None
    before: str | None
    after: str | None
    removed: bool = False


async def refuse_to_undo(store: Store, target: Checkpoint, plan: RestorePlan) -> None:
    """Refuses if a task of another session has since changed a file that would be restored."""

    async def read(tx: Tx) -> list[TaskCommits]:
        return [*await _of_others(tx, target, plan.now.sha), *await _of_removed(tx, target)]

    paths = set(plan.paths)
    undone = [work for work in await store.read(read) if await _touched(target.cwd, work, paths)]
    if undone:
        raise Conflict(
            "would_undo_others",
            f"Other sessions have since changed files that would be restored: {', '.join(map(_whose, undone))}. "
            "Choose other paths, or send force: true.",
            tasks=[work.task_id for work in undone if work.task_id is not None],
            sessions=sorted({work.session_id for work in undone if work.session_id is not None}),
        )


async def _of_others(tx: Tx, target: Checkpoint, now: str) -> list[TaskCommits]:
    """Returns what tasks of other sessions have done since. A task that has not ended counts up to `now`, because an
    interrupted one continues with the files it has begun."""
    cwd, own = target.cwd, target.session_id
    since = await tx.all(CHECKPOINTS.of_others_since, Checkpoint, cwd=cwd, since=target.created_at, session_id=own)
    at_work = await tx.all(CHECKPOINTS.at_work, Task, cwd=cwd, statuses=AT_WORK, but=own)
    ids = [checkpoint.task_id for checkpoint in since if checkpoint.task_id is not None]
    works: list[TaskCommits] = []
    for task_id in dict.fromkeys([*ids, *(task.id for task in at_work if task.sent_attempt)]):
        task, both = await records.task(tx, task_id), await moments(tx, task_id)
        after = both.after.sha if both.after is not None else now if task.ended_at is None else None
        works.append(TaskCommits(task.id, task.session_id, both.before.sha if both.before is not None else None, after))
    return works


async def _of_removed(tx: Tx, target: Checkpoint) -> list[TaskCommits]:
    """Returns what tasks of deleted sessions have done since. Only the names of their refs tell which checkpoints
    belong together."""
    tasks: dict[str, list[Checkpoint]] = {}
    for row in await tx.all(CHECKPOINTS.of_removed, Checkpoint, cwd=target.cwd):
        tasks.setdefault(row.ref.rpartition("/")[0] if row.ref else row.id, []).append(row)
    rows: list[TaskCommits] = []
    for name, both in tasks.items():
        if both[-1].created_at > target.created_at:
            shas = {row.moment: row.sha for row in both}
            _, session_id, task_id = name.rsplit("/", 2) if "/" in name else (None, None, None)
            rows.append(TaskCommits(task_id, session_id, shas.get("before"), shas.get("after"), removed=True))
    return rows


async def _touched(cwd: str, work: TaskCommits, paths: set[str]) -> bool:
    """Tells whether a task changed one of the paths. A comparison that fails counts as a change."""
    if work.before is None or work.after is None:
        return True
    if work.before == work.after:
        return False
    try:
        return not paths.isdisjoint(await changed_paths(cwd, work.before, work.after))
    except GitFailed:
        if work.removed:
            return True
        raise


def _whose(work: TaskCommits) -> str:
    if work.task_id is None:
        return "a task of a session that was removed"
    return f"task {work.task_id} of session {work.session_id}" + (", which was removed" if work.removed else "")
