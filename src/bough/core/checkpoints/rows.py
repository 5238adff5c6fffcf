"""Builds checkpoints, and stores and reads their rows inside transactions, with the tasks that worked in a folder."""

from __future__ import annotations

import msgspec

from bough.core.store.sql import CHECKPOINTS
from bough.core.store.transactions import Change
from bough.git.refs import checkpoint_refs as refs
from bough.git.working_copy.snapshot import Snapshot
from bough.model.checkpoint import Checkpoint, Moment
from bough.model.repo import GitState
from bough.model.session import Session
from bough.model.task import IN_FLIGHT, Task
from bough.model.values.ids import new_id
from bough.model.values.times import now
from bough.storage.backend import Tx

# States of a task that holds files: an interrupted turn continues later.
AT_WORK = ("running", "waiting_permission", "stopping", "interrupted")


class FolderState(msgspec.Struct):
    """The git state of a working copy and its files; both empty for a plain folder."""

    git: GitState | None = None
    checkpoint: Checkpoint | None = None


class TaskCheckpoints(msgspec.Struct, rename="camel"):
    """A task's files before its first attempt and after its end."""

    before: Checkpoint | None = None
    after: Checkpoint | None = None


def unmade(session: Session, task_id: str, moment: Moment) -> Checkpoint:
    """Builds a checkpoint that holds no files yet."""
    return Checkpoint(
        id=new_id(),
        repo_id=session.repo_id,
        worktree_id=session.worktree_id,
        session_id=session.id,
        task_id=task_id,
        cwd=session.cwd,
        moment=moment,
        sha=None,
        tree=None,
        head=None,
        branch=None,
        note=None,
        ref=None,
        created_at=now(),
    )


def fill(checkpoint: Checkpoint, shot: Snapshot) -> None:
    """Puts a snapshot into a checkpoint and names its ref."""
    checkpoint.sha, checkpoint.tree, checkpoint.head, checkpoint.branch = shot.sha, shot.tree, shot.head, shot.branch
    checkpoint.note = shot.note
    # A task can be restored several times; its other moments occur once.
    name = checkpoint.moment if checkpoint.moment in ("before", "after") else f"{checkpoint.moment}-{checkpoint.id}"
    checkpoint.ref = refs.ref_name(checkpoint.session_id or "none", checkpoint.task_id or "none", name)


def of_restore(session: Session, task_id: str | None, checkpoint_id: str, shot: Snapshot) -> Checkpoint:
    """Builds the checkpoint of the files before a restore."""
    checkpoint = unmade(session, task_id or "", "restore")
    checkpoint.id, checkpoint.task_id = checkpoint_id, task_id
    fill(checkpoint, shot)
    return checkpoint


def of_race(session: Session, race_id: str, ref: str, sha: str, head: str) -> Checkpoint:
    """Builds the checkpoint of the files that all racers start with."""
    checkpoint = unmade(session, "", "fork")
    checkpoint.id, checkpoint.task_id, checkpoint.ref, checkpoint.sha, checkpoint.head = race_id, None, ref, sha, head
    return checkpoint


async def record(change: Change, checkpoint: FolderState) -> None:
    """Stores a checkpoint."""
    if checkpoint.checkpoint is not None:
        await change.tx.run(CHECKPOINTS.add, **msgspec.structs.asdict(checkpoint.checkpoint))


async def meet(change: Change, task: Task, cwd: str) -> None:
    """Records which tasks of other sessions are working in the same folder."""
    others = await change.tx.all(CHECKPOINTS.at_work, Task, cwd=cwd, statuses=AT_WORK, but=task.session_id)
    for other in others:
        if other.sent_attempt:
            await change.tx.run(CHECKPOINTS.meet, task_id=task.id, other_task_id=other.id)


async def moments(tx: Tx, task_id: str) -> TaskCheckpoints:
    """Returns a task's checkpoints before and after it."""
    rows = await tx.all(CHECKPOINTS.of_task, Checkpoint, task_id=task_id)
    by_moment = {row.moment: row for row in rows}
    return TaskCheckpoints(by_moment.get("before"), by_moment.get("after"))


async def busy(tx: Tx, cwd: str) -> list[Task]:
    """Returns the turns that are running in a folder."""
    return await tx.all(CHECKPOINTS.at_work, Task, cwd=cwd, statuses=IN_FLIGHT, but="")
