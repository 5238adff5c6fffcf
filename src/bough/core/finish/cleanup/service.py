"""Cleans up worktrees and completes the cleanups that the last server left. What was decided is stored first, so that
every step can be repeated after a kill."""

from __future__ import annotations

import asyncio
import contextlib
from weakref import WeakValueDictionary

import msgspec
import structlog

from bough.core.checkpoints.take import Checkpoints
from bough.core.finish.cleanup.plan import CleanupPlan, plan_cleanup, sessions_to_end
from bough.core.finish.requests import CleanupBody, Finished, FinishRefusal, scope_of, unkeyed
from bough.core.sessions.ending.archive import Archiving
from bough.core.sessions.ending.control import Control
from bough.core.store.short_ids import whole_id
from bough.core.store.sql import CLEANUPS
from bough.core.store.transactions import Change, Store
from bough.core.store.until_available import until_available
from bough.core.worktrees import records
from bough.core.worktrees.creation.create import run_shielded
from bough.core.worktrees.service import Worktrees
from bough.errors import BoughError, Busy, Conflict, Denied, Unavailable
from bough.git.repo_lock import alone
from bough.git.worktrees import common_folder, delete_branch
from bough.model.repo import Repo, Worktree
from bough.model.session import Caller
from bough.storage.backend import Tx

log = structlog.get_logger("bough.finish")

# How long the server's end waits for cleanups under way; the next start completes what is cut off.
CLOSE_WITHIN = 10.0


class DecidedCleanup(msgspec.Struct):
    """The answer of a cleanup, and the commit at which the branch may be deleted, if it may. `begun` says that the last
    look found nothing that would be missed: from then on the folder may be half removed."""

    finished: Finished
    tip: str | None
    begun: bool = False


class Cleanup(msgspec.Struct):
    """A cleanup that was decided and is not done: who asked for what, and the answer. `error` says why the last server
    could not complete it."""

    worktree_id: str
    caller: str
    request: str
    answer: str
    delete_branch: bool
    error: str | None
    requested_at: str


class Cleanups:
    """Ends the sessions of a worktree, removes it, and deletes its merged branch."""

    def __init__(
        self, store: Store, checkpoints: Checkpoints, worktrees: Worktrees, control: Control, archiving: Archiving
    ) -> None:
        self._store = store
        self._checkpoints = checkpoints
        self._worktrees = worktrees
        self._control = control
        self._archiving = archiving
        self._running: set[asyncio.Task[Finished]] = set()
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def clean_up(self, caller: Caller, worktree_id: str, body: CleanupBody) -> Finished:
        """Cleans a worktree up, also if the caller stops waiting, or previews it."""
        whole = await self._store.read(lambda tx: whole_id(tx, "worktrees", worktree_id))
        if body.dry_run:
            return await self._preview(caller, whole, body)
        return await run_shielded(self._clean_up(caller, whole, body), self._running)

    async def _preview(self, caller: Caller, worktree_id: str, body: CleanupBody) -> Finished:
        row, repo = await self._find(worktree_id)
        try:
            return (await plan_cleanup(self._store, caller, row, repo, body)).finished
        except (Conflict, Denied, Busy) as error:
            return Finished("cleanup", row.id, True, refusal=FinishRefusal.of(error))

    async def _find(self, worktree_id: str) -> tuple[Worktree, Repo]:
        async def work(tx: Tx) -> tuple[Worktree, Repo]:
            row = await records.usable(tx, worktree_id)
            return row, await records.repo_of(tx, row)

        row, repo = await self._store.read(work)
        await self._check_folders(row, repo)
        return row, repo

    async def _check_folders(self, row: Worktree, repo: Repo) -> None:
        for path in (row.path, repo.path):
            await self._checkpoints.check_folder(path)

    async def _clean_up(self, caller: Caller, worktree_id: str, body: CleanupBody) -> Finished:
        scope, request = scope_of("cleanup", worktree_id), unkeyed(body)
        async with self._lock(worktree_id):
            earlier = await self._store.stored_answer(caller, scope, request, Finished)
            if earlier is not None:
                return earlier
            row, repo = await self._find(worktree_id)
            plan = await plan_cleanup(self._store, caller, row, repo, body)
            cleanup = await self._decide(caller, row, body, plan)
            try:
                return await self._carry_out(cleanup)
            except Unavailable:
                # The next start completes it.
                raise
            except (BoughError, OSError):
                await until_available(lambda: self._forget(row.id), "a cleanup that failed", worktree=row.id)
                raise

    def _lock(self, worktree_id: str) -> asyncio.Lock:
        return self._locks.setdefault(worktree_id, asyncio.Lock())

    async def _decide(self, caller: Caller, row: Worktree, body: CleanupBody, plan: CleanupPlan) -> Cleanup:
        cleanup = Cleanup(
            row.id,
            msgspec.json.encode(caller).decode(),
            msgspec.json.encode(body).decode(),
            msgspec.json.encode(DecidedCleanup(plan.finished, plan.tip)).decode(),
            plan.tip is not None,
            None,
            "",
        )
        return await self._store_decision(cleanup)

    async def _store_decision(self, cleanup: Cleanup) -> Cleanup:
        fields = msgspec.structs.asdict(cleanup)
        del fields["requested_at"], fields["error"]

        async def work(change: Change) -> Cleanup:
            stored = await change.tx.one(CLEANUPS.decide_cleanup, Cleanup, now=change.now, **fields)
            assert stored is not None
            return stored

        return await self._store.write(work)

    async def _forget(self, worktree_id: str) -> None:
        await self._store.write(lambda change: change.tx.run(CLEANUPS.forget_cleanup, worktree_id=worktree_id))

    async def _carry_out(self, cleanup: Cleanup, *, later: bool = False) -> Finished:
        """Does what is left to do of a cleanup, and stores its answer. Safe to repeat. `later` says that others may
        have worked there since it was decided."""
        caller = msgspec.json.decode(cleanup.caller, type=Caller)
        body = msgspec.json.decode(cleanup.request, type=CleanupBody)
        decided = msgspec.json.decode(cleanup.answer, type=DecidedCleanup)
        finished = decided.finished
        by = msgspec.structs.replace(caller, idempotency_key=None)
        row, repo = await self._store.read(lambda tx: _find_known(tx, cleanup.worktree_id))

        async def last_look() -> str | None:
            if not decided.begun:
                plan = await plan_cleanup(self._store, by, row, repo, body)
                finished.steps[-1:] = plan.finished.steps[-1:]
                decided.tip, decided.begun = plan.tip, True
                answer = msgspec.json.encode(decided).decode()
                await self._store_decision(
                    msgspec.structs.replace(cleanup, answer=answer, delete_branch=decided.tip is not None)
                )
            return decided.tip

        if row.removed_at is None:
            if later and not decided.begun:
                await self._check_folders(row, repo)
                await plan_cleanup(self._store, by, row, repo, body)
            await self._end_sessions(by, row, body)
            force = row.made_by_bough
            row = (await self._worktrees.remove(by, row.id, force=force, last_look=last_look)).worktree
        elif decided.tip is not None:
            # The last server may have ended between the worktree and its branch.
            await self._delete_branch(row, decided.tip)
        finished.recovery_ref = row.recovery_ref
        return await until_available(lambda: self._record(caller, body, row, finished), "a cleanup", worktree=row.id)

    async def _end_sessions(self, caller: Caller, row: Worktree, body: CleanupBody) -> None:
        for session in await self._store.read(lambda tx: sessions_to_end(tx, row)):
            if session.status == "active" and not body.end_sessions:
                # It started meanwhile; the removal refuses.
                continue
            if session.status == "active":
                try:
                    await self._control.complete(caller, session.id, force=body.force)
                except Conflict as error:
                    # Somebody else ended it meanwhile.
                    if error.code != "session_ended":
                        raise
            await self._archiving.archive(caller, session.id, True)

    async def _delete_branch(self, row: Worktree, tip: str) -> None:
        repo = await self._store.read(lambda tx: records.repo_of(tx, row))
        if row.branch is not None:
            async with alone(await common_folder(repo.path)):
                holders = [row.recovery_sha] if row.recovery_sha else []
                await delete_branch(repo.path, row.branch, *holders, expected=tip)

    async def _record(self, caller: Caller, body: CleanupBody, row: Worktree, finished: Finished) -> Finished:
        async def work(change: Change) -> Finished:
            await change.tx.run(CLEANUPS.forget_cleanup, worktree_id=row.id)
            change.audit(caller, "worktree.cleaned_up", subject_id=row.id, branch=finished.branch, force=body.force)
            return finished

        scope = scope_of("cleanup", row.id)
        return await self._store.write_once(caller, scope, unkeyed(body), Finished, work)

    async def run(self) -> None:
        """Completes the cleanups that the last server left, and stores why if one cannot be completed."""
        for cleanup in await self._store.read(lambda tx: tx.all(CLEANUPS.undone_cleanups, Cleanup)):
            async with self._lock(cleanup.worktree_id):
                await self._resume(cleanup)

    async def _resume(self, cleanup: Cleanup) -> None:
        try:
            await self._carry_out(cleanup, later=True)
            log.info("cleanup_completed", worktree=cleanup.worktree_id)
        except Unavailable:
            raise
        except (BoughError, OSError) as error:
            log.warning("cleanup_not_completed", worktree=cleanup.worktree_id, error=str(error))
            fields = {"worktree_id": cleanup.worktree_id, "error": str(error)}
            await self._store.write(lambda change: change.tx.run(CLEANUPS.fail_cleanup, **fields))

    async def close(self) -> None:
        """Waits for cleanups that nobody waits for anymore, and cuts off those that take too long."""
        if not self._running:
            return
        _, late = await asyncio.wait(self._running, timeout=CLOSE_WITHIN)
        for task in late:
            task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.gather(*late, return_exceptions=True)


async def _find_known(tx: Tx, worktree_id: str) -> tuple[Worktree, Repo]:
    """Returns a worktree in whatever state it is, also removed."""
    row = await records.worktree(tx, worktree_id)
    return row, await records.repo_of(tx, row)
