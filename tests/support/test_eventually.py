"""Tests that `eventually` returns the value that it waited for, and says what was missing if it never comes."""

from __future__ import annotations

import asyncio
import itertools

import pytest

from tests.support.eventually import eventually


async def test_it_returns_the_first_true_value() -> None:
    """Repeats plain and asynchronous looks until one returns something true."""
    numbers = itertools.count()
    assert await eventually(lambda: next(numbers) or None) == 1

    async def look() -> str:
        return "later" if next(numbers) > 4 else ""

    assert await eventually(look) == "later"


async def test_it_looks_again_after_a_change() -> None:
    """Looks again after each change instead of after a pause if `changed` is passed."""
    changes: asyncio.Queue[int] = asyncio.Queue()
    seen: list[int] = []

    async def changed() -> None:
        seen.append(await changes.get())

    for number in range(3):
        changes.put_nowait(number)
    assert await eventually(lambda: len(seen) == 3, changed=changed, pause=1000)


@pytest.mark.parametrize("what", ["the agent has ended", lambda: "the agent has ended"])
async def test_it_says_what_did_not_happen(what: str) -> None:
    with pytest.raises(AssertionError, match=r"Not so after 0\.05 s: the agent has ended \(last seen: \[\]\)"):
        await eventually(list[str], what, within=0.05)


async def test_it_names_the_condition() -> None:
    """Names the place of the condition in the source if `what` is missing."""
    with pytest.raises(AssertionError, match=r"<lambda> in .*test_eventually\.py, line \d+"):
        await eventually(lambda: False, within=0.01)


async def test_a_look_that_times_out_by_itself() -> None:
    """Lets the time-out of a look itself through, as without `eventually`."""

    async def look() -> bool:
        raise TimeoutError("its own")

    with pytest.raises(TimeoutError, match="its own"):
        await eventually(look)
