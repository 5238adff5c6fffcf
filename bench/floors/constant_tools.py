"""Serves the floor of every tool call: the same protocol package, server and authentication as Bough's, with tools that
return constants. `python -m bench.floors.constant_tools` reads those as JSON from stdin, prints its URL, and serves
until it is terminated."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import sys
from collections.abc import AsyncGenerator
from typing import Any, cast

import mcp_types as types
import msgspec
import uvicorn
import uvloop
from litestar import Litestar
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server as ToolServer
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from bench.support import measure
from bough.api.http.auth import RequestGate
from bough.api.http.server_parts import ServerParts
from bough.api.server.limits import BoundedProtocol
from bough.api.server.middleware import GateMiddleware
from bough.api.server.serve import Server
from bough.core.services import Services
from bough.settings import Settings

TOKEN = "trivial"

Results = dict[str, dict[str, Any]]
"""The structured content that each tool returns."""


def _manager(results: Results) -> StreamableHTTPSessionManager:
    tools = [types.Tool(name=name, input_schema={"type": "object"}) for name in results]
    texts = {name: msgspec.json.encode(value).decode() for name, value in results.items()}

    async def list_tools(_context: ServerRequestContext[Any, Any], _params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=tools)

    async def call_tool(
        _context: ServerRequestContext[Any, Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        text = types.TextContent(type="text", text=texts[params.name])
        return types.CallToolResult(content=[text], structured_content=results[params.name])

    server: ToolServer[Any] = ToolServer(
        "trivial", get_tool_input_schema=lambda _name: None, on_list_tools=list_tools, on_call_tool=call_tool
    )
    return StreamableHTTPSessionManager(server, json_response=True, stateless=True)


def _parts() -> ServerParts:
    """Returns what authentication needs; no route here uses a service."""
    return ServerParts(cast("Services", None), RequestGate(TOKEN, Settings()))


async def serve(results: Results) -> None:
    manager = _manager(results)
    routes = Litestar([], openapi_config=None, logging_config=None)
    handle: Any = manager.handle_request
    app = GateMiddleware(routes, _parts(), {}, handle)
    config = uvicorn.Config(
        app, loop="none", lifespan="off", http=BoundedProtocol, log_config=None, access_log=False, server_header=False
    )
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        async with manager.run():
            await Server(config, lambda: print(url, flush=True)).serve([listening])


@contextlib.asynccontextmanager
async def running(results: Results) -> AsyncGenerator[str]:
    """Runs the program in a process of its own and yields its URL."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bench.floors.constant_tools"),
        cwd=measure.ROOT,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        assert process.stdin is not None
        process.stdin.write(msgspec.json.encode(results))
        process.stdin.close()
        yield await measure.first_line(process)
    finally:
        process.terminate()
        await process.wait()


if __name__ == "__main__":
    results: Results = msgspec.json.decode(sys.stdin.buffer.read(), type=Results)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serve(results))
