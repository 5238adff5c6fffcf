"""Tests that callers are identified by their token alone: one per agent start, stored as a hash."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncGenerator
from pathlib import Path

import httpx
import pytest

from bough.core.live_agents.start import agent_tokens
from bough.core.tool_calls import service
from bough.model.values import own_tokens
from bough.model.values.ids import new_id
from tests.support.eventually import eventually
from tests.support.mcp.tool_caller import HEADERS, Agent, agent_in_turn, agent_with_token, replace_token
from tests.support.mcp.tool_server import PATIENCE, ToolServer, tool_server


@pytest.fixture
async def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[ToolServer]:
    monkeypatch.setattr(service, "PATIENCE", PATIENCE)
    async with tool_server(tmp_path) as tool_host:
        yield tool_host


async def unknown(agent: Agent, token: str | None = None) -> None:
    """Checks that a token is refused with an answer that reveals nothing else."""
    answer = await agent.post("get_current_session_id", {}, token)
    assert answer.status_code == 401
    assert answer.content == b"" and "www-authenticate" not in answer.headers


async def test_the_token_identifies_the_caller(place: ToolServer) -> None:
    """5d: Only the token identifies the caller, so the parent of a spawned session is the token's session."""
    first, second = await place.root("bypassPermissions"), await place.root("bypassPermissions")
    for agent, other in ((first, second), (second, first)):
        assert await agent.does("get_current_session_id") == {"sessionId": agent.id}
        assert (await agent.does("agor_sessions_get_current"))["session_id"] == agent.id
        created = await agent.does("agor_sessions_spawn", prompt="hello", title="Child", enableCallback=False)
        assert (await place.get(created["sessionId"]))["parentSessionId"] == agent.id
        for name in ("sessionId", "session_id", "parentSessionId", "caller", "me"):
            text = await place.refused(agent, "agor_sessions_spawn", prompt="x", **{name: other.id})
            assert "bad_arguments" in text
        await place.refused(agent, "get_current_session_id", sessionId=other.id)


async def test_invalid_tokens(place: ToolServer) -> None:
    """5d: Tokens that are made up, cut, another session's, in another case, too long or not text get a bare 401."""
    agent, other = await place.root(), await place.root()
    secret = agent.token.partition(".")[2]
    long = "x" * 5000
    for token in (
        "x",
        agent_tokens.PREFIX,
        f"{agent_tokens.PREFIX}{agent.id}",
        f"{agent_tokens.PREFIX}{agent.id}.",
        f"{agent_tokens.PREFIX}.{secret}",
        f"{agent_tokens.PREFIX}{other.id}.{secret}",
        f"{agent_tokens.PREFIX}{agent.id[:8]}.{secret}",
        f"{agent_tokens.PREFIX}{agent.id.upper()}.{secret}",
        f"{agent_tokens.PREFIX}{new_id()}.{secret}",
        f"{agent.token}x",
        agent.token[:-1],
        agent.token.removeprefix(agent_tokens.PREFIX),
        own_tokens.hashed(agent.token),
        agent_tokens.mint(agent.id),
        f"{agent_tokens.PREFIX}{long}",
        f"{agent_tokens.PREFIX}%00",
    ):
        await unknown(agent, token)
    async with httpx.AsyncClient(base_url=place.client.url) as http:
        for header in (b"", b"Basic abc", b"Bearer", b"Bearer \xff\xfe\xc3\xa9"):
            answer = await http.post("/mcp/", json={}, headers={b"authorization": header, **_bytes()})
            assert answer.status_code == 401 and answer.content == b""
        assert (await http.post("/mcp/", json={}, headers=HEADERS)).status_code == 401
    assert await agent.does("get_current_session_id") == {"sessionId": agent.id}


def _bytes() -> dict[bytes, bytes]:
    return {name.encode(): value.encode() for name, value in HEADERS.items()}


async def test_a_session_token_opens_no_other_door(place: ToolServer) -> None:
    """5d: A session's token cannot answer approvals, create rules, or read as a person does."""
    agent = await place.root()
    approval = await place.asked(agent, "agor_sessions_spawn", prompt="x")
    headers = {"authorization": f"Bearer {agent.token}"}
    async with httpx.AsyncClient(base_url=place.client.url, headers=headers) as http:
        for method, path in (
            ("POST", f"/api/approvals/{approval['id']}"),
            ("GET", "/api/sessions"),
            ("GET", f"/api/sessions/{agent.id}"),
            ("PATCH", f"/api/sessions/{agent.id}"),
            ("POST", "/api/policy/rules"),
            ("GET", "/api/events"),
            ("GET", "/openapi.json"),
        ):
            body = {"decision": "allow", "effect": "allow", "tool": "*", "permissionMode": "allow-all"}
            assert (await http.request(method, path, json=body)).status_code == 401, path
    [still] = await place.pending()
    assert still["id"] == approval["id"]


async def test_tokens_end_with_their_agent(place: ToolServer) -> None:
    """5d: Each start of the agent gets a new token, and tokens are void once the session has ended."""
    agent = await place.root("default")
    await place.client.post(f"/api/sessions/{agent.id}/stop")
    assert await agent.does("get_current_session_id") == {"sessionId": agent.id}
    # A changed environment needs a new agent.
    await place.client.call("PATCH", f"/api/sessions/{agent.id}", json={"env": {"A": "b"}})
    await place.client.ask(agent.id, "hello")
    await unknown(agent)
    async with agent_in_turn(place.client, place.server.data, agent.id) as again:
        assert await again.does("get_current_session_id") == {"sessionId": agent.id}
        await unknown(agent)
        await place.client.post(f"/api/sessions/{agent.id}/complete", {"force": True})
        await unknown(again)


async def test_a_suspended_agent_has_no_token(tmp_path: Path) -> None:
    """5d: The token of a suspended agent is void, and the agent gets another one when it is woken."""
    async with tool_server(tmp_path, sleep_after=0.2) as place:
        session = await place.session()
        await place.client.ask(session, "hello")
        async with agent_with_token(place.client.url, place.server.data, session) as agent:
            services = place.server.services
            await eventually(lambda: services.runner.agents.get(session) is None, "the agent is suspended")
            await unknown(agent)
            assert (await place.client.ask(session, "[[mcp get_current_session_id {}]]"))["status"] == "completed"
            assert session in (await place.client.texts(session))[-1]
            await unknown(agent)


async def test_no_token_is_stored(place: ToolServer) -> None:
    """5d: The database has only the hash of a token, and neither logs nor responses contain it."""
    session = await place.session()
    await place.client.ask(session, "[[mcp get_current_session_id {}]]")
    data = place.server.data
    with sqlite3.connect(data / "bough.db") as database:
        [(stored_hash,)] = database.execute(
            "SELECT token_hash FROM keepers WHERE session_id = ?", (session,)
        ).fetchall()
        dump = "\n".join(database.iterdump())
    database.close()
    assert len(stored_hash) == 64 and agent_tokens.PREFIX not in dump
    token = replace_token(data, session)
    assert own_tokens.hashed(token) != stored_hash
    shown = await place.client.get(f"/api/sessions/{session}/messages")
    assert agent_tokens.PREFIX not in str(shown) + str(await place.get(session))


async def test_forged_arguments(place: ToolServer) -> None:
    """5d: Ids that are malformed, somebody's secret, or very long are refused with a message and have no effect."""
    agent = await place.root("bypassPermissions")
    approval = await place.client.get("/api/approvals")
    assert approval["total"] == 0
    long = "a" * 100_000
    for text in ("", " ", "\0", "x\0y", long, "*", "%", "'; DROP TABLE calls; --", "../..", new_id(), "me", "\ud800"):
        for tool, name, more in (
            ("agor_sessions_get", "sessionId", {}),
            ("agor_sessions_update", "sessionId", {"title": "x"}),
            ("agor_sessions_prompt", "sessionId", {"prompt": "x", "mode": "continue"}),
            ("send_to_session", "sessionId", {"message": "x"}),
            ("agor_sessions_stop", "sessionId", {}),
            ("agor_tasks_get", "taskId", {}),
            ("agor_worktrees_create", "repoId", {"branch": "b"}),
            ("agor_sessions_create", "worktreeId", {"agenticTool": "demo"}),
        ):
            answer = await agent.post(tool, {name: text, **more})
            assert answer.status_code in (200, 400), (tool, text, answer.text)
            reply = answer.json()
            assert "error" in reply or reply["result"]["isError"], (tool, text, reply)
            assert len(answer.content) < 5000
    assert (await place.client.get("/api/sessions"))["total"] == 1
    for key in ("", "\0", "x" * 201):
        assert "bad_idempotency_key" in await place.refused(
            agent, "agor_sessions_spawn", prompt="x", idempotencyKey=key
        )


async def test_a_person_may_use_the_tools_for_any_session(place: ToolServer) -> None:
    """5d: The server's own token may use the tools for any session without approval; tools that need a calling session
    say so."""
    session = await place.session("default")
    async with httpx.AsyncClient(base_url=place.client.url, timeout=60) as http:
        person = Agent(http, "", place.client.token)
        created = await person.does("agor_sessions_prompt", sessionId=session, prompt="hello", mode="subsession")
        assert (await place.get(created["sessionId"]))["parentSessionId"] == session
        update = {"sessionId": session, "permissionMode": "bypassPermissions"}
        await person.does("agor_sessions_update", **update)
        assert (await place.get(session))["permissionMode"] == "bypassPermissions"
        assert "not_a_session" in await person.fails("get_current_session_id")
    assert await place.pending() == []
