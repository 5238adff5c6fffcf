"""Clones repositories: starts, lists, cancels, and cleans up after crashes. A row comes before its folder, so that each
start of the server finds what the last one left. Agents cannot ask for a clone."""

from __future__ import annotations

import asyncio
import contextlib

import msgspec
import structlog

from bough.core.new_repos import growing_folder
from bough.core.new_repos.growing_folder import growing_folder as growing_place
from bough.core.new_repos.requests import NewClone, PlannedClone, check_request, check_source
from bough.core.store.short_ids import find
from bough.core.store.sql import CLONES
from bough.core.store.transactions import Change, Store
from bough.core.store.until_available import UNDO_WITHIN, until_available
from bough.core.worktrees.repos import Repos
from bough.errors import BoughError, Busy, Conflict
from bough.git.clone import CloneProgress, ProgressReader, check_out_files, fetch_everything
from bough.git.paths import is_folder, is_there
from bough.model.repo import Clone, CloneState
from bough.model.session import Caller
from bough.model.values.ids import new_id
from bough.settings import Settings
from bough.storage.backend import Tx

log = structlog.get_logger("bough.repos")

# Clones at the same time, and ended ones that are kept.
MOST_UNDER_WAY = 4
MOST_ENDED = 20
# Seconds between looks at the progress, and at clones that nobody works on.
LOOK_EVERY = 0.5
REPAIR_EVERY = 15.0
SYSTEM = Caller("system", door="server")
INTERRUPTED = "The server stopped before the clone was complete. Start it again."
SCOPE = "clones.start"


class _Work(msgspec.Struct):
    """A clone under way: its task, and whether it may still be cancelled."""

    task: asyncio.Task[None] | None = None
    may_cancel: bool = True
    cancelled: bool = False


class Clones:
    """Copies remote repositories into the workspace root and registers them."""

    def __init__(self, store: Store, settings: Settings, repos: Repos) -> None:
        self._store = store
        self._settings = settings
        self._repos = repos
        self._works: dict[str, _Work] = {}

    async def start(self, caller: Caller, new: NewClone) -> Clone:
        """Starts a clone and returns it; events tell how far it is. Raises `Conflict` if its target is taken, and
        `Busy` at the limit."""
        request = msgspec.structs.replace(new, idempotency_key=None)
        earlier = await self._store.stored_answer(caller, SCOPE, request, Clone)
        if earlier is not None:
            return await self.get(earlier.id)
        planned = check_request(caller, new, self._settings)
        clone_id = new_id()

        async def work(change: Change) -> Clone:
            if (await change.tx.value(CLONES.count_under_way) or 0) >= MOST_UNDER_WAY:
                raise Busy("too_many_clones", f"At most {MOST_UNDER_WAY} clones may be under way. Wait for one.")
            row = await change.tx.one(
                CLONES.add,
                Clone,
                id=clone_id,
                address=planned.address,
                path=planned.target,
                name=planned.name,
                started_by=caller.person or "Bough",
                now=change.now,
            )
            if row is None:
                raise Conflict("path_exists", f"Another clone is under way to {planned.target}.", path=planned.target)
            change.emit("clone.created", row)
            change.audit(caller, "clone.started", subject_id=row.id, path=row.path, address=row.address)
            return row

        # Before the row: the repair must not take it for abandoned.
        mine = self._works[clone_id] = _Work()
        try:
            row = await self._store.write_once(caller, SCOPE, request, Clone, work)
        except BaseException:
            self._works.pop(clone_id, None)
            raise
        if row.id != clone_id:
            self._works.pop(clone_id, None)
            return await self.get(row.id)
        mine.task = asyncio.create_task(self._run(caller, row, planned, mine), name=f"clone {row.id}")
        mine.task.add_done_callback(lambda _: self._works.pop(row.id, None))
        # A task that is cancelled before it has begun would store no end.
        await asyncio.sleep(0)
        return row

    async def get(self, clone_id: str) -> Clone:
        return await self._store.read(lambda tx: find(tx, "clones", clone_id, CLONES.get, Clone))

    async def list(self) -> list[Clone]:
        """Lists the clones under way and the last that ended, newest first."""
        return await self._store.read(lambda tx: tx.all(CLONES.all, Clone))

    async def cancel(self, caller: Caller, clone_id: str) -> Clone:
        """Cancels a clone and removes what has arrived. One that is complete or has ended stays as it is."""
        caller.require("operator", "cancel a clone")
        row = await self.get(clone_id)
        mine = self._works.get(row.id)
        if mine is not None and mine.task is not None:
            if mine.may_cancel and not mine.cancelled:
                mine.cancelled = True
                mine.task.cancel()
                await self._store.write(lambda change: _audit_cancel(change, caller, row))
            await asyncio.wait({mine.task})
        return await self.get(row.id)

    async def run(self) -> None:
        """Looks regularly for clones that nobody works on, until cancelled."""
        while True:
            await asyncio.sleep(REPAIR_EVERY)
            try:
                await self.repair()
            except BoughError as error:
                log.warning("clones_not_repaired", error=error.message)

    async def repair(self) -> None:
        """Ends the clones that nobody works on: a complete one is registered, others are removed."""
        rows = await self._store.read(lambda tx: tx.all(CLONES.under_way, Clone))
        for row in rows:
            if row.id in self._works:
                continue
            try:
                await self._repair(row)
            except (BoughError, OSError) as error:
                # Tried again at the next look.
                log.warning("clone_not_repaired", clone=row.id, path=row.path, error=str(error))

    async def close(self) -> None:
        """Cancels the clones under way and removes what has arrived."""
        tasks: list[asyncio.Task[None]] = []
        for mine in list(self._works.values()):
            if mine.task is not None:
                if mine.may_cancel:
                    mine.task.cancel()
                tasks.append(mine.task)
        if tasks:
            await asyncio.wait(tasks)

    async def _run(self, caller: Caller, row: Clone, planned: PlannedClone, mine: _Work) -> None:
        """Carries out a clone to its end, which is stored whatever happens."""
        try:
            await self._copy(caller, row, planned, mine)
        except asyncio.CancelledError:
            mine.may_cancel = False
            state: CloneState = "cancelled" if mine.cancelled else "failed"
            await self._undo(row, state, None if mine.cancelled else INTERRUPTED)
        except BoughError as error:
            mine.may_cancel = False
            await self._undo(row, "failed", error.message)
        except Exception as error:
            mine.may_cancel = False
            log.error("clone_broke", clone=row.id, error=repr(error), exc_info=error)
            await self._undo(row, "failed", f"The clone failed: {type(error).__name__}.")

    async def _copy(self, caller: Caller, row: Clone, planned: PlannedClone, mine: _Work) -> None:
        folder = growing_place(row.path, row.id)
        await asyncio.to_thread(growing_folder.create, folder)
        reader = ProgressReader()
        reporting = asyncio.create_task(self._report(row, reader), name=f"clone {row.id} progress")
        try:
            # An agent may have put a link in its place.
            check_source(caller, planned.remote, self._settings)
            await fetch_everything(folder, planned.remote, reader)
            reader.progress = CloneProgress("checking_out", None, reader.progress.received)
            await check_out_files(folder)
        finally:
            reporting.cancel()
            await asyncio.wait({reporting})
        mine.may_cancel = False
        placing = CloneProgress("placing", None, reader.progress.received)
        await until_available(lambda: self._set_progress(row, placing), "a complete clone", clone=row.id)
        await asyncio.to_thread(growing_folder.move, folder, row.path)
        await self._register(msgspec.structs.replace(caller, idempotency_key=None), row)

    async def _register(self, caller: Caller, row: Clone) -> None:
        try:
            repo = await until_available(
                lambda: self._repos.add(caller, row.path, row.name), "a cloned repository", clone=row.id
            )
        except Busy:
            raise
        except BoughError as error:
            await self._end(row, "failed", f"It was cloned to {row.path}, but not registered: {error.message}")
            return
        log.info("cloned", clone=row.id, path=row.path)
        await self._end(row, "done", None, repo.id)

    async def _report(self, row: Clone, reader: ProgressReader) -> None:
        """Stores the progress while it changes. A database that is away misses some of it."""
        stored = CloneProgress()
        while True:
            await asyncio.sleep(LOOK_EVERY)
            if reader.progress != stored:
                stored = reader.progress
                with contextlib.suppress(Busy):
                    await self._set_progress(row, stored)

    async def _set_progress(self, row: Clone, progress: CloneProgress) -> None:
        async def work(change: Change) -> None:
            about = msgspec.structs.asdict(progress)
            fresh = await change.tx.one(CLONES.progress, Clone, id=row.id, **about)
            if fresh is not None:
                change.emit("clone.patched", fresh)

        await self._store.write(work)

    async def _undo(self, row: Clone, state: CloneState, error: str | None) -> None:
        """Removes what has arrived and stores the end. What cannot be removed is left to the repair."""
        try:
            await asyncio.to_thread(growing_folder.remove, growing_place(row.path, row.id))
            await self._end(row, state, error)
        except (BoughError, OSError) as problem:
            log.warning("clone_not_undone", clone=row.id, path=row.path, error=str(problem))

    async def _end(self, row: Clone, state: CloneState, error: str | None, repo_id: str | None = None) -> None:
        async def work(change: Change) -> None:
            ended = await change.tx.one(
                CLONES.end, Clone, id=row.id, state=state, error=error, repo_id=repo_id, now=change.now
            )
            if ended is not None:
                change.emit("clone.patched", ended)
            await _prune(change)

        await until_available(lambda: self._store.write(work), "a clone's end", within=UNDO_WITHIN, clone=row.id)

    async def _repair(self, row: Clone) -> None:
        folder = growing_place(row.path, row.id)
        if row.phase == "placing" and not is_there(folder) and is_folder(row.path):
            # Only the server was killed before it could register what it had moved.
            await self._register(SYSTEM, row)
            return
        await asyncio.to_thread(growing_folder.remove, folder)
        await self._end(row, "failed", INTERRUPTED)
        log.info("clone_repaired", clone=row.id, path=row.path)


async def _audit_cancel(change: Change, caller: Caller, row: Clone) -> None:
    change.audit(caller, "clone.cancelled", subject_id=row.id, path=row.path)


async def _prune(change: Change) -> None:
    """Forgets all but the last clones that have ended."""
    ended = [row for row in await _all(change.tx) if row.state != "cloning"]
    for row in ended[MOST_ENDED:]:
        if await change.tx.one(CLONES.remove, Clone, id=row.id) is not None:
            change.emit("clone.removed", row)


async def _all(tx: Tx) -> list[Clone]:
    return await tx.all(CLONES.all, Clone)
