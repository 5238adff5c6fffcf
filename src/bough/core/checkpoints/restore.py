"""Restores files to a checkpoint so that it can be undone, and refuses to undo another session's work (W4).
`bough.git.restore` plans and makes the changes."""

from __future__ import annotations

from typing import Literal

import msgspec
import structlog

from bough.core.checkpoints.diff import require_commit, require_files
from bough.core.checkpoints.take import AT_WORK, Checkpoints, FolderState, busy, moments, of_restore, record
from bough.core.store import records
from bough.core.store.idempotency import RecordScope
from bough.core.store.sql import CHECKPOINTS
from bough.core.store.transactions import Change, Store
from bough.core.transcripts import agent_notes
from bough.errors import BoughError, Conflict
from bough.git import checkpoint_refs as refs
from bough.git.decode import shown
from bough.git.restore import Plan, apply, changed_paths, plan
from bough.git.run import GitFailed
from bough.model import message
from bough.model.checkpoint import Checkpoint
from bough.model.ids import new_id
from bough.model.session import Caller, Session
from bough.model.task import Task
from bough.storage.backend import Tx

log = structlog.get_logger("bough.restoring")

MOST_NAMED = 1000
# Enough names for an agent to know where to look.
MOST_TOLD = 50
UNDER_WAY = "Restoring the files."


class RestoreBody(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """The moment of the task, the files or folders (default: all), and whether to undo other sessions' work."""

    moment: Literal["before", "after"] = "before"
    paths: list[str] | None = None
    force: bool = False
    idempotency_key: str | None = None


class RestoreCheckpoint(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """The files or folders to restore (default: all), and whether to undo other sessions' work."""

    paths: list[str] | None = None
    force: bool = False
    idempotency_key: str | None = None


class Restored(msgspec.Struct, rename="camel"):
    """The result. `undo_checkpoint_id` holds the previous files; it is null if nothing had to change. `left` lists
    files that differ but were left alone: submodules and files that the checkpoint's ignore rules exclude."""

    id: str
    checkpoint_id: str
    undo_checkpoint_id: str | None
    written: list[str]
    removed: list[str]
    left: list[str]
    note: str | None


class TaskCommits(msgspec.Struct, frozen=True):
    """The commits of a folder's files before and after a task."""

    task_id: str | None
    session_id: str | None
    before: str | None
    after: str | None
    removed: bool = False


class Restoring:
    """Restores files."""

    def __init__(self, store: Store, checkpoints: Checkpoints) -> None:
        self._store = store
        self._checkpoints = checkpoints

    async def to_task(self, caller: Caller, task_id: str, body: RestoreBody) -> Restored:
        """Restores a task's folder to its files before or after the task."""

        async def read(tx: Tx) -> Checkpoint:
            task = await records.task(tx, task_id)
            checkpoints = await moments(tx, task.id)
            chosen, when = (
                (checkpoints.before, "before it began")
                if body.moment == "before"
                else (checkpoints.after, "at its end")
            )
            return require_files(chosen, f"Task {task.id}", when)

        target = await self._store.read(read)
        return await self._once(caller, target, body.paths, body.force)

    async def to_checkpoint(self, caller: Caller, checkpoint_id: str, body: RestoreCheckpoint) -> Restored:
        """Restores a checkpoint's folder to its files. Restoring the checkpoint that another restore made undoes it."""
        checkpoint = await self._checkpoints.get(checkpoint_id)
        target = require_files(checkpoint, f"Checkpoint {checkpoint.id}", "to go back to")
        return await self._once(caller, target, body.paths, body.force)

    async def _once(self, caller: Caller, target: Checkpoint, paths: list[str] | None, force: bool) -> Restored:
        """Restores once per idempotency key; a repeated request returns the stored answer."""
        mine = Restored(new_id(), target.id, None, [], [], [], UNDER_WAY)
        scope = RecordScope("checkpoints.restore", "checkpoints", target.id)

        async def claim(change: Change) -> Restored:
            return mine

        answer = await self._store.write_once(caller, scope, [paths, force], Restored, claim)
        if answer.id != mine.id:
            return answer
        try:
            done = await self._restore(mine.id, target, paths, force)
        except BaseException:
            await self._store.forget_answer(caller, scope)
            raise
        await self._store.replace_answer(caller, scope, done)
        return done

    async def _restore(self, new: str, target: Checkpoint, paths: list[str] | None, force: bool) -> Restored:
        cwd = target.cwd
        async with self._checkpoints.gate(cwd):
            session = await self._store.read(lambda tx: self._allowed(tx, target, force))
            async with self._checkpoints.alone(cwd):
                planned = await plan(cwd, await require_commit(cwd, target), paths)
                if planned.paths and not force:
                    await self._refuse_to_undo_others(target, planned)
                if planned.paths:
                    undo = of_restore(session, target.task_id, new, planned.now)
                    await self._carry_out(planned, undo, target)
        written, removed = len(planned.writes), len(planned.removes)
        log.info("files_restored", cwd=cwd, checkpoint=target.id, written=written, removed=removed)
        return Restored(
            id=new,
            checkpoint_id=target.id,
            undo_checkpoint_id=new if planned.paths else None,
            written=_named(planned.writes),
            removed=_named(planned.removes),
            left=_named(planned.left),
            note=_note(planned),
        )

    async def _allowed(self, tx: Tx, target: Checkpoint, force: bool) -> Session:
        at_work = await busy(tx, target.cwd)
        if at_work and not force:
            named = ", ".join(f"task {task.id} of session {task.session_id}" for task in at_work)
            raise Conflict(
                "folder_busy",
                f"A turn is running in {target.cwd}: {named}. Wait for it, stop it, or send force: true.",
                tasks=[task.id for task in at_work],
                sessions=sorted({task.session_id for task in at_work}),
            )
        if target.session_id is None:
            raise Conflict(
                "checkpoint_gone",
                f"The session of checkpoint {target.id} was deleted, so its files cannot be restored.",
            )
        return await records.session(tx, target.session_id)

    async def _refuse_to_undo_others(self, target: Checkpoint, plan: Plan) -> None:
        """Refuses if a task of another session has since changed a file that would be restored."""

        async def read(tx: Tx) -> list[TaskCommits]:
            return [*await _of_others(tx, target, plan.now.sha), *await _of_removed(tx, target)]

        paths = set(plan.paths)
        undone = [work for work in await self._store.read(read) if await _touched(target.cwd, work, paths)]
        if undone:
            raise Conflict(
                "would_undo_others",
                f"Other sessions have since changed files that would be restored: {', '.join(map(_whose, undone))}. "
                "Choose other paths, or send force: true.",
                tasks=[work.task_id for work in undone if work.task_id is not None],
                sessions=sorted({work.session_id for work in undone if work.session_id is not None}),
            )

    async def _carry_out(self, plan: Plan, undo: Checkpoint, target: Checkpoint) -> None:
        """Stores the current files before the first one is changed."""
        assert undo.ref is not None and undo.sha is not None
        await refs.keep(undo.cwd, {undo.ref: undo.sha})
        await self._store.write(lambda change: record(change, FolderState(None, undo)))
        try:
            await apply(plan)
        except BoughError as error:
            error.details["checkpointId"] = undo.id
            raise

        async def tell(change: Change) -> None:
            by_task = target.moment in ("before", "after")
            when = f"{target.moment} task {target.task_id}" if by_task else f"at checkpoint {target.id}"
            text = (
                f"The files were restored to their state {when}: {len(plan.writes)} written, "
                f"{len(plan.removes)} removed. Checkpoint {undo.id} undoes this."
            )
            assert target.session_id is not None
            await records.add_message(change, target.session_id, None, "system", message.notice(text, undo.id))
            await agent_notes.add(change, target.session_id, _note_for_agent(plan))

        await self._store.write(tell)


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


def _named(paths: list[str]) -> list[str]:
    return [shown(path) for path in sorted(paths)[:MOST_NAMED]]


def _note_for_agent(plan: Plan) -> str:
    """Builds the note that tells the agent which files have changed behind its back."""
    names = ["Since your last turn, files were restored to an earlier state. Read them again before you use them."]
    for what, paths in (("written", plan.writes), ("removed", plan.removes)):
        if paths:
            more = f" and {len(paths) - MOST_TOLD} more" if len(paths) > MOST_TOLD else ""
            names.append(f"{what}: {', '.join(shown(path) for path in sorted(paths)[:MOST_TOLD])}{more}")
    return "\n- ".join(names)


def _note(plan: Plan) -> str | None:
    names = [plan.now.note] if plan.now.note else []
    if not plan.paths:
        names.append("No file had to change.")
    if max(len(plan.writes), len(plan.removes), len(plan.left)) > MOST_NAMED:
        names.append(f"{MOST_NAMED} of each are named.")
    return " ".join(names) or None
