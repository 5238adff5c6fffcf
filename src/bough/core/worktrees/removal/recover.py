"""Recovers removed worktrees at their old paths, from the refs that hold their contents."""

from __future__ import annotations

import asyncio
import shlex
from pathlib import Path

import structlog

from bough.core.store.idempotency import KeyScope, RecordScope
from bough.core.store.short_ids import whole_id
from bough.core.store.sql import WORKTREES
from bough.core.store.transactions import Change, Store
from bough.core.store.until_available import UNDO_WITHIN, until_available
from bough.core.worktrees import records
from bough.core.worktrees.allowed_paths import free_inside
from bough.core.worktrees.creation import setup
from bough.core.worktrees.creation.checkout import add_keeping_hooks
from bough.core.worktrees.creation.create import WorktreeCreation, run_shielded
from bough.core.worktrees.state import find_recoverable
from bough.errors import BoughError, Conflict
from bough.git import worktree_recovery
from bough.git import worktrees as git
from bough.git.repo_lock import alone
from bough.model.repo import Repo, Worktree
from bough.model.session import Caller
from bough.settings import Settings
from bough.storage.backend import Tx

log = structlog.get_logger("bough.worktrees")


class WorktreeRecovery:
    """Recovers removed worktrees, and undoes unfinished recoveries."""

    def __init__(self, store: Store, settings: Settings, creation: WorktreeCreation) -> None:
        self._store = store
        self._settings = settings
        self._creation = creation
        self._recoveries: set[asyncio.Task[Worktree]] = set()

    async def recover(self, caller: Caller, worktree_id: str) -> Worktree:
        """Restores a removed worktree at its old path, with branch, commits and uncommitted files, and sets it up."""
        whole = await self._store.read(lambda tx: whole_id(tx, "worktrees", worktree_id))
        scope = RecordScope("worktrees.recover", "worktrees", whole)
        stored = await self._store.stored_answer(caller, scope, None, Worktree)
        if stored is not None:
            return stored
        return await run_shielded(self._recover(caller, scope, whole), self._recoveries)

    async def _recover(self, caller: Caller, scope: KeyScope, worktree_id: str) -> Worktree:
        row, repo = await self._store.read(lambda tx: _removed(tx, worktree_id))
        settings = self._settings
        common = await git.common_folder(repo.path)
        async with alone(common) as lock:
            if row.status == "recovering":
                # Whoever began it is gone, since the lock is ours.
                await self.undo(repo, row)
            path = free_inside(settings.root_path, Path(repo.path), row.path, data=settings.data_path)
            branch, head, files_sha = await find_recoverable(row, repo)
            await self._store.write(lambda change: _reserve(change, row.id, str(path)))
            try:
                hook_error = await add_keeping_hooks(repo.path, str(path), branch, head, lock)
                await git.exclude(common, repo.path, str(path))
                if files_sha is not None:
                    await worktree_recovery.restore(str(path), files_sha)
                busy = setup.is_needed(repo, str(path))

                async def work(change: Change) -> Worktree:
                    fresh = await records.quietly(
                        change,
                        row.id,
                        status="setting_up" if busy else "ready",
                        removed_at=None,
                        recovery_ref=None,
                        recovery_sha=None,
                        branch=branch.name if branch else None,
                        branch_made=row.branch_made or (branch is not None and branch.kind == "new"),
                        setup_error=hook_error,
                        setup_output=None,
                    )
                    change.emit("worktree.created", fresh)
                    change.audit(caller, "worktree.recovered", subject_id=row.id, path=row.path)
                    return fresh

                back = await self._store.write_once(caller, scope, None, Worktree, work)
            except BaseException:
                await asyncio.shield(self.undo(repo, row))
                raise
            if busy:
                self._creation.setups.start(repo, back)
        log.info("worktree_recovered", worktree=row.id, path=row.path)
        return await self._creation.setups.settled(caller, scope, back, wait=True)

    async def undo(self, repo: Repo, row: Worktree) -> None:
        """Removes what exists of an unfinished recovery; the worktree stays removed and its contents stay kept. If that
        fails, it stays `recovering`, so that the next recovery or the next start of the server tries again."""
        read = self._store.read
        known = await until_available(
            lambda: read(lambda tx: records.worktree(tx, row.id)), "a recovery that failed", within=UNDO_WITHIN
        )
        if known.removed_at is None:
            # It is back, whatever went wrong after that was written.
            return
        try:
            await git.clear(repo.path, row.path)
        except (BoughError, OSError) as error:
            log.warning("worktree_not_undone", path=row.path, error=str(error))
            return
        await until_available(
            lambda: self._store.write(lambda change: records.quietly(change, row.id, status="ready")),
            "a recovery that failed",
            within=UNDO_WITHIN,
            worktree=row.id,
        )

    def cancel_all(self) -> None:
        """Begins to undo the recoveries under way."""
        for recovery in self._recoveries:
            recovery.cancel()

    async def all_ended(self) -> None:
        """Waits until no recovery is under way."""
        if self._recoveries:
            await asyncio.wait(self._recoveries)


async def _removed(tx: Tx, worktree_id: str) -> tuple[Worktree, Repo]:
    row = await records.worktree(tx, worktree_id)
    if row.removed_at is None:
        raise Conflict("worktree_not_removed", f"Worktree {row.name} was not removed; it is at {row.path}.")
    return row, await records.repo_of(tx, row)


async def _reserve(change: Change, worktree_id: str, path: str) -> None:
    if await change.tx.one(WORKTREES.by_path, Worktree, path=path) is not None:
        raise Conflict("path_exists", f"Another worktree is registered at {path}.", path=path)
    await _removed(change.tx, worktree_id)
    await records.quietly(change, worktree_id, status="recovering")


def how_to_recover(row: Worktree) -> str | None:
    """Returns the commands that recover a removed worktree."""
    if row.recovery_ref is None:
        return None
    by_hand = shlex.join(["git", "worktree", "add", row.path, row.recovery_sha or row.recovery_ref])
    return f"bough worktree recover {row.id}, or: {by_hand}"
