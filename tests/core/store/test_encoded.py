"""Pages that are kept encoded are never older than their rows (A1)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from bough.core.store import response_cache, row_cache
from bough.core.store.sql import MESSAGES
from bough.model.message import Message
from bough.storage.backend import Tx
from tests.core.helpers import open_session
from tests.support.server import Running, serving


async def stored(server: Running, session_id: str) -> list[Any]:
    """The transcript by another way: every row read and encoded anew."""

    async def work(tx: Tx) -> list[Message]:
        return await tx.all(MESSAGES.all.with_(columns="*"), Message, session_id=session_id)

    found = await server.services.store.read(work)
    return msgspec.json.decode(msgspec.json.encode(found))


async def check(server: Running, session_id: str) -> None:
    """Compares what is read, twice since that is when pages are kept, with what is stored; while nothing changes."""
    for _ in range(3):
        before = await stored(server, session_id)
        client = server.client
        last = await client.get(f"/api/sessions/{session_id}/messages?limit=100")
        whole = (await client.get(f"/api/sessions/{session_id}"))["messages"]
        after = await client.get(f"/api/sessions/{session_id}/messages?limit=5&after={before[0]['id']}")
        if await stored(server, session_id) == before:
            assert last == before[-100:]
            assert whole == before
            assert after == before[1:6]


@pytest.mark.parametrize("kept", [response_cache.MOST_BYTES, 0])
@pytest.mark.parametrize("most", [row_cache.MOST_BYTES, 2000])
async def test_what_is_read_is_what_is_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int, kept: int
) -> None:
    """A1: through growth, edits of waiting prompts and changes of the session; with room for all, or for hardly any;
    with whole answers that are kept, and without."""
    monkeypatch.setattr(response_cache, "MOST_BYTES", kept)
    monkeypatch.setattr(row_cache, "MOST_BYTES", most)
    monkeypatch.setattr(row_cache, "FEW", 1)
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
