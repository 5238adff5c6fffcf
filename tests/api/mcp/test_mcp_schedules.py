"""Tests the tools about schedules, and that a person decides about each one that an agent adds."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from bough.core.tool_calls import service
from tests.api.mcp.mcp_client import Mcp
from tests.core.helpers import open_session
from tests.support.eventually import eventually
from tests.support.mcp.tool_server import PATIENCE, ToolServer, tool_server
from tests.support.server import Running

DAILY = "0 6 * * *"


@pytest.fixture
async def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[ToolServer]:
    monkeypatch.setattr(service, "PATIENCE", PATIENCE)
    async with tool_server(tmp_path) as tool_host:
        yield tool_host


async def test_a_person_schedules_with_tools(server: Running, mcp: Mcp) -> None:
    """5a, J1: A person's client adds, lists and removes schedules of a session and of new ones."""
    session_id = await open_session(server)
    added = await mcp.call("agor_schedules_create", prompt="Look.", cron=DAILY, sessionId=session_id)
    assert added["times"] == "At 06:00 every day (UTC)"
    session = await server.client.get(f"/api/sessions/{session_id}")
    new = {"worktreeId": session["repoId"], "agenticTool": "demo"}
    other = await mcp.call("agor_schedules_create", prompt="Look.", cron=DAILY, **new)
    assert (await mcp.call("agor_schedules_list"))["total"] == 2
    assert [row["schedule_id"] for row in (await mcp.call("agor_schedules_list", sessionId=session_id))["data"]] == [
        added["schedule_id"]
    ]
    await mcp.refused("agor_schedules_create", "bad_cron", prompt="Look.", cron="never", sessionId=session_id)
    for schedule in (added, other):
        await mcp.call("agor_schedules_remove", scheduleId=schedule["schedule_id"])
    assert (await mcp.call("agor_schedules_list"))["total"] == 0


async def test_a_person_decides_about_an_agents_schedule(place: ToolServer) -> None:
    """5e, J5: An agent's schedule asks a person in every mode and in spite of a rule, and is added once allowed."""
    repo = await place.client.get(f"/api/repos/{place.repo_id}")
    await place.rule("allow", "bough/*")
    agent = await place.root("bypassPermissions")
    new = {"worktreeId": repo["id"], "agenticTool": "demo", "permissionMode": "allow-all"}
    await place.asked_every_time(agent, "agor_schedules_create", prompt="[[say x]]", cron=DAILY, **new)
    approval = await place.asked_every_time(agent, "agor_schedules_create", prompt="[[say x]]", cron=DAILY)
    assert DAILY in approval["toolCall"]["title"]
    assert (await place.client.get("/api/schedules"))["total"] == 0
    await place.decide(approval["id"])

    async def added() -> bool:
        return (await place.client.get(f"/api/schedules?sessionId={agent.id}"))["total"] == 1

    await eventually(added)
    (schedule,) = (await place.client.get("/api/schedules"))["schedules"]
    assert schedule["createdBy"] == {"kind": "session", "id": agent.id}


async def test_the_question_says_what_a_schedule_would_reach(place: ToolServer) -> None:
    """5e: The question about an agent's schedule names the place of new sessions, and also says which rights it would
    use that the agent itself does not have."""
    agent, other = await place.root("plan"), await place.root("allow-all")
    repo = await place.client.get(f"/api/repos/{place.repo_id}")
    new = {"worktreeId": repo["id"], "agenticTool": "demo", "permissionMode": "allow-all"}
    approval = await place.asked_every_time(agent, "agor_schedules_create", prompt="x", cron=DAILY, **new)
    assert repo["path"] in approval["toolCall"]["title"]
    assert "without anybody asking" in approval["reason"] and "grants more than plan" in approval["reason"]
    arguments = {"prompt": "x", "cron": DAILY, "sessionId": other.id}
    approval = await place.asked_every_time(agent, "agor_schedules_create", **arguments)
    assert "without anybody asking" in approval["reason"] and "which grants more than plan" in approval["reason"]


async def test_schedules_beyond_reach_stay_closed(place: ToolServer) -> None:
    """5b: An agent neither lists nor removes schedules of sessions beyond its reach."""
    agent, other = await place.root("bypassPermissions"), await place.root()
    body = {"prompt": "x", "cron": DAILY, "sessionId": other.id}
    schedule = await place.client.post("/api/schedules", body)
    await place.refused(agent, "agor_schedules_list", sessionId=other.id)
    await place.refused(agent, "agor_schedules_remove", scheduleId=schedule["id"])
    assert (await place.client.get("/api/schedules"))["total"] == 1
