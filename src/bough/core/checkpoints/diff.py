"""What tasks and sessions have changed in the files, from their checkpoints (W4). Taking those is `checkpoints`,
comparing them `bough.git.commit_diff`."""

from __future__ import annotations

import msgspec

from bough.core.checkpoints.take import Checkpoints, Moments, moments
from bough.core.store import records
from bough.core.store.sql import CHECKPOINTS, TASKS
from bough.core.store.transactions import Store
from bough.errors import Conflict
from bough.git import checkpoint_refs as refs
from bough.git.commit_diff import compare
from bough.git.restore import checked_path
from bough.git.snapshot import TooMuch
from bough.git.working_copy_diff import Diff
from bough.model.checkpoint import Checkpoint
from bough.model.session import Session
from bough.model.task import IN_FLIGHT, Task
from bough.storage.backend import Tx


class Changed(Diff):
    """A diff with what it compares; without `toCheckpointId`, with the files as they are now. `overlaps` are tasks of
    other sessions that were at work in the folder meanwhile: some of it may be theirs."""

    task_id: str | None
    session_id: str
    from_checkpoint_id: str
    to_checkpoint_id: str | None
    overlaps: list[str]


class Changes:
    """Shows what was changed."""

    def __init__(self, store: Store, checkpoints: Checkpoints) -> None:
        self._store = store
        self._checkpoints = checkpoints

    async def of_task(self, task_id: str, only: str | None = None, *, text: bool = True) -> Changed:
        """What a task has changed; of one that runs, what it has changed so far."""

        async def read(tx: Tx) -> tuple[Task, Session, Moments, list[Task]]:
            task = await records.task(tx, task_id)
            session = await records.session(tx, task.session_id)
            others = await tx.all(CHECKPOINTS.overlaps, Task, task_id=task.id)
            return task, session, await moments(tx, task.id), others

        task, session, found, others = await self._store.read(read)
        before = kept(found.before, f"Task {task.id}", "before it began")
        after = None if task.ended_at is None else kept(found.after, f"Task {task.id}", "when it ended")
        diff = await self._between(session, before, after, only, text)
        return msgspec.structs.replace(diff, task_id=task.id, overlaps=[one.id for one in others])

    async def of_session(self, session_id: str, only: str | None = None, *, text: bool = True) -> Changed:
        """What a session has changed from its first task to its last; while one runs, until now."""

        async def read(tx: Tx) -> tuple[Session, Checkpoint | None, Checkpoint | None, bool]:
            session = await records.session(tx, session_id)
            first = await tx.one(CHECKPOINTS.first_of_session, Checkpoint, session_id=session.id)
            last = await tx.one(CHECKPOINTS.last_of_session, Checkpoint, session_id=session.id)
            at_work = await tx.all(TASKS.open, Task, session_id=session.id)
            return session, first, last, any(one.status in IN_FLIGHT for one in at_work)

        session, first, last, at_work = await self._store.read(read)
        first = kept(first, f"Session {session.id}", "before its first task")
        if last is not None and (at_work or last.created_at < first.created_at):
            last = None
        return await self._between(session, first, last, only, text)

    async def _between(
        self, session: Session, before: Checkpoint, after: Checkpoint | None, only: str | None, text: bool
    ) -> Changed:
        path = checked_path(only) if only is not None else None
        cwd = session.cwd
        old = await there(cwd, before)
        if after is not None:
            new = await there(cwd, after)
        else:
            try:
                new = (await self._checkpoints.snapshot(cwd)).sha
            except TooMuch as error:
                raise Conflict("no_checkpoint", f"The files as they are now cannot be compared: {error}") from error
        diff = await compare(cwd, old, new, only=path or None, text=text)
        return Changed(
            **msgspec.structs.asdict(diff),
            task_id=None,
            session_id=session.id,
            from_checkpoint_id=before.id,
            to_checkpoint_id=after.id if after is not None else None,
            overlaps=[],
        )


def kept(found: Checkpoint | None, whose: str, when: str) -> Checkpoint:
    """A checkpoint that holds files; Conflict with the reason if there is none."""
    if found is None or found.sha is None:
        note = found.note if found is not None else None
        why = note or "The folder is no git repository, nothing was sent yet, or it is too long ago."
        raise Conflict("no_checkpoint", f"{whose} has no checkpoint of its files {when}. {why}")
    return found


async def there(cwd: str, found: Checkpoint) -> str:
    """The commit of a checkpoint, if the repository still has it."""
    if found.sha is None or not await refs.held(cwd, found.sha):
        raise Conflict("checkpoint_gone", f"The files of checkpoint {found.id} are no longer in the repository.")
    return found.sha
