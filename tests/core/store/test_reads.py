"""Reads over REST return exactly what is stored, with and without cached responses (A1)."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from bough.core.store import response_cache
from bough.core.store.sql import MESSAGES
from bough.model.message import Message
from bough.storage.backend import Tx
from tests.core.helpers import open_session
from tests.support.server import Running, serving


async def stored(server: Running, session_id: str) -> list[Any]:
    """Reads the transcript from the rows directly."""

    async def work(tx: Tx) -> list[Message]:
        return await tx.all(MESSAGES.all, Message, session_id=session_id)

    messages = await server.services.store.read(work)
    return msgspec.json.decode(msgspec.json.encode(messages))


class Reads(NamedTuple):
    """The stored transcript, and three responses with parts of it."""

    stored: list[Any]
    last: list[Any]
    whole: list[Any]
    after_first: list[Any]


async def read_unchanged(server: Running, session_id: str) -> Reads:
    """Reads everything again until nothing was written in between."""
    path = f"/api/sessions/{session_id}"
    while True:
        before = await stored(server, session_id)
        last = await server.client.get(f"{path}/messages?limit=100")
        whole = (await server.client.get(path))["messages"]
        after_first = await server.client.get(f"{path}/messages?limit=5&after={before[0]['id']}")
        if await stored(server, session_id) == before:
            return Reads(before, last, whole, after_first)


async def check(server: Running, session_id: str) -> None:
    """Compares responses with the stored rows, three times so that cached responses are compared too."""
    for _ in range(3):
        reads = await read_unchanged(server, session_id)
        assert reads.last == reads.stored[-100:]
        assert reads.whole == reads.stored
        assert reads.after_first == reads.stored[1:6]


@pytest.mark.parametrize("cache_bytes", [response_cache.MOST_BYTES, 0])
async def test_reads_return_what_is_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cache_bytes: int) -> None:
    """A1: Returns the stored rows while messages grow, queued prompts are edited and the session changes."""
    monkeypatch.setattr(response_cache, "MOST_BYTES", cache_bytes)
    async with serving(tmp_path) as server:
        session = await open_session(server, permissionMode="ask")
        for text in ("[[say a]] [[think b]] [[say c]]", "[[slow 20 0.2]]", "[[plan A; B]] [[say d]]"):
            task = await server.client.prompt(session, text)
            await check(server, session)
            await server.client.wait_task(task)
            await check(server, session)
        await server.client.prompt(session, "[[run true]]")
        await server.client.approval(session)
        waiting = await server.client.prompt(session, "before")
        await check(server, session)
        await server.client.call("PATCH", f"/api/tasks/{waiting}", json={"prompt": "after"})
        await check(server, session)
        for title in ("one", "two"):
            await server.client.call("PATCH", f"/api/sessions/{session}", json={"title": title})
            for _ in range(3):
                listed = (await server.client.get("/api/sessions"))["sessions"]
                whole = await server.client.get(f"/api/sessions/{session}")
                assert listed == [{name: whole[name] for name in listed[0]}]
                assert listed[0]["title"] == title
