"""A1: Cached responses equal the ones that would be built again."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from bough.core.store import records, response_cache
from bough.core.store.response_cache import ResponseCache
from bough.storage import queries
from tests.core.helpers import open_session
from tests.support.server import Running, serving

TITLE = queries.Query("title", "SELECT title FROM sessions WHERE id = :id", "A title.")


def asking(server: Running, session: str, reads: list[str]) -> Callable[[], Awaitable[str | None]]:
    """Returns a function that reads the title of a session and records each read."""

    async def make() -> str | None:
        title = await server.services.store.read(lambda tx: tx.value(TITLE, id=session))
        reads.append(str(title))
        return title

    return make


async def rename(server: Running, session: str, title: str) -> None:
    await server.services.store.write(lambda change: records.update_session(change, session, title=title))


async def test_a_response_is_built_once_until_something_is_written(server: Running) -> None:
    """A1: Returns the same bytes while nothing changes, and a new response after a change by us or by anybody else."""
    session = await open_session(server)
    cache, reads = ResponseCache(server.services.store.db), list[str]()
    make = asking(server, session, reads)
    await rename(server, session, "one")
    assert [await cache.get("title", make) for _ in range(3)] == [b'"one"'] * 3
    assert reads == ["one"]
    await rename(server, session, "two")
    assert [await cache.get("title", make) for _ in range(3)] == [b'"two"'] * 3
    with sqlite3.connect(server.data / "bough.db") as other:
        other.execute("UPDATE sessions SET title = 'three' WHERE id = ?", (session,))
    other.close()
    assert [await cache.get("title", make) for _ in range(3)] == [b'"three"'] * 3
    assert reads == ["one", "two", "three"]


async def test_a_write_during_a_response_is_in_the_next_one(server: Running) -> None:
    """A1: A response that was overtaken by a write is not reused, even if somebody else has read the new state."""
    session = await open_session(server)
    cache = ResponseCache(server.services.store.db)
    title = asking(server, session, [])
    for looked in (False, True):
        await rename(server, session, "old")
        reached, go = asyncio.Event(), asyncio.Event()

        async def slow(reached: asyncio.Event = reached, go: asyncio.Event = go) -> str | None:
            current = await title()
            reached.set()
            await go.wait()
            return current

        first = asyncio.create_task(cache.get("title", slow))
        await reached.wait()
        await rename(server, session, "new")
        if looked:
            await cache.get("other", title)
        go.set()
        assert await first == b'"old"'
        assert await cache.get("title", title) == b'"new"'


@pytest.mark.parametrize("most", [0, 10])
async def test_a_response_without_room_is_built_again(
    server: Running, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    """A1: Memory is bounded, and a response that is not cached is as correct as one that is."""
    monkeypatch.setattr(response_cache, "MOST_BYTES", most)
    session = await open_session(server)
    cache, reads = ResponseCache(server.services.store.db), list[str]()
    make = asking(server, session, reads)
    await rename(server, session, "heron")
    for key in ("a", "b", "a", "b"):
        assert await cache.get(key, make) == b'"heron"'
    assert len(reads) == (4 if most == 0 else 3)


async def test_responses_are_current_on_both_databases(tmp_path: Path, database_url: str) -> None:
    """A1, R6: On both databases, a response contains a change made a moment ago."""
    async with serving(tmp_path, database=database_url) as server:
        session = await open_session(server)
        for title in ("one", "two"):
            for _ in range(2):
                await server.client.call("PATCH", f"/api/sessions/{session}", json={"title": title})
                assert (await server.client.get(f"/api/sessions/{session}"))["title"] == title
                assert (await server.client.get("/api/sessions"))["sessions"][0]["title"] == title
