"""Waits for tasks that must not be left half done."""

from __future__ import annotations

import asyncio
from typing import TypeVar

T = TypeVar("T")


async def shielded(task: asyncio.Task[T]) -> T:
    """Waits for a task to end even if the waiter is cancelled. The cancellation is raised afterwards."""
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled
    return task.result()
