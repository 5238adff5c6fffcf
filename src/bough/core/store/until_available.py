"""Repeats what must not fail because the database is away for a moment: storing the end of a turn, an agent's question,
the outcome of a call."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

import structlog

from bough.errors import Unavailable

T = TypeVar("T")

log = structlog.get_logger("bough.store")

# Seconds between two tries.
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0
# Seconds in which something that failed is undone; after that a regular look or the next start undoes it.
UNDO_WITHIN = 20.0


async def until_available(
    work: Callable[[], Awaitable[T]], what: str, *, within: float | None = None, **about: str
) -> T:
    """Runs `work` until the database is available, or for `within` seconds. `work` must be safe to repeat: it may have
    been stored although its reply was lost. A server that stops tries once. `what` and `about` say in the log what
    waits."""
    pause, began = FIRST_PAUSE, time.monotonic()
    while True:
        try:
            return await work()
        except Unavailable as error:
            is_final = error.is_final or error.code == "database_closed"
            if is_final or (within is not None and time.monotonic() - began > within):
                raise
            log.warning("database_waited_for", waiting=what, error=error.message, again_in=pause, **about)
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)
