"""Tests that a preset gives an agent no rights that it could not ask for without one."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from bough.core.tool_calls import service
from tests.support.eventually import eventually
from tests.support.mcp.tool_server import PATIENCE, ToolServer, tool_server


@pytest.fixture
async def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[ToolServer]:
    monkeypatch.setattr(service, "PATIENCE", PATIENCE)
    async with tool_server(tmp_path) as tool_host:
        yield tool_host


async def test_a_preset_asks_for_what_it_brings(place: ToolServer) -> None:
    """N3, 5e: A wider mode, MCP servers and variables of a preset need a person, whatever rules allow."""
    await place.rule("allow", "bough/*")
    body = {"name": "tool", "transport": "stdio", "command": "/bin/true"}
    tool = (await place.client.post("/api/mcp-servers", body))["id"]
    presets = {
        "wide": {"permissionMode": "bypassPermissions"},
        "tools": {"mcpServerIds": [tool], "permissionMode": "plan"},
        "keys": {"env": {"API_KEY": "secret-9f"}, "permissionMode": "plan"},
        "less": {"permissionMode": "plan", "instructions": "Only read."},
    }
    for name, fields in presets.items():
        await place.client.post("/api/presets", {"name": name, "agent": "demo", **fields})
    agent = await place.root("default")
    listed = await agent.does("agor_presets_list")
    assert [row["name"] for row in listed["data"]] == ["keys", "less", "tools", "wide"]
    assert listed["data"][0]["variables"] == ["API_KEY"] and "secret-9f" not in str(listed)
    repo_id = (await place.get(agent.id))["repoId"]
    for name, reason in (("wide", "bypassPermissions"), ("tools", "tool"), ("keys", "API_KEY")):
        for call, arguments in (
            ("agor_sessions_create", {"worktreeId": repo_id}),
            ("agor_sessions_spawn", {"prompt": "hello"}),
        ):
            approval = await place.asked_every_time(agent, call, preset=name, **arguments)
            assert reason in approval["reason"] and f"preset {name}" in approval["title"]
    created = await agent.does("agor_sessions_spawn", prompt="[[say hi]]", preset="less")
    child = await place.get(created["sessionId"])
    assert (child["preset"], child["permissionMode"]) == ("less", "plan")


async def test_a_person_decides_about_a_preset(place: ToolServer) -> None:
    """N3, 5e: A session that an agent proposes from a preset is created as a person has allowed it. If the preset was
    changed since, or is gone, nothing is created, and the agent learns why."""
    wide = {"name": "wide", "agent": "demo", "permissionMode": "bypassPermissions", "effort": "high"}
    await place.client.post("/api/presets", {**wide, "env": {"API_KEY": "secret-9f"}})
    agent = await place.root("default")
    call = {"worktreeId": (await place.get(agent.id))["repoId"], "preset": "wide"}

    async def proposed(title: str) -> str:
        approval = await place.asked_every_time(agent, "agor_sessions_create", title=title, **call)
        assert "preset wide" in approval["title"] and "secret-9f" not in str(approval)
        return approval["id"]

    allowed, denied = await proposed("allowed"), await proposed("denied")
    assert (await place.decide(denied, "deny"))["status"] == "denied"
    async with place.client.events() as events:
        await place.decide(allowed)
        created = (await events.until(lambda event: event["type"] == "session.created"))["data"]
    assert [created[name] for name in ("title", "preset", "permissionMode", "effort", "env")] == [
        *("allowed", "wide", "bypassPermissions", "high"),
        {"API_KEY": "***"},
    ]
    changed = await proposed("changed")
    await place.client.call("PATCH", "/api/presets/wide", json={"env": {"API_KEY": "***", "PATH": "/evil"}})
    assert "preset_changed" in await outcome(place, changed)
    gone = await proposed("gone")
    await place.client.call("DELETE", "/api/presets/wide")
    assert "preset_not_found" in await outcome(place, gone)
    titles = {session["title"] for session in (await place.client.get("/api/sessions"))["sessions"]}
    assert titles == {"A session", "allowed"}


async def test_a_side_question_only_reads_whatever_its_preset_says(place: ToolServer) -> None:
    """N2, B4: An agent asks a side question with a preset whose mode is wider; the question keeps the mode plan."""
    await place.rule("allow", "bough/*")
    await place.client.post("/api/presets", {"name": "edits", "agent": "demo", "permissionMode": "acceptEdits"})
    agent = await place.root("default")
    other = await place.session()
    arguments = {"sessionId": other, "prompt": "[[say hi]]", "mode": "btw", "preset": "edits"}
    answer = await agent.does("agor_sessions_prompt", **arguments)
    asked = await place.get(answer["sessionId"])
    assert (asked["kind"], asked["preset"], asked["permissionMode"]) == ("btw", "edits", "plan")


async def outcome(place: ToolServer, approval_id: str) -> str:
    """Allows a call, and returns what the agent's session is told about its outcome."""
    approval = await place.client.get(f"/api/approvals/{approval_id}")
    path = f"/api/sessions/{approval['sessionId']}/tasks"
    before = {task["id"] for task in (await place.client.get(path))["tasks"]}
    await place.decide(approval_id)

    async def told() -> str:
        tasks = (await place.client.get(path))["tasks"]
        return " ".join(task["prompt"] for task in tasks if task["id"] not in before)

    return await eventually(told)
