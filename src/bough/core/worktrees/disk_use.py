"""Measures how much disk the worktrees and repositories use: in a thread, one folder after the other, when somebody
asks and the last measurement is old. Reading never waits for a disk."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Iterable

import msgspec
import structlog

from bough.core.store.sql import REPOS, WORKTREES
from bough.core.store.transactions import Store
from bough.errors import Denied
from bough.git.workspace import check_workspace
from bough.model.repo import Repo, Worktree
from bough.model.values import times
from bough.settings import Settings
from bough.storage.backend import Tx

log = structlog.get_logger("bough.worktrees")

# How long a measurement is good for, at least; a long one is good for this many times its own duration.
GOOD_FOR = 60.0
REST = 20.0
# At most this many repositories and worktrees are measured, the newest ones.
MOST_MEASURED = 500
# Blocks are counted in this unit, whatever the disk's own is.
BLOCK = 512


class WorktreeDisk(msgspec.Struct, rename="camel"):
    """The disk use of a worktree's folder."""

    worktree_id: str
    repo_id: str
    bytes: int


class RepoDisk(msgspec.Struct, rename="camel"):
    """The disk use of a repository's own folder with its history, and of its worktrees, which may be inside it."""

    repo_id: str
    own_bytes: int
    worktrees_bytes: int


class DiskUse(msgspec.Struct, rename="camel"):
    """The last measurement; null times mean that there is none yet. `pending` says that another one is under way."""

    worktrees: list[WorktreeDisk]
    repos: list[RepoDisk]
    measured_at: str | None
    pending: bool


class DiskMeter:
    """Measures all folders when somebody asks and the last measurement is old."""

    def __init__(self, store: Store, settings: Settings, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._settings = settings
        self._clock = clock
        self._last = DiskUse([], [], None, False)
        self._good_until = 0.0
        self._task: asyncio.Task[None] | None = None

    async def read(self, wait: float = 0.0) -> DiskUse:
        """Returns the last measurement, and starts a new one if it is old. Waits for it at most `wait` seconds."""
        if self._task is None and self._clock() >= self._good_until:
            self._task = asyncio.create_task(self._measure(), name="disk use")
            self._task.add_done_callback(self._ended)
        if self._task is not None and wait > 0:
            await asyncio.wait({self._task}, timeout=wait)
        return msgspec.structs.replace(self._last, pending=self._task is not None)

    async def close(self) -> None:
        """Ends a measurement that is under way."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._task = None
        if not task.cancelled() and (error := task.exception()) is not None:
            log.warning("disk_not_measured", error=str(error))

    async def _measure(self) -> None:
        begun = self._clock()
        self._good_until = begun + GOOD_FOR

        async def work(tx: Tx) -> tuple[list[Repo], list[Worktree]]:
            repos = await tx.all(REPOS.page, Repo, limit=MOST_MEASURED, offset=0)
            return repos, await tx.all(WORKTREES.live, Worktree, limit=MOST_MEASURED)

        repos, rows = await self._store.read(work)
        folders = {row.path for row in rows}
        worktrees = [WorktreeDisk(row.id, row.repo_id, await self._size(row.path, folders)) for row in rows]
        sums: dict[str, int] = {}
        for item in worktrees:
            sums[item.repo_id] = sums.get(item.repo_id, 0) + item.bytes
        measured = [RepoDisk(repo.id, await self._size(repo.path, folders), sums.get(repo.id, 0)) for repo in repos]
        self._last = DiskUse(worktrees, measured, times.now(), False)
        self._good_until = self._clock() + max(GOOD_FOR, REST * (self._clock() - begun))

    async def _size(self, path: str, apart: Iterable[str]) -> int:
        return await asyncio.to_thread(self._folder_size, path, frozenset(apart) - {path})

    def _folder_size(self, path: str, apart: frozenset[str]) -> int:
        try:
            check_workspace(self._settings.root_path, self._settings.data_path, path)
        except Denied:
            # It leads elsewhere by now.
            return 0
        return folder_size(path, apart)


def folder_size(path: str, apart: frozenset[str] = frozenset()) -> int:
    """Returns the bytes that a folder uses on its disk. Links are not followed, a file with several names counts once,
    and folders in `apart` do not count."""
    total, seen = 0, set[tuple[int, int]]()
    waiting = [path]
    while waiting:
        try:
            entries = list(os.scandir(waiting.pop()))
        except OSError:
            continue
        for entry in entries:
            try:
                status = entry.stat(follow_symlinks=False)
                is_folder = entry.is_dir(follow_symlinks=False)
            except OSError:
                continue
            if status.st_nlink > 1 and not is_folder:
                if (status.st_dev, status.st_ino) in seen:
                    continue
                seen.add((status.st_dev, status.st_ino))
            if is_folder and entry.path in apart:
                continue
            total += status.st_blocks * BLOCK
            if is_folder:
                waiting.append(entry.path)
    return total
