"""Tests that an editor's sessions start from presets."""

from __future__ import annotations

import pytest

from tests.api.acp.editor_client import Editor, editing
from tests.support.acp.acp_driver import Json, Refused
from tests.support.server import Running

SETTINGS = ("preset", "agent", "effort", "permissionMode")


async def test_an_editor_names_a_preset(server: Running, editor: Editor) -> None:
    """N2, C2: `_meta.bough.preset` fills in what an editor leaves out of a new session and of a fork, beside the
    editor's own MCP servers; an unknown preset is refused."""
    client = server.client
    command = {"name": "tool", "transport": "stdio", "command": "/bin/true"}
    tool = (await client.post("/api/mcp-servers", command))["id"]
    reviewer = {"name": "reviewer", "agent": "demo", "effort": "high", "permissionMode": "plan", "env": {"A": "b-5e"}}
    await client.post("/api/presets", {**reviewer, "mcpServerIds": [tool], "instructions": "Review with care."})

    async def opened(**bough: str) -> Json:
        return await server.client.get(f"/api/sessions/{await new(**bough)}")

    async def new(**bough: str) -> str:
        own: Json = {"name": "mine", "command": "/bin/true", "args": [], "env": []}
        params: Json = {"cwd": str(editor.repo), "mcpServers": [own], "_meta": {"bough": bough}}
        return (await editor.request("session/new", params))["sessionId"]

    session = await opened(preset="reviewer")
    assert [session[name] for name in SETTINGS] == ["reviewer", "demo", "high", "plan"]
    assert session["env"] == {"A": "***"}
    assert session["mcpServerIds"][0] == tool and len(session["mcpServerIds"]) == 2
    await editor.prompt(session["id"], "[[recall]]")
    assert "Review with care." in editor.said(session["id"])
    own = await opened(preset="reviewer", mode="default", effort="low")
    assert [own[name] for name in SETTINGS] == ["reviewer", "demo", "low", "default"]
    plain = await opened(agent="demo")
    assert plain["preset"] is None
    await editor.prompt(plain["id"], "[[say hi]]")
    fork: Json = {"sessionId": plain["id"], "cwd": str(editor.repo), "mcpServers": []}
    forked = await editor.request("session/fork", {**fork, "_meta": {"bough": {"preset": "reviewer"}}})
    row = await client.get(f"/api/sessions/{forked['sessionId']}")
    assert [row[name] for name in SETTINGS] == ["reviewer", "demo", "high", "plan"]
    with pytest.raises(Refused, match="nobody"):
        await new(preset="nobody")
    with pytest.raises(Refused, match="nobody"):
        await editor.request("session/fork", {**fork, "_meta": {"bough": {"preset": "nobody"}}})


async def test_a_fork_keeps_no_server_that_the_editor_gives_up(server: Running) -> None:
    """C2: A fork has the MCP servers that the editor gives now, not those that it gave before, also with a preset."""
    async with editing(server, initialize=False) as editor:
        await editor.request("initialize", {"protocolVersion": 1, "clientInfo": {"name": "zed", "version": "1"}})
        await _fork_without_servers(server, editor)


async def _fork_without_servers(server: Running, editor: Editor) -> None:
    await server.client.post("/api/presets", {"name": "plain", "agent": "demo"})
    own: Json = {"name": "mine", "command": "/bin/true", "args": [], "env": []}
    params: Json = {"cwd": str(editor.repo), "mcpServers": [own]}
    source = (await editor.request("session/new", params))["sessionId"]
    await editor.prompt(source, "[[say hi]]")
    assert len((await server.client.get(f"/api/sessions/{source}"))["mcpServerIds"]) == 1
    for bough in ({}, {"preset": "plain"}):
        fork: Json = {"sessionId": source, "cwd": str(editor.repo), "mcpServers": [], "_meta": {"bough": bough}}
        forked = (await editor.request("session/fork", fork))["sessionId"]
        assert (await server.client.get(f"/api/sessions/{forked}"))["mcpServerIds"] == []
