"""Keeping one contender of a race: its work is committed and brought to where the race began, the others are put away
so that they can be had back (B6). Merging is `bough.git.merge`, removing worktrees `worktrees`."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any, Literal

import msgspec
import structlog

from bough.core.checkpoints.take import Checkpoints, Taken, busy, of_restore, record
from bough.core.sessions.cascades import Cascades, below
from bough.core.store import records
from bough.core.store.short_ids import whole_id
from bough.core.store.sql import TASKS, WORKTREES
from bough.core.store.transactions import Change, Store
from bough.core.trees.race import start as races
from bough.core.trees.race.start import RaceRecord
from bough.core.trees.race.status import stranger
from bough.core.worktrees.records import usable
from bough.core.worktrees.remove import how_to_recover
from bough.core.worktrees.service import Worktrees
from bough.errors import BoughError, Conflict
from bough.git import checkpoint_refs as refs
from bough.git import merge
from bough.git.repo_lock import alone
from bough.git.restore import Plan, apply, plan
from bough.git.status import files
from bough.git.worktrees import common_folder, resolve
from bough.model.ids import new_id
from bough.model.message import notice, raw
from bough.model.repo import Worktree
from bough.model.session import Caller, Session
from bough.model.task import Task
from bough.storage.backend import Tx

log = structlog.get_logger("bough.races")

How = Literal["merge", "checkout", "branch"]


class KeepBody(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Which one, and how: merged into the branch where the race began, its files put there uncommitted, or its branch
    left as it is. `force` goes on while a turn runs there, and puts files over uncommitted ones."""

    session_id: str
    how: How = "merge"
    force: bool = False
    idempotency_key: str | None = None


class PutAway(msgspec.Struct, rename="camel"):
    """What became of one that was not kept: `recover` says how to get its files back, `message` what could not be
    done."""

    session_id: str
    archived: bool
    worktree_id: str | None
    worktree_removed: bool
    recovery_ref: str | None
    recover: str | None
    message: str | None


class Kept(msgspec.Struct, rename="camel"):
    """What was kept: the winner's branch and its last commit, and whether that was made now; for a merge how and into
    which branch; how many files changed where the race began; the checkpoint that undoes a checkout. `others` is null
    while they are being put away."""

    race_id: str
    session_id: str
    how: How
    branch: str | None
    sha: str
    committed: bool
    merged: merge.Merged | None = None
    into: str | None = None
    files: int = 0
    undo_checkpoint_id: str | None = None
    others: list[PutAway] | None = None


class _Case(msgspec.Struct):
    """A race that is to be decided."""

    race_id: str
    record: RaceRecord
    source: Session
    winner: Session
    others: list[Session]
    worktree: Worktree
    prompt: str


class Keeping:
    """Ends races."""

    def __init__(self, store: Store, checkpoints: Checkpoints, worktrees: Worktrees, cascades: Cascades) -> None:
        self._store = store
        self._checkpoints = checkpoints
        self._worktrees = worktrees
        self._cascades = cascades
        self._locks: dict[str, asyncio.Lock] = {}

    async def keep(self, caller: Caller, race_id: str, body: KeepBody) -> Kept:
        """Keeps one; asked for the same again it says the same again, and goes on if it was cut off."""
        message, _ = await self._store.read(lambda tx: races.found(tx, race_id))
        return await asyncio.shield(asyncio.create_task(self._alone(caller, message.id, body)))

    async def _alone(self, caller: Caller, race_id: str, body: KeepBody) -> Kept:
        async with self._locks.setdefault(race_id, asyncio.Lock()):
            known = await self._store.read(lambda tx: _known(tx, race_id, body))
            if known is not None and known.others is not None:
                return known
            case = await self._store.read(lambda tx: _case(tx, race_id, body))
            kept = known or await self._bring(case, body)
            # What somebody has taken back since, after another way of keeping, stays.
            earlier = await self._store.read(lambda tx: _earlier(tx, case.winner.id))
            if known is None:
                await self._note(case, kept, tell=True)
            one = msgspec.structs.replace(caller, idempotency_key=None)
            put_away = earlier or await asyncio.gather(*(self._put_away(one, other) for other in case.others))
            kept.others = list(put_away)
            await self._note(case, kept, tell=False)
        log.info("race_decided", race=race_id, session=kept.session_id, how=kept.how)
        return kept

    async def _bring(self, case: _Case, body: KeepBody) -> Kept:
        """Commits the winner's files and brings them to where the race began, or refuses and leaves all as it was."""
        there, here = case.record.cwd, case.winner.cwd
        async with contextlib.AsyncExitStack() as stack:
            for folder in (there, here) if body.how != "branch" else (here,):
                await stack.enter_async_context(self._checkpoints.gate(folder))
            await self._store.read(lambda tx: _at_rest(tx, case, body))
            for folder in (there, here) if body.how != "branch" else (here,):
                await stack.enter_async_context(self._checkpoints.alone(folder))
            await stack.enter_async_context(alone(await common_folder(here)))
            prepared = await merge.prepare(here, _message(case))
            branch = (await files(here)).branch
            kept = Kept(case.race_id, case.winner.id, body.how, branch, prepared.sha, prepared.new)
            if body.how == "merge":
                await _merge(case, kept)
            elif body.how == "checkout":
                await self._checkout(case, kept, body.force)
            await merge.settle(here, prepared)
        return kept

    async def _checkout(self, case: _Case, kept: Kept, force: bool) -> None:
        """Puts the winner's files where the race began; what is there is kept first."""
        there = case.record.cwd
        made = await plan(there, kept.sha)
        kept.files = len(made.paths)
        if not made.paths:
            return
        if not force:
            await _unchanged(case)
        kept.undo_checkpoint_id = await self._keep_now(case.source, made)
        try:
            await apply(made)
        except BoughError as error:
            error.details["checkpointId"] = kept.undo_checkpoint_id
            raise

    async def _keep_now(self, source: Session, made: Plan) -> str:
        undo = of_restore(source, None, new_id(), made.now)
        assert undo.ref is not None and undo.sha is not None
        await refs.keep(undo.cwd, {undo.ref: undo.sha})
        await self._store.write(lambda change: record(change, Taken(None, undo)))
        return undo.id

    async def _note(self, case: _Case, kept: Kept, *, tell: bool) -> None:
        """Writes down what was kept, with the winner; and the first time in the transcript where the race began."""

        async def work(change: Change) -> None:
            winner = await records.session(change.tx, case.winner.id)
            marks: dict[str, Any] = {**records.metadata(winner).get("race", {}), "kept": msgspec.to_builtins(kept)}
            await records.update_session(change, winner.id, metadata=raw(records.with_metadata(winner, race=marks)))
            if tell:
                await records.add_message(change, case.source.id, None, "system", notice(_told(kept)))

        await self._store.write(work)

    async def _put_away(self, caller: Caller, other: Session) -> PutAway:
        """Stops and archives a contender with all below it, and removes its worktree after all in it is kept."""
        said: list[str] = []
        archived, row = False, None
        try:
            if await self._store.read(lambda tx: _at_work(tx, other.id)):
                await self._cascades.run(caller, other.id, "cancel")
            done = await self._cascades.run(caller, other.id, "archive")
            archived = done.session.archived
            said += [one.message for one in done.sessions if one.message]
        except BoughError as error:
            said.append(error.message)
        if other.worktree_id is not None:
            worktree_id = other.worktree_id
            try:
                row = await self._store.read(lambda tx: tx.one(WORKTREES.get, Worktree, id=worktree_id))
                if row is not None and row.removed_at is None:
                    fate = "delete" if row.branch_made else "keep"
                    row = (await self._worktrees.remove(row.id, force=True, branch=fate)).worktree
            except BoughError as error:
                said.append(error.message)
        return PutAway(
            session_id=other.id,
            archived=archived,
            worktree_id=other.worktree_id,
            worktree_removed=row is not None and row.removed_at is not None,
            recovery_ref=row.recovery_ref if row else None,
            recover=how_to_recover(row) if row else None,
            message=" ".join(said) or None,
        )


async def _merge(case: _Case, kept: Kept) -> None:
    there = case.record.cwd
    wanted = await merge.check(there, kept.sha)
    kept.merged, kept.into, kept.files = wanted.kind, wanted.branch, len(wanted.files)
    if wanted.kind != "none":
        await merge.merge(there, kept.sha, f"Merge race {case.race_id}: {races.named(case.prompt)}")


async def _unchanged(case: _Case) -> None:
    """Refuses where somebody has worked since, or has work that is not committed."""
    there = case.record.cwd
    found = await files(there)
    dirty = [name for name, _ in found.changed] + found.untracked
    if dirty:
        named = dirty[: merge.MOST_NAMED]
        raise Conflict(
            "source_changed",
            f"{len(dirty)} files are not committed at {there}: {', '.join(named)}. Commit them, or send force: true; "
            "they are kept in a checkpoint first.",
            files=named,
        )
    if await resolve(there, "HEAD") != case.record.head:
        raise Conflict(
            "source_changed",
            f"There are commits at {there} since the race began, which the winner's files would take back. Merge "
            "instead, or send force: true.",
        )


def _message(case: _Case) -> str:
    return (
        f"{races.named(case.prompt)}\n\n{case.prompt.strip()}\n\n"
        f"Bough-Race: {case.race_id}\nBough-Session: {case.winner.id}\n"
    )


def _told(kept: Kept) -> str:
    where = {
        "merge": f"merged into {kept.into}" if kept.merged != "none" else f"in {kept.into} already",
        "checkout": "put here as uncommitted changes",
        "branch": f"left on branch {kept.branch}",
    }[kept.how]
    undo = f" Checkpoint {kept.undo_checkpoint_id} undoes this." if kept.undo_checkpoint_id else ""
    return f"Race {kept.race_id}: the work of session {kept.session_id} was kept, {where}.{undo}"


# In a transaction


async def _known(tx: Tx, race_id: str, body: KeepBody) -> Kept | None:
    """What was kept already, if that is what is wanted; Conflict if it was another one."""
    _, begun = await races.found(tx, race_id)
    chosen = await whole_id(tx, "sessions", body.session_id)
    for one in await races.contenders(tx, begun):
        kept = _marked(one)
        if kept is not None and one.id != chosen:
            raise Conflict(
                "race_decided",
                f"Session {one.id} was kept in this race ({kept.how}). Recover the worktree of another one to go on "
                "with it.",
                sessionId=one.id,
            )
        if kept is not None and kept.how == body.how:
            return kept
    return None


async def _earlier(tx: Tx, winner_id: str) -> list[PutAway] | None:
    kept = _marked(await records.session(tx, winner_id))
    return kept.others if kept is not None else None


def _marked(session: Session) -> Kept | None:
    kept = records.metadata(session).get("race", {}).get("kept")
    return msgspec.convert(kept, Kept) if kept is not None else None


async def _case(tx: Tx, race_id: str, body: KeepBody) -> _Case:
    message, begun = await races.found(tx, race_id)
    chosen = await whole_id(tx, "sessions", body.session_id)
    sessions = await races.contenders(tx, begun)
    winner = next((one for one in sessions if one.id == chosen), None)
    if winner is None:
        raise stranger(body.session_id, begun)
    assert winner.worktree_id is not None
    task_id = next(one.task_id for one in begun.sessions if one.session_id == chosen)
    task = await tx.one(TASKS.get, Task, id=task_id)
    return _Case(
        race_id=message.id,
        record=begun,
        source=await records.session(tx, message.session_id),
        winner=winner,
        others=[one for one in sessions if one.id != chosen],
        worktree=await usable(tx, winner.worktree_id),
        prompt=task.prompt if task is not None else winner.title,
    )


async def _at_rest(tx: Tx, case: _Case, body: KeepBody) -> None:
    """Refuses while the winner has something to do, or somebody is at work where its work is to go."""
    waiting = await tx.all(TASKS.open, Task, session_id=case.winner.id)
    running = await busy(tx, case.winner.cwd)
    if waiting or running:
        raise Conflict(
            "race_busy",
            f"Session {case.winner.id} is still at work, or has prompts that wait. Let it finish, or stop it.",
            tasks=[one.id for one in (*waiting, *running)],
        )
    at_work = await busy(tx, case.record.cwd) if body.how != "branch" and not body.force else []
    if at_work:
        named = ", ".join(f"task {one.id} of session {one.session_id}" for one in at_work)
        raise Conflict(
            "folder_busy",
            f"A turn runs in {case.record.cwd}: {named}. Wait for it or stop it, or send force: true.",
            tasks=[one.id for one in at_work],
            sessions=sorted({one.session_id for one in at_work}),
        )


async def _at_work(tx: Tx, session_id: str) -> bool:
    """Whether anything is to be done in a session or below it."""
    for one in await below(tx, session_id):
        if await tx.all(TASKS.open, Task, session_id=one.id):
            return True
    return False
