"""Finds how far the work in all live worktrees is, for boards: in the background and at most a tenth of the time, like
the survey of overlaps. Reading never runs git."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable

import msgspec
import structlog

from bough.core.checkpoints.take import Checkpoints
from bough.core.finish.cleanup.merged import merged_into
from bough.core.finish.folder import find_rows, read_folder
from bough.core.finish.merge import last_merge
from bough.core.finish.overlap import Overlaps
from bough.core.finish.overlap_survey import GOOD_FOR, MOST_SURVEYED, REST
from bough.core.store.sql import WORKTREES
from bough.core.store.transactions import Store
from bough.errors import BoughError
from bough.model.repo import Worktree

log = structlog.get_logger("bough.finish")


class WorktreeProgress(msgspec.Struct, rename="camel"):
    """Counts the files that a worktree changed since its base, committed or not, and tells whether its commits are
    merged. A worktree without commits of its own is not merged."""

    worktree_id: str
    changed_files: int
    merged: bool


class ProgressList(msgspec.Struct, rename="camel"):
    """The progress of worktrees as of the last survey. `pending` says that another one is under way."""

    worktrees: list[WorktreeProgress]
    pending: bool


class ProgressSurvey:
    """Surveys all worktrees when somebody asks and the last survey is old."""

    def __init__(self, store: Store, checkpoints: Checkpoints, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._checkpoints = checkpoints
        self._clock = clock
        self._overlaps = Overlaps()
        self._worktrees: list[WorktreeProgress] = []
        self._good_until = 0.0
        self._task: asyncio.Task[None] | None = None

    async def read(self, wait: float = 0.0) -> ProgressList:
        """Returns the last survey, and starts a new one if it is old. Waits for it at most `wait` seconds."""
        if self._task is None and self._clock() >= self._good_until:
            self._task = asyncio.create_task(self._survey(), name="progress")
            self._task.add_done_callback(self._ended)
        if self._task is not None and wait > 0:
            await asyncio.wait({self._task}, timeout=wait)
        return ProgressList(self._worktrees, self._task is not None)

    async def close(self) -> None:
        """Ends a survey that is under way."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._task = None
        if not task.cancelled() and (error := task.exception()) is not None:
            log.warning("progress_survey_failed", error=str(error))

    async def _survey(self) -> None:
        begun = self._clock()
        # Also one that fails is not repeated at once.
        self._good_until = begun + GOOD_FOR
        rows = await self._store.read(lambda tx: tx.all(WORKTREES.live, Worktree, limit=MOST_SURVEYED))
        worktrees: list[WorktreeProgress] = []
        for row in rows:
            # One that is gone or broken has no progress.
            with contextlib.suppress(BoughError, OSError):
                worktrees.append(await self._look(row))
        self._worktrees = worktrees
        self._good_until = self._clock() + max(GOOD_FOR, REST * (self._clock() - begun))

    async def _look(self, row: Worktree) -> WorktreeProgress:
        await self._checkpoints.check_folder(row.path)
        changed = await self._overlaps.changed(row)
        _, repo = await self._store.read(lambda tx: find_rows(tx, row.id))
        folder = await read_folder(row, repo, [])
        last = await last_merge(folder)
        worked = last is not None or folder.head != row.base_sha
        merged = worked and await merged_into(folder, last) is not None
        return WorktreeProgress(row.id, len(changed), merged)
