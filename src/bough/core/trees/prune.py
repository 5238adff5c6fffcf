"""Forgetting checkpoints: those that are old, those whose session is gone and those of races that are over lose their
ref, then their row. What git does with files that nothing holds any more is its own affair."""

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
from bough.git.checkpoint_refs import drop, sweep
from bough.git.snapshot import place
from bough.model.checkpoint import Checkpoint
from bough.model.session import Caller
from bough.model.times import before, now
from bough.settings import Settings
from bough.storage.backend import Tx

log = structlog.get_logger("bough.pruning")

# Days pass slowly.
PAUSE = 600.0
BATCH = 100
DAY = 24 * 3600
SCOPE = "checkpoints.prune"
# By then a race that is being made is there, or has come to nothing.
RACE_WITHIN = 3600


class Pruned(msgspec.Struct, rename="camel"):
    """How many were forgotten."""

    pruned: int


class Outdated(Checkpoint):
    """A checkpoint that is to go, and where its repository lies."""

    repo_path: str


class Pruning:
    """Forgets checkpoints, now and then by itself."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self._store = store
        self._settings = settings
        # What an earlier server was making is not made any more.
        self._since = now()

    async def run(self) -> None:
        """Prunes until cancelled; one failure is logged, and the next time tries again."""
        while True:
            try:
                await self.prune()
            except Exception:
                log.exception("pruning_failed")
            await asyncio.sleep(PAUSE)

    async def prune_once(self, caller: Caller, days: float | None) -> Pruned:
        """The same for a person: an idempotency key gives the same answer again."""
        known = await self._store.kept(caller, SCOPE, days, Pruned)
        if known is not None:
            return known
        done = Pruned(await self.prune(days))

        async def keep(change: Change) -> Pruned:
            return done

        return await self._store.write_once(caller, SCOPE, days, Pruned, keep)

    async def prune(self, days: float | None = None) -> int:
        """Forgets checkpoints older than so many days, by default those of the setting; gives how many there were."""
        deadline = before((self._settings.keep_checkpoints if days is None else days) * DAY)
        pruned = 0
        # A repository that fails is left for another time, so that it does not stand before the others.
        skipped = [""]
        while found := await self._outdated(deadline, skipped):
            pruned += await self._forget_all(found, skipped)
        pruned += await self._forget_all(
            await self._store.read(lambda tx: self._of_races(tx, deadline), long=True), skipped
        )
        if pruned:
            log.info("checkpoints_pruned", count=pruned)
        return pruned

    async def _forget_all(self, found: list[Outdated], skipped: list[str]) -> int:
        """Forgets checkpoints, repository by repository; gives how many, and names the repositories that failed."""
        pruned = 0
        by_repo: dict[str, list[Outdated]] = {}
        for one in found:
            by_repo.setdefault(one.repo_id, []).append(one)
        for repo_id, some in by_repo.items():
            if repo_id not in skipped and await self._forget(some):
                pruned += len(some)
            else:
                skipped.append(repo_id)
        return pruned

    async def _outdated(self, deadline: str, skipped: list[str]) -> list[Outdated]:
        return await self._store.read(
            lambda tx: tx.all(CHECKPOINTS.outdated, Outdated, before=deadline, skipped=skipped, limit=BATCH)
        )

    async def _forget(self, some: list[Outdated]) -> bool:
        """Forgets checkpoints of one repository: refs first, so that none is left that nobody knows of."""
        path = some[0].repo_path
        if await asyncio.to_thread(os.path.isdir, path):
            try:
                await drop(path, await self._unnamed(some))
            except BoughError as error:
                log.warning("checkpoints_not_pruned", repo=path, error=error.message)
                return False
        for cwd in {one.cwd for one in some}:
            # A worktree that is gone has taken with it what was left there.
            with contextlib.suppress(BoughError):
                await asyncio.to_thread(sweep, (await place(cwd)).git_dir)
        ids = [one.id for one in some]

        async def work(change: Change) -> None:
            await change.tx.run(CHECKPOINTS.drop, ids=ids)

        await self._store.write(work)
        return True

    async def _unnamed(self, some: list[Outdated]) -> list[str]:
        """The refs of checkpoints that no other one is held by: a task that changed nothing has one for both."""
        refs = [one.ref for one in some if one.ref is not None]
        ids = [one.id for one in some]
        if not refs:
            return []
        named = await self._store.read(
            lambda tx: tx.all(CHECKPOINTS.still_named, tuple[str], refs=refs, ids=ids), long=True
        )
        return [ref for ref in refs if (ref,) not in named]

    async def _of_races(self, tx: Tx, deadline: str) -> list[Outdated]:
        """What races began with that nobody compares with any more: checkpoints have the ids of their races."""
        made = max(before(RACE_WITHIN), self._since)
        found = await tx.all(CHECKPOINTS.of_races, Outdated)
        return [one for one in found if not await is_checkpoint_needed(tx, one, deadline, made)]
