"""Tests settings that a person or the agent changes while the agent runs: the next prompt uses the session's
settings."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.core.helpers import MARK, add_agent, agents_with, messages, misbehaving, open_session
from tests.support.server import Running, serving


async def test_an_agent_that_leaves_its_mode_is_set_back(tmp_path: Path) -> None:
    """P2: Whatever mode an agent chose by itself, each prompt finds it in the session's mode."""
    command = ["{python}", "-m", "tests.support.misbehaving_agents.resets_mode"]
    add_agent(tmp_path, "resets_mode", command)
    with (tmp_path / "data" / "agents" / "resets_mode.toml").open("a") as entry:
        entry.write('[modes]\nplan = "plan"\ndefault = "default"\n')
    async with serving(tmp_path) as server:
        session = await open_session(server, agent="resets_mode", permissionMode="plan")
        for _ in range(3):
            assert (await server.client.ask(session, "which mode?"))["status"] == "completed"
        assert await server.client.texts(session) == ["plan"] * 3


async def test_a_changed_environment_reaches_the_agent(server: Running) -> None:
    """P2, R2: The next prompt runs in a new process with the new values, in the same conversation."""
    client = server.client
    before, after = server.root / "before", server.root / "after"
    session = await open_session(server, permissionMode="allow-all", env={MARK: str(before)})
    await client.ask(session, "remember the word crane")
    [old] = agents_with(before)
    await client.ask(session, f"[[run echo ${MARK}]]")
    assert agents_with(before) == [old]
    await client.call("PATCH", f"/api/sessions/{session}", json={"env": {MARK: str(after)}})
    await client.ask(session, f"[[run echo ${MARK}]] [[recall]]")
    outputs = [tool["result"]["output"]["output"].strip() for tool in await messages(client, session, "tool")]
    assert outputs == [str(before), str(after)]
    assert "remember the word crane" in (await client.texts(session))[-1]
    assert agents_with(before) == [] and len(agents_with(after)) == 1


async def test_changed_mcp_servers_reach_the_agent(server: Running) -> None:
    """P2, R2: The agent gets added MCP servers and loses removed ones with the next prompt."""
    client = server.client
    server_row = await client.post(
        "/api/mcp-servers", {"name": "birds", "transport": "stdio", "command": sys.executable}
    )
    session = await open_session(server)
    await client.ask(session, "remember the word crane [[status]]")
    await client.call("PATCH", f"/api/sessions/{session}", json={"mcpServerIds": [server_row["id"]]})
    await client.ask(session, "[[status]]")
    await client.call("PATCH", f"/api/sessions/{session}", json={"mcpServerIds": []})
    await client.ask(session, "[[status]]")
    await client.ask(session, "[[recall]]")
    *states, recalled = await client.texts(session)
    named = [state.rpartition("MCP servers: ")[2].split(", ") for state in states]
    # Bough's own is every agent's.
    assert [sorted(set(names) - {"bough"}) for names in named] == [[], ["birds"], []]
    assert "remember the word crane" in recalled


async def test_settings_that_an_agent_lacks_are_reported(tmp_path: Path) -> None:
    """R2, P2: Reports once that an agent has no setting for a model or an effort, also if it was chosen later, and
    sends the prompt."""
    misbehaving(tmp_path, "switches_mode")
    async with serving(tmp_path) as server:
        client = server.client
        session = await open_session(server, agent="switches_mode", effort="high")
        for _ in range(2):
            assert (await client.ask(session, "default"))["status"] == "completed"
        notice = "switches_mode has no setting for {}; the session's choice is ignored."
        assert [message["text"] for message in await messages(client, session, "notice")] == [notice.format("effort")]
        await client.call("PATCH", f"/api/sessions/{session}", json={"model": "large"})
        await client.ask(session, "default")
        assert [message["text"] for message in await messages(client, session, "notice")][1:] == [
            notice.format("model")
        ]
        other = await open_session(server, agent="demo", effort="high", model="demo-large")
        await client.ask(other, "[[status]]")
        assert "model: demo-large\neffort: high" in (await client.texts(other))[-1]
        assert await messages(client, other, "notice") == []
