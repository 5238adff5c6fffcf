"""Tests the bridge from stdio to Bough's tools (5f)."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

from bough.agents.acp.answers import Capabilities
from bough.agents.acp.types import HttpServer, NameValue, StdioServer
from bough.agents.shims import mcp_stdio
from bough.core.live_agents.start.context import SessionContext
from tests.api.cli.cli_program import bough
from tests.core.trees.tree_helpers import add_demo, grove
from tests.support.processes import communicated
from tests.support.server import Running

OWN = HttpServer(name="bough", url="http://h/mcp/", headers=[NameValue(name="Authorization", value="Bearer t")])


async def bridged(url: str, token: str, *messages: dict[str, Any]) -> list[dict[str, Any]]:
    """Sends messages through the bridge and returns its answers, in the order of their ids."""
    program = await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", "-m", mcp_stdio.__name__),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, mcp_stdio.URL: url, mcp_stdio.TOKEN: token},
    )
    lines = "".join(json.dumps(message) + "\n" for message in messages)
    out, _ = await communicated(program, lines.encode())
    assert program.returncode == 0
    return sorted((json.loads(line) for line in out.splitlines()), key=lambda answer: answer["id"])


def request(number: int, method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


async def test_an_agent_without_http_has_the_tools(tmp_path: Path) -> None:
    """5f: An agent that takes only servers on stdio calls Bough's tools as its own session."""
    add_demo(tmp_path, "plain", ["http", "sse"])
    async with grove(tmp_path) as trees:
        session = await trees.root(agent="plain", permissionMode="bypassPermissions")
        assert session in await trees.say(session, "[[mcp get_current_session_id {}]]")
        spawned = await trees.say(session, '[[mcp agor_sessions_spawn {"prompt": "[[say hi]]"}]]')
        child = next(item for item in (await trees.client.get("/api/sessions"))["sessions"] if item["id"] != session)
        assert child["id"] in spawned and child["parentSessionId"] == session


async def test_messages_are_passed_on(server: Running) -> None:
    """5f: The bridge handles a whole conversation, several requests at once, and requests that are refused."""
    initialize = request(
        1, "initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "t", "version": "1"}
    )
    initialized = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    calls = [request(number, "tools/call", name="list_sessions", arguments={}) for number in range(3, 9)]
    url = f"{server.client.url}/mcp/"
    first, listed, *answers, unknown = await bridged(
        url, server.client.token, initialize, initialized, request(2, "tools/list"), *calls, request(9, "no/such")
    )
    assert first["result"]["protocolVersion"] == "2025-06-18"
    assert "agor_sessions_spawn" in [tool["name"] for tool in listed["result"]["tools"]]
    assert [answer["result"]["structuredContent"] for answer in answers] == [{"sessions": [], "total": 0}] * 6
    assert "error" in unknown
    (refused,) = await bridged(url, "wrong", request(1, "tools/list"))
    assert "401" in refused["error"]["message"]
    (unreachable,) = await bridged("http://127.0.0.1:9/mcp/", "t", request(1, "tools/list"))
    assert "cannot be reached" in unreachable["error"]["message"]


async def test_the_command(server: Running) -> None:
    """5f: `bough mcp-stdio` is the bridge for people's own programs, and ends with its input."""
    result = await bough("mcp-stdio", BOUGH_DATA=str(server.data))
    assert (result.code, result.out) == (0, "")


async def test_the_form_of_the_tools(server: Running) -> None:
    """5f: HTTP is used where an agent takes it; the token is never an argument."""
    context = await _context(server)
    assert await context.servers(Capabilities(http=True), True) == ([OWN], [])
    [own], notices = await context.servers(Capabilities(http=False), True)
    assert isinstance(own, StdioServer) and own.name == "bough" and notices == []
    assert [pair.value for pair in own.env] == ["http://h/mcp/", "t"] and "t" not in own.args


async def test_tools_that_are_left_out_are_named(server: Running) -> None:
    """5f: If an agent takes neither form, the notice names Bough's tools."""
    context = await _context(server)
    assert await context.servers(Capabilities(http=False), False) == (
        [],
        ["Not attached, because the agent does not support their transport: bough (http)."],
    )


async def _context(server: Running) -> SessionContext:
    repo = await server.client.repo(server.repo())
    made = await server.client.session(repo["id"])
    session = await server.services.sessions.get(made["id"])
    return SessionContext(server.services.store, session, OWN)
