"""Who hears what and when, on both databases (A3)."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from bough.errors import Internal
from bough.storage import queries
from bough.storage.backend import Backend, Tx
from tests.support.eventually import eventually

Q = queries.load("boxes", Path(__file__).with_name("sql"))


async def say(backend: Backend, payload: str, *, channel: str = "news", fail: bool = False) -> None:
    async def work(tx: Tx) -> None:
        tx.notify(channel, payload)
        await tx.run(Q.upsert, id=payload, label=payload)
        if fail:
            raise LookupError(payload)

    await backend.transaction(work)


async def test_heard_after_commit_and_never_after_rollback(backend: Backend) -> None:
    """A3: an event is published only when what it tells of is stored."""
    seen: list[tuple[str, object]] = []
    loop = asyncio.get_running_loop()
    looking: list[asyncio.Task[Any]] = []

    def hear(payload: str) -> None:
        async def look() -> None:
            seen.append((payload, await backend.read(lambda tx: tx.value(Q.hits, id=payload))))

        looking.append(loop.create_task(look()))

    backend.listen("news", hear)
    with pytest.raises(LookupError):
        await say(backend, "undone", fail=True)
    await say(backend, "done")
    await eventually(lambda: len(seen) == 1)
    assert seen == [("done", 1)]


async def test_heard_in_the_order_of_commits(backend: Backend) -> None:
    """A3: the order of events is the order of commits."""
    heard: list[str] = []
    backend.listen("news", heard.append)
    committed: list[str] = []

    async def work(tx: Tx, name: str) -> object:
        tx.notify("news", name)
        return await tx.value(Q.upsert, id="counter", label="counter")

    async def one(name: str) -> None:
        place = await backend.transaction(lambda tx: work(tx, name))
        committed.append(f"{place:03} {name}")

    await asyncio.gather(*(one(f"n{number}") for number in range(60)))
    await eventually(lambda: len(heard) == 60)
    assert heard == [entry.partition(" ")[2] for entry in sorted(committed)]


async def test_several_in_one_work_keep_their_order_and_equal_ones_are_one(backend: Backend) -> None:
    """A3: one commit may carry many events."""
    heard: list[str] = []
    backend.listen("news", heard.append)

    async def work(tx: Tx) -> None:
        for payload in ("one", "two", "one", "three\nlines 'and' \"quotes\" é"):
            tx.notify("news", payload)

    await backend.transaction(work)
    await eventually(lambda: len(heard) == 3)
    assert heard == ["one", "two", "three\nlines 'and' \"quotes\" é"]


async def test_channels_and_unsubscribing(backend: Backend) -> None:
    """A3: each hears its own channel, from listen to unsubscribe."""
    news: list[str] = []
    other: list[str] = []
    again: list[str] = []
    stop = backend.listen("news", news.append)
    backend.listen("news", again.append)
    backend.listen("other", other.append)
    await say(backend, "one")
    await eventually(lambda: news == again == ["one"])
    stop()
    stop()
    await say(backend, "two")
    await say(backend, "three", channel="other")
    await eventually(lambda: other == ["three"])
    assert (news, again) == (["one"], ["one", "two"])


async def test_a_listener_that_raises_is_reported_and_does_not_stop_others(backend: Backend) -> None:
    """A3: one broken client is not everyone's silence."""
    heard: list[str] = []
    reported: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, context: reported.append(context))

    def broken(payload: str) -> None:
        raise LookupError(payload)

    backend.listen("news", broken)
    backend.listen("news", heard.append)
    await say(backend, "one")
    await eventually(lambda: heard == ["one"])
    assert isinstance(reported[0]["exception"], LookupError)


async def test_a_notification_has_a_size(backend: Backend) -> None:
    """A3: what PostgreSQL could not carry is refused by both, and nothing is stored."""
    with pytest.raises(Internal) as caught:
        await say(backend, "x" * 7_900)
    assert caught.value.code == "notification_too_large"
    assert await backend.read(lambda tx: tx.value(Q.count)) == 0
