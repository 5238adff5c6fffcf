"""Runs a survey of all live worktrees in the background when somebody asks and the last one is old, at most a tenth of
the time. Reading never runs git."""

from __future__ import annotations

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Generic, TypeVar

import structlog

from bough.core.checkpoints.take import Checkpoints
from bough.core.finish.overlap import Overlaps
from bough.core.store.sql import WORKTREES
from bough.core.store.transactions import Store
from bough.model.repo import Worktree

log = structlog.get_logger("bough.finish")

# How long a survey is good for, at least; a long one is good for this many times its own duration.
GOOD_FOR = 15.0
REST = 10.0
# At most this many worktrees are surveyed, the newest ones.
MOST_SURVEYED = 300

Result = TypeVar("Result")


class Survey(ABC, Generic[Result]):
    """The last results of a survey, and the task that renews them."""

    name: str

    def __init__(self, store: Store, checkpoints: Checkpoints, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._checkpoints = checkpoints
        self._clock = clock
        self._overlaps = Overlaps()
        self._results: list[Result] = []
        self._good_until = 0.0
        self._task: asyncio.Task[None] | None = None

    async def close(self) -> None:
        """Ends a survey that is under way."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})

    async def latest(self, wait: float) -> tuple[list[Result], bool]:
        """Returns the results of the last survey, and whether another one is under way: an old one is renewed. Waits
        for that at most `wait` seconds."""
        if self._task is None and self._clock() >= self._good_until:
            self._task = asyncio.create_task(self._renew(), name=self.name)
            self._task.add_done_callback(self._ended)
        if self._task is not None and wait > 0:
            await asyncio.wait({self._task}, timeout=wait)
        return self._results, self._task is not None

    @abstractmethod
    async def survey(self, rows: list[Worktree]) -> list[Result]:
        """Looks at worktrees with git."""

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._task = None
        if not task.cancelled() and (error := task.exception()) is not None:
            log.warning("survey_failed", survey=self.name, error=str(error))

    async def _renew(self) -> None:
        begun = self._clock()
        # Also one that fails is not repeated at once.
        self._good_until = begun + GOOD_FOR
        rows = await self._store.read(lambda tx: tx.all(WORKTREES.live, Worktree, limit=MOST_SURVEYED))
        self._results = await self.survey(rows)
        self._good_until = self._clock() + max(GOOD_FOR, REST * (self._clock() - begun))
