"""Tests that usage from before it was counted by time is taken over."""

from __future__ import annotations

from pathlib import Path

import msgspec

from bough.storage import migrate
from bough.storage.backend import Backend
from bough.storage.open import open_backend
from bough.storage.queries import Query
from tests.support.server import serving

BEFORE = 38
SET_TIME = Query("set_time", "UPDATE sessions SET active_at = :active_at WHERE id = :id", "Moves a session in time.")
USED = Query(
    "used", "SELECT quarter, root_session_id, turns, tokens, cost FROM turn_usage ORDER BY quarter", "All usage."
)
TIMES = ("2026-10-25T00:59:59.999999Z", "2026-10-25T01:00:00.000000Z", "2026-10-25T01:14:59.999999Z")


class Used(msgspec.Struct):
    quarter: str
    root_session_id: str
    turns: int
    tokens: int
    cost: float


async def test_earlier_usage_is_taken_over(tmp_path: Path, database_url: str) -> None:
    """O4, R6: The migration counts what sessions used before it when they were active last, by tree and quarter hour;
    sessions without turns add nothing. Down and up again leads to the same, and the server counts on from there."""
    async with serving(tmp_path, database=database_url) as server:
        client = server.client
        repo = await client.repo(server.repo())
        root = await client.session(repo["id"], title="root")
        await client.ask(root["id"], "one two")
        ids = [root["id"]]
        for title in ("second", "third"):
            body = {"prompt": "three four", "title": title, "callback": {"enabled": False}}
            spawned = await client.post(f"/api/sessions/{root['id']}/spawn", body)
            await client.wait_task(spawned["taskId"])
            ids.append(spawned["sessionId"])
        await client.session(repo["id"], title="never prompted")
        tokens = [(await client.get(f"/api/sessions/{session_id}"))["tokens"] for session_id in ids]
        totals = (await client.get("/api/usage?since=1d"))["total"]
    assert totals["tokens"] == sum(tokens) and all(tokens)

    backend = await open_backend(database_url)
    try:
        await migrate.downgrade(backend, BEFORE)
        assert (await migrate.status(backend)).version == BEFORE
        for session_id, active_at in zip(ids, TIMES, strict=True):
            await _set_time(backend, session_id, active_at)
        for _ in range(2):
            await migrate.upgrade(backend)
            used = await backend.read(lambda tx: tx.all(USED, Used))
            assert [(row.quarter, row.root_session_id, row.turns, row.tokens) for row in used] == [
                ("2026-10-25T00:45", root["id"], 1, tokens[0]),
                ("2026-10-25T01:00", root["id"], 2, tokens[1] + tokens[2]),
            ]
            await migrate.downgrade(backend, BEFORE)
        await migrate.upgrade(backend)
    finally:
        await backend.close()

    async with serving(tmp_path, database=database_url) as server:
        await server.client.wait_task(await server.client.prompt(root["id"], "five", resume=True))
        (tree,) = (await server.client.get("/api/usage?by=tree&since=366d"))["groups"]
        assert (tree["id"], tree["turns"]) == (root["id"], 4)


async def _set_time(backend: Backend, session_id: str, active_at: str) -> None:
    await backend.transaction(lambda tx: tx.run(SET_TIME, id=session_id, active_at=active_at))
