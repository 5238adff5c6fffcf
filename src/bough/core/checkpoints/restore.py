"""Bringing files back to a checkpoint, so that it can be undone, and refusing where that would undo another session's
work (W4). What is written and removed is planned and done by `bough.git.restore`."""

from __future__ import annotations

from typing import Literal

import msgspec
import structlog

from bough.core.checkpoints.diff import kept, there
from bough.core.checkpoints.take import AT_WORK, Checkpoints, Taken, busy, moments, of_restore, record
from bough.core.store import records
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
# So many names are enough for an agent to know where to look.
MOST_TOLD = 50
UNDER_WAY = "The files are being brought back."


class RestoreBody(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """To which moment of the task, which files or folders (all if not said), and whether to undo others' work too."""

    moment: Literal["before", "after"] = "before"
    paths: list[str] | None = None
    force: bool = False
    idempotency_key: str | None = None


class RestoreCheckpoint(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Which files or folders (all if not said), and whether to undo others' work too."""

    paths: list[str] | None = None
    force: bool = False
    idempotency_key: str | None = None


class Restored(msgspec.Struct, rename="camel"):
    """What was done. `undo_checkpoint_id` holds the files as they were just before; none if nothing had to be done.
    `left` are files that differ and were left alone: submodules, and what the checkpoint's own rules ignore."""

    id: str
    checkpoint_id: str
    undo_checkpoint_id: str | None
    written: list[str]
    removed: list[str]
    left: list[str]
    note: str | None


class Work(msgspec.Struct, frozen=True):
    """What a task has done to a folder: the commits of its files before and after."""

    task_id: str | None
    session_id: str | None
    before: str | None
    after: str | None
    removed: bool = False


class Restoring:
    """Brings files back."""

    def __init__(self, store: Store, checkpoints: Checkpoints) -> None:
        self._store = store
        self._checkpoints = checkpoints

    async def to_task(self, caller: Caller, task_id: str, body: RestoreBody) -> Restored:
        """Brings the folder of a task to how it was before or after that."""

        async def read(tx: Tx) -> Checkpoint:
            task = await records.task(tx, task_id)
            found = await moments(tx, task.id)
            chosen, when = (found.before, "before it began") if body.moment == "before" else (found.after, "at its end")
            return kept(chosen, f"Task {task.id}", when)

        target = await self._store.read(read)
        return await self._once(caller, target, body.paths, body.force)

    async def to_checkpoint(self, caller: Caller, checkpoint_id: str, body: RestoreCheckpoint) -> Restored:
        """Brings the folder of a checkpoint to what that holds; of the one kept by another restore, this undoes it."""
        found = await self._checkpoints.get(checkpoint_id)
        target = kept(found, f"Checkpoint {found.id}", "to go back to")
        return await self._once(caller, target, body.paths, body.force)

    async def _once(self, caller: Caller, target: Checkpoint, paths: list[str] | None, force: bool) -> Restored:
        """Does it once for each idempotency key: whoever finds another's answer there does nothing."""
        mine = Restored(new_id(), target.id, None, [], [], [], UNDER_WAY)
        scope = f"checkpoints.restore:{target.id}"

        async def claim(change: Change) -> Restored:
            return mine

        known = await self._store.write_once(caller, scope, [paths, force], Restored, claim)
        if known.id != mine.id:
            return known
        try:
            done = await self._restore(mine.id, target, paths, force)
        except BaseException:
            await self._store.forget_answer(caller, scope)
            raise
        await self._store.keep_answer(caller, scope, done)
        return done

    async def _restore(self, new: str, target: Checkpoint, paths: list[str] | None, force: bool) -> Restored:
        cwd = target.cwd
        async with self._checkpoints.gate(cwd):
            session = await self._store.read(lambda tx: self._allowed(tx, target, force))
            async with self._checkpoints.alone(cwd):
                made = await plan(cwd, await there(cwd, target), paths)
                if made.paths and not force:
                    await self._refuse_to_undo_others(target, made)
                if made.paths:
                    undo = of_restore(session, target.task_id, new, made.now)
                    await self._carry_out(made, undo, target)
        log.info("files_restored", cwd=cwd, checkpoint=target.id, written=len(made.writes), removed=len(made.removes))
        return Restored(
            id=new,
            checkpoint_id=target.id,
            undo_checkpoint_id=new if made.paths else None,
            written=_named(made.writes),
            removed=_named(made.removes),
            left=_named(made.left),
            note=_note(made),
        )

    async def _allowed(self, tx: Tx, target: Checkpoint, force: bool) -> Session:
        at_work = await busy(tx, target.cwd)
        if at_work and not force:
            named = ", ".join(f"task {one.id} of session {one.session_id}" for one in at_work)
            raise Conflict(
                "folder_busy",
                f"A turn runs in {target.cwd}: {named}. Wait for it or stop it, or send force: true.",
                tasks=[one.id for one in at_work],
                sessions=sorted({one.session_id for one in at_work}),
            )
        if target.session_id is None:
            raise Conflict(
                "checkpoint_gone", f"The session of checkpoint {target.id} is gone, and so is its folder's past."
            )
        return await records.session(tx, target.session_id)

    async def _refuse_to_undo_others(self, target: Checkpoint, made: Plan) -> None:
        """Refuses if a task of another session has touched, since then, a file that would be brought back."""

        async def read(tx: Tx) -> list[Work]:
            return [*await _of_others(tx, target, made.now.sha), *await _of_removed(tx, target)]

        paths = set(made.paths)
        undone = [one for one in await self._store.read(read) if await _touched(target.cwd, one, paths)]
        if undone:
            raise Conflict(
                "would_undo_others",
                f"Files that would be brought back were changed since by others: {', '.join(map(_whose, undone))}. "
                "Name other paths, or send force: true.",
                tasks=[one.task_id for one in undone if one.task_id is not None],
                sessions=sorted({one.session_id for one in undone if one.session_id is not None}),
            )

    async def _carry_out(self, made: Plan, undo: Checkpoint, target: Checkpoint) -> None:
        """Keeps the files of now, for good, before the first one is touched."""
        assert undo.ref is not None and undo.sha is not None
        await refs.keep(undo.cwd, {undo.ref: undo.sha})
        await self._store.write(lambda change: record(change, Taken(None, undo)))
        try:
            await apply(made)
        except BoughError as error:
            error.details["checkpointId"] = undo.id
            raise

        async def tell(change: Change) -> None:
            known = target.moment in ("before", "after")
            when = f"{target.moment} task {target.task_id}" if known else f"at checkpoint {target.id}"
            text = (
                f"The files were brought back to how they were {when}: {len(made.writes)} written, "
                f"{len(made.removes)} removed. Checkpoint {undo.id} undoes this."
            )
            assert target.session_id is not None
            await records.add_message(change, target.session_id, None, "system", message.notice(text))
            await agent_notes.add(change, target.session_id, _news(made))

        await self._store.write(tell)


async def _of_others(tx: Tx, target: Checkpoint, now: str) -> list[Work]:
    """What tasks of other sessions have done since, up to `now` if they have not ended: one that was cut off goes on
    later with the files that it has begun."""
    cwd, own = target.cwd, target.session_id
    since = await tx.all(CHECKPOINTS.of_others_since, Checkpoint, cwd=cwd, since=target.created_at, session_id=own)
    at_work = await tx.all(CHECKPOINTS.at_work, Task, cwd=cwd, statuses=AT_WORK, but=own)
    ids = [one.task_id for one in since if one.task_id is not None]
    found: list[Work] = []
    for task_id in dict.fromkeys([*ids, *(one.id for one in at_work if one.sent_attempt)]):
        task, both = await records.task(tx, task_id), await moments(tx, task_id)
        after = both.after.sha if both.after is not None else now if task.ended_at is None else None
        found.append(Work(task.id, task.session_id, both.before.sha if both.before is not None else None, after))
    return found


async def _of_removed(tx: Tx, target: Checkpoint) -> list[Work]:
    """What tasks have done since whose session was removed for good: only the names of their refs still tell which of
    their checkpoints belong together."""
    tasks: dict[str, list[Checkpoint]] = {}
    for one in await tx.all(CHECKPOINTS.of_removed, Checkpoint, cwd=target.cwd):
        tasks.setdefault(one.ref.rpartition("/")[0] if one.ref else one.id, []).append(one)
    found: list[Work] = []
    for name, both in tasks.items():
        if both[-1].created_at > target.created_at:
            shas = {one.moment: one.sha for one in both}
            _, session_id, task_id = name.rsplit("/", 2) if "/" in name else (None, None, None)
            found.append(Work(task_id, session_id, shas.get("before"), shas.get("after"), removed=True))
    return found


async def _touched(cwd: str, work: Work, paths: set[str]) -> bool:
    """Whether a task has changed one of the paths, as far as can be told: what cannot be compared counts."""
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


def _whose(work: Work) -> str:
    if work.task_id is None:
        return "a task of a session that was removed"
    return f"task {work.task_id} of session {work.session_id}" + (", which was removed" if work.removed else "")


def _named(paths: list[str]) -> list[str]:
    return [shown(one) for one in sorted(paths)[:MOST_NAMED]]


def _news(made: Plan) -> str:
    """What the agent must know: what it remembers of these files is not so any more."""
    said = [
        "Since your last turn somebody has put files back to an earlier state. Read them again before you use them."
    ]
    for what, paths in (("written", made.writes), ("removed", made.removes)):
        if paths:
            more = f" and {len(paths) - MOST_TOLD} more" if len(paths) > MOST_TOLD else ""
            said.append(f"{what}: {', '.join(shown(one) for one in sorted(paths)[:MOST_TOLD])}{more}")
    return "\n- ".join(said)


def _note(made: Plan) -> str | None:
    said = [made.now.note] if made.now.note else []
    if not made.paths:
        said.append("Nothing had to be done.")
    if max(len(made.writes), len(made.removes), len(made.left)) > MOST_NAMED:
        said.append(f"{MOST_NAMED} of each are named.")
    return " ".join(said) or None
