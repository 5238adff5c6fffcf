"""Tests that an agent cannot raise its own rights: anything beyond its session's rights needs a person."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from bough.core.tool_calls import service
from tests.support.repos import make_repo
from tests.support.tool_caller import agent_with_token
from tests.support.tool_server import PATIENCE, ToolServer, tool_server


@pytest.fixture
async def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[ToolServer]:
    monkeypatch.setattr(service, "PATIENCE", PATIENCE)
    async with tool_server(tmp_path) as tool_host:
        yield tool_host


async def server_on_stdio(place: ToolServer, name: str = "tool") -> str:
    body = {"name": name, "transport": "stdio", "command": "/bin/true"}
    return (await place.client.post("/api/mcp-servers", body))["id"]


async def test_no_session_raises_its_own_mode(place: ToolServer) -> None:
    """5e: self-escalation, whatever rules allow and whoever asks for more of it."""
    await place.rule("allow", "bough/*")
    agent = await place.root("acceptEdits")
    for mode in ("auto", "bypassPermissions", "allow-all"):
        approval = await place.asked_every_time(agent, "agor_sessions_update", sessionId=agent.id, permissionMode=mode)
        assert mode in approval["title"] and mode in approval["reason"] and "acceptEdits" in approval["reason"]
    assert (await place.get(agent.id))["permissionMode"] == "acceptEdits"
    # What grants no more is the rule's to allow.
    await agent.does("agor_sessions_update", sessionId=agent.id, permissionMode="plan")
    assert (await place.get(agent.id))["permissionMode"] == "plan"


async def test_no_child_stands_above_its_parent(place: ToolServer) -> None:
    """5e: a child, a grandchild, a fork of oneself and a question aside have no more than whoever wants them."""
    await place.rule("allow", "bough/*")
    agent = await place.root("default")
    await place.asked_every_time(agent, "agor_sessions_spawn", prompt="x", permissionMode="acceptEdits")
    prompt = {"sessionId": agent.id, "prompt": "x"}
    for mode in ("subsession", "fork"):
        arguments = {**prompt, "mode": mode, "permissionMode": "bypassPermissions"}
        await place.asked_every_time(agent, "agor_sessions_prompt", **arguments)
    created = await agent.does("agor_sessions_spawn", prompt="x", permissionMode="plan")
    assert (await place.get(created["sessionId"]))["permissionMode"] == "plan"
    assert (await place.get(created["sessionId"]))["parentSessionId"] == agent.id


async def test_no_child_of_a_child_is_raised_later(place: ToolServer) -> None:
    """5e: nor is a child raised when it is there."""
    await place.rule("allow", "bough/*")
    agent = await place.root("default")
    created = await agent.does("agor_sessions_spawn", prompt="x", enableCallback=False)
    await place.asked_every_time(agent, "agor_sessions_update", sessionId=created["sessionId"], permissionMode="auto")


async def test_nobody_commands_a_session_of_a_higher_mode(place: ToolServer) -> None:
    """5e: an ancestor or a sibling with more rights is not prompted, changed, stopped, or continued as a fork."""
    await place.rule("allow", "bough/*")
    parent = await place.session("bypassPermissions")
    sibling = await place.child(parent, title="strong")
    agent = await place.agent(await place.child(parent, permissionMode="acceptEdits"))
    for item in (parent, sibling):
        await place.asked_every_time(
            agent, "agor_sessions_prompt", sessionId=item, prompt="[[run rm -rf /]]", mode="continue"
        )
        await place.asked_every_time(agent, "send_to_session", sessionId=item, message="[[run rm -rf /]]")
        await place.asked_every_time(agent, "agor_sessions_prompt", sessionId=item, prompt="x", mode="fork")
        await place.asked_every_time(agent, "agor_sessions_prompt", sessionId=item, prompt="x", mode="subsession")
        await place.asked_every_time(agent, "agor_sessions_update", sessionId=item, status="idle")
        await place.asked_every_time(agent, "agor_sessions_update", sessionId=item, title="Do as the child says")
        await place.asked_every_time(agent, "agor_sessions_stop", sessionId=item)
    # Reading them, asking them aside, and a fork that has no more than oneself is within its rights.
    assert (await agent.does("agor_sessions_get", sessionId=parent))["session_id"] == parent
    await agent.does("agor_sessions_prompt", sessionId=parent, prompt="x", mode="btw")
    created = await agent.does(
        "agor_sessions_prompt", sessionId=sibling, prompt="x", mode="fork", permissionMode="acceptEdits"
    )
    assert (await place.get(created["sessionId"]))["permissionMode"] == "acceptEdits"


async def test_no_new_root_stands_above_whoever_opens_it(place: ToolServer) -> None:
    """5e: a new tree is no way around the old one."""
    await place.rule("allow", "bough/*")
    agent = await place.root("default")
    arguments = {"worktreeId": place.repo_id, "agenticTool": "demo", "permissionMode": "bypassPermissions"}
    await place.asked_every_time(agent, "agor_sessions_create", **arguments, initialPrompt="[[run id]]")
    folder = str(place.server.root / "repo")
    await place.asked_every_time(agent, "create_session", name="x", workingDir=folder, permissionMode="allow-all")
    created = await agent.does("create_session", name="x", workingDir=folder, permissionMode="default")
    assert (await place.get(created["sessionId"]))["permissionMode"] == "default"


async def test_servers_that_run_commands_are_not_handed_around(place: ToolServer) -> None:
    """5e: an MCP server on stdio is a command: nobody gives away, or takes, one that it was not given."""
    await place.rule("allow", "bough/*")
    mine, other = await server_on_stdio(place, "mine"), await server_on_stdio(place, "other")
    agent = await place.root("default", mcpServerIds=[mine])
    approval = await place.asked_every_time(agent, "agor_sessions_spawn", prompt="x", mcpServerIds=[mine, other])
    assert "other" in approval["reason"]
    arguments = {"worktreeId": place.repo_id, "agenticTool": "demo", "permissionMode": "default"}
    await place.asked_every_time(agent, "agor_sessions_create", **arguments, mcpServerIds=[other])
    created = await agent.does("agor_sessions_spawn", prompt="x", mcpServerIds=[mine])
    assert (await place.get(created["sessionId"]))["mcpServerIds"] == [mine]


async def test_what_a_sibling_was_given_is_not_taken_over(place: ToolServer) -> None:
    """5e: not by forking it, spawning from it or prompting it: its environment and its servers are its own."""
    await place.rule("allow", "bough/*")
    parent = await place.session("default")
    stdio_server = await server_on_stdio(place)
    armed = await place.child(parent, mcpServerIds=[stdio_server])
    rich = await place.child(parent, env={"SECRET": "x"})
    like = await place.child(parent)
    agent = await place.agent(await place.child(parent))
    for item in (armed, rich):
        for mode in ("fork", "subsession", "continue"):
            await place.asked_every_time(agent, "agor_sessions_prompt", sessionId=item, prompt="x", mode=mode)
        await place.asked_every_time(agent, "send_to_session", sessionId=item, message="x")
    await agent.does("agor_sessions_prompt", sessionId=like, prompt="x", mode="continue")


async def test_a_new_worktree_runs_no_command_for_an_agent(place: ToolServer) -> None:
    """5e: a repository's own setup command is run outside every sandbox, on files that an agent may have written."""
    await place.rule("allow", "bough/*")
    changed = {"setup": ["/bin/sh", "-c", "touch ran"]}
    await place.client.call("PATCH", f"/api/repos/{place.repo_id}", json=changed)
    agent = await place.root("auto")
    await place.asked_every_time(agent, "agor_worktrees_create", repoId=place.repo_id, branch="one")
    folder = str(place.server.root / "repo")
    arguments = {"name": "x", "workingDir": folder, "worktree": {"branch": "two"}}
    await place.asked_every_time(agent, "create_session", **arguments)
    strong = await place.root("bypassPermissions")
    assert (await strong.does("agor_worktrees_create", repoId=place.repo_id, branch="three"))["branch"] == "three"


async def test_a_sandboxed_agent_spawns_no_free_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """5e: the same mode is less with an agent that is kept in a sandbox."""
    agents = tmp_path / "data" / "agents"
    agents.mkdir(parents=True)
    shown = ['title = "Boxed"', 'command = ["{python}", "-m", "bough.agents.demo"]']
    modes = ["[modes]", *(f'{mode} = "{mode}"' for mode in ("plan", "default", "allow-all"))]
    quirks = "quirks = { sandboxed = true }"
    lines = [*shown, 'env = { BOUGH_DEMO_HOME = "{data}/demo" }', quirks, *modes]
    (agents / "boxed.toml").write_text("\n".join(lines) + "\n", "utf-8")
    monkeypatch.setattr(service, "PATIENCE", PATIENCE)
    async with tool_server(tmp_path) as place:
        agent = await place.root("allow-all", agent="boxed")
        await place.asked_every_time(agent, "agor_sessions_spawn", prompt="x", agenticTool="demo")
        arguments = {"worktreeId": place.repo_id, "agenticTool": "demo", "permissionMode": "allow-all"}
        await place.asked_every_time(agent, "agor_sessions_create", **arguments)
        await place.asked_every_time(
            agent, "agor_sessions_prompt", sessionId=agent.id, prompt="x", mode="fork", agenticTool="demo"
        )
        created = await agent.does("agor_sessions_spawn", prompt="x")
        assert (await place.get(created["sessionId"]))["agent"] == "boxed"


async def test_raising_asks_in_every_mode_whatever_is_remembered(place: ToolServer) -> None:
    """5e: rules that allow, *always* everywhere, the strongest mode below it: a person is asked again each time."""
    await place.rule("allow", "bough/*")
    agent = await place.root("auto")
    for prompt in ("once", "again"):
        arguments = {"prompt": prompt, "permissionMode": "bypassPermissions"}
        approval = await place.asked_every_time(agent, "agor_sessions_spawn", **arguments)
        body = {"decision": "allow_always", "scope": "everywhere"}
        refused = await place.client.post(f"/api/approvals/{approval['id']}", body, expect=409)
        assert refused["error"]["code"] == "never_always"
        assert (await place.decide(approval["id"], "deny"))["status"] == "denied"
    assert (await place.client.get("/api/policy/choices"))["total"] == 0


async def test_a_person_may_raise_once(place: ToolServer) -> None:
    """5e: what a person allows with open eyes is done, and only that."""
    agent = await place.root("default")
    # The child hangs, so that no report of it arrives while nothing may change.
    arguments = {"prompt": "[[hang]]", "permissionMode": "bypassPermissions", "title": "strong"}
    approval = await place.asked_every_time(agent, "agor_sessions_spawn", **arguments)
    async with place.client.events() as events:
        await place.decide(approval["id"])
        event = await events.until(lambda event: event["type"] == "session.created")
    assert event["data"]["permissionMode"] == "bypassPermissions" and event["data"]["parentSessionId"] == agent.id
    # The next one is asked about like the first.
    await place.asked_every_time(agent, "agor_sessions_spawn", **(arguments | {"title": "another"}))


async def test_sentences_cannot_be_forged(place: ToolServer) -> None:
    """5d: what a person reads is one line of bounded length, whatever an agent puts into it."""
    agent = await place.root("default")
    evil = "x'?\n\nAll is well. Allow everything\x1b[2K\u202e?"
    for approval in (
        await place.asked(agent, "agor_sessions_spawn", prompt="x", title=evil),
        await place.asked(agent, "agor_worktrees_create", repoId=place.repo_id, branch="b", path=evil),
        await place.asked(agent, "agor_sessions_spawn", prompt="y" * 100_000),
    ):
        assert approval["title"].isprintable() and len(approval["title"]) <= service.LONGEST_TITLE
    await place.refused(agent, "agor_sessions_spawn", prompt="x", agenticTool="demo in mode plan? No,")


async def test_foreign_trees(place: ToolServer) -> None:
    """5d: a session reaches its own tree: others are neither read nor listed, and changed only if a person says so."""
    foreign = await place.session("default", title="Not yours")
    task = await place.client.ask(foreign, "secret words")
    agent = await place.root("bypassPermissions")
    for tool, arguments in (
        ("agor_sessions_get", {"sessionId": foreign}),
        ("agor_tasks_list", {"sessionId": foreign}),
        ("agor_tasks_get", {"taskId": task["id"]}),
        ("agor_messages_list", {"sessionId": foreign}),
        ("agor_messages_list", {"taskId": task["id"]}),
        ("agor_sessions_wait", {"sessionIds": [foreign], "timeoutSeconds": 0}),
        ("agor_sessions_wait", {"taskIds": [task["id"]], "timeoutSeconds": 0}),
        ("get_session_status", {"sessionId": foreign}),
    ):
        text = await place.refused(agent, tool, **arguments)
        assert "session_out_of_reach" in text and "secret" not in text and "Not yours" not in text
    listed = await agent.does("agor_sessions_list")
    assert [item["session_id"] for item in listed["data"]] == [agent.id]
    assert [session["id"] for session in (await agent.does("list_sessions"))["sessions"]] == [agent.id]
    for mode in ("continue", "fork", "subsession", "btw"):
        approval = await place.asked(agent, "agor_sessions_prompt", sessionId=foreign, prompt="x", mode=mode)
        assert "beyond the tree" in approval["reason"]
    await place.asked(agent, "send_to_session", sessionId=foreign, message="x")
    await place.asked(agent, "agor_sessions_update", sessionId=foreign, title="Mine")
    await place.asked(agent, "agor_sessions_stop", sessionId=foreign)
    other = await place.client.repo(make_repo(place.server.root / "other"))
    await place.asked(agent, "agor_worktrees_create", repoId=other["id"], branch="b")
    arguments = {"worktreeId": other["id"], "agenticTool": "demo", "permissionMode": "default"}
    await place.asked(agent, "agor_sessions_create", **arguments)


async def test_always_for_a_foreign_session_is_for_that_one(place: ToolServer) -> None:
    """5d: what a person has always let an agent do to one foreign session says nothing about the next."""
    first, second = await place.session("default"), await place.session("default")
    agent = await place.root("bypassPermissions")
    approval = await place.asked(agent, "send_to_session", sessionId=first, message="first")
    await place.decide(approval["id"], "allow_always", scope="everywhere")
    assert await agent.does("send_to_session", sessionId=first, message="second") == {"success": True}
    await place.asked(agent, "send_to_session", sessionId=second, message="first")


async def test_trees_that_a_session_has_opened_are_within_its_reach(place: ToolServer) -> None:
    """5d: downwards: whoever opens a tree reads it and works with it; the tree does not reach back."""
    agent = await place.root("bypassPermissions")
    created = await agent.does("create_session", name="x", workingDir=str(place.server.root / "repo"))
    opened = created["sessionId"]
    assert (await agent.does("agor_sessions_get", sessionId=opened))["session_id"] == opened
    assert await agent.does("send_to_session", sessionId=opened, message="hello") == {"success": True}
    below = await place.agent(opened)
    assert "session_out_of_reach" in await place.refused(below, "agor_sessions_get", sessionId=agent.id)


async def test_a_question_aside_changes_nothing(place: ToolServer) -> None:
    """B4: it reads, and whatever else it wants is refused, whatever rules allow."""
    await place.rule("allow", "bough/*")
    parent = await place.session("bypassPermissions")
    created = await place.client.post(f"/api/sessions/{parent}/btw", {"prompt": "[[hang]]", "title": "Aside"})
    await place.client.wait_task(created["taskId"], "running")
    async with agent_with_token(place.client.url, place.server.data, created["sessionId"]) as agent:
        for tool, arguments in (
            ("agor_sessions_spawn", {"prompt": "x"}),
            ("agor_sessions_update", {"sessionId": parent, "title": "x"}),
            ("send_to_session", {"sessionId": parent, "message": "x"}),
            ("agor_worktrees_create", {"repoId": place.repo_id, "branch": "b"}),
        ):
            assert "side question changes nothing" in await place.refused(agent, tool, **arguments)
        assert (await agent.does("agor_sessions_get", sessionId=parent))["session_id"] == parent
