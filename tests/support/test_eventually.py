"""`eventually` returns what it was waiting for, and says what was missing if that never comes."""

from __future__ import annotations

import asyncio
import itertools

import pytest

from tests.support.eventually import eventually


async def test_it_returns_what_a_look_found() -> None:
    """Plain and asynchronous looks are repeated until one returns something true."""
    numbers = itertools.count()
    assert await eventually(lambda: next(numbers) or None) == 1

    async def look() -> str:
        return "later" if next(numbers) > 4 else ""

    assert await eventually(look) == "later"


async def test_it_looks_again_after_a_change() -> None:
    """With `changed` there is no pause: a look follows each change."""
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
    """Without `what`, the message says where the condition is in the source."""
    with pytest.raises(AssertionError, match=r"<lambda> in .*test_eventually\.py, line \d+"):
        await eventually(lambda: False, within=0.01)


async def test_a_time_out_of_the_look_itself() -> None:
    """A look that times out by itself fails as it would without `eventually`."""

    async def look() -> bool:
        raise TimeoutError("its own")

    with pytest.raises(TimeoutError, match="its own"):
        await eventually(look)
