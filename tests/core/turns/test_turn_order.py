"""Tests as a table which waiting sessions the scheduler serves first (T5)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, cast

import pytest

from bough.core.store.sql import LIMITS, TASKS
from bough.core.turns.park_turns import ParkedAccounts
from bough.core.turns.scheduler import Runnable, Scheduler
from bough.settings import Settings
from bough.storage.backend import Tx
from tests.core.state.fake_rows import FakeTx


class FakeStore:
    """A store with waiting sessions and nothing else."""

    def __init__(self, waiting: list[Runnable]) -> None:
        self.waiting = waiting

    async def read(self, work: Callable[[Tx], Awaitable[Any]]) -> Any:
        return await work(FakeTx({TASKS.runnable.name: self.waiting, LIMITS.all.name: []}))


class FakeRunner:
    """Records which sessions get a turn; their turns last until the test ends."""

    def __init__(self) -> None:
        self.agents: frozenset[Any] = frozenset()
        self.parked = ParkedAccounts(cast("Any", None), Settings())
        self.served: list[str] = []

    async def turn(self, session_id: str) -> None:
        self.served.append(session_id)
        await asyncio.Event().wait()


def waiting(session_id: str, created_at: str = "1", under_way: int = 0) -> Runnable:
    """Returns a waiting session; the first letter of its id names its tree."""
    return Runnable(session_id, session_id[0], created_at, under_way)


async def order(waits: list[Runnable], slots: int) -> list[str]:
    runner = FakeRunner()
    scheduler = Scheduler(cast("Any", FakeStore(waits)), Settings(max_agents=slots), cast("Any", runner))
    await scheduler.start_turns()
    await asyncio.sleep(0)
    await scheduler._cancel_turns()  # pyright: ignore[reportPrivateUsage]
    return runner.served


@pytest.mark.parametrize(
    ("waits", "served"),
    [
        ([waiting("a1", "2"), waiting("b1", "1"), waiting("c1", "3")], ["b1", "a1", "c1"]),
        ([waiting("a1", "1"), waiting("a2", "2"), waiting("b1", "3")], ["a1", "b1", "a2"]),
        ([waiting("a1", "1", under_way=2), waiting("b1", "3"), waiting("b2", "4")], ["b1", "b2", "a1"]),
        ([waiting("a2"), waiting("a1")], ["a1", "a2"]),
        (
            [
                *(waiting(f"a{number}", "1") for number in range(3)),
                *(waiting(f"b{number}", "2") for number in range(3)),
            ],
            ["a0", "b0", "a1", "b1", "a2", "b2"],
        ),
    ],
    ids=["oldest first", "other trees first", "fewest running turns first", "by id", "trees take turns"],
)
async def test_the_order_of_turns(waits: list[Runnable], served: list[str]) -> None:
    """T5: Slots go to the tree with the fewest running turns, then to the oldest prompt."""
    assert await order(waits, slots=8) == served


@pytest.mark.parametrize("slots", [1, 2, 3])
async def test_no_more_turns_than_slots(slots: int) -> None:
    """T5: Starts only as many turns as there are free slots, the first in order."""
    assert await order([waiting("a1"), waiting("b1"), waiting("c1")], slots) == ["a1", "b1", "c1"][:slots]


async def test_the_tree_that_was_served_longest_ago_is_next() -> None:
    """T5: Of trees with equally many turns, the one that was served longest ago comes first, however long others
    wait."""
    store = FakeStore([waiting("a1", "1"), waiting("b1", "2")])
    runner = FakeRunner()
    scheduler = Scheduler(cast("Any", store), Settings(max_agents=8), cast("Any", runner))
    await scheduler.start_turns()
    store.waiting = [waiting(name, at, under_way=1) for name, at in (("a2", "1"), ("b2", "1"), ("c1", "9"))]
    await scheduler.start_turns()
    await asyncio.sleep(0)
    await scheduler._cancel_turns()  # pyright: ignore[reportPrivateUsage]
    assert runner.served == ["a1", "b1", "c1", "a2", "b2"]
