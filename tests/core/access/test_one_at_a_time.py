"""Tests that changes of rights run one after another, and each to its end."""

from __future__ import annotations

import asyncio

import pytest

from bough.core.access import one_at_a_time
from bough.core.access.one_at_a_time import OneAtATime


async def test_changes_do_not_overlap() -> None:
    """L1: A change begins when the one before it has ended, failed or not, and its error reaches its caller alone."""
    changes, steps = OneAtATime(), list[str]()
    may_end = asyncio.Event()

    async def slow() -> None:
        steps.append("slow begins")
        await may_end.wait()
        steps.append("slow ends")
        raise ValueError("slow")

    async def quick() -> str:
        steps.append("quick")
        return "done"

    running = [asyncio.create_task(changes.run(slow)), asyncio.create_task(changes.run(quick))]
    await asyncio.wait(running, timeout=0.05)
    assert steps == ["slow begins"]
    may_end.set()
    assert await running[1] == "done"
    with pytest.raises(ValueError, match="slow"):
        await running[0]
    assert steps == ["slow begins", "slow ends", "quick"]


async def test_a_change_outlives_its_request(monkeypatch: pytest.MonkeyPatch) -> None:
    """L1: A change whose request was cancelled still runs to its end, which the end of the server waits for, but not
    forever."""
    changes = OneAtATime()
    begun, may_end, ended = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def work() -> None:
        begun.set()
        await may_end.wait()
        ended.set()

    request = asyncio.create_task(changes.run(work))
    await begun.wait()
    request.cancel()
    with pytest.raises(asyncio.CancelledError):
        await request
    monkeypatch.setattr(one_at_a_time, "CLOSE_WITHIN", 0.01)
    await changes.close()
    assert not ended.is_set()
    monkeypatch.undo()
    may_end.set()
    await changes.close()
    assert ended.is_set()
    await changes.close()
