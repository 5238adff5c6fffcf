"""Finds the overlaps of all live worktrees for boards and lists: in the background, one repository after the other, and
at most a tenth of the time. Reading never runs git."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import time
from collections.abc import Callable, Iterable

import msgspec
import structlog

from bough.core.checkpoints.take import Checkpoints
from bough.core.finish.overlap import MOST_COMPARED, Overlap, Overlaps
from bough.core.store.sql import WORKTREES
from bough.core.store.transactions import Store
from bough.errors import BoughError
from bough.git.decode import shown
from bough.model.repo import Worktree

log = structlog.get_logger("bough.finish")

# How long a survey is good for, at least; a long one is good for this many times its own duration.
GOOD_FOR = 15.0
REST = 10.0
# At most this many worktrees are surveyed, the newest ones.
MOST_SURVEYED = 300
# A card names few files; the state of a worktree names more.
MOST_NAMED = 5


class WorktreeOverlaps(msgspec.Struct, rename="camel"):
    """A worktree and the others that changed the same files, those with most of them first."""

    worktree_id: str
    overlaps: list[Overlap]


class OverlapList(msgspec.Struct, rename="camel"):
    """The worktrees with overlaps, as of the last survey. `pending` says that another one is under way."""

    worktrees: list[WorktreeOverlaps]
    pending: bool


class OverlapSurvey:
    """Surveys all worktrees when somebody asks and the last survey is old."""

    def __init__(self, store: Store, checkpoints: Checkpoints, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._checkpoints = checkpoints
        self._clock = clock
        self._overlaps = Overlaps()
        self._worktrees: list[WorktreeOverlaps] = []
        self._good_until = 0.0
        self._task: asyncio.Task[None] | None = None

    async def read(self, wait: float = 0.0) -> OverlapList:
        """Returns the last survey, and starts a new one if it is old. Waits for it at most `wait` seconds."""
        if self._task is None and self._clock() >= self._good_until:
            self._task = asyncio.create_task(self._survey(), name="overlaps")
            self._task.add_done_callback(self._ended)
        if self._task is not None and wait > 0:
            await asyncio.wait({self._task}, timeout=wait)
        return OverlapList(self._worktrees, self._task is not None)

    async def close(self) -> None:
        """Ends a survey that is under way."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._task = None
        if not task.cancelled() and (error := task.exception()) is not None:
            log.warning("overlap_survey_failed", error=str(error))

    async def _survey(self) -> None:
        begun = self._clock()
        # Also one that fails is not repeated at once.
        self._good_until = begun + GOOD_FOR
        rows = await self._store.read(lambda tx: tx.all(WORKTREES.live, Worktree, limit=MOST_SURVEYED))
        rows.sort(key=lambda row: (row.repo_id, row.created_at, row.id))
        worktrees: list[WorktreeOverlaps] = []
        for _, group in itertools.groupby(rows, key=lambda row: row.repo_id):
            worktrees += await self._survey_repo(list(group)[-MOST_COMPARED:])
        self._worktrees = worktrees
        self._good_until = self._clock() + max(GOOD_FOR, REST * (self._clock() - begun))

    async def _survey_repo(self, rows: list[Worktree]) -> list[WorktreeOverlaps]:
        if len(rows) < 2:
            return []
        changed: dict[str, frozenset[str]] = {}
        for row in rows:
            with contextlib.suppress(BoughError):
                await self._checkpoints.check_folder(row.path)
                changed[row.id] = await self._overlaps.changed(row)
        return list(_compare([row for row in rows if changed.get(row.id)], changed))


def _compare(rows: list[Worktree], changed: dict[str, frozenset[str]]) -> Iterable[WorktreeOverlaps]:
    for row in rows:
        overlaps: list[Overlap] = []
        for other in rows:
            both = changed[row.id] & changed[other.id] if other is not row else frozenset[str]()
            if both:
                names = [shown(name) for name in sorted(both)[:MOST_NAMED]]
                overlaps.append(Overlap(other.id, other.name, names, len(both)))
        if overlaps:
            overlaps.sort(key=lambda overlap: -overlap.files_total)
            yield WorktreeOverlaps(row.id, overlaps)
