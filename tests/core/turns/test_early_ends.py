"""Tests turns that end before their work is done: by the agent's or its model's limits, or because they are stopped."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.core.helpers import messages, misbehaving, open_session
from tests.support.eventually import eventually
from tests.support.server import serving


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("max_tokens", "limit of tokens"),
        ("max_turn_requests", "limit of requests"),
        ("refusal", "refused to answer"),
    ],
)
async def test_an_early_end_is_said(tmp_path: Path, reason: str, words: str) -> None:
    """T3: The transcript says why a turn ended early, and the task keeps the reason."""
    misbehaving(tmp_path, "ends_early")
    async with serving(tmp_path) as server:
        session = await open_session(server, agent="ends_early")
        done = await server.client.wait_task(await server.client.prompt(session, reason))
        assert (done["status"], done["stopReason"], done["error"]) == ("completed", reason, None)
        [notice] = await messages(server.client, session, "notice")
        assert words in notice["text"] and notice["stopReason"] == reason


async def test_a_usual_end_needs_no_notice(tmp_path: Path) -> None:
    """T3: Only early ends are said."""
    misbehaving(tmp_path, "ends_early")
    async with serving(tmp_path) as server:
        session = await open_session(server, agent="ends_early")
        await server.client.wait_task(await server.client.prompt(session, "end_turn"))
        assert await messages(server.client, session, "notice") == []


async def test_parents_hear_of_an_early_end(tmp_path: Path) -> None:
    """B2: A child's report says that its work may be unfinished."""
    misbehaving(tmp_path, "ends_early")
    async with serving(tmp_path) as server:
        client = server.client
        parent = await open_session(server)
        spawn = {"prompt": "max_tokens", "agent": "ends_early"}
        child = await client.post(f"/api/sessions/{parent}/spawn", spawn)
        assert child

        async def reports() -> list[dict[str, str]]:
            return await messages(client, parent, "callback")

        report = (await eventually(reports, "the child has reported"))[0]
        assert report["stopReason"] == "max_tokens"
        assert "Status: completed (max_tokens)" in report["text"]
        assert "Not finished: The agent stopped early" in report["text"]


async def test_a_stopped_turn_is_cancelled_whatever_the_agent_answers(tmp_path: Path) -> None:
    """T3: A turn that a person stopped is cancelled, also if the agent then reports a usual end."""
    misbehaving(tmp_path, "ends_early")
    async with serving(tmp_path) as server:
        client = server.client
        session = await open_session(server, agent="ends_early")
        task = await client.prompt(session, "wait")
        await eventually(lambda: messages(client, session, "text"), "the agent has begun")
        await client.wait_task(task, "running")
        await client.post(f"/api/sessions/{session}/stop")
        done = await client.wait_task(task)
        assert (done["status"], done["stopReason"]) == ("cancelled", "stopped")
        assert [message["reason"] for message in await messages(client, session, "cancelled")] == ["stopped"]
