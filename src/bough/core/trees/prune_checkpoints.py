"""Deletes checkpoints that are old, whose session is gone, or whose race is over: first the ref, then the row. Git
collects the files later."""

from __future__ import annotations

import asyncio
import contextlib
import os

import msgspec
import structlog

from bough.core.store.sql import CHECKPOINTS
from bough.core.store.transactions import Change, Store
from bough.core.trees.race.records import is_checkpoint_needed
from bough.errors import BoughError
from bough.git.refs.checkpoint_refs import drop, sweep
from bough.git.working_copy.snapshot import working_copy
from bough.model.checkpoint import Checkpoint
from bough.model.session import Caller
from bough.model.values.times import before, now
from bough.settings import Settings
from bough.storage.backend import Tx

log = structlog.get_logger("bough.pruning")

# Seconds between two runs; checkpoints are kept for days.
PAUSE = 600.0
BATCH = 100
DAY = 24 * 3600
SCOPE = "checkpoints.prune"
# After this many seconds, a race that was being started exists or has failed.
RACE_WITHIN = 3600


class Pruned(msgspec.Struct, rename="camel"):
    """Counts the checkpoints that were deleted."""

    pruned: int


class Outdated(Checkpoint):
    """A checkpoint to delete, with the path of its repo."""

    repo_path: str


class Pruning:
    """Deletes checkpoints, on request and periodically."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self._store = store
        self._settings = settings
        # Races that an earlier server was starting are no longer started.
        self._since = now()

    async def run(self) -> None:
        """Sweeps what killed servers left, then prunes until cancelled; a failure is logged, and the next run tries
        again."""
        try:
            await self.sweep()
        except Exception:
            log.exception("sweeping_failed")
        while True:
            try:
                await self.prune()
            except Exception:
                log.exception("pruning_failed")
            await asyncio.sleep(PAUSE)

    async def sweep(self) -> None:
        """Deletes the temporary indexes that killed servers left in the folders of checkpoints."""
        folders = await self._store.read(lambda tx: tx.all(CHECKPOINTS.folders, tuple[str]), long=True)
        swept = sum([await _sweep(cwd) for (cwd,) in folders])
        if swept:
            log.info("temporary_indexes_swept", count=swept)

    async def prune_once(self, caller: Caller, days: float | None) -> Pruned:
        """Prunes once; an equal idempotency key returns the same answer."""
        earlier = await self._store.stored_answer(caller, SCOPE, days, Pruned)
        if earlier is not None:
            return earlier
        pruned = Pruned(await self.prune(days))

        async def work(change: Change) -> Pruned:
            change.audit(caller, "checkpoints.pruned", count=pruned.pruned, days=days)
            return pruned

        return await self._store.write_once(caller, SCOPE, days, Pruned, work)

    async def prune(self, days: float | None = None) -> int:
        """Deletes checkpoints older than `days`, by default the setting; returns how many."""
        deadline = before((self._settings.keep_checkpoints if days is None else days) * DAY)
        pruned = 0
        # A repo that fails is skipped until the next run, so that it does not block the others.
        skipped = [""]
        while outdated := await self._outdated(deadline, skipped):
            pruned += await self._delete_all(outdated, skipped)
        pruned += await self._delete_all(
            await self._store.read(lambda tx: self._of_races(tx, deadline), long=True), skipped
        )
        if pruned:
            log.info("checkpoints_pruned", count=pruned)
        return pruned

    async def _delete_all(self, outdated: list[Outdated], skipped: list[str]) -> int:
        """Deletes checkpoints repo by repo; returns how many, and adds repos that failed to `skipped`."""
        pruned = 0
        by_repo: dict[str, list[Outdated]] = {}
        for checkpoint in outdated:
            by_repo.setdefault(checkpoint.repo_id, []).append(checkpoint)
        for repo_id, checkpoints in by_repo.items():
            if repo_id not in skipped and await self._delete(checkpoints):
                pruned += len(checkpoints)
            else:
                skipped.append(repo_id)
        return pruned

    async def _outdated(self, deadline: str, skipped: list[str]) -> list[Outdated]:
        return await self._store.read(
            lambda tx: tx.all(CHECKPOINTS.outdated, Outdated, before=deadline, skipped=skipped, limit=BATCH)
        )

    async def _delete(self, checkpoints: list[Outdated]) -> bool:
        """Deletes checkpoints of one repo; refs first, so that no ref is left without a row."""
        path = checkpoints[0].repo_path
        if await asyncio.to_thread(os.path.isdir, path):
            try:
                await drop(path, await self._unshared_refs(checkpoints))
            except BoughError as error:
                log.warning("checkpoints_not_pruned", repo=path, error=error.message)
                return False
        for cwd in {checkpoint.cwd for checkpoint in checkpoints}:
            await _sweep(cwd)
        ids = [checkpoint.id for checkpoint in checkpoints]

        async def work(change: Change) -> None:
            await change.tx.run(CHECKPOINTS.drop, ids=ids)

        await self._store.write(work)
        return True

    async def _unshared_refs(self, checkpoints: list[Outdated]) -> list[str]:
        """Returns the refs that no other checkpoint uses; the two of a task that changed nothing share one."""
        refs = [checkpoint.ref for checkpoint in checkpoints if checkpoint.ref is not None]
        ids = [checkpoint.id for checkpoint in checkpoints]
        if not refs:
            return []
        shared = await self._store.read(
            lambda tx: tx.all(CHECKPOINTS.still_named, tuple[str], refs=refs, ids=ids), long=True
        )
        return [ref for ref in refs if (ref,) not in shared]

    async def _of_races(self, tx: Tx, deadline: str) -> list[Outdated]:
        """Returns the checkpoints at the start of races that are no longer needed; they have the ids of their races."""
        started_since = max(before(RACE_WITHIN), self._since)
        starts = await tx.all(CHECKPOINTS.of_races, Outdated)
        return [start for start in starts if not await is_checkpoint_needed(tx, start, deadline, started_since)]


async def _sweep(cwd: str) -> int:
    """Sweeps one folder; a removed worktree needs no sweep."""
    with contextlib.suppress(BoughError, OSError):
        return await asyncio.to_thread(sweep, (await working_copy(cwd)).git_dir)
    return 0
