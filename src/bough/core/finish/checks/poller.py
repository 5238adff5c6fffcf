"""Looks at open pull requests now and then: often while something changes, more and more rarely while nothing does or
the server cannot be asked."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import msgspec
import structlog

from bough.core.finish.checks.rows import PullRequestRow
from bough.core.finish.checks.service import RequestChecks
from bough.errors import BoughError
from bough.settings import Settings

log = structlog.get_logger("bough.finish")

# The pause between two looks doubles, up to this many times the setting; without a program or a login, up to an hour.
MOST_PAUSES = 16
LONGEST_FAILING = 3600.0
# The longest pause, in seconds, between two checks of whether a look is due.
LONGEST_SLEEP = 30.0


class _Turn(msgspec.Struct):
    due: float
    pause: float
    known: tuple[object, ...]


class CheckPoller:
    """Refreshes the open pull requests of worktrees."""

    def __init__(self, checks: RequestChecks, settings: Settings, clock: Callable[[], float] = time.monotonic) -> None:
        self._checks = checks
        self._every = settings.poll_checks
        self._clock = clock
        self._turns: dict[str, _Turn] = {}

    async def run(self) -> None:
        """Runs until cancelled; does nothing if polling is off."""
        while self._every > 0:
            try:
                await self.look()
            except Exception as error:
                log.warning("checks_not_polled", error=str(error))
            await asyncio.sleep(min(self._every, LONGEST_SLEEP))

    async def look(self) -> None:
        """Refreshes those that are due, one after the other."""
        rows = {row.worktree_id: row for row in await self._checks.open_rows()}
        self._turns = {key: turn for key, turn in self._turns.items() if key in rows}
        for row in rows.values():
            turn = self._turns.get(row.worktree_id)
            if turn is None or self._clock() >= turn.due:
                await self._refresh(row, turn)

    async def _refresh(self, row: PullRequestRow, turn: _Turn | None) -> None:
        error: str | None = None
        known: tuple[object, ...] = ()
        try:
            shown = await self._checks.refresh(row.worktree_id)
            if shown is not None:
                error = shown.error
                known = (shown.head, shown.counts, shown.state, [check.id for check in shown.checks])
        except BoughError as failure:
            error = failure.message
            log.info("checks_not_refreshed", worktree=row.worktree_id, error=error)
        except Exception as failure:
            # The others must not wait for this one.
            error = str(failure) or type(failure).__name__
            log.warning("checks_not_refreshed", worktree=row.worktree_id, error=error)
        if turn is None or (error is None and known != turn.known):
            pause = self._every
        else:
            longest = max(LONGEST_FAILING, self._every) if error is not None else MOST_PAUSES * self._every
            pause = min(2 * turn.pause, longest)
        self._turns[row.worktree_id] = _Turn(self._clock() + pause, pause, known)
