"""Compares checkpoints to show what tasks and sessions changed in the files (W4)."""

from __future__ import annotations

import msgspec

from bough.core.checkpoints.rows import TaskCheckpoints, moments
from bough.core.checkpoints.take import Checkpoints
from bough.core.store import records
from bough.core.store.sql import CHECKPOINTS, TASKS
from bough.core.store.transactions import Store
from bough.errors import Conflict
from bough.git.commit_diff import compare
from bough.git.refs import checkpoint_refs as refs
from bough.git.working_copy.diff import Diff
from bough.git.working_copy.restore import checked_path
from bough.git.working_copy.snapshot import SnapshotTooLarge
from bough.model.checkpoint import Checkpoint
from bough.model.session import Session
from bough.model.task import IN_FLIGHT, Task
from bough.storage.backend import Tx


class CheckpointDiff(Diff):
    """A diff and the checkpoints it compares. Without `toCheckpointId` it compares with the current files. `overlaps`
    lists tasks of other sessions that worked in the folder at the same time and may have made some of the changes."""

    task_id: str | None
    session_id: str
    from_checkpoint_id: str
    to_checkpoint_id: str | None
    overlaps: list[str]


class ChangeSpan(msgspec.Struct, frozen=True):
    """The checkpoints between which a task or session worked. Without `after`, it continues until now."""

    session: Session
    before: Checkpoint
    after: Checkpoint | None


class Changes:
    """Shows what tasks and sessions changed."""

    def __init__(self, store: Store, checkpoints: Checkpoints) -> None:
        self._store = store
        self._checkpoints = checkpoints

    async def of_task(self, task_id: str, only: str | None = None, *, text: bool = True) -> CheckpointDiff:
        """Returns what a task changed; for a running task, what it has changed so far."""
        task, span, overlaps = await self._task_span(task_id)
        diff = await self._between(span, only, text)
        return msgspec.structs.replace(diff, task_id=task.id, overlaps=overlaps)

    async def of_session(self, session_id: str, only: str | None = None, *, text: bool = True) -> CheckpointDiff:
        """Returns what a session changed from its first task to its last, or until now while one is running."""
        return await self._between(await self.session_span(session_id), only, text)

    async def task_span(self, task_id: str) -> ChangeSpan:
        """Returns the checkpoints around a task; those of a running task have no end."""
        return (await self._task_span(task_id))[1]

    async def _task_span(self, task_id: str) -> tuple[Task, ChangeSpan, list[str]]:
        async def read(tx: Tx) -> tuple[Task, Session, TaskCheckpoints, list[Task]]:
            task = await records.task(tx, task_id)
            session = await records.session(tx, task.session_id)
            others = await tx.all(CHECKPOINTS.overlaps, Task, task_id=task.id)
            return task, session, await moments(tx, task.id), others

        task, session, checkpoints, others = await self._store.read(read)
        before = require_files(checkpoints.before, f"Task {task.id}", "before it began")
        after = None if task.ended_at is None else require_files(checkpoints.after, f"Task {task.id}", "when it ended")
        return task, ChangeSpan(session, before, after), [overlap.id for overlap in others]

    async def session_span(self, session_id: str) -> ChangeSpan:
        """Returns the checkpoints around all tasks of a session; while one is running, they have no end."""

        async def read(tx: Tx) -> tuple[Session, Checkpoint | None, Checkpoint | None, bool]:
            session = await records.session(tx, session_id)
            first = await tx.one(CHECKPOINTS.first_of_session, Checkpoint, session_id=session.id)
            last = await tx.one(CHECKPOINTS.last_of_session, Checkpoint, session_id=session.id)
            at_work = await tx.all(TASKS.open, Task, session_id=session.id)
            return session, first, last, any(checkpoint.status in IN_FLIGHT for checkpoint in at_work)

        session, first, last, at_work = await self._store.read(read)
        first = require_files(first, f"Session {session.id}", "before its first task")
        if last is not None and (at_work or last.created_at < first.created_at):
            last = None
        return ChangeSpan(session, first, last)

    async def commits(self, span: ChangeSpan) -> tuple[str, str]:
        """Returns the commits of the files at the beginning and at the end of a span."""
        old = await require_commit(span.session.cwd, span.before)
        if span.after is not None:
            return old, await require_commit(span.session.cwd, span.after)
        return old, await self.current(span.session.cwd)

    async def current(self, cwd: str) -> str:
        """Returns a commit of the current files of a folder, without a ref."""
        try:
            return (await self._checkpoints.snapshot(cwd)).sha
        except SnapshotTooLarge as error:
            raise Conflict("no_checkpoint", f"The current files cannot be compared: {error}") from error

    async def _between(self, span: ChangeSpan, only: str | None, text: bool) -> CheckpointDiff:
        path = checked_path(only) if only is not None else None
        old, new = await self.commits(span)
        diff = await compare(span.session.cwd, old, new, only=path or None, text=text)
        return CheckpointDiff(
            **msgspec.structs.asdict(diff),
            task_id=None,
            session_id=span.session.id,
            from_checkpoint_id=span.before.id,
            to_checkpoint_id=span.after.id if span.after is not None else None,
            overlaps=[],
        )


def require_files(checkpoint: Checkpoint | None, whose: str, when: str) -> Checkpoint:
    """Returns the checkpoint if it holds files, or raises `Conflict` with the reason."""
    if checkpoint is None or checkpoint.sha is None:
        note = checkpoint.note if checkpoint is not None else None
        why = note or "The folder is not a git repository, nothing was sent yet, or the checkpoint was pruned."
        raise Conflict("no_checkpoint", f"{whose} has no checkpoint of its files {when}. {why}")
    return checkpoint


async def require_commit(cwd: str, checkpoint: Checkpoint) -> str:
    """Returns the checkpoint's commit, or raises `Conflict` if the repository no longer has it."""
    if checkpoint.sha is None or not await refs.held(cwd, checkpoint.sha):
        raise Conflict("checkpoint_gone", f"The files of checkpoint {checkpoint.id} are no longer in the repository.")
    return checkpoint.sha
