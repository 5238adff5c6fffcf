"""Tests the tools that create, prompt, change and stop sessions, called by a person."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.api.mcp.mcp_client import Json, Mcp, agent_of, opened, person
from tests.support.server import Running, serving

NAMED = {
    "session_id",
    "worktree_id",
    "agentic_tool",
    "status",
    "title",
    "description",
    "permission_config",
    "genealogy",
    "git_state",
    "message_count",
}


async def get(server: Running, session_id: str) -> Json:
    return await server.client.get(f"/api/sessions/{session_id}")


async def worktree(server: Running, branch: str = "side") -> Json:
    repo = await server.client.repo(server.repo())
    return await server.client.post("/api/worktrees", {"repoId": repo["id"], "branch": branch})


async def test_continue(server: Running, mcp: Mcp) -> None:
    """5a: Mode continue adds a task to the same session and returns success and taskId; a unique part of the id is
    enough."""
    session = await opened(server)
    done = await mcp.call("agor_sessions_prompt", sessionId=session["id"][-12:], prompt="[[say on]]", mode="continue")
    assert done.keys() == {"success", "taskId"}
    assert done["success"] is True
    task = await server.client.wait_task(done["taskId"])
    assert (task["sessionId"], task["source"]) == (session["id"], "user")
    assert (await server.client.texts(session["id"]))[-1] == "on"
    assert (await server.client.get("/api/sessions"))["total"] == 1


async def test_fork(server: Running, mcp: Mcp) -> None:
    """5a, B1: Mode fork creates a sibling in the same folder with the same agent, mode and past, up to a task if one is
    given."""
    session = await opened(server)
    await server.client.ask(session["id"], "[[say later]]")
    created = await mcp.call(
        "agor_sessions_prompt",
        sessionId=session["id"],
        prompt="[[recall]]",
        mode="fork",
        title="Another way",
        taskId=session["taskId"],
    )
    assert created.keys() == {"sessionId", "taskId"}
    await server.client.wait_task(created["taskId"])
    fork = await get(server, created["sessionId"])
    assert (fork["kind"], fork["forkedFromSessionId"]) == ("fork", session["id"])
    assert (fork["title"], fork["agent"], fork["permissionMode"]) == ("Another way", "demo", "bypassPermissions")
    assert (fork["cwd"], fork["branchTaskId"]) == (session["cwd"], session["taskId"])
    text = (await server.client.texts(fork["id"]))[-1]
    assert "[[say ready]]" in text
    assert "later" not in text


async def test_subsession(server: Running, mcp: Mcp) -> None:
    """5a, B3, Q3: Mode subsession creates a child with its own rights that reports to its parent unless told not to."""
    session = await opened(server)
    arguments = {
        "sessionId": session["id"],
        "prompt": "[[say done]]",
        "mode": "subsession",
        "taskId": session["taskId"],
    }
    quiet = await mcp.call("agor_sessions_prompt", **arguments, callback=False, permissionMode="plan")
    await server.client.wait_task(quiet["taskId"])
    child = await get(server, quiet["sessionId"])
    assert (child["kind"], child["parentSessionId"], child["permissionMode"]) == ("subsession", session["id"], "plan")
    created = await mcp.call("agor_sessions_prompt", **arguments)
    await server.client.wait_task(created["taskId"])
    reports = (await server.client.get(f"/api/sessions/{session['id']}/callbacks"))["callbacks"]
    assert [report["childSessionId"] for report in reports] == [created["sessionId"]]


async def test_btw(server: Running, mcp: Mcp) -> None:
    """5a, B4: Mode btw asks a read-only side question during a turn, and the answer goes into the parent's
    transcript."""
    session = await opened(server)
    await server.client.wait_task(await server.client.prompt(session["id"], "[[hang]]"), "running")
    created = await mcp.call("agor_sessions_prompt", sessionId=session["id"], prompt="[[say aside]]", mode="btw")
    assert created.keys() == {"sessionId", "taskId"}
    await server.client.wait_task(created["taskId"])
    aside = await get(server, created["sessionId"])
    assert (aside["kind"], aside["permissionMode"], aside["archived"]) == ("btw", "plan", True)
    hits = await mcp.call("agor_messages_list", sessionId=session["id"], search="aside")
    assert "btw" in [item["type"] for item in hits["data"]]


async def test_a_prompt_resumes(server: Running, mcp: Mcp) -> None:
    """T2: A prompt resumes a session that was completed or marked as failed by hand."""
    session = await opened(server)
    await server.client.post(f"/api/sessions/{session['id']}/complete")
    done = await mcp.call("agor_sessions_prompt", sessionId=session["id"], prompt="[[say back]]", mode="continue")
    await server.client.wait_task(done["taskId"])
    assert (await get(server, session["id"]))["status"] == "active"
    await mcp.call("agor_sessions_update", sessionId=session["id"], status="failed")
    assert (await get(server, session["id"]))["status"] == "error"
    again = await mcp.call("agor_sessions_prompt", sessionId=session["id"], prompt="[[say back]]", mode="continue")
    await server.client.wait_task(again["taskId"])


async def test_create(server: Running, mcp: Mcp) -> None:
    """5a: Creates an idle, empty root session in a worktree, with every field of the contract."""
    branch_worktree = await worktree(server)
    created = await mcp.call("agor_sessions_create", worktreeId=branch_worktree["id"][-12:], agenticTool="demo")
    assert created.keys() >= NAMED
    assert "taskId" not in created
    assert (created["worktree_id"], created["cwd"], created["agentic_tool"]) == (
        branch_worktree["id"],
        branch_worktree["path"],
        "demo",
    )
    assert (created["status"], created["title"], created["description"]) == ("idle", "", "")
    assert created["permission_config"] == {"mode": "acceptEdits", "allowedTools": []}
    assert created["genealogy"] == {"parent_session_id": None, "forked_from_session_id": None, "children": []}
    assert created["git_state"]["branch"] == "side"
    assert (created["message_count"], created["contextFiles"], created["mcp_server_ids"]) == (0, [], [])
    assert await mcp.call("agor_sessions_get", sessionId=created["session_id"]) == created


async def test_create_with_everything(server: Running, mcp: Mcp) -> None:
    """5a: Stores everything that is given for a new session, and starts its first prompt at once (Q2)."""
    branch_worktree = await worktree(server)
    tools = await server.client.post(
        "/api/mcp-servers", {"name": "files", "transport": "stdio", "command": "/bin/true"}
    )
    created = await mcp.call(
        "agor_sessions_create",
        worktreeId=branch_worktree["id"],
        agenticTool="demo",
        title="Auth tests",
        description="All of them",
        permissionMode="default",
        contextFiles=["README.md"],
        mcpServerIds=[tools["id"][-12:]],
        initialPrompt="[[say begun]]",
        enableCallback=None,
    )
    assert (await server.client.wait_task(created["taskId"]))["source"] == "initial"
    assert (created["title"], created["description"]) == ("Auth tests", "All of them")
    assert created["permission_config"]["mode"] == "default"
    assert created["contextFiles"] == [f"{branch_worktree['path']}/README.md"]
    assert created["mcp_server_ids"] == [tools["id"]]


async def test_create_places_the_card(server: Running, mcp: Mcp) -> None:
    """5a: boardId, x and y put the card of the worktree, or of the repo's own folder, on a board; session objects list
    their newest tasks."""
    made = await worktree(server)
    board = await server.client.post("/api/boards", {"name": "Plans"})
    place = {"agenticTool": "demo", "boardId": board["id"][-12:], "x": 10, "y": 20.5}
    created = await mcp.call("agor_sessions_create", worktreeId=made["id"], initialPrompt="[[say one]]", **place)
    placed = await server.client.get(f"/api/worktrees/{made['id']}")
    assert (placed["boardId"], placed["x"], placed["y"]) == (board["id"], 10, 20.5)
    await mcp.call("agor_sessions_create", worktreeId=made["repoId"], **place)
    repo = await server.client.get(f"/api/repos/{made['repoId']}")
    assert (repo["boardId"], repo["x"], repo["y"]) == (board["id"], 10, 20.5)
    wrong = place | {"boardId": "0" * 12}
    await mcp.refused("agor_sessions_create", "board_not_found", worktreeId=made["id"], **wrong)
    assert created["tasks"] == [created["taskId"]]
    second = await mcp.call("agor_sessions_prompt", sessionId=created["session_id"], prompt="x", mode="continue")
    read = await mcp.call("agor_sessions_get", sessionId=created["session_id"])
    assert read["tasks"] == [second["taskId"], created["taskId"]]


async def test_create_in_a_repository(server: Running, mcp: Mcp) -> None:
    """5a, R2: A repo_id creates a session in the repository's own folder; an unknown id is refused with what to use."""
    repo = await server.client.repo(server.repo())
    created = await mcp.call("agor_sessions_create", worktreeId=repo["id"], agenticTool="demo")
    assert (created["worktree_id"], created["repo_id"], created["cwd"]) == (None, repo["id"], repo["path"])
    text = await mcp.refused("agor_sessions_create", "worktree_not_found", worktreeId="0" * 12, agenticTool="demo")
    assert "agor_worktrees_list" in text
    assert "agor_worktrees_create" in text


@pytest.mark.parametrize(("agent", "mode"), [("codex", "auto"), ("gemini", "acceptEdits"), ("demo", "acceptEdits")])
async def test_the_default_mode(
    server: Running, mcp: Mcp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, agent: str, mode: str
) -> None:
    """P1: Without a mode, a new session gets its agent's default: auto for codex, acceptEdits for others."""
    # A session starts its agent only with a prompt, so any program will do.
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("codex-acp", "gemini"):
        (programs / name).write_text("#!/bin/sh\n")
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    repo = await server.client.repo(server.repo())
    session = await mcp.call("agor_sessions_create", worktreeId=repo["id"], agenticTool=agent)
    assert session["permission_config"]["mode"] == mode


async def test_too_many_roots(server: Running) -> None:
    """T5: The create tools refuse sessions beyond the limit and say what to do; branches are never refused."""
    async with serving(server.root / "small", max_sessions=1) as small:
        mcp = person(small)
        session = await opened(small)
        text = await mcp.refused(
            "agor_sessions_create", "too_many_sessions", worktreeId=session["repoId"], agenticTool="demo"
        )
        assert "limit is 1" in text
        await mcp.refused("create_session", "too_many_sessions", name="two", workingDir=session["cwd"])
        await mcp.call("agor_sessions_prompt", sessionId=session["id"], prompt="[[say hi]]", mode="fork")


async def test_update(server: Running, mcp: Mcp) -> None:
    """5a: Changes title, description and mode at once, and nothing else; repeating the call changes nothing."""
    session = await opened(server)
    arguments = {"sessionId": session["id"], "title": "JWT", "description": "Refresh tokens.", "permissionMode": "plan"}
    updated = await mcp.call("agor_sessions_update", **arguments)
    assert (updated["title"], updated["description"], updated["permission_config"]["mode"]) == (
        "JWT",
        "Refresh tokens.",
        "plan",
    )
    again = await mcp.call("agor_sessions_update", **arguments)
    assert again | {"last_updated": ""} == updated | {"last_updated": ""}
    updated = await mcp.call("agor_sessions_update", sessionId=session["id"], title="Only this")
    assert (updated["title"], updated["description"]) == ("Only this", "Refresh tokens.")


async def test_status_by_hand(server: Running, mcp: Mcp) -> None:
    """5a, T1: Completed and failed take effect at once on a session at rest, idle reopens it, and running cannot be
    set."""
    session = await opened(server)
    for status, stored in (("completed", "completed"), ("idle", "active"), ("failed", "error"), ("idle", "active")):
        updated = await mcp.call("agor_sessions_update", sessionId=session["id"], status=status)
        assert updated["status"] == status
        assert (await get(server, session["id"]))["status"] == stored
    text = await mcp.refused("agor_sessions_update", "bad_arguments", sessionId=session["id"], status="running")
    assert "status cannot be 'running': it is one of completed, failed, idle." in text


async def test_ending_a_busy_session(server: Running, mcp: Mcp) -> None:
    """5a, T6: A busy session ends with its turn, and shows that until then."""
    session = await opened(server)
    running = await server.client.prompt(session["id"], "[[hang]]")
    await server.client.wait_task(running, "running")
    updated = await mcp.call("agor_sessions_update", sessionId=session["id"], status="completed")
    assert (updated["status"], updated["ending"]) == ("running", "completed")
    await mcp.call("agor_sessions_stop", sessionId=session["id"])
    updated = await mcp.call("agor_sessions_get", sessionId=session["id"])
    assert (updated["status"], "ending" in updated) == ("completed", False)


async def test_an_update_is_all_or_nothing(server: Running, mcp: Mcp) -> None:
    """5a: If one change of an update is impossible, none is made."""
    session = await opened(server)
    await mcp.call("agor_sessions_update", sessionId=session["id"], status="completed")
    text = await mcp.refused(
        "agor_sessions_update", "session_ended", sessionId=session["id"], title="New", status="failed"
    )
    assert "idle" in text
    await mcp.refused("agor_sessions_update", "title_too_long", sessionId=session["id"], title="x" * 501, status="idle")
    unchanged = await mcp.call("agor_sessions_get", sessionId=session["id"])
    assert (unchanged["title"], unchanged["status"]) == ("first", "completed")


async def test_stop(server: Running, mcp: Mcp) -> None:
    """5a, T6: Returns the stopped task; a task other than the expected one is not stopped, and a session at rest has
    nothing to stop."""
    session = await opened(server)
    running = await server.client.prompt(session["id"], "[[hang]]")
    await server.client.wait_task(running, "running")
    text = await mcp.refused(
        "agor_sessions_stop", "task_not_running", sessionId=session["id"], expectedTaskId=session["taskId"]
    )
    assert "Nothing was stopped" in text
    stopped = await mcp.call("agor_sessions_stop", sessionId=session["id"], expectedTaskId=running[-12:])
    assert (stopped["task_id"], stopped["session_id"], stopped["status"]) == (running, session["id"], "cancelled")
    stopped = await mcp.call("agor_sessions_stop", sessionId=session["id"])
    assert (stopped["session_id"], stopped["status"]) == (session["id"], "idle")
    assert "task_id" not in stopped


async def test_spawn_needs_a_session(mcp: Mcp) -> None:
    """5d: The token alone identifies the caller; a person who calls a tool for sessions learns which tool to use
    instead."""
    assert "agor_sessions_prompt" in await mcp.refused("agor_sessions_spawn", "not_a_session", prompt="hi")
    assert "agor_sessions_get" in await mcp.refused("agor_sessions_get_current", "not_a_session")
    assert "list_sessions" in await mcp.refused("get_current_session_id", "not_a_session")


async def test_spawn(server: Running) -> None:
    """5a, B3, Q3: Creates a child of the caller that inherits agent and mode, works in the given place, and reports as
    configured."""
    session = await opened(server)
    agent = await agent_of(server, session)
    side = await server.client.post("/api/worktrees", {"repoId": session["repoId"], "branch": "side"})
    created = await agent.call(
        "agor_sessions_spawn",
        prompt="[[say the work is done]]",
        title="Research",
        modelConfig={"model": "small", "effort": "low"},
        taskId=session["taskId"],
        includeLastMessage=False,
        includeOriginalPrompt=True,
        extraInstructions="Check the line numbers.",
        worktreeId=side["id"],
    )
    assert created.keys() == {"sessionId", "taskId"}
    await server.client.wait_task(created["taskId"])
    child = await get(server, created["sessionId"])
    assert (child["parentSessionId"], child["agent"], child["permissionMode"]) == (
        session["id"],
        "demo",
        "bypassPermissions",
    )
    assert (child["title"], child["model"], child["effort"]) == ("Research", "small", "low")
    assert (child["cwd"], child["createdBy"]) == (side["path"], {"kind": "session", "id": session["id"]})
    (report,) = (await server.client.get(f"/api/sessions/{session['id']}/callbacks"))["callbacks"]
    assert "It was asked:\n> [[say the work is done]]" in report["text"]
    assert "Its last message" not in report["text"]
    assert report["text"].endswith("Check the line numbers.")
    silent = await agent.call("agor_sessions_spawn", prompt="[[say hush]]", enableCallback=False)
    await server.client.wait_task(silent["taskId"])
    assert (await server.client.get(f"/api/sessions/{session['id']}/callbacks"))["total"] == 1
    parent_row = await agent.call("agor_sessions_get", sessionId=session["id"])
    assert parent_row["genealogy"]["children"] == [created["sessionId"], silent["sessionId"]]


async def test_a_key_makes_a_call_idempotent(server: Running, mcp: Mcp) -> None:
    """5c: The same call with the same key acts once and returns the same answer; a different call with that key is
    refused."""
    session = await opened(server)
    arguments = {"sessionId": session["id"], "prompt": "[[say once]]", "mode": "continue", "idempotencyKey": "k1"}
    first = await mcp.call("agor_sessions_prompt", **arguments)
    assert await mcp.call("agor_sessions_prompt", **arguments) == first
    await server.client.wait_task(first["taskId"])
    assert (await server.client.texts(session["id"])).count("once") == 1
    await mcp.refused("agor_sessions_prompt", "idempotency_key_reused", **(arguments | {"prompt": "other"}))
