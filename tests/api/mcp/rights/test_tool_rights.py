"""Tests that an agent cannot raise its own rights: anything beyond its session's rights needs a person."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from bough.core.tool_calls import service
from tests.support.mcp.tool_caller import agent_with_token
from tests.support.mcp.tool_server import PATIENCE, ToolServer, tool_server
from tests.support.repos import make_repo


@pytest.fixture
async def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[ToolServer]:
    monkeypatch.setattr(service, "PATIENCE", PATIENCE)
    async with tool_server(tmp_path) as tool_host:
        yield tool_host


async def server_on_stdio(place: ToolServer, name: str = "tool") -> str:
    body = {"name": name, "transport": "stdio", "command": "/bin/true"}
    return (await place.client.post("/api/mcp-servers", body))["id"]


async def test_no_session_raises_its_own_mode(place: ToolServer) -> None:
    """5e: A session cannot raise its own mode, whatever rules allow."""
    await place.rule("allow", "bough/*")
    agent = await place.root("acceptEdits")
    for mode in ("auto", "bypassPermissions", "allow-all"):
        approval = await place.asked_every_time(agent, "agor_sessions_update", sessionId=agent.id, permissionMode=mode)
        assert mode in approval["title"] and mode in approval["reason"] and "acceptEdits" in approval["reason"]
    assert (await place.get(agent.id))["permissionMode"] == "acceptEdits"
    # A change that grants nothing more may be allowed by a rule.
    await agent.does("agor_sessions_update", sessionId=agent.id, permissionMode="plan")
    assert (await place.get(agent.id))["permissionMode"] == "plan"


async def test_an_agent_cannot_undo_a_lowered_mode(place: ToolServer) -> None:
    """P2, 5e: A turn keeps its higher mode after a person lowered the session's, but it cannot hand it on."""
    agent = await place.root("bypassPermissions")
    await place.client.call("PATCH", f"/api/sessions/{agent.id}", json={"permissionMode": "default"})
    for tool, arguments in (
        ("agor_sessions_update", {"sessionId": agent.id}),
        ("agor_sessions_spawn", {"prompt": "hello"}),
    ):
        mode = "bypassPermissions"
        approval = await place.asked_every_time(agent, tool, permissionMode=mode, **arguments)
        assert "grants more than default" in approval["reason"]


async def test_a_raised_mode_is_not_handed_on_in_the_same_turn(place: ToolServer) -> None:
    """P2, 5e: A child that inherits a mode which its creator's turn does not have yet needs a person."""
    agent = await place.root("default")
    await place.client.call("PATCH", f"/api/sessions/{agent.id}", json={"permissionMode": "bypassPermissions"})
    approval = await place.asked_every_time(agent, "agor_sessions_spawn", prompt="hello")
    assert "grants more than default" in approval["reason"]


async def test_no_child_has_more_rights_than_its_creator(place: ToolServer) -> None:
    """5e: A child or a fork that is to have more rights than its creator needs a person; one with fewer does not."""
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


async def test_no_existing_child_is_raised(place: ToolServer) -> None:
    """5e: A session cannot raise the mode of an existing child."""
    await place.rule("allow", "bough/*")
    agent = await place.root("default")
    created = await agent.does("agor_sessions_spawn", prompt="x", enableCallback=False)
    await place.asked_every_time(agent, "agor_sessions_update", sessionId=created["sessionId"], permissionMode="auto")


async def test_nobody_controls_a_session_of_a_higher_mode(place: ToolServer) -> None:
    """5e: Prompting, changing, stopping or forking an ancestor or a sibling with more rights needs a person."""
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
    # Reading them, asking them side questions, and forks with no more rights than its own are within its rights.
    assert (await agent.does("agor_sessions_get", sessionId=parent))["session_id"] == parent
    await agent.does("agor_sessions_prompt", sessionId=parent, prompt="x", mode="btw")
    created = await agent.does(
        "agor_sessions_prompt", sessionId=sibling, prompt="x", mode="fork", permissionMode="acceptEdits"
    )
    assert (await place.get(created["sessionId"]))["permissionMode"] == "acceptEdits"


async def test_no_new_root_has_more_rights_than_its_creator(place: ToolServer) -> None:
    """5e: Creating a new tree is no way around these limits."""
    await place.rule("allow", "bough/*")
    agent = await place.root("default")
    arguments = {"worktreeId": place.repo_id, "agenticTool": "demo", "permissionMode": "bypassPermissions"}
    await place.asked_every_time(agent, "agor_sessions_create", **arguments, initialPrompt="[[run id]]")
    folder = str(place.server.root / "repo")
    await place.asked_every_time(agent, "create_session", name="x", workingDir=folder, permissionMode="allow-all")
    created = await agent.does("create_session", name="x", workingDir=folder, permissionMode="default")
    assert (await place.get(created["sessionId"]))["permissionMode"] == "default"


async def test_servers_that_run_commands_are_not_passed_on(place: ToolServer) -> None:
    """5e: An MCP server on stdio is a command, so a session can neither pass on nor take one that it was not given."""
    await place.rule("allow", "bough/*")
    mine, other = await server_on_stdio(place, "mine"), await server_on_stdio(place, "other")
    agent = await place.root("default", mcpServerIds=[mine])
    approval = await place.asked_every_time(agent, "agor_sessions_spawn", prompt="x", mcpServerIds=[mine, other])
    assert "other" in approval["reason"]
    arguments = {"worktreeId": place.repo_id, "agenticTool": "demo", "permissionMode": "default"}
    await place.asked_every_time(agent, "agor_sessions_create", **arguments, mcpServerIds=[other])
    created = await agent.does("agor_sessions_spawn", prompt="x", mcpServerIds=[mine])
    assert (await place.get(created["sessionId"]))["mcpServerIds"] == [mine]


async def test_settings_of_a_sibling_are_not_taken_over(place: ToolServer) -> None:
    """5e: Forking, spawning from or prompting a sibling with its own environment or servers needs a person."""
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
    """5e: A repository's setup command runs outside every sandbox, on files that an agent may have written, so it needs
    a person."""
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


async def test_a_sandboxed_agent_spawns_no_unsandboxed_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """5e: In the same mode, an agent without a sandbox has more rights than one with a sandbox."""
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


async def test_raising_asks_in_every_mode_whatever_was_allowed(place: ToolServer) -> None:
    """5e: Raising rights asks a person each time, in spite of rules that allow it, and cannot be allowed for always."""
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
    """5e: A raise that a person allows is carried out, and nothing else."""
    agent = await place.root("default")
    # The child hangs, so that no report arrives while nothing may change.
    arguments = {"prompt": "[[hang]]", "permissionMode": "bypassPermissions", "title": "strong"}
    approval = await place.asked_every_time(agent, "agor_sessions_spawn", **arguments)
    async with place.client.events() as events:
        await place.decide(approval["id"])
        event = await events.until(lambda event: event["type"] == "session.created")
    assert event["data"]["permissionMode"] == "bypassPermissions" and event["data"]["parentSessionId"] == agent.id
    # The next call needs approval like the first.
    await place.asked_every_time(agent, "agor_sessions_spawn", **(arguments | {"title": "another"}))


async def test_titles_of_approvals_cannot_be_forged(place: ToolServer) -> None:
    """5d: The title of an approval is one printable line of limited length, whatever an agent puts into it."""
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
    """5d, 5b: A session's reach is its own tree: it cannot read others, and changes them only with approval. The basic
    tools show their names, folders and statuses."""
    foreign = await place.session("default", title="Not yours")
    task = await place.client.ask(foreign, "secret words")
    agent = await place.root("bypassPermissions")
    for tool, arguments in (
        ("agor_sessions_get", {"sessionId": foreign}),
        ("agor_tasks_list", {"sessionId": foreign}),
        ("agor_tasks_get", {"taskId": task["id"]}),
        ("agor_messages_list", {"sessionId": foreign}),
        ("agor_messages_list", {"taskId": task["id"]}),
        ("agor_search", {"query": "secret", "sessionId": foreign}),
        ("agor_sessions_wait", {"sessionIds": [foreign], "timeoutSeconds": 0}),
        ("agor_sessions_wait", {"taskIds": [task["id"]], "timeoutSeconds": 0}),
    ):
        text = await place.refused(agent, tool, **arguments)
        assert "session_out_of_reach" in text and "secret" not in text and "Not yours" not in text
    assert (await agent.does("agor_search", query="secret"))["data"] == []
    assert (await agent.does("agor_search", query="yours"))["total"] == 0
    listed = await agent.does("agor_sessions_list")
    assert [item["session_id"] for item in listed["data"]] == [agent.id]
    shown = (await agent.does("list_sessions"))["sessions"]
    assert [(item["id"], item["name"]) for item in shown] == [(agent.id, "A session"), (foreign, "Not yours")]
    assert (await agent.does("get_session_status", sessionId=foreign))["status"] == "idle"
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


async def test_the_answer_to_what_a_session_may_send(place: ToolServer) -> None:
    """5b: A session that was allowed to prompt a foreign one may wait for the answer and read it, and nothing else."""
    foreign = await place.session("default", title="Not yours")
    await place.client.ask(foreign, "secret words")
    agent = await place.root("bypassPermissions")
    approval = await place.asked(agent, "send_to_session", sessionId=foreign, message="[[say pong]]")
    await place.decide(approval["id"], "allow_always")
    sent = await agent.does("send_to_session", sessionId=foreign, message="[[say pong again]]")
    waited = await agent.does("agor_sessions_wait", taskIds=[sent["taskId"]])
    assert [item["status"] for item in waited["done"]] == ["completed"]
    assert (await agent.does("agor_tasks_get", taskId=sent["taskId"]))["result"] == "pong again"
    read = await agent.does("agor_messages_list", taskId=sent["taskId"])
    assert [item["text"] for item in read["data"]] == ["[[say pong again]]", "pong again"]
    for tool, arguments in (
        ("agor_sessions_get", {"sessionId": foreign}),
        ("agor_messages_list", {"sessionId": foreign}),
        ("agor_sessions_wait", {"sessionIds": [foreign], "timeoutSeconds": 0}),
    ):
        assert "session_out_of_reach" in await place.refused(agent, tool, **arguments)


async def test_a_report_does_not_open_its_receiver(place: ToolServer) -> None:
    """5d: A session that another one created cannot read the turn in which its creator gets its report. It reports only
    if it was asked to."""
    agent = await place.root("bypassPermissions")
    folder = str(place.server.root / "repo")
    quiet = await agent.does("create_session", name="quiet", workingDir=folder, initialMessage="[[say quiet]]")
    assert (await place.client.get(f"/api/sessions/{quiet['sessionId']}"))["callback"]["enabled"] is False
    loud = await agent.does(
        "create_session", name="loud", workingDir=folder, initialMessage="[[say loud]]", enableCallback=True
    )

    async def report() -> dict[str, Any] | None:
        tasks = (await place.client.get(f"/api/sessions/{agent.id}/tasks"))["tasks"]
        return next((task for task in tasks if task["source"] == "callback"), None)

    received = await place.client.eventually(report)
    assert received["sourceSessionId"] == loud["sessionId"]
    below = await place.agent(loud["sessionId"])
    assert "session_out_of_reach" in await place.refused(below, "agor_tasks_get", taskId=received["id"])


async def test_always_for_a_foreign_session_covers_only_that_one(place: ToolServer) -> None:
    """5d: An *always* answer about one foreign session does not apply to another."""
    first, second = await place.session("default"), await place.session("default")
    agent = await place.root("bypassPermissions")
    approval = await place.asked(agent, "send_to_session", sessionId=first, message="first")
    await place.decide(approval["id"], "allow_always", scope="everywhere")
    assert (await agent.does("send_to_session", sessionId=first, message="second"))["success"] is True
    await place.asked(agent, "send_to_session", sessionId=second, message="first")


async def test_trees_that_a_session_created_are_within_its_reach(place: ToolServer) -> None:
    """5d: A session reads and uses the trees that it created, but they cannot reach it."""
    agent = await place.root("bypassPermissions")
    created = await agent.does("create_session", name="x", workingDir=str(place.server.root / "repo"))
    opened = created["sessionId"]
    assert (await agent.does("agor_sessions_get", sessionId=opened))["session_id"] == opened
    assert (await agent.does("send_to_session", sessionId=opened, message="hello"))["success"] is True
    below = await place.agent(opened)
    assert "session_out_of_reach" in await place.refused(below, "agor_sessions_get", sessionId=agent.id)


async def test_a_side_question_changes_nothing(place: ToolServer) -> None:
    """B4: A side question may read; everything else is refused, whatever rules allow."""
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


async def test_a_folder_that_bough_does_not_know_yet(place: ToolServer, tmp_path: Path) -> None:
    """5b, 5e: A session may be created in a folder that is no repo yet, also a plain one, if a person allows it each
    time; nothing is registered before that, or if it is refused."""
    await place.rule("allow", "bough/*")
    agent = await place.root("bypassPermissions")
    unknown = Path((await place.get(agent.id))["cwd"]).parent / "unknown"
    plain = unknown.with_name("plain") / "inner"
    plain.mkdir(parents=True)
    make_repo(unknown)
    before = (await place.client.get("/api/repos"))["total"]
    arguments = {"name": "apart"}
    for folder in (unknown, plain):
        approval = await place.asked_every_time(agent, "create_session", **arguments, workingDir=str(folder))
        assert str(folder) in approval["title"] and f"register {folder} as a repo" in approval["reason"]
    higher = {**arguments, "permissionMode": "default", "workingDir": str(unknown), "worktree": {"branch": "b"}}
    denied = await place.asked_every_time(agent, "create_session", **higher)
    assert (await place.decide(denied["id"], "deny"))["status"] == "denied"
    assert (await place.client.get("/api/repos"))["total"] == before
    approval = await place.asked_every_time(agent, "create_session", **arguments, workingDir=str(plain))
    async with place.client.events() as events:
        await place.decide(approval["id"])
        event = await events.until(lambda event: event["type"] == "session.created")
    assert event["data"]["cwd"] == str(plain)
    paths = [repo["path"] for repo in (await place.client.get("/api/repos"))["repos"]]
    assert str(plain) in paths and str(unknown) not in paths


async def test_every_reason_to_ask_is_named(place: ToolServer) -> None:
    """5e: A call that would register a folder and grant a higher mode says both to the person who decides."""
    agent = await place.root("default")
    plain = Path((await place.get(agent.id))["cwd"]).parent / "plain"
    plain.mkdir()
    arguments = {"name": "apart", "workingDir": str(plain), "permissionMode": "bypassPermissions"}
    approval = await place.asked_every_time(agent, "create_session", **arguments)
    assert "register" in approval["reason"] and "bypassPermissions" in approval["reason"]
