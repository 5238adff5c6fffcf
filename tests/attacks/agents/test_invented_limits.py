"""Attacks by agents that claim that their account has met a limit, to keep others from working."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from bough.core.sessions.requests import NewSession
from bough.model.session import Caller
from bough.model.values.times import parse
from tests.core.helpers import open_session
from tests.core.turns.test_parked_turns import HOUR, folder_of, limited, parked
from tests.support.server import serving

WEEK = "You have hit your usage limit. Try again in 7d."


async def test_an_invented_limit_holds_its_own_tree_only(tmp_path: Path) -> None:
    """Q6: A limit that only the agents of one tree met, or of trees that they created, holds the sessions of no other
    tree: an agent chooses its words."""
    limited(tmp_path)
    async with serving(tmp_path) as server:
        client = server.client
        hostile, honest = [await open_session(server, agent="limited") for _ in range(2)]
        repo_id = (await client.get(f"/api/sessions/{hostile}"))["repoId"]
        caller, new = Caller(kind="session", id=hostile), NewSession(repo_id=repo_id, agent="limited")
        made = [(await server.services.sessions.create(caller, new)).session.id for _ in range(2)]
        (await folder_of(client, hostile) / "limit").write_text(WEEK)
        await parked(client, await client.prompt(hostile, "one"))
        behind = await client.prompt(made[0], "two")
        assert (await client.wait_task(await client.prompt(honest, "three")))["status"] == "completed"
        assert (await client.get(f"/api/tasks/{behind}"))["status"] == "queued"


async def test_an_invented_time_does_not_last(tmp_path: Path) -> None:
    """Q6: If another tree meets a limit, too, the earlier of the times counts, and no later one replaces it."""
    limited(tmp_path)
    async with serving(tmp_path) as server:
        client = server.client
        hostile, honest = [await open_session(server, agent="limited") for _ in range(2)]
        (await folder_of(client, hostile) / "limit").write_text(WEEK)
        (await folder_of(client, honest) / "limit").write_text(HOUR)
        task = await client.prompt(hostile, "one")
        assert parse((await parked(client, task))["resumesAt"]) - datetime.now(UTC) > timedelta(days=6)
        limit = await parked(client, await client.prompt(honest, "two"))
        assert parse(limit["resumesAt"]) - datetime.now(UTC) < timedelta(minutes=62)
        assert (await parked(client, task))["resumesAt"] == limit["resumesAt"]
