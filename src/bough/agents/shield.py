"""Waiting for what must not be left half done. What that is, its owner knows."""

from __future__ import annotations

import asyncio
from typing import TypeVar

T = TypeVar("T")


async def shielded(task: asyncio.Task[T]) -> T:
    """Waits for a task even when the waiter is cancelled; that is then told at the end."""
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled
    return task.result()
