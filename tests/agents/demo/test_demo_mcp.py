"""The demo agent calls tools of real MCP servers over stdio, http and sse."""

import contextlib
import sys
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from tests.agents.demo.driver import Driver, Json
from tests.support.processes import running

PROGRAM = str(Path(__file__).with_name("mcp_server.py"))
BROKEN: Json = {"name": "broken", "command": "/bin/false", "args": [], "env": []}


@contextlib.asynccontextmanager
async def _serving(transport: str) -> AsyncGenerator[Json]:
    """Yields a server named `tools` in the form in which a client passes it."""
    if transport == "stdio":
        env = [{"name": "TEST_SECRET", "value": "s3cret"}]
        yield {"name": "tools", "command": sys.executable, "args": [PROGRAM, "stdio"], "env": env}
        return
    async with running(sys.executable, PROGRAM, transport) as (_, output):
        url = (await output.readline()).decode().strip()
        headers = [{"name": "X-Secret", "value": "s3cret"}]
        yield {"type": transport, "name": "tools", "url": url, "headers": headers}


@pytest.fixture(params=["stdio", "http", "sse"])
async def server(request: pytest.FixtureRequest) -> AsyncGenerator[Json]:
    async with _serving(str(request.param)) as server:
        yield server


@pytest.fixture
async def http() -> AsyncGenerator[Json]:
    async with _serving("http") as server:
        yield server


async def test_tools_are_called_and_quoted(agent: Driver, cwd: Path, server: Json) -> None:
    """L5: `[[mcp TOOL {json}]]` calls the tool on its server, passes the secret, and quotes results and errors."""
    session = await agent.new(cwd, mode="allow-all", servers=[BROKEN, server])
    assert await agent.ask(session, '[[mcp add {"a": 1, "b": 2}]]') == "the sum is 3"
    (call,) = agent.tools(session)
    assert (call["status"], call["name"], call["kind"]) == ("completed", "mcp__tools__add", "other")
    assert call["rawInput"] == {"server": "tools", "tool": "add", "arguments": {"a": 1, "b": 2}}
    assert call["content"][0]["content"]["text"] == "the sum is 3"
    assert await agent.ask(session, "[[mcp secret]][[say on]]") == "s3cret\non"
    assert "this tool always fails" in await agent.ask(session, "[[mcp boom]]")
    assert agent.tools(session)[-1]["status"] == "failed"
    missing = await agent.ask(session, "[[mcp nothing {}]][[say on]]")
    assert missing.startswith("MCP error: No MCP server has the tool 'nothing' (servers: broken, tools)")
    assert "server 'broken'" in missing


async def test_mcp_calls_ask_as_the_mode_says(agent: Driver, cwd: Path, http: Json) -> None:
    """L5, 5d: MCP calls ask as the mode says, except for the server `bough`, which asks by itself."""
    cases = [
        ("auto", "tools", 1, True),
        ("bypassPermissions", "tools", 0, True),
        ("plan", "tools", 0, False),
        ("plan", "bough", 0, True),
        ("default", "bough", 0, True),
    ]
    for mode, name, asks, done in cases:
        session = await agent.new(cwd, mode=mode, servers=[{**http, "name": name}])
        agent.permissions.clear()
        answer = await agent.ask(session, '[[mcp add {"a": 1, "b": 2}]]')
        assert (mode, len(agent.permissions), answer) == (mode, asks, "the sum is 3" if done else "")
        assert agent.tools(session)[0]["status"] == ("completed" if done else "failed")


async def test_a_denied_call_is_not_made(agent: Driver, cwd: Path, http: Json) -> None:
    """L5: A denial fails the call and the turn continues; `cancelled` ends the turn."""
    session = await agent.new(cwd, servers=[http])
    agent.decide = lambda _: "reject_once"
    assert await agent.ask(session, "[[mcp boom]][[say on]]") == "on"
    agent.decide = lambda _: "cancelled"
    assert (await agent.prompt(session, "[[mcp boom]]"))["stopReason"] == "cancelled"
    assert [call["status"] for call in agent.tools(session)] == ["failed", "failed"]


async def test_a_call_can_be_cancelled(agent: Driver, cwd: Path) -> None:
    """L5: A server that never answers does not hold up a cancel."""
    silent = {"name": "silent", "command": "/bin/sleep", "args": ["60"], "env": []}
    session = await agent.new(cwd, servers=[silent])
    request = agent.send_prompt(session, "[[mcp anything]]")
    await agent.until(lambda: len(agent.tools(session)) == 1)
    agent.notify("session/cancel", {"sessionId": session})
    assert (await agent.answer(request))["stopReason"] == "cancelled"
