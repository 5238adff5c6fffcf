"""Bounds how many agents start at once, so that many starts together do not run into each other's time limits."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator

AT_ONCE = 8
"""Starts at once. More would not be faster: a start is mostly the work of the processor."""
WORKS_FOR = 10.0
"""Seconds after which a start no longer counts, since an agent that takes longer mostly waits for something else. An
agent that never answers therefore does not keep others from starting."""


class StartLimit:
    """Lets a few agents start at a time. Others wait, before any time limit of their own start begins."""

    def __init__(self, at_once: int = AT_ONCE, works_for: float = WORKS_FOR) -> None:
        self._permits = asyncio.Semaphore(at_once)
        self._works_for = works_for

    @contextlib.asynccontextmanager
    async def starting(self) -> AsyncGenerator[None]:
        """Waits for its turn, and counts as a start until the body ends or has taken long."""
        await self._permits.acquire()
        released = False

        def release() -> None:
            nonlocal released
            if not released:
                released = True
                self._permits.release()

        early = asyncio.get_running_loop().call_later(self._works_for, release)
        try:
            yield
        finally:
            early.cancel()
            release()
