"""Keeps one racer of a race: commits its work and brings it to where the race began, then archives the other racers so
that they can be recovered (B6)."""

from __future__ import annotations

import asyncio
import contextlib
from weakref import WeakValueDictionary

import msgspec
import structlog

from bough.core.checkpoints.rows import FolderState, busy, of_restore, record
from bough.core.checkpoints.take import Checkpoints
from bough.core.sessions.ending.cascades import Cascades, below
from bough.core.store import records
from bough.core.store.session_secrets import shown_task
from bough.core.store.short_ids import whole_id
from bough.core.store.sql import HOME, RACES, TASKS, WORKTREES
from bough.core.store.transactions import Change, Store
from bough.core.store.until_available import until_available
from bough.core.trees.race.records import find_race, racer_task, racers, start_of_work
from bough.core.trees.race.rules import (
    ArchivedRacer,
    How,
    KeptRacer,
    check_racer,
    earlier_result,
    kept_notice,
    race_name,
    result_of,
)
from bough.core.trees.race.setup_changes import preparation
from bough.core.worktrees.records import usable
from bough.core.worktrees.removal.recover import how_to_recover
from bough.core.worktrees.service import Worktrees
from bough.errors import BoughError, Conflict, Unavailable
from bough.git.finish import merge
from bough.git.refs import checkpoint_refs as refs
from bough.git.repo_lock import alone
from bough.git.working_copy.restore import RestorePlan, apply, plan
from bough.git.working_copy.status import files
from bough.git.worktrees import common_folder, resolve
from bough.model.checkpoint import Checkpoint
from bough.model.message import raw
from bough.model.repo import Worktree
from bough.model.session import Caller, Session
from bough.model.task import Task
from bough.model.trees.race import RaceRow
from bough.model.values.ids import new_id
from bough.storage.backend import Tx

log = structlog.get_logger("bough.races")

# How long the server's end waits for decisions, for example while the database is away. A repeated request completes
# one that was cut off.
CLOSE_WITHIN = 10.0


class KeepBody(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """The racer to keep, and how: merge it into the branch where the race began, check its files out there without a
    commit, or leave its branch as it is. `force` continues while a turn runs there, and overwrites uncommitted
    files."""

    session_id: str
    how: How = "merge"
    force: bool = False
    idempotency_key: str | None = None


class _Decision(msgspec.Struct):
    """The rows that a decision about a race needs."""

    race: RaceRow
    source: Session
    winner: Session
    others: list[Session]
    worktree: Worktree
    prompt: str
    begun: Checkpoint | None


class RaceResults:
    """Decides races."""

    def __init__(self, store: Store, checkpoints: Checkpoints, worktrees: Worktrees, cascades: Cascades) -> None:
        self._store = store
        self._checkpoints = checkpoints
        self._worktrees = worktrees
        self._cascades = cascades
        # A lock lives as long as somebody holds or awaits it.
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._decisions: set[asyncio.Task[KeptRacer]] = set()

    async def keep(self, caller: Caller, race_id: str, body: KeepBody) -> KeptRacer:
        """Keeps one racer. An equal request returns the same result, and completes a decision that was cut off."""
        race = await self._store.read(lambda tx: find_race(tx, race_id))
        decision = asyncio.create_task(self._keep_alone(caller, race.id, body), name=f"keep {race.id}")
        self._decisions.add(decision)
        decision.add_done_callback(self._decisions.discard)
        return await asyncio.shield(decision)

    async def close(self) -> None:
        """Waits for decisions that nobody waits for anymore, and cancels those that take too long."""
        if self._decisions:
            _, late = await asyncio.wait(self._decisions, timeout=CLOSE_WITHIN)
            for decision in late:
                decision.cancel()
            if late:
                await asyncio.wait(late)

    async def _keep_alone(self, caller: Caller, race_id: str, body: KeepBody) -> KeptRacer:
        lock = self._locks.setdefault(race_id, asyncio.Lock())
        async with lock:
            earlier, archived_before = await self._store.read(lambda tx: _earlier(tx, race_id, body))
            if earlier is not None and earlier.others is not None:
                return earlier
            case = await self._store.read(lambda tx: _decision(tx, race_id, body))
            result = earlier or await self._bring(case, body)
            if earlier is None:
                # The files are there already: a repeated request would not find out how to undo that.
                await until_available(lambda: self._record(case, result, decided_by=caller), "a race", race=race_id)
            without_key = msgspec.structs.replace(caller, idempotency_key=None)
            # If the same racer was kept in another way before, the others were archived then. Somebody may have
            # restored one since, so that they are left alone.
            result.others = archived_before or list(
                await asyncio.gather(
                    *(
                        until_available(lambda other=other: self._put_away(without_key, other), "a race", race=race_id)
                        for other in case.others
                    )
                )
            )
            await until_available(lambda: self._record(case, result), "a race", race=race_id)
        log.info("race_decided", race=race_id, session=result.session_id, how=result.how)
        return result

    async def _bring(self, case: _Decision, body: KeepBody) -> KeptRacer:
        """Commits the winner's files and brings them to where the race began; a refusal changes nothing."""
        target, winner = case.race.cwd, case.winner.cwd
        # In the same order as whatever else locks several folders.
        folders = sorted({target, winner}) if body.how != "branch" else [winner]
        async with contextlib.AsyncExitStack() as stack:
            for folder in folders:
                await stack.enter_async_context(self._checkpoints.gate(folder))
            await self._store.read(lambda tx: _refuse_while_busy(tx, case, body))
            for folder in folders:
                await stack.enter_async_context(self._checkpoints.alone(folder))
            await stack.enter_async_context(alone(await common_folder(winner)))
            made = await preparation(winner, case.race, case.begun)
            prepared = await merge.prepare(winner, _commit_message(case), made)
            branch = (await files(winner)).branch
            result = KeptRacer(case.race.id, case.winner.id, body.how, branch, prepared.sha, prepared.new)
            if body.how == "merge":
                await _merge(case, result)
            elif body.how == "checkout":
                await self._checkout(case, result, body.force)
            await merge.settle(winner, prepared)
        return result

    async def _checkout(self, case: _Decision, result: KeptRacer, force: bool) -> None:
        """Puts the winner's files where the race began, after a checkpoint of the files that are there."""
        changes = await plan(case.race.cwd, result.sha)
        result.files = len(changes.paths)
        if not changes.paths:
            return
        if not force:
            await _refuse_if_changed(case)
        result.undo_checkpoint_id = await self._take_undo_checkpoint(case.source, changes)
        try:
            await apply(changes)
        except BoughError as error:
            error.details["checkpointId"] = result.undo_checkpoint_id
            raise

    async def _take_undo_checkpoint(self, source: Session, changes: RestorePlan) -> str:
        undo = of_restore(source, None, new_id(), changes.now)
        assert undo.ref is not None and undo.sha is not None
        await refs.keep(undo.cwd, {undo.ref: undo.sha})
        await self._store.write(lambda change: record(change, FolderState(None, undo)))
        return undo.id

    async def _record(self, case: _Decision, result: KeptRacer, decided_by: Caller | None = None) -> None:
        """Stores the result with the race. The first time, with the caller who decided it, adds a notice to the
        transcript where the race began."""

        async def work(change: Change) -> None:
            known = result_of(await find_race(change.tx, case.race.id))
            # Stored before, though the reply was lost.
            is_told = known is not None and (known.session_id, known.how) == (result.session_id, result.how)
            await change.tx.run(
                RACES.keep, id=case.race.id, session_id=result.session_id, kept=raw(result), now=change.now
            )
            if decided_by is not None and not is_told:
                # The decision was made by looking at the result: it needs nobody anymore.
                if await change.tx.run(HOME.read, session_id=result.session_id):
                    await records.update_session(change, result.session_id, seen_at=change.now)
                shown = kept_notice(result, case.winner.title)
                await records.add_message(change, case.source.id, None, "system", shown)
                change.audit(
                    decided_by, "race.kept", session_id=result.session_id, subject_id=case.race.id, how=result.how
                )

        await self._store.write(work)

    async def _put_away(self, caller: Caller, other: Session) -> ArchivedRacer:
        """Stops and archives a racer with its descendants, and removes its worktree after keeping all of its files.
        Safe to repeat, and must be if it raises `Unavailable`; other errors are told in the result."""
        messages: list[str] = []
        archived, worktree = False, None
        try:
            if await self._store.read(lambda tx: _has_open_tasks(tx, other.id)):
                await self._cascades.run(caller, other.id, "cancel")
            cascade = await self._cascades.run(caller, other.id, "archive")
            archived = cascade.session.archived
            messages += [outcome.message for outcome in cascade.sessions if outcome.message]
        except Unavailable:
            raise
        except BoughError as error:
            messages.append(error.message)
        if other.worktree_id is not None:
            worktree_id = other.worktree_id
            try:
                worktree = await self._store.read(lambda tx: tx.one(WORKTREES.get, Worktree, id=worktree_id))
                if worktree is not None and worktree.removed_at is None:
                    branch = "delete" if worktree.branch_made else "keep"
                    worktree = (await self._worktrees.remove(caller, worktree.id, force=True, branch=branch)).worktree
            except Unavailable:
                raise
            except BoughError as error:
                messages.append(error.message)
        return ArchivedRacer(
            session_id=other.id,
            archived=archived,
            worktree_id=other.worktree_id,
            worktree_removed=worktree is not None and worktree.removed_at is not None,
            recovery_ref=worktree.recovery_ref if worktree else None,
            recover=how_to_recover(worktree) if worktree else None,
            message=" ".join(messages) or None,
        )


async def _merge(case: _Decision, result: KeptRacer) -> None:
    folder = case.race.cwd
    planned = await merge.check(folder, result.sha)
    result.merged, result.into, result.files = planned.kind, planned.branch, len(planned.files)
    if planned.kind != "none":
        await merge.merge(folder, result.sha, f"Merge race {case.race.id}: {race_name(case.prompt)}")


async def _refuse_if_changed(case: _Decision) -> None:
    """Raises `Conflict` if there are new commits or uncommitted files where the race began."""
    folder = case.race.cwd
    status = await files(folder)
    dirty = [name for name, _ in status.changed] + status.untracked
    if dirty:
        named = dirty[: merge.MOST_NAMED]
        raise Conflict(
            "source_changed",
            f"{len(dirty)} files are not committed at {folder}: {', '.join(named)}. Commit them, or send force: true; "
            "they are kept in a checkpoint first.",
            files=named,
        )
    if await resolve(folder, "HEAD") != case.race.head_sha:
        raise Conflict(
            "source_changed",
            f"There are new commits at {folder} since the race began, which the winner's files would undo. Merge "
            "instead, or send force: true.",
        )


def _commit_message(case: _Decision) -> str:
    return (
        f"{race_name(case.prompt)}\n\n{case.prompt.strip()}\n\n"
        f"Bough-Race: {case.race.id}\nBough-Session: {case.winner.id}\n"
    )


# Functions that read in a transaction


async def _earlier(tx: Tx, race_id: str, body: KeepBody) -> tuple[KeptRacer | None, list[ArchivedRacer] | None]:
    """Returns the result of an equal request, and what became of the other racers in any earlier decision."""
    race = await find_race(tx, race_id)
    chosen = await whole_id(tx, "sessions", body.session_id)
    result = result_of(race)
    return earlier_result(race, chosen, body.how), result.others if result is not None else None


async def _decision(tx: Tx, race_id: str, body: KeepBody) -> _Decision:
    race = await find_race(tx, race_id)
    chosen = await whole_id(tx, "sessions", body.session_id)
    sessions = {session.id: session for session in await racers(tx, race.id)}
    check_racer(body.session_id, chosen, list(sessions))
    winner = sessions.pop(chosen)
    assert winner.worktree_id is not None
    task = await racer_task(tx, winner.id)
    return _Decision(
        race=race,
        source=await records.session(tx, race.session_id),
        winner=winner,
        others=list(sessions.values()),
        worktree=await usable(tx, winner.worktree_id),
        # It becomes part of a commit.
        prompt=(await shown_task(tx, task)).prompt if task is not None else winner.title,
        begun=(await start_of_work(tx, winner.id)).files,
    )


async def _refuse_while_busy(tx: Tx, case: _Decision, body: KeepBody) -> None:
    """Raises `Conflict` while the winner has work to do, or a turn runs where its work is to go."""
    unfinished = await tx.all(TASKS.open, Task, session_id=case.winner.id)
    running = await busy(tx, case.winner.cwd)
    if unfinished or running:
        raise Conflict(
            "race_busy",
            f"Session {case.winner.id} is still running or has queued prompts. Let it finish, or stop it.",
            tasks=[task.id for task in (*unfinished, *running)],
        )
    in_target = await busy(tx, case.race.cwd) if body.how != "branch" and not body.force else []
    if in_target:
        named = ", ".join(f"task {task.id} of session {task.session_id}" for task in in_target)
        raise Conflict(
            "folder_busy",
            f"A turn runs in {case.race.cwd}: {named}. Wait for it or stop it, or send force: true.",
            tasks=[task.id for task in in_target],
            sessions=sorted({task.session_id for task in in_target}),
        )


async def _has_open_tasks(tx: Tx, session_id: str) -> bool:
    """Tells whether a session or one of its descendants has work to do."""
    for session in await below(tx, session_id):
        if await tx.all(TASKS.open, Task, session_id=session.id):
            return True
    return False
