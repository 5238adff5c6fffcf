"""Repairs worktrees that nobody works on although their rows say so: at the start those that the last server left,
later those for which the database was away too long."""

from __future__ import annotations

import asyncio
import contextlib

import structlog

from bough.core.store.sql import WORKTREES
from bough.core.store.transactions import Store
from bough.core.worktrees import records
from bough.core.worktrees.creation.create import WorktreeCreation
from bough.core.worktrees.removal.remove import Removal
from bough.errors import BoughError, Busy
from bough.git import worktrees as git
from bough.git.paths import is_there
from bough.git.repo_lock import alone
from bough.model.repo import Repo, Worktree
from bough.model.session import Caller
from bough.storage.backend import Tx

log = structlog.get_logger("bough.worktrees")

# If something else holds a repository longer than this, the next look repairs the rest.
REPAIR_WITHIN = 5.0
LOOK_EVERY = 30.0
SYSTEM = Caller("system", door="server")
INTERRUPTED = "The setup was interrupted. Run it by hand if you need it."


class WorktreeRepair:
    """Completes or undoes unfinished worktrees. Whoever works on one holds the lock of its repository, except during
    the setup."""

    def __init__(self, store: Store, creation: WorktreeCreation, removal: Removal) -> None:
        self._store = store
        self._creation = creation
        self._removal = removal
        # What has been logged, by worktree: a repository that is gone fails at every look.
        self._failures: dict[str, str] = {}

    async def run(self) -> None:
        """Repairs until cancelled."""
        while True:
            await asyncio.sleep(LOOK_EVERY)
            try:
                await self.repair_all(careful=True)
            except Exception as error:
                log.warning("worktrees_not_repaired", error=str(error))

    async def repair_all(self, *, careful: bool = False) -> None:
        """Repairs every worktree that nobody works on. With `careful`, folders stay: while the server runs, a person
        may have created a worktree there by hand, after Bough could not."""
        rows = await self._store.read(_unfinished)
        await asyncio.gather(*(self._repair(row, repo, careful) for row, repo in rows))

    async def _repair(self, row: Worktree, repo: Repo, careful: bool) -> None:
        try:
            async with await _lock(row, repo):
                row = await self._store.read(lambda tx: records.worktree(tx, row.id))
                if careful and row.status in ("making", "recovering") and is_there(row.path):
                    return
                if row.status == "making":
                    await self._creation.undo(repo, row)
                elif row.status == "recovering":
                    await self._removal.recovery.undo(repo, row)
                elif row.status == "removing":
                    await self._removal.undo_removal(SYSTEM, repo, row)
                elif self._creation.setups.is_abandoned(row):
                    error = "\n".join(text for text in (row.setup_error, INTERRUPTED) if text)
                    done = {"status": "ready", "setup_error": error}
                    await self._store.write(lambda change: records.update(change, row.id, **done))
                else:
                    return
            self._failures.pop(row.id, None)
            log.info("worktree_repaired", worktree=row.id, path=row.path, was=row.status)
        except Busy as error:
            # Somebody works on it, or a git process that outlived the last server.
            log.info("worktree_not_repaired", worktree=row.id, path=row.path, error=error.message)
        except (BoughError, OSError) as error:
            if self._failures.get(row.id) != str(error):
                self._failures[row.id] = str(error)
                log.warning("worktree_not_repaired", worktree=row.id, path=row.path, error=str(error))


async def _lock(row: Worktree, repo: Repo) -> contextlib.AbstractAsyncContextManager[object]:
    """Returns the lock of the repository. One that is gone has none, and only an interrupted setup ends without it."""
    try:
        return alone(await git.common_folder(repo.path), REPAIR_WITHIN)
    except BoughError:
        if row.status != "setting_up":
            raise
        return contextlib.nullcontext()


async def _unfinished(tx: Tx) -> list[tuple[Worktree, Repo]]:
    """Returns the worktrees that are not ready, with their repositories."""
    worktrees = await tx.all(WORKTREES.unfinished, Worktree)
    return [(row, await records.repo_of(tx, row)) for row in worktrees]
