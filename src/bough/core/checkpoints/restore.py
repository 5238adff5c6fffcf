"""Restores files to a checkpoint so that it can be undone, and refuses to undo another session's work (W4).
`bough.git.working_copy.restore` plans and makes the changes."""

from __future__ import annotations

import asyncio
from typing import Literal

import msgspec
import structlog

from bough.agents.wait_shielded import shielded
from bough.core.checkpoints.diff import require_commit, require_files
from bough.core.checkpoints.restore_conflicts import refuse_to_undo
from bough.core.checkpoints.rows import FolderState, busy, moments, of_restore, record
from bough.core.checkpoints.take import Checkpoints
from bough.core.store import records
from bough.core.store.idempotency import RecordScope, forget_answer, replace_answer
from bough.core.store.sql import CHECKPOINTS, RESTORES
from bough.core.store.transactions import Change, Store
from bough.core.store.until_available import until_available
from bough.core.transcripts import agent_notes
from bough.errors import BoughError, Conflict, Unavailable
from bough.git.decode import shown
from bough.git.refs import checkpoint_refs as refs
from bough.git.threads import in_thread
from bough.git.working_copy.restore import RestorePlan, apply, changed_paths, differences, empty_or_missing, plan
from bough.model import message
from bough.model.checkpoint import Checkpoint
from bough.model.message import raw
from bough.model.session import Caller, Session
from bough.model.values.ids import new_id
from bough.model.values.times import now
from bough.storage.backend import Tx

log = structlog.get_logger("bough.restoring")

MOST_NAMED = 1000
# Enough names for an agent to know where to look.
MOST_TOLD = 50
UNDER_WAY = "Restoring the files."
HALF_DONE = "Since your last turn, some files were restored to an earlier state. Read them again before you use them."


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


class Restore(msgspec.Struct):
    """A row of `restores`: one that has not ended. From `begun` on, files may have changed, and the checkpoint with the
    same id holds them as they were."""

    id: str
    checkpoint_id: str
    paths: msgspec.Raw | None
    caller: msgspec.Raw
    begun: bool
    created_at: str

    @property
    def only(self) -> list[str] | None:
        return msgspec.json.decode(self.paths, type=list[str]) if self.paths is not None else None

    @property
    def scope(self) -> RecordScope:
        return RecordScope("checkpoints.restore", "checkpoints", self.checkpoint_id)

    @property
    def asker(self) -> Caller:
        return msgspec.json.decode(self.caller, type=Caller)


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
        stored_paths = raw(paths) if paths is not None else None
        job = Restore(mine.id, target.id, stored_paths, raw(caller), begun=False, created_at=now())

        async def claim(change: Change) -> Restored:
            if await change.tx.run(RESTORES.add, **msgspec.structs.asdict(job)):
                change.audit(
                    caller,
                    "files.restored",
                    session_id=target.session_id,
                    subject_id=target.id,
                    cwd=target.cwd,
                    paths=paths,
                )
            return mine

        once = self._store.write_once
        answer = await until_available(lambda: once(caller, job.scope, [paths, force], Restored, claim), "a restore")
        if answer.id != mine.id:
            return answer
        # To its end, also if whoever asked leaves: files must not stay half restored.
        return await shielded(asyncio.create_task(self._finish(job, target, force), name=f"restore {job.id}"))

    async def _finish(self, job: Restore, target: Checkpoint, force: bool) -> Restored:
        try:
            return await self._restore(job, target, force)
        except BaseException:
            await until_available(
                lambda: self._store.write(lambda change: self._give_up(change, job)), "a failed restore"
            )
            raise

    async def _give_up(self, change: Change, job: Restore) -> None:
        """Forgets a restore that changed nothing, so that the same request can be made again."""
        await change.tx.run(RESTORES.remove, id=job.id)
        if job.asker.idempotency_key is not None:
            await forget_answer(change.tx, job.asker, job.scope)

    # After a restart

    async def repair(self) -> None:
        """Completes the restores that a killed server left half done, before any turn runs in their folders."""
        for job in await self._store.read(lambda tx: tx.all(RESTORES.all, Restore)):
            if not job.begun:
                await self._store.write(lambda change, job=job: self._give_up(change, job))
                continue
            try:
                await self._complete(job)
            except Unavailable:
                # The start fails with this reason. The files are restored, and the next start says so.
                raise
            except (BoughError, OSError) as error:
                reason = error.message if isinstance(error, BoughError) else str(error)
                log.error("restore_not_completed", restore=job.id, error=reason)
                await self._store.write(lambda change, job=job, reason=reason: self._tell_failure(change, job, reason))

    async def _complete(self, job: Restore) -> None:
        """Restores the files that a cut-off restore had not reached."""
        target, undo = await asyncio.gather(
            *(
                until_available(lambda id=id: self._checkpoints.get(id), "a restore")
                for id in (job.checkpoint_id, job.id)
            )
        )
        cwd = target.cwd
        await self._checkpoints.check_folder(cwd)
        sha = await require_commit(cwd, target)
        async with self._checkpoints.gate(cwd), self._checkpoints.alone(cwd):
            planned = await plan(cwd, sha, job.only)
            undo_sha = await require_commit(cwd, undo)
            writes, removes = await differences(cwd, undo_sha, sha, job.only)
            # What was changed or added since the server died must not be overwritten: nothing else holds it.
            changed_since = await changed_paths(cwd, undo_sha, planned.now.sha)
            cut_off = await in_thread(empty_or_missing, planned)
            due = ({*writes, *removes} - changed_since) | (cut_off & {*writes})
            left = [path for path in planned.paths if path not in due]
            planned.writes = [path for path in planned.writes if path in due]
            planned.removes = [path for path in planned.removes if path in due]
            if planned.paths:
                await apply(planned)
        log.info("restore_completed", restore=job.id, cwd=cwd, checkpoint=target.id, left=len(left))
        writes, removes = ([path for path in paths if path not in left] for paths in (writes, removes))
        changed = msgspec.structs.replace(planned, writes=writes, removes=removes, left=[*planned.left, *left])
        tell = self._store.write
        await until_available(
            lambda: tell(lambda change: self._tell(change, job, target, changed, cut_off=True)), "a restore"
        )

    async def _tell_failure(self, change: Change, job: Restore, reason: str) -> None:
        text = (
            f"The server was stopped while it restored files, and could not complete this: {reason} "
            f"Some files may be restored and others not. Checkpoint {job.id} holds them all as they were before."
        )
        target = await change.tx.one(CHECKPOINTS.get, Checkpoint, id=job.checkpoint_id)
        if target is not None and target.session_id is not None:
            await records.add_message(change, target.session_id, None, "system", message.notice(text))
            await agent_notes.add(change, target.session_id, HALF_DONE)
        await self._give_up(change, job)

    async def _restore(self, job: Restore, target: Checkpoint, force: bool) -> Restored:
        cwd = target.cwd
        await self._checkpoints.check_folder(cwd)
        async with self._checkpoints.gate(cwd):
            session = await self._store.read(lambda tx: self._allowed(tx, target, force))
            async with self._checkpoints.alone(cwd):
                planned = await plan(cwd, await require_commit(cwd, target), job.only)
                if planned.paths and not force:
                    await refuse_to_undo(self._store, target, planned)
                if planned.paths:
                    undo = of_restore(session, target.task_id, job.id, planned.now)
                    await self._carry_out(job, planned, undo)
        written, removed = len(planned.writes), len(planned.removes)
        log.info("files_restored", cwd=cwd, checkpoint=target.id, written=written, removed=removed)
        return await until_available(
            lambda: self._store.write(lambda change: self._tell(change, job, target, planned)), "a restore"
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

    async def _carry_out(self, job: Restore, plan: RestorePlan, undo: Checkpoint) -> None:
        """Stores the current files, and that the restore begins, before the first one is changed."""
        assert undo.ref is not None and undo.sha is not None
        await refs.keep(undo.cwd, {undo.ref: undo.sha})

        async def begin(change: Change) -> None:
            await record(change, FolderState(None, undo))
            await change.tx.run(RESTORES.begin, id=job.id)

        await self._store.write(begin)
        try:
            await apply(plan)
        except BoughError as error:
            error.details["checkpointId"] = undo.id
            raise

    async def _tell(
        self, change: Change, job: Restore, target: Checkpoint, plan: RestorePlan, *, cut_off: bool = False
    ) -> Restored:
        """Tells people and the agent what was restored, and stores the answer for the idempotency key."""
        by_task = target.moment in ("before", "after")
        when = f"{target.moment} task {target.task_id}" if by_task else f"at checkpoint {target.id}"
        is_first = await change.tx.run(RESTORES.remove, id=job.id)
        if is_first and plan.paths and target.session_id is not None:
            text = (
                f"The files were restored to their state {when}: {len(plan.writes)} written, "
                f"{len(plan.removes)} removed. Checkpoint {job.id} undoes this."
            )
            if cut_off:
                text = f"{text} The server was stopped in the middle, and the next one completed it."
            await records.add_message(change, target.session_id, None, "system", message.notice(text, job.id))
            await agent_notes.add(change, target.session_id, _note_for_agent(plan))
        done = Restored(
            id=job.id,
            checkpoint_id=target.id,
            undo_checkpoint_id=job.id if plan.paths else None,
            written=_named(plan.writes),
            removed=_named(plan.removes),
            left=_named(plan.left),
            note=_note(plan),
        )
        await replace_answer(change.tx, job.asker, job.scope, done)
        return done


def _named(paths: list[str]) -> list[str]:
    return [shown(path) for path in sorted(paths)[:MOST_NAMED]]


def _note_for_agent(plan: RestorePlan) -> str:
    """Builds the note that tells the agent which files have changed behind its back."""
    names = ["Since your last turn, files were restored to an earlier state. Read them again before you use them."]
    for action, paths in (("written", plan.writes), ("removed", plan.removes)):
        if paths:
            more = f" and {len(paths) - MOST_TOLD} more" if len(paths) > MOST_TOLD else ""
            names.append(f"{action}: {', '.join(shown(path) for path in sorted(paths)[:MOST_TOLD])}{more}")
    return "\n- ".join(names)


def _note(plan: RestorePlan) -> str | None:
    names = [plan.now.note] if plan.now.note else []
    if not plan.paths:
        names.append("No file had to change.")
    if max(len(plan.writes), len(plan.removes), len(plan.left)) > MOST_NAMED:
        names.append(f"{MOST_NAMED} of each are named.")
    return " ".join(names) or None
