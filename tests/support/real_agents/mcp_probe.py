"""Runs a small MCP server for real agents: `python -m tests.support.real_agents.mcp_probe stdio|http|sse`.

`http` and `sse` print an address and run until their standard input ends."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Generator

import uvicorn
from mcp.server import MCPServer

LABEL = "PROBE_LABEL"
"""The environment variable with which a test gives a server its own label."""
COMMAND: tuple[str, ...] = (sys.executable, "-m", "tests.support.real_agents.mcp_probe", "stdio")


def _build() -> MCPServer:
    server = MCPServer("probe", log_level="ERROR")
    label = os.environ.get(LABEL, "none")

    @server.tool()
    def shout(text: str) -> str:  # pyright: ignore[reportUnusedFunction]
        """Returns the text in upper case."""
        return f"SHOUTED[{label}]: {text.upper()}"

    @server.tool()
    def whoami() -> str:  # pyright: ignore[reportUnusedFunction]
        """Returns the label, working directory and process id of this server."""
        return f"label={label} cwd={os.getcwd()} pid={os.getpid()}"

    return server


@contextlib.contextmanager
def http_probe(label: str = "none", transport: str = "http") -> Generator[str]:
    """Runs a probe on HTTP, or on HTTP with events (`sse`), and yields its address."""
    command = [*COMMAND[:-1], transport]
    env = os.environ | {LABEL: label}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        if not url:
            raise RuntimeError("The MCP probe did not start.")
        yield url


def _serve_http(transport: str) -> None:
    app = _build().sse_app() if transport == "sse" else _build().streamable_http_app()
    path = "sse" if transport == "sse" else "mcp"
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1))

    def end_with_input() -> None:
        sys.stdin.buffer.read()
        server.should_exit = True

    threading.Thread(target=end_with_input, daemon=True).start()
    print(f"http://127.0.0.1:{listener.getsockname()[1]}/{path}", flush=True)
    server.run([listener])


if __name__ == "__main__":
    if sys.argv[1:] in (["http"], ["sse"]):
        _serve_http(sys.argv[1])
    else:
        _build().run("stdio")
