"""Repeats database work that must not be lost for as long as the database is busy."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from bough.errors import Busy

T = TypeVar("T")

# Seconds between attempts.
RETRY_PAUSE = 1.0


async def retry_while_busy(work: Callable[[], Awaitable[T]], report: Callable[[Busy], object]) -> T:
    """Runs the work until the database is not too busy for it; reports each failed attempt."""
    while True:
        try:
            return await work()
        except Busy as error:
            report(error)
            await asyncio.sleep(RETRY_PAUSE)
