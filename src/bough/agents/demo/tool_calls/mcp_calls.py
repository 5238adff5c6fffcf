"""Calls tools of the session's MCP servers. It is imported only when needed, because `mcp` is slow to load."""

import asyncio
import contextlib
import os
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import cast

import httpx2
import msgspec
from mcp.client import Client, Transport
from mcp.client.sse import sse_client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CallToolResult, Implementation, TextContent

from bough.agents.acp_params import Pair
from bough.agents.acp_server.params import ReceivedMcpServer
from bough.agents.demo.capabilities import AGENT_INFO
from bough.agents.json_rpc import Json

# Seconds to start a server and list its tools; a dead server must not hang the turn.
CONNECT_LIMIT = 30.0
# Tools may wait for people, so reading has no limit; the user can always cancel.
CALL_TIMEOUT = httpx2.Timeout(30.0, read=None)


class McpFailure(Exception):
    """No server has the tool, or the call failed. The message is meant for the user."""


class _Outcome(msgspec.Struct):
    """The outcome of a call, held until the connection is closed, since closing it can fail too."""

    result: CallToolResult | None = None
    error: Exception | None = None


async def call(
    servers: list[ReceivedMcpServer], cwd: str, tool: str, arguments: Json, permit: Callable[[str], Awaitable[bool]]
) -> CallToolResult | None:
    """Calls a tool on the first server that has it. Returns None if `permit` refuses that server."""
    problems: list[str] = []
    for server in servers:
        outcome: _Outcome | None = None
        try:
            async with asyncio.timeout(CONNECT_LIMIT) as limit, _connect(server, cwd) as client:
                has_tool = await _has(client, tool)
                limit.reschedule(None)
                if has_tool:
                    outcome = await _call(client, server, tool, arguments, permit)
        except Exception as error:
            problems.append(f"server {server.name!r}: {_plain(error)}")
        if outcome is not None:
            if outcome.error is not None:
                raise outcome.error
            return outcome.result
    names = ", ".join(server.name for server in servers) or "none"
    raise McpFailure(f"No MCP server has the tool {tool!r} (servers: {names}). {'; '.join(problems)}".strip())


async def _call(
    client: Client, server: ReceivedMcpServer, tool: str, arguments: Json, permit: Callable[[str], Awaitable[bool]]
) -> _Outcome:
    try:
        if not await permit(server.name):
            return _Outcome()
    except Exception as error:
        return _Outcome(error=error)
    try:
        return _Outcome(await client.call_tool(tool, arguments))
    except Exception as error:
        return _Outcome(error=McpFailure(f"{tool} failed: {_plain(error)}"))


async def _has(client: Client, tool: str) -> bool:
    cursor = None
    while True:
        page = await client.list_tools(cursor=cursor)
        if any(offered.name == tool for offered in page.tools):
            return True
        cursor = page.next_cursor
        if cursor is None:
            return False


@contextlib.asynccontextmanager
async def _connect(server: ReceivedMcpServer, cwd: str) -> AsyncGenerator[Client]:
    async with contextlib.AsyncExitStack() as stack:
        transport: Transport
        if server.type == "http":
            http = await stack.enter_async_context(
                httpx2.AsyncClient(headers=_pairs(server.headers), timeout=CALL_TIMEOUT)
            )
            transport = streamable_http_client(server.url, http_client=http)
        elif server.type == "sse":
            transport = sse_client(server.url, headers=_pairs(server.headers))
        else:
            env = {**os.environ, **_pairs(server.env)}
            transport = stdio_client(StdioServerParameters(command=server.command, args=server.args, env=env, cwd=cwd))
        info = Implementation(name=AGENT_INFO["name"], version=AGENT_INFO["version"])
        yield await stack.enter_async_context(Client(transport, client_info=info))


def text_of(result: CallToolResult) -> str:
    """Returns a tool's result as text: its text blocks unchanged, anything else as JSON."""
    parts = [
        part.text if isinstance(part, TextContent) else part.model_dump_json(by_alias=True, exclude_none=True)
        for part in result.content
    ]
    if not parts and result.structured_content is not None:
        parts = [msgspec.json.encode(result.structured_content).decode()]
    return "\n".join(parts)


def _pairs(pairs: list[Pair]) -> dict[str, str]:
    return {pair.name: pair.value for pair in pairs}


def _plain(error: BaseException) -> str:
    """Returns the message of the innermost cause, since task groups wrap errors in several layers."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
