"""A3: Tests who receives which notification and when, on both databases."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from bough.errors import Internal
from bough.storage import queries
from bough.storage.backend import Backend, Tx
from tests.support.eventually import eventually

Q = queries.load("boxes", Path(__file__).parents[1] / "sql")


async def say(backend: Backend, payload: str, *, channel: str = "news", fail: bool = False) -> None:
    async def work(tx: Tx) -> None:
        tx.notify(channel, payload)
        await tx.run(Q.upsert, id=payload, label=payload)
        if fail:
            raise LookupError(payload)

    await backend.transaction(work)


async def test_notified_after_commit_and_never_after_rollback(backend: Backend) -> None:
    """A3: Publishes an event only when its change is stored."""
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


async def test_notified_in_the_order_of_commits(backend: Backend) -> None:
    """A3: Publishes events in the order of commits."""
    received: list[str] = []
    backend.listen("news", received.append)
    committed: list[str] = []

    async def work(tx: Tx, name: str) -> object:
        tx.notify("news", name)
        return await tx.value(Q.upsert, id="counter", label="counter")

    async def commit(name: str) -> None:
        place = await backend.transaction(lambda tx: work(tx, name))
        committed.append(f"{place:03} {name}")

    await asyncio.gather(*(commit(f"n{number}") for number in range(60)))
    await eventually(lambda: len(received) == 60)
    assert received == [entry.partition(" ")[2] for entry in sorted(committed)]


async def test_events_of_one_transaction_keep_their_order_without_duplicates(backend: Backend) -> None:
    """A3: One commit may carry many events."""
    received: list[str] = []
    backend.listen("news", received.append)

    async def work(tx: Tx) -> None:
        for payload in ("one", "two", "one", "three\nlines 'and' \"quotes\" é"):
            tx.notify("news", payload)

    await backend.transaction(work)
    await eventually(lambda: len(received) == 3)
    assert received == ["one", "two", "three\nlines 'and' \"quotes\" é"]


async def test_channels_and_unsubscribing(backend: Backend) -> None:
    """A3: Each listener gets the events of its own channel, from listening to unsubscribing."""
    received: list[str] = []
    other: list[str] = []
    again: list[str] = []
    stop = backend.listen("news", received.append)
    backend.listen("news", again.append)
    backend.listen("other", other.append)
    await say(backend, "one")
    await eventually(lambda: received == again == ["one"])
    stop()
    stop()
    await say(backend, "two")
    await say(backend, "three", channel="other")
    await eventually(lambda: other == ["three"])
    assert (received, again) == (["one"], ["one", "two"])


async def test_a_listener_that_raises_is_reported_and_does_not_stop_others(backend: Backend) -> None:
    """A3: A listener that fails does not silence the others."""
    received: list[str] = []
    reported: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, context: reported.append(context))

    def broken(payload: str) -> None:
        raise LookupError(payload)

    backend.listen("news", broken)
    backend.listen("news", received.append)
    await say(backend, "one")
    await eventually(lambda: received == ["one"])
    assert isinstance(reported[0]["exception"], LookupError)


async def test_a_notification_has_a_size(backend: Backend) -> None:
    """A3: Both databases refuse a notification that is too large for PostgreSQL, and store nothing."""
    with pytest.raises(Internal) as caught:
        await say(backend, "x" * 7_900)
    assert caught.value.code == "notification_too_large"
    assert await backend.read(lambda tx: tx.value(Q.count)) == 0
