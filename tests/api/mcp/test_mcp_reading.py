"""Tests the tools that read sessions, tasks and messages, and wait for them."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.api.mcp.mcp_client import Json, Mcp, agent_of, opened
from tests.support.server import Running, serving

NOBODY = "00000000-0000-7000-8000-000000000000"
HANG = "[[hang]]"


async def hanging(server: Running, session: Json) -> str:
    task_id = await server.client.prompt(session["id"], HANG)
    await server.client.wait_task(task_id, "running")
    return task_id


async def test_get_by_any_form_of_an_id(server: Running, mcp: Mcp) -> None:
    """R5: Accepts a complete id, a unique prefix or a unique suffix; an ambiguous one is an error that lists the
    candidates."""
    session = await opened(server)
    whole = await mcp.call("agor_sessions_get", sessionId=session["id"])
    for form in (session["id"][:13], session["id"][-8:], session["id"].upper()):
        assert await mcp.call("agor_sessions_get", sessionId=form) == whole
    # The first 8 characters change once a minute, so of three sessions created together at least two share them.
    born = [session["id"], (await opened(server))["id"], (await opened(server))["id"]]
    shared = born[1][:8]
    text = await mcp.refused("agor_sessions_get", "ambiguous_id", sessionId=shared)
    assert all(item in text for item in born if item.startswith(shared))


async def test_list(server: Running, mcp: Mcp) -> None:
    """5a: Lists have data, total, limit and offset; they can be filtered by worktree and status and paged, newest
    first."""
    first = await opened(server, title="one")
    worktree = await server.client.post("/api/worktrees", {"repoId": first["repoId"], "branch": "side"})
    second = await mcp.call("agor_sessions_create", worktreeId=worktree["id"], agenticTool="demo", title="two")
    listed = await mcp.call("agor_sessions_list")
    assert (listed["total"], listed["limit"], listed["offset"]) == (2, 50, 0)
    assert [item["title"] for item in listed["data"]] == ["two", "one"]
    assert listed["data"][0] == {name: value for name, value in second.items() if name != "taskId"}
    listed = await mcp.call("agor_sessions_list", limit=1, offset=1)
    assert ([item["title"] for item in listed["data"]], listed["total"]) == (["one"], 2)
    listed = await mcp.call("agor_sessions_list", worktreeId=worktree["id"][-12:])
    assert [item["title"] for item in listed["data"]] == ["two"]
    await mcp.call("agor_sessions_update", sessionId=first["id"], status="failed")
    for status, titles in (("failed", ["one"]), ("idle", ["two"]), ("running", []), ("completed", [])):
        listed = await mcp.call("agor_sessions_list", status=status)
        assert [item["title"] for item in listed["data"]] == titles
        assert listed["total"] == len(titles)


async def test_a_session_lists_what_is_in_its_reach(server: Running) -> None:
    """5d: A session sees its own tree and trees opened from it; a session out of reach differs from a missing one."""
    session = await opened(server)
    other = await opened(server, title="other")
    agent = await agent_of(server, session)
    child = await agent.call("agor_sessions_spawn", prompt="[[say hi]]")
    mine = await agent.call("agor_sessions_create", worktreeId=session["repoId"], agenticTool="demo")
    reached = await agent.call("agor_sessions_list")
    assert {item["session_id"] for item in reached["data"]} == {session["id"], child["sessionId"], mine["session_id"]}
    listed = await agent.call("list_sessions")
    everything = {item["session_id"] for item in reached["data"]} | {other["id"]}
    assert {item["id"] for item in listed["sessions"]} == everything
    await agent.refused("agor_sessions_get", "session_out_of_reach", sessionId=other["id"])
    await agent.refused("agor_tasks_list", "session_out_of_reach", sessionId=other["id"])
    await agent.refused("agor_tasks_get", "session_out_of_reach", taskId=other["taskId"])
    await agent.refused("agor_messages_list", "session_out_of_reach", taskId=other["taskId"])
    await agent.refused("agor_sessions_wait", "session_out_of_reach", sessionIds=[other["id"]])
    assert "agor_sessions_list" in await agent.refused("agor_sessions_get", "session_not_found", sessionId=NOBODY)


async def test_a_session_searches_what_it_may_read(server: Running, mcp: Mcp) -> None:
    """5d, A2: A session searches its own tree and the trees it created: messages and titles, best matches first, in
    pages or in one session; a person searches everything."""
    session = await opened(server, title="A heron at the pond")
    other = await opened(server, title="other")
    await server.client.ask(other["id"], "[[say no heron here]]")
    agent = await agent_of(server, session)
    child = await agent.call("agor_sessions_spawn", prompt="[[say A heron stands still]]", enableCallback=False)
    mine = await agent.call("agor_sessions_create", worktreeId=session["repoId"], agenticTool="demo", title="Heron two")
    await server.client.wait_task(child["taskId"])
    hits = await agent.call("agor_search", query="heron -nothing")
    assert {item["session_id"] for item in hits["data"]} == {session["id"], child["sessionId"], mine["session_id"]}
    (answer,) = (item for item in hits["data"] if item["role"] == "agent" and item["session_id"] == child["sessionId"])
    assert (answer["task_id"], answer["agentic_tool"], answer["text"]) == (
        child["taskId"],
        "demo",
        "A heron stands still",
    )
    (title,) = (item for item in hits["data"] if item["session_id"] == mine["session_id"])
    assert (title["message_id"], title["title"]) == (None, "Heron two")
    page = await agent.call("agor_search", query="heron -nothing", limit=1, offset=1)
    assert page["data"] == hits["data"][1:2] and page["total"] == hits["total"]
    inside = await agent.call("agor_search", query="heron", sessionId=child["sessionId"][-12:])
    assert {item["session_id"] for item in inside["data"]} == {child["sessionId"]}
    assert other["id"] in {item["session_id"] for item in (await mcp.call("agor_search", query="heron"))["data"]}
    await agent.refused("agor_search", "bad_arguments", query="")


async def test_a_setting_narrows_the_list(server: Running) -> None:
    """5b: With `listed_sessions = tree`, the basic tools show a session only its own reach."""
    async with serving(server.root / "narrow", listed_sessions="tree") as narrow:
        session, other = await opened(narrow), await opened(narrow, title="other")
        agent = await agent_of(narrow, session)
        listed = await agent.call("list_sessions")
        assert [item["id"] for item in listed["sessions"]] == [session["id"]]
        await agent.refused("get_session_status", "session_out_of_reach", sessionId=other["id"])


async def test_current(server: Running) -> None:
    """5a, 5d: A session can read itself without an argument, with its worktree and repository."""
    plain = await opened(server)
    agent = await agent_of(server, plain)
    current = await agent.call("agor_sessions_get_current")
    assert (current["session_id"], current["worktree"]) == (plain["id"], None)
    assert (current["repo"]["repo_id"], current["repo"]["path"]) == (plain["repoId"], plain["cwd"])
    worktree = await server.client.post("/api/worktrees", {"repoId": plain["repoId"], "branch": "side"})
    session = await server.client.post("/api/sessions", {"worktreeId": worktree["id"], "agent": "demo"})
    await server.client.ask(session["id"], "[[say hi]]")
    agent = await agent_of(server, session)
    current = await agent.call("agor_sessions_get_current")
    assert (current["worktree"]["worktree_id"], current["worktree"]["branch"]) == (worktree["id"], "side")
    assert await agent.call("get_current_session_id") == {"sessionId": session["id"]}


async def test_tasks(server: Running, mcp: Mcp) -> None:
    """5a, R3: Lists a session's tasks in order and by status, and returns one task with the last message in it."""
    session = await opened(server)
    hangs = await hanging(server, session)
    waits = await server.client.prompt(session["id"], "[[say later]]")
    listed = await mcp.call("agor_tasks_list", sessionId=session["id"])
    assert [item["task_id"] for item in listed["data"]] == [session["taskId"], hangs, waits]
    assert [item["status"] for item in listed["data"]] == ["completed", "running", "queued"]
    assert listed["data"][0] == await mcp.call("agor_tasks_get", taskId=session["taskId"][-12:])
    assert (listed["data"][0]["result"], listed["data"][0]["prompt"]) == ("ready", "[[say ready]]")
    assert listed["data"][0]["ended_at"] is not None
    listed = await mcp.call("agor_tasks_list", sessionId=session["id"], status="queued", limit=1)
    assert ([item["task_id"] for item in listed["data"]], listed["total"], listed["limit"]) == ([waits], 1, 1)
    text = await mcp.refused("agor_tasks_list", "bad_arguments", sessionId=session["id"], status="done")
    assert "waiting_permission" in text
    assert "agor_tasks_list" in await mcp.refused("agor_tasks_get", "task_not_found", taskId=NOBODY)


async def test_long_texts_of_tasks_are_shortened_in_lists(server: Running, mcp: Mcp) -> None:
    """5a: A list of tasks shortens long texts; a single task has them complete."""
    session = await opened(server)
    long_text = "word " * 1000
    task = await server.client.ask(session["id"], f"[[say {long_text}]]")
    listed = (await mcp.call("agor_tasks_list", sessionId=session["id"]))["data"][-1]
    assert len(listed["result"]) < 2_100
    assert listed["result"].endswith("…")
    whole = await mcp.call("agor_tasks_get", taskId=task["id"])
    assert whole["result"].strip() == long_text.strip()


async def test_messages(server: Running, mcp: Mcp) -> None:
    """5a, R4: Returns the newest messages of a session in order, those of a task, and those before a given one."""
    session = await opened(server)
    second = await server.client.ask(session["id"], "[[think deep]][[run echo Marker-1]][[say done]]")
    listed = await mcp.call("agor_messages_list", sessionId=session["id"])
    assert [item["type"] for item in listed["data"]] == ["text", "text", "text", "thought", "tool", "text"]
    assert [item["role"] for item in listed["data"]] == ["user", "agent", "user", "agent", "system", "agent"]
    assert (listed["total"], listed["limit"], listed["offset"]) == (6, 50, 0)
    newest = await mcp.call("agor_messages_list", sessionId=session["id"], limit=2)
    assert (newest["data"], newest["total"]) == (listed["data"][-2:], 6)
    before = await mcp.call("agor_messages_list", sessionId=session["id"], limit=3, offset=2)
    assert before["data"] == listed["data"][1:4]
    assert (await mcp.call("agor_messages_list", sessionId=session["id"], offset=9))["data"] == []
    own = await mcp.call("agor_messages_list", taskId=second["id"][-12:])
    assert (own["data"], own["total"]) == (listed["data"][2:], 4)
    for wrong in ({}, {"sessionId": session["id"], "taskId": second["id"]}):
        assert "either sessionId or taskId" in await mcp.refused("agor_messages_list", "bad_arguments", **wrong)


async def test_search(server: Running, mcp: Mcp) -> None:
    """5a: Searches text and tool results, ignoring case, within a session or a task."""
    session = await opened(server)
    second = await server.client.ask(session["id"], "[[run echo Mar$(echo ker)-1]][[say READY]]")
    hits = await mcp.call("agor_messages_list", sessionId=session["id"], search="ready]]")
    assert [item["role"] for item in hits["data"]] == ["user", "user"]
    hits = await mcp.call("agor_messages_list", taskId=second["id"], search="marker-1")
    assert ([item["type"] for item in hits["data"]], hits["total"]) == (["tool"], 1)
    hits = await mcp.call("agor_messages_list", sessionId=session["id"], search="ready", limit=1)
    assert ([item["text"] for item in hits["data"]], hits["total"]) == (["READY"], 4)
    assert (await mcp.call("agor_messages_list", sessionId=session["id"], search="nowhere"))["total"] == 0


async def test_wait(server: Running, mcp: Mcp) -> None:
    """5a, B5: `any` returns with the first that is at rest, `all` with the last, and the time is limited."""
    first, second = await opened(server), await opened(server)
    hangs = await hanging(server, first)
    done = second["taskId"]
    outcome = await mcp.call("agor_sessions_wait", taskIds=[hangs, done[-12:]], mode="any")
    assert outcome == {
        "done": [{"id": done, "sessionId": second["id"], "status": "completed"}],
        "pending": [hangs],
        "paused": [],
        "approvals": [],
    }
    outcome = await mcp.call("agor_sessions_wait", taskIds=[hangs, done], mode="all", timeoutSeconds=0.05)
    assert [entry["id"] for entry in outcome["done"]] == [done]
    assert outcome["pending"] == [hangs]
    waiting = asyncio.create_task(mcp.call("agor_sessions_wait", sessionIds=[first["id"], second["id"]]))
    await mcp.call("agor_sessions_stop", sessionId=first["id"])
    outcome = await waiting
    assert outcome["pending"] == []
    assert {entry["id"]: entry["status"] for entry in outcome["done"]} == {first["id"]: "idle", second["id"]: "idle"}


async def test_outcomes_of_a_wait(server: Running, mcp: Mcp) -> None:
    """T1, T6: Reports a failure as failed, and what waits for a person as paused."""
    session = await opened(server)
    fails = await server.client.prompt(session["id"], "[[fail no luck]]")
    outcome = await mcp.call("agor_sessions_wait", taskIds=[fails])
    assert [entry["status"] for entry in outcome["done"]] == ["failed"]
    hangs = await hanging(server, session)
    waits = await server.client.prompt(session["id"], "[[say later]]")
    await mcp.call("agor_sessions_stop", sessionId=session["id"])
    outcome = await mcp.call("agor_sessions_wait", taskIds=[hangs, waits])
    assert ([entry["id"] for entry in outcome["done"]], outcome["paused"]) == ([hangs], [waits])
    await server.client.call("DELETE", f"/api/tasks/{waits}")
    await mcp.call("agor_sessions_update", sessionId=session["id"], status="failed")
    outcome = await mcp.call("agor_sessions_wait", sessionIds=[session["id"]])
    assert [entry["status"] for entry in outcome["done"]] == ["failed"]


async def test_invalid_waits(server: Running, mcp: Mcp) -> None:
    """5a, T5: Refuses to wait for nothing, too long, for something unknown, or for oneself, and says why."""
    assert "taskIds or sessionIds" in await mcp.refused("agor_sessions_wait", "bad_arguments")
    text = await mcp.refused("agor_sessions_wait", "bad_arguments", taskIds=[NOBODY], timeoutSeconds=60)
    assert "timeoutSeconds must be at most 45." in text
    await mcp.refused("agor_sessions_wait", "task_not_found", taskIds=[NOBODY])
    await mcp.refused("agor_sessions_wait", "session_not_found", sessionIds=[NOBODY])
    session = await opened(server)
    agent = await agent_of(server, session)
    await agent.refused("agor_sessions_wait", "waits_for_itself", sessionIds=[session["id"]])
    running = await hanging(server, session)
    await agent.refused("agor_sessions_wait", "waits_for_itself", taskIds=[running])
    assert (await agent.call("agor_sessions_wait", taskIds=[session["taskId"]]))["done"]


@pytest.mark.postgres
async def test_the_same_on_postgres(tmp_path: Path, postgres_url: str) -> None:
    """R6, 5a: The tools read and change the same on PostgreSQL."""
    async with serving(tmp_path, database=postgres_url) as server:
        session = await opened(server)
        agent = await agent_of(server, session)
        child = await agent.call("agor_sessions_spawn", prompt="[[say done]]", title="child")
        waited = await agent.call("agor_sessions_wait", taskIds=[child["taskId"]])
        assert [item["status"] for item in waited["done"]] == ["completed"]
        listed = await agent.call("agor_sessions_list")
        assert [item["title"] for item in listed["data"]] == ["child", "first"]
        assert listed["data"][1]["genealogy"]["children"] == [child["sessionId"]]
        assert (await agent.call("agor_tasks_list", sessionId=child["sessionId"]))["data"][0]["result"] == "done"
        listed = await agent.call("agor_messages_list", taskId=child["taskId"], search="DONE")
        assert [item["role"] for item in listed["data"]] == ["user", "agent"]
        await agent.call("agor_sessions_update", sessionId=child["sessionId"][-12:], status="completed")
        assert (await agent.call("agor_sessions_list", status="completed"))["total"] == 1
