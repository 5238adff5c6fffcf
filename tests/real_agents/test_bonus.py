"""Tests the agents beyond the usual four, Copilot and Qwen, with FULL=1 or when AGENTS names them."""

from __future__ import annotations

import json

import pytest

from tests.real_agents.helpers.agent_processes import agent_tree, kill
from tests.real_agents.helpers.agent_under_test import Real
from tests.real_agents.helpers.measurements_table import Record
from tests.real_agents.helpers.watch_turn import watch
from tests.support.real_agents.mcp_probe import COMMAND

pytestmark = pytest.mark.only("copilot", "qwen")


async def test_turns(real: Real, record: Record) -> None:
    """P1, P2: Text arrives; edits are asked about, denied and allowed. In `acceptEdits` those in the folder run
    unasked, in `plan` nothing runs, in `bypassPermissions` everything does."""
    actions = real.actions
    session = await real.session(permissionMode="default")
    seen = await watch(real, session, actions.say("hello from the script"))
    assert "hello from the script" in seen.said
    for decision in ("deny", "allow"):
        seen = await watch(real, session, actions.write("new.txt", "alpha\n"), decision)
        [asked] = seen.asked
        assert asked["toolKind"] == "edit"
        assert any(item["type"] == "diff" for item in asked["toolCall"]["content"])
        assert (real.repo / "new.txt").exists() is (decision == "allow")
    record("edit", "asks")
    seen = await watch(real, session, actions.echo(), "deny")
    [asked] = seen.asked
    assert asked["toolKind"] == "execute"
    assert "echo harmless" in json.dumps(asked["toolCall"]["rawInput"])
    record("echo", "asks")

    outside = real.repo.parent / "outside.txt"
    await change(real, session, "acceptEdits")
    seen = await watch(real, session, actions.edit("seed.txt", "two", "TWO"), "deny")
    assert (seen.asked, (real.repo / "seed.txt").read_text()) == ([], "one\nTWO\nthree\n")
    seen = await watch(real, session, actions.write(str(outside)), "deny")
    assert (len(seen.asked), outside.exists()) == (1, False)
    record("edits in acceptEdits", "in the folder without asking")

    await change(real, session, "plan")
    for action in (actions.write("planned.txt"), actions.shell_write("planned.txt"), actions.write(str(outside))):
        seen = await watch(real, session, action, "allow")
        assert seen.asked == []
    assert not (real.repo / "planned.txt").exists() and not outside.exists()
    record("plan", "nothing runs")

    await change(real, session, "bypassPermissions")
    for action in (actions.write("free.txt"), actions.shell_write("shell.txt"), actions.write(str(outside))):
        seen = await watch(real, session, action, "deny")
        assert seen.asked == []
    assert (real.repo / "free.txt").exists() and (real.repo / "shell.txt").exists() and outside.exists()
    record("bypassPermissions", "everything runs without asking")


async def test_a_killed_agent_remembers(real: Real, record: Record, http_tools: str) -> None:
    """O2, C1: A killed agent continues with its conversation, its mode and its MCP servers."""
    servers = [
        {"name": "far", "transport": "http", "url": http_tools},
        {"name": "near", "transport": "stdio", "command": COMMAND[0], "args": list(COMMAND[1:])},
    ]
    ids = [(await real.client.post("/api/mcp-servers", server))["id"] for server in servers]
    session = await real.session(permissionMode="acceptEdits", mcpServerIds=ids)
    await real.ask(session, "Remember the heron.")
    kill(agent_tree(real))
    # Its death may be noticed only now: then this prompt is described as interrupted.
    await real.ask(session, "Are you there?")
    seen = await watch(real, session, real.actions.recall())
    assert "Remember the heron." in seen.said
    record("resume after a kill", "remembers")
    seen = await watch(real, session, real.actions.mcp("far"), "allow")
    [asked] = seen.asked
    assert "SHOUTED[http]: QUIET WORDS" in seen.said
    assert (asked["toolKind"], asked["title"]) == ("mcp", "far/shout")
    record("MCP on http", "works, asks as far/shout")
    seen = await watch(real, session, real.actions.shell_write("asked.txt"), "deny")
    assert (len(seen.asked), (real.repo / "asked.txt").exists()) == (1, False)
    record("mode after a kill", "kept")
    contents = [message["content"] for message in await real.messages(session)]
    texts = [
        content["text"] for content in contents if content["type"] == "notice" and "near (stdio)" in content["text"]
    ]
    assert len(texts) == (real.agent == "copilot")
    record("MCP on stdio", "not attached, reported" if texts else "attached")


async def change(real: Real, session: str, mode: str) -> None:
    await real.client.call("PATCH", f"/api/sessions/{session}", json={"permissionMode": mode})
