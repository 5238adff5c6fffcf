"""A3: Every event is published once and in order, whoever writes it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from bough.core.events.hub import Hub
from bough.core.sessions.requests import SessionPatch
from bough.core.store import records
from bough.core.store.transactions import Change, Store
from bough.errors import Conflict, Unavailable
from bough.model.message import user_text
from bough.model.session import Caller, Session
from tests.core.helpers import open_session
from tests.support.client import PATIENCE
from tests.support.eventually import eventually
from tests.support.server import Running, serving

WRITES = 40


async def test_events_of_all_writers_in_one_order(tmp_path: Path, database_url: str) -> None:
    """A3: Publishes the events that the hub is handed and those that it must read, and none that was rolled back or
    given up."""
    async with serving(tmp_path, database=database_url) as server:
        session = await open_session(server)
        async with server.client.events() as events:
            await write_in_many_ways(server, session)
            last = await server.services.sessions.patch(Caller(), session, SessionPatch(title="last"))
            done = await events.until(
                lambda event: event["type"] == "session.patched" and event["data"]["title"] == "last"
            )
            rows_seen = [
                event for event in events.seen if event.get("cursor") and not event["type"].startswith("stream.")
            ]
        seen = [event["cursor"] for event in rows_seen]
        assert last.title == "last"
        assert seen == list(range(seen[0], done["cursor"] + 1))
        # PostgreSQL's notification may come after the row was read.
        await eventually(lambda: not server.services.store.unheard)


async def write_in_many_ways(server: Running, session: str) -> None:
    store = server.services.store
    elsewhere = Store(store.db)

    async def title(change: Change, text: str) -> Session:
        return await records.update_session(change, session, title=text)

    async def fail(change: Change) -> None:
        await title(change, "never")
        raise Conflict("never", "This is taken back.")

    async def refused() -> None:
        with pytest.raises(Conflict):
            await store.write(fail)

    async def given_up() -> None:
        task = asyncio.create_task(store.write(lambda change: title(change, "perhaps")))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait((task,))

    for number in range(WRITES):
        await asyncio.gather(
            store.write(lambda change, text=f"own {number}": title(change, text)),
            elsewhere.write(lambda change, text=f"other {number}": title(change, text)),
            refused(),
            given_up(),
            store.write(lambda change, text=f"again {number}": title(change, text)),
        )


async def test_text_never_overtakes_its_message(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """A3: A delta waits for the event of its message, even if news of the commit comes late, as in PostgreSQL."""
    session = await open_session(server)
    db = server.services.store.db
    store, held = Store(db), list[str]()
    listen = db.listen
    hub, started = Hub(store), asyncio.Event()

    def listen_late(channel: str, _callback: Callable[[str], None]) -> Callable[[], None]:
        return listen(channel, held.append)

    monkeypatch.setattr(db, "listen", listen_late)
    job = asyncio.create_task(hub.run(started))
    await started.wait()
    monkeypatch.undo()
    try:
        async with asyncio.timeout(PATIENCE), hub.subscribe(session, None) as stream:
            frames = stream.frames()
            await anext(frames)
            message = await store.write(
                lambda change: records.add_message(change, session, None, "agent", user_text("one"))
            )
            hub.grow(session, message.id, 3, " two")
            kinds: list[str] = []
            while "message.delta" not in kinds:
                kinds += [frame.kind for frame in await anext(frames)]
            await frames.aclose()
        assert kinds == ["message.created", "message.delta"]
        assert held
    finally:
        job.cancel()
        await asyncio.wait((job,))


async def test_a_start_without_a_cursor_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """O1: A server whose hub cannot begin ends with the error instead of waiting for ever."""

    async def fail(_hub: Hub) -> int:
        raise Unavailable("database_unavailable", "The database cannot be read.")

    monkeypatch.setattr(Hub, "_newest", fail)
    with pytest.raises(Unavailable):
        async with asyncio.timeout(PATIENCE), serving(tmp_path):
            pass
