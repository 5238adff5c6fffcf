"""A small real MCP server: `mcp_server.py stdio`, or `http` or `sse`, which print their address."""

import os
import socket
import sys
from typing import Any

import uvicorn
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError

server = MCPServer("test")


@server.tool()
def add(a: int, b: int) -> str:
    """Adds two numbers."""
    return f"the sum is {a + b}"


@server.tool()
def boom() -> str:
    """Always fails."""
    raise ToolError("this tool always fails")


@server.tool()
def secret(ctx: Context[Any, Any]) -> str:
    """Returns the secret that the caller sent: a header, or an environment variable on stdio."""
    request = ctx.request_context.request
    return os.environ["TEST_SECRET"] if request is None else request.headers["x-secret"]


def main(transport: str) -> None:
    if transport == "stdio":
        server.run("stdio")
        return
    app = server.sse_app() if transport == "sse" else server.streamable_http_app()
    listener = socket.create_server(("127.0.0.1", 0))
    path = "/sse" if transport == "sse" else "/mcp"
    print(f"http://127.0.0.1:{listener.getsockname()[1]}{path}", flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1)).run([listener])


main(sys.argv[1])
