"""Tests the count of clients that wait for a call, and that nothing is left behind (5c)."""

from __future__ import annotations

import asyncio

from bough.core.tool_calls.waiters import WaitCounts, Waiter


def test_a_request_waits_until_it_is_over() -> None:
    """5c: A call that is being sent to a client counts as waited for; closing twice or holding later changes
    nothing."""
    counts = WaitCounts()
    with counts.during("a"):
        waiter = Waiter(counts)
        waiter.hold("a")
    assert "a" in counts
    waiter.close()
    waiter.close()
    assert "a" not in counts
    waiter.hold("a")
    assert "a" not in counts


async def test_equal_calls_start_one_after_another() -> None:
    """5c: Each sees whether a client waits for the one before it, other calls are not delayed, and the locks are
    removed."""
    counts = WaitCounts()
    begun: list[str] = []

    async def begin(name: str, words: str) -> None:
        async with counts.turn(words):
            begun.append(f"{name} after {'a' in counts}")
            await asyncio.sleep(0)
            counts.add(name)

    await asyncio.gather(begin("a", "words"), begin("b", "words"), begin("c", "other words"))
    assert begun == ["a after False", "c after False", "b after True"]
    for name in ("a", "b", "c"):
        counts.remove(name)
    assert (dict(counts._waiting), dict(counts._turns)) == ({}, {})  # pyright: ignore[reportPrivateUsage]
