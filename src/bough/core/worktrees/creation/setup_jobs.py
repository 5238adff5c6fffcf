"""Runs the setups of new worktrees in the background, and stores their output and their end."""

from __future__ import annotations

import asyncio
import contextlib

import structlog

from bough.core.store.idempotency import KeyScope
from bough.core.store.transactions import Store
from bough.core.store.until_available import UNDO_WITHIN, until_available
from bough.core.worktrees import records
from bough.core.worktrees.creation import setup
from bough.core.worktrees.creation.allowed_setup import find_allowed
from bough.core.worktrees.ports import PortBlocks
from bough.errors import Unavailable
from bough.model.repo import Repo, Worktree
from bough.model.session import Caller
from bough.settings import Settings

log = structlog.get_logger("bough.worktrees")


class SetupJobs:
    """Holds the running setups by worktree."""

    def __init__(self, store: Store, settings: Settings, ports: PortBlocks) -> None:
        self._store = store
        self._settings = settings
        self._ports = ports
        self._jobs: dict[str, asyncio.Task[Worktree]] = {}

    def start(self, repo: Repo, worktree: Worktree) -> None:
        """Starts the setup of a worktree."""
        job = asyncio.create_task(self._set_up(repo, worktree), name=f"setup {worktree.id}")
        self._jobs[worktree.id] = job
        job.add_done_callback(lambda done: self._ended(worktree, done))

    def _ended(self, worktree: Worktree, job: asyncio.Task[Worktree]) -> None:
        self._jobs.pop(worktree.id, None)
        if not job.cancelled() and (error := job.exception()) is not None:
            log.error("worktree_setup_broke", worktree=worktree.id, error=repr(error), exc_info=error)

    def is_abandoned(self, row: Worktree) -> bool:
        """Tells whether the row says that the worktree is being set up, but nobody does. Call it only with the lock of
        the repository."""
        return row.status == "setting_up" and row.id not in self._jobs

    async def settled(self, caller: Caller, scope: KeyScope, worktree: Worktree, *, wait: bool) -> Worktree:
        """Returns the worktree, after its setup if `wait` is set."""
        if not wait or worktree.id not in self._jobs:
            return worktree
        done = await self.ended(worktree)
        await until_available(
            lambda: self._store.replace_answer(caller, scope, done), "a setup", within=UNDO_WITHIN, worktree=done.id
        )
        return done

    async def ended(self, worktree: Worktree) -> Worktree:
        """Waits for the setup and returns the worktree."""
        job = self._jobs.get(worktree.id)
        if job is None:
            return worktree
        await asyncio.wait([job])
        # The setup may have been cancelled because the worktree was removed.
        if job.cancelled():
            return await self._store.read(lambda tx: records.worktree(tx, worktree.id))
        return job.result()

    async def _set_up(self, repo: Repo, worktree: Worktree) -> Worktree:
        async def show(output: str) -> None:
            # While the database is away nothing is shown; the command continues.
            with contextlib.suppress(Unavailable):
                await self._store.write(lambda change: records.update(change, worktree.id, setup_output=output))

        ports = await until_available(
            lambda: self._ports.variables(worktree, repo), "the ports of a worktree", worktree=worktree.id
        )
        own = await find_allowed(self._store, self._settings, repo, worktree, ports)
        outcome = await setup.set_up(repo, worktree.path, self._settings.setup_timeout, show, own, ports)
        errors = "\n".join(error for error in (worktree.setup_error, outcome.error) if error) or None
        if errors:
            log.warning("worktree_setup_failed", worktree=worktree.id, error=errors)
        done = {"status": "ready", "setup_error": errors, "setup_output": outcome.output}
        write = self._store.write
        return await until_available(
            lambda: write(lambda change: records.update(change, worktree.id, **done)), "a setup", worktree=worktree.id
        )

    async def stop(self, worktree_id: str) -> None:
        """Stops a running setup."""
        job = self._jobs.get(worktree_id)
        if job is not None:
            job.cancel()
            await asyncio.wait([job])

    async def close(self) -> None:
        """Stops every setup."""
        jobs = list(self._jobs.values())
        for job in jobs:
            job.cancel()
        if jobs:
            await asyncio.wait(jobs)
