"""Tests agents that orchestrate other sessions by themselves."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from tests.api.mcp.mcp_client import Json, agent_of, by_agent, directive, opened
from tests.support.client import Client
from tests.support.server import Running, serving


async def get(client: Client, session_id: str) -> Json:
    return await client.get(f"/api/sessions/{session_id}")


async def rest(client: Client, *session_ids: str) -> None:
    await client.post("/api/wait", {"sessionIds": list(session_ids)})


async def test_an_agent_continues_its_own_work(server: Running) -> None:
    """5a, example 1: An agent that knows its own id queues more work for itself, and forks itself to try another
    way."""
    client = server.client
    session = await opened(server)
    me = (await by_agent(client, session, "agor_sessions_get_current"))["session_id"]
    assert me == session["id"]
    more = await client.ask(
        session["id"],
        directive("agor_sessions_prompt", sessionId=me, prompt="[[say tests added]]", mode="continue")
        + directive("agor_sessions_prompt", sessionId=me, prompt="[[say with Passport.js]]", mode="fork"),
    )
    assert more["status"] == "completed"
    await rest(client, me)
    tasks = (await client.get(f"/api/sessions/{me}/tasks"))["tasks"]
    assert [(task["source"], task["sourceSessionId"]) for task in tasks[-1:]] == [("session", me)]
    assert (await client.texts(me))[-1] == "tests added"
    (fork,) = [item for item in (await client.get("/api/sessions"))["sessions"] if item["id"] != me]
    await rest(client, fork["id"])
    assert (fork["kind"], fork["forkedFromSessionId"], fork["agent"]) == ("fork", me, "demo")
    assert (fork["permissionMode"], fork["createdBy"]) == ("bypassPermissions", {"kind": "session", "id": me})
    assert (await client.texts(fork["id"]))[-1] == "with Passport.js"


async def test_work_in_another_worktree(server: Running) -> None:
    """5a, example 2: An agent finds a worktree by its name, creates a session there, and prompts it."""
    client = server.client
    session = await opened(server)
    created = await client.post("/api/worktrees", {"repoId": session["repoId"], "branch": "feature-dashboard"})
    worktrees = await by_agent(client, session, "agor_worktrees_list", repoId=session["repoId"])
    (worktree,) = [item for item in worktrees["data"] if item["name"] == "feature-dashboard"]
    assert worktree["worktree_id"] == created["id"]
    new = await by_agent(
        client,
        session,
        "agor_sessions_create",
        worktreeId=worktree["worktree_id"],
        agenticTool="demo",
        title="Add metrics dashboard",
        contextFiles=["README.md"],
    )
    assert (new["status"], new["message_count"]) == ("idle", 0)
    done = await by_agent(
        client,
        session,
        "agor_sessions_prompt",
        sessionId=new["session_id"],
        prompt="[[write chart.txt bars]]",
        mode="continue",
    )
    assert done["success"] is True
    task = await client.wait_task(done["taskId"])
    assert (task["status"], task["sourceSessionId"]) == ("completed", session["id"])
    assert (server.root / "repo" / ".worktrees" / "feature-dashboard" / "chart.txt").read_text() == "bars"
    assert (await get(client, new["session_id"]))["createdBy"] == {"kind": "session", "id": session["id"]}


async def test_delegating(server: Running) -> None:
    """5a, Q3, example 3: An agent delegates to a child, continues its own work, and gets the child's report."""
    client = server.client
    session = await opened(server)
    created = await by_agent(
        client,
        session,
        "agor_sessions_prompt",
        sessionId=session["id"],
        prompt="[[say README documented]]",
        mode="subsession",
        agenticTool="demo",
        title="Update API documentation",
    )
    assert created.keys() == {"sessionId", "taskId"}
    await client.wait_task(created["taskId"])
    child = await get(client, created["sessionId"])
    assert (child["kind"], child["parentSessionId"]) == ("subsession", session["id"])
    await rest(client, session["id"])
    report = (await client.get(f"/api/sessions/{session['id']}/tasks"))["tasks"][-1]
    assert (report["source"], report["sourceSessionId"]) == ("callback", child["id"])
    assert "README documented" in report["prompt"]
    waited = await by_agent(client, session, "agor_sessions_wait", taskIds=[created["taskId"]], timeoutSeconds=5)
    assert [item["status"] for item in waited["done"]] == ["completed"]
    assert (await by_agent(client, session, "agor_tasks_get", taskId=created["taskId"]))[
        "result"
    ] == "README documented"


async def test_waiting_lends_the_slot(server: Running) -> None:
    """T5: With one slot for all agents, a turn that only waits for another session lends its slot to it."""
    async with serving(server.root / "small", max_agents=1) as small:
        client = small.client
        session, other = await opened(small), await opened(small)
        fork = await client.post(f"/api/sessions/{session['id']}/fork")
        await client.wait_task(await client.prompt(other["id"], "[[hang]]"), "running")
        # Both wait for the slot, in this order.
        wait = directive("agor_sessions_wait", sessionIds=[fork["sessionId"]], timeoutSeconds=15)
        waiting_task = await client.prompt(session["id"], wait)
        await client.prompt(fork["sessionId"], "[[say done]]")
        await client.post(f"/api/sessions/{other['id']}/stop")
        await client.wait_task(waiting_task)
        waited = json.loads((await client.texts(session["id"]))[-1])
        assert ([item["id"] for item in waited["done"]], waited["pending"]) == ([fork["sessionId"]], [])
        assert (await client.texts(fork["sessionId"]))[-1] == "done"


async def test_waiting_for_approval_lends_the_slot(server: Running) -> None:
    """T5, 5d: A turn whose call waits for approval lends its slot, too."""
    async with serving(server.root / "small", max_agents=1) as small:
        client = small.client
        session, other = await opened(small, mode="default"), await opened(small)
        waiting_task = await client.prompt(session["id"], directive("agor_sessions_spawn", prompt="[[say hi]]"))
        approval = await client.approval(session["id"])
        assert (await client.ask(other["id"], "[[say between]]"))["status"] == "completed"
        await client.post(f"/api/approvals/{approval['id']}", {"decision": "allow"})
        assert (await client.wait_task(waiting_task))["status"] == "completed"
        assert "sessionId" in (await client.texts(session["id"]))[-1]


async def test_an_agent_reviews_its_own_work(server: Running) -> None:
    """5a, example 4: An agent reads what it did, names and describes its session, and completes it, which takes effect
    when its turn ends."""
    client = server.client
    session = await opened(server)
    tasks = await by_agent(client, session, "agor_tasks_list", sessionId=session["id"])
    assert tasks["data"][0]["result"] == "ready"
    task = await client.ask(
        session["id"],
        directive(
            "agor_sessions_update",
            sessionId=session["id"],
            title="JWT authentication",
            description="All tests pass.",
            status="completed",
        )
        + directive("agor_sessions_get_current"),
    )
    assert task["status"] == "completed"
    ended = await get(client, session["id"])
    assert (ended["title"], ended["description"], ended["status"]) == (
        "JWT authentication",
        "All tests pass.",
        "completed",
    )
    text = "".join(await client.texts(session["id"]))
    # Both calls during the turn report how the session will end, since it has not ended yet.
    assert text.count('"ending":"completed"') == 2


async def test_a_session_that_ends_itself_empties_its_queue_first(server: Running) -> None:
    """5a, T6: A session that fails or completes itself first works through its queue; nothing in it is lost."""
    client = server.client
    session = await opened(server)
    for status, stored in (("failed", "error"), ("completed", "completed")):
        prompt = directive("agor_sessions_prompt", sessionId=session["id"], prompt="[[say the rest]]", mode="continue")
        mark = directive("agor_sessions_update", sessionId=session["id"], status=status)
        task = await client.wait_task(await client.prompt(session["id"], prompt + mark, resume=True))
        assert task["status"] == "completed"
        await rest(client, session["id"])
        assert (await client.texts(session["id"]))[-1] == "the rest"
        assert (await get(client, session["id"]))["status"] == stored


async def test_a_session_can_withdraw_its_end(server: Running) -> None:
    """5a: Setting idle withdraws a session's own final status while its turn is still running."""
    client = server.client
    session = await opened(server)
    await client.ask(
        session["id"],
        directive("agor_sessions_update", sessionId=session["id"], status="completed")
        + directive("agor_sessions_update", sessionId=session["id"], status="idle"),
    )
    assert (await get(client, session["id"]))["status"] == "active"


async def test_basic_tools_of_an_agent(server: Running) -> None:
    """5b: An agent creates a session in a new worktree with its own agent, sends it a message and reads its status."""
    client = server.client
    session = await opened(server)
    assert await by_agent(client, session, "get_current_session_id") == {"sessionId": session["id"]}
    created = await by_agent(
        client,
        session,
        "create_session",
        name="feature-auth",
        workingDir=session["cwd"],
        worktree={"branch": "feature-auth"},
        initialMessage="[[say begun]]",
    )
    assert created["workingDir"] == f"{session['cwd']}/.worktrees/feature-auth"
    await rest(client, created["sessionId"])
    new = await get(client, created["sessionId"])
    assert (new["agent"], new["permissionMode"]) == ("demo", "default")
    sent = await by_agent(client, session, "send_to_session", sessionId=created["sessionId"], message="[[say more]]")
    assert sent["success"] is True
    await rest(client, created["sessionId"])
    status = await by_agent(client, session, "get_session_status", sessionId=created["sessionId"])
    assert (status["exists"], status["status"], status["pendingMessages"]) == (True, "idle", 0)
    assert await client.texts(created["sessionId"]) == ["begun", "more"]
    listed = await by_agent(client, session, "list_sessions")
    assert {item["name"] for item in listed["sessions"]} == {"feature-auth", "first"}


async def test_a_session_cannot_stop_itself(server: Running) -> None:
    """5a: A session that tries to stop itself is told to end its turn instead."""
    session = await opened(server)
    await server.client.ask(session["id"], directive("agor_sessions_stop", sessionId=session["id"]))
    assert "end your turn" in (await server.client.texts(session["id"]))[-1]


@pytest.mark.postgres
async def test_approvals_and_reports_on_postgres(tmp_path: Path, postgres_url: str) -> None:
    """R6, 5c, 5d: On PostgreSQL too, calls are joined by their key, allowed and denied, and a session reports to the
    one that created it."""
    async with serving(tmp_path, database=postgres_url) as server:
        client = server.client
        session = await opened(server, mode="default")
        agent = await agent_of(server, session)
        arguments = {"worktreeId": session["repoId"], "agenticTool": "demo", "permissionMode": "default"}
        create = {**arguments, "initialPrompt": "[[say opened]]", "enableCallback": True, "idempotencyKey": "once"}
        calls = [asyncio.create_task(agent.call("agor_sessions_create", **create)) for _ in range(2)]
        approval = await client.approval(session["id"])
        assert approval["title"] == f"Create session in {session['cwd']} with demo in mode default?"
        await client.post(f"/api/approvals/{approval['id']}", {"decision": "allow"})
        first, second = await asyncio.gather(*calls)
        assert first == second
        await client.wait_task(first["taskId"])
        await rest(client, session["id"])
        assert "opened" in (await client.get(f"/api/sessions/{session['id']}/tasks"))["tasks"][-1]["prompt"]
        prompt = {"sessionId": first["session_id"], "prompt": "[[say more]]", "mode": "continue"}
        call = asyncio.create_task(agent.raw("agor_sessions_prompt", prompt))
        approval = await client.approval(session["id"])
        await client.post(f"/api/approvals/{approval['id']}", {"decision": "deny"})
        denied = await call
        assert denied["isError"]
        assert "denied" in denied["content"][0]["text"]
