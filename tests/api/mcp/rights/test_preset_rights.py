"""Tests that a preset gives an agent no rights that it could not ask for without one."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from bough.core.tool_calls import service
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
