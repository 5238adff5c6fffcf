"""Tests reading a transcript in the order of its changes, complete with any page size."""

from __future__ import annotations

from pathlib import Path

import pytest

from bough.core.store import records
from bough.model.message import Message, raw
from bough.model.values.ids import new_id
from bough.model.values.times import before
from tests.api.error_responses import Json
from tests.support.server import Running, serving


async def opened(server: Running, **fields: object) -> Json:
    repo = await server.client.repo(server.repo())
    return await server.client.session(repo["id"], **fields)


async def test_changes_page_by_page(tmp_path: Path, database_url: str) -> None:
    """A1: Paging by `since` returns every message once, even those that one transaction changed at the same time."""
    async with serving(tmp_path, database=database_url) as server:
        await pages(server)


async def pages(server: Running) -> None:
    client = server.client
    session = await opened(server)
    task = await client.ask(session["id"], "[[plan a; b]][[say one]]")
    # Inserted directly, because no prompt causes a transaction as large as a replay does.
    moments = ["2031-01-01T00:00:00.000001Z"] * 5 + ["2031-01-01T00:00:00.000002Z"] * 3
    made = [(new_id(), moment) for moment in (*moments, "2031-01-01T00:00:00.000003Z")]
    messages = [
        Message(message_id, session["id"], task["id"], 1000 - number, "system", raw({"type": "note"}), moment, moment)
        for number, (message_id, moment) in enumerate(made)
    ]
    await server.services.store.write(lambda change: records.insert_messages(change, messages))
    path = f"/api/sessions/{session['id']}/messages"
    every = await client.get(path)
    assert [item["position"] for item in every] == sorted(item["position"] for item in every)
    for limit in (1, 2, 4, 100):
        since = "2001-02-03"
        seen: list[Json] = []
        while page := await client.get(path, params={"since": since, "limit": limit}):
            assert len(page) >= min(limit, len(every) - len(seen))
            seen += page
            since = page[-1]["updatedAt"]
        ordered = sorted(every, key=lambda message_id: (message_id["updatedAt"], message_id["position"]))
        assert [item["id"] for item in seen] == [item["id"] for item in ordered]
    last = [item["id"] for item in every if item["updatedAt"] == moments[0]]
    both = {"since": "2030-01-01", "after": last[0], "before": last[-1], "limit": 100}
    assert [item["id"] for item in await client.get(path, params=both)] == last[1:-1]


async def test_changes_after_the_clock_was_set_back(
    tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A1: A reader who pages by `since` misses nothing when the clock is set back by an hour."""
    async with serving(tmp_path, database=database_url) as server:
        client = server.client
        session = await opened(server)
        await client.ask(session["id"], "[[say before]]")
        path = f"/api/sessions/{session['id']}/messages"
        since = max(message["updatedAt"] for message in await client.get(path))
        monkeypatch.setattr("bough.core.store.transactions.now", lambda: before(3600))
        for text in ("second", "third"):
            await client.ask(session["id"], f"[[say {text}]]")
            changed = await client.get(path, params={"since": since})
            assert [message["content"]["text"] for message in changed] == [f"[[say {text}]]", text]
            since = changed[-1]["updatedAt"]
        fork = await client.post(f"/api/sessions/{session['id']}/fork", {"prompt": "[[say fourth]]"})
        await client.wait_task(fork["taskId"])
        inherited = {"since": since, "inherited": True}
        changed = await client.get(f"/api/sessions/{fork['sessionId']}/messages", params=inherited)
        assert "fourth" in [message["content"].get("text") for message in changed]
