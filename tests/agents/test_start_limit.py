"""Tests the limit on agents that start at the same time."""

from __future__ import annotations

import asyncio

from bough.agents.process.start_limit import StartLimit
from tests.support.eventually import eventually


async def test_only_a_few_start_at_once() -> None:
    """Q4: Of many starts only a few run at a time, and all of them finish."""
    limit, running, most, done = StartLimit(3), 0, 0, 0

    async def start() -> None:
        nonlocal running, most, done
        async with limit.starting():
            running += 1
            most = max(most, running)
            await asyncio.sleep(0)
            running -= 1
            done += 1

    await asyncio.gather(*(start() for _ in range(200)))
    assert (most, done) == (3, 200)


async def test_a_start_that_hangs_does_not_block_others() -> None:
    """Q4: An agent that never answers releases its permit, once."""
    limit, started = StartLimit(1, works_for=0.05), list[str]()

    async def start(name: str, end: asyncio.Event) -> None:
        async with limit.starting():
            started.append(name)
            await end.wait()

    ends = {name: asyncio.Event() for name in ("hanging", "second", "third")}
    tasks = [asyncio.create_task(start(name, end)) for name, end in ends.items()]
    await eventually(lambda: started == ["hanging", "second", "third"])
    for end in ends.values():
        end.set()
    await asyncio.gather(*tasks)
    async with limit.starting():
        blocked = asyncio.create_task(limit.starting().__aenter__())
        await asyncio.sleep(0)
        assert not blocked.done()
        blocked.cancel()
        await asyncio.wait([blocked])
