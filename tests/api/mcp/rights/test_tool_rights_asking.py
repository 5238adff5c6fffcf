"""Tests which calls run at once and which need approval, by mode, rules and choices."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from bough.core.tool_calls import service
from tests.support.mcp.tool_caller import Agent
from tests.support.mcp.tool_server import PATIENCE, ToolServer, tool_server
from tests.support.repos import make_repo

SPAWN = "agor_sessions_spawn"


@pytest.fixture
async def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[ToolServer]:
    monkeypatch.setattr(service, "PATIENCE", PATIENCE)
    async with tool_server(tmp_path) as tool_host:
        yield tool_host


async def reads(place: ToolServer, agent: Agent) -> None:
    """Calls the tools that only read, and checks that they need no approval."""
    for tool, arguments in (
        ("agor_sessions_get_current", {}),
        ("get_current_session_id", {}),
        ("agor_sessions_get", {"sessionId": agent.id}),
        ("agor_sessions_list", {}),
        ("list_sessions", {}),
        ("get_session_status", {"sessionId": agent.id}),
        ("agor_tasks_list", {"sessionId": agent.id}),
        ("agor_messages_list", {"sessionId": agent.id}),
        ("agor_worktrees_list", {}),
        ("agor_repos_list", {}),
        ("agor_boards_list", {}),
        ("agor_mcp_servers_list", {}),
    ):
        await agent.does(tool, **arguments)
    assert await place.pending() == []


def changes(place: ToolServer, agent: Agent, child: str) -> list[tuple[str, dict[str, Any]]]:
    """Returns one call of every tool that changes something, within the caller's rights."""
    folder = str(place.server.root / "repo")
    new = {"worktreeId": place.repo_id, "agenticTool": "demo", "permissionMode": "plan"}
    return [
        (SPAWN, {"prompt": "x", "permissionMode": "plan"}),
        ("agor_sessions_prompt", {"sessionId": child, "prompt": "x", "mode": "continue"}),
        ("agor_sessions_prompt", {"sessionId": agent.id, "prompt": "x", "mode": "btw"}),
        ("agor_sessions_create", new),
        ("agor_sessions_update", {"sessionId": agent.id, "title": "x"}),
        ("agor_sessions_stop", {"sessionId": child}),
        ("agor_worktrees_create", {"repoId": place.repo_id, "branch": "b"}),
        ("create_session", {"name": "x", "workingDir": folder, "permissionMode": "plan"}),
        ("send_to_session", {"sessionId": child, "message": "x"}),
    ]


@pytest.mark.parametrize("mode", ["plan", "default", "acceptEdits", "auto"])
async def test_changes_need_approval(place: ToolServer, mode: str) -> None:
    """5d: Changes need approval in every mode except the one that allows everything; reading never does."""
    session = await place.session(mode)
    child = await place.child(session)
    agent = await place.agent(session)
    await reads(place, agent)
    for tool, arguments in changes(place, agent, child):
        approval = await place.asked(agent, tool, **arguments)
        assert approval["title"].endswith("?") and approval["toolCall"]["tool"] == tool
        assert "every time" not in approval["reason"], (tool, approval["reason"])


async def test_the_mode_that_allows_everything(place: ToolServer) -> None:
    """5d: In the mode that allows everything, agents work without any approval."""
    session = await place.session("bypassPermissions")
    child = await place.child(session)
    agent = await place.agent(session)
    for tool, arguments in changes(place, agent, child):
        await agent.does(tool, **arguments)
    assert await place.pending() == []


async def test_rules(place: ToolServer) -> None:
    """5d, P3: Rules name the server and the tool; an allow rule lets a call run, an ask rule asks in every mode, and a
    deny rule is final."""
    agent = await place.root("default")
    strong = await place.root("bypassPermissions")
    allow = await place.rule("allow", f"bough/{SPAWN}")
    await agent.does(SPAWN, prompt="hello", enableCallback=False, title="one")
    await place.asked(agent, "agor_worktrees_create", repoId=place.repo_id, branch="b")
    await place.client.call("DELETE", f"/api/policy/rules/{allow['id']}")
    ask = await place.rule("ask", f"bough/{SPAWN}")
    approval = await place.asked(strong, SPAWN, prompt="hello")
    assert "requires approval" in approval["reason"]
    await place.client.call("DELETE", f"/api/policy/rules/{ask['id']}")
    await place.rule("deny", f"bough/{SPAWN}")
    text = await place.refused(strong, SPAWN, prompt="hello", title="two")
    assert "denies this" in text and "call_denied" in text
    # A rule for another server's tool of the same name does not apply to ours.
    await place.rule("allow", "other/agor_worktrees_create")
    await place.asked(agent, "agor_worktrees_create", repoId=place.repo_id, branch="c")


async def test_rules_about_stopping(place: ToolServer) -> None:
    """5d: A prompt that stops a turn first is subject to the rules of the tool that stops turns, too: the stricter
    decision counts, and an "always" for prompts alone does not cover it."""
    session = await place.session("bypassPermissions")
    child = await place.child(session)
    agent = await place.agent(session)
    sends = [
        ("agor_sessions_prompt", {"sessionId": child, "prompt": "x", "mode": "continue"}),
        ("send_to_session", {"sessionId": child, "message": "x"}),
    ]
    ask = await place.rule("ask", "bough/agor_sessions_stop")
    for tool, arguments in sends:
        await agent.does(tool, **arguments)
        approval = await place.asked(agent, tool, when="after_stop", **arguments)
        assert "after stopping its turn" in approval["title"] and "requires approval" in approval["reason"]
        await place.decide(approval["id"], "deny")
    await place.client.call("DELETE", f"/api/policy/rules/{ask['id']}")
    await place.rule("deny", "bough/agor_sessions_stop")
    for tool, arguments in sends:
        await place.rule("allow", f"bough/{tool}")
        # Other words, because the same ones in the same turn are the same call.
        text = {name: "y" for name in ("prompt", "message") if name in arguments}
        assert "denies this" in await place.refused(agent, tool, when="after_stop", **arguments | text)
    assert await place.pending() == []


async def test_rules_about_reading(place: ToolServer) -> None:
    """5d: A rule can open other trees to a tool, or deny a tool that only reads."""
    foreign = await place.session("default", title="Other")
    agent = await place.root("bypassPermissions")
    await place.refused(agent, "agor_sessions_get", sessionId=foreign)
    await place.rule("allow", "bough/agor_sessions_get")
    assert (await agent.does("agor_sessions_get", sessionId=foreign))["title"] == "Other"
    await place.refused(agent, "agor_messages_list", sessionId=foreign)
    await place.rule("deny", "bough/agor_sessions_list")
    assert "call_denied" in await place.refused(agent, "agor_sessions_list")


async def test_mode_plan_asks_in_spite_of_rules(place: ToolServer) -> None:
    """P1: In plan, changes wait for a person in spite of rules and choices."""
    await place.rule("allow", "bough/*")
    agent = await place.root("plan")
    approval = await place.asked(agent, SPAWN, prompt="one")
    await place.decide(approval["id"], "allow_always", scope="everywhere")
    assert (await agent.does(SPAWN, prompt="two"))["status"] == "pending"
    assert (await agent.does("agor_sessions_update", sessionId=agent.id, title="New"))["status"] == "pending"
    assert len(await place.pending()) == 2


async def test_scopes_of_always(place: ToolServer) -> None:
    """P3: An *always* answer holds in the session, in the folder or everywhere, for this tool of this agent, and Bough
    remembers it."""
    first, second = await place.root("default"), await place.root("default")
    other = await place.client.repo(make_repo(place.server.root / "other"))
    far_session = await place.client.session(other["id"], permissionMode="default", title="Far")
    far = await place.agent(far_session["id"])
    for scope, free in (("session", [first]), ("worktree", [first, second]), ("everywhere", [first, second, far])):
        approval = await place.asked(free[-1], SPAWN, prompt=scope, enableCallback=False)
        await place.decide(approval["id"], "allow_always", scope=scope)
        for agent in (first, second, far):
            answer = await agent.does(SPAWN, prompt="hello", title=f"{scope} {agent.id}", enableCallback=False)
            assert ("sessionId" in answer) == (agent in free), (scope, answer)
    # Approvals covered calls that had waited; the children of all of them must be there before rows are compared.
    await place.settled(first, second, far)
    # Another tool is not covered.
    await place.asked(first, "agor_sessions_update", sessionId=first.id, title="New")


async def test_calls_are_listed(place: ToolServer) -> None:
    """5c: Lists the calls of a session's agent, newest first, page by page."""
    agent = await place.root("bypassPermissions")
    for number in range(3):
        await agent.does("agor_sessions_update", sessionId=agent.id, title=f"Title {number}")
    assert "bad_id" in await agent.fails(SPAWN, prompt="x", worktreeId="0000")
    await place.rule("deny", f"bough/{SPAWN}")
    await agent.fails(SPAWN, prompt="x")
    path = f"/api/sessions/{agent.id}/calls"
    page = await place.client.get(f"{path}?limit=2")
    assert (page["total"], page["limit"], page["offset"], len(page["calls"])) == (4, 2, 0, 2)
    first, second = page["calls"]
    assert (first["tool"], first["state"], first["outcome"]["code"]) == (SPAWN, "denied", "call_denied")
    assert second["arguments"] == {"sessionId": agent.id, "title": "Title 2"} and second["state"] == "done"
    assert second["taskId"] == agent.task_id and second["answeredAt"] and second["sessionId"] == agent.id
    assert len((await place.client.get(f"{path}?offset=2"))["calls"]) == 2
    await place.client.get("/api/sessions/01a1e01a-0000-7000-8000-000000000000/calls", expect=404)
