"""Waits for a condition that no event reports; tests wait for such conditions in no other way."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, overload

T = TypeVar("T")

# Generous, because machines may be loaded; below pytest's own limit, so that people see the message from here.
PATIENCE = 45.0
PAUSE = 0.01


@overload
async def eventually(
    look: Callable[[], Awaitable[T | None]],
    what: str | Callable[[], str] = "",
    *,
    within: float | None = None,
    pause: float = PAUSE,
    changed: Callable[[], Awaitable[object]] | None = None,
) -> T: ...


@overload
async def eventually(
    look: Callable[[], T | None],
    what: str | Callable[[], str] = "",
    *,
    within: float | None = None,
    pause: float = PAUSE,
    changed: Callable[[], Awaitable[object]] | None = None,
) -> T: ...


async def eventually(
    look: Callable[[], Any],
    what: str | Callable[[], str] = "",
    *,
    within: float | None = None,
    pause: float = PAUSE,
    changed: Callable[[], Awaitable[object]] | None = None,
) -> Any:
    """Calls `look` until it returns something true, and returns that. Fails with `what` if this takes too long.

    `changed` waits for a reason to look again; without it there is a pause between two looks.
    """
    limit = PATIENCE if within is None else within
    seen: Any = None
    scope = asyncio.timeout(limit)
    try:
        async with scope:
            while True:
                seen = look()
                if inspect.isawaitable(seen):
                    seen = await seen
                if seen:
                    return seen
                await (asyncio.sleep(pause) if changed is None else changed())
    except TimeoutError:
        if not scope.expired():
            raise
        awaited = what() if callable(what) else what or _describe(look)
        raise AssertionError(f"Not so after {limit:g} s: {awaited} (last seen: {seen!r})") from None


def _describe(look: Callable[[], Any]) -> str:
    """Returns the place of a condition in the source."""
    code = getattr(look, "__code__", None)
    return repr(look) if code is None else f"{look.__name__} in {code.co_filename}, line {code.co_firstlineno}"
