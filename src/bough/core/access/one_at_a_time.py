"""Runs the changes of users, tokens and page keys one after another, so that memory and database always agree."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import structlog

log = structlog.get_logger("bough.access")

T = TypeVar("T")
# Seconds that changes have to end when the server stops.
CLOSE_WITHIN = 10.0


class OneAtATime:
    """Runs one change at a time. A change runs to its end even if the request that wanted it is gone."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._tasks: set[asyncio.Task[Any]] = set()

    async def run(self, work: Callable[[], Awaitable[T]]) -> T:
        async def alone() -> T:
            async with self._lock:
                return await work()

        task = asyncio.create_task(alone())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return await asyncio.shield(task)

    async def close(self) -> None:
        """Waits for the changes under way, but not for long."""
        if not self._tasks:
            return
        _, left = await asyncio.wait(set(self._tasks), timeout=CLOSE_WITHIN)
        if left:
            log.error("access_not_changed", count=len(left), help="Look at: bough token list; bough user list")
