"""Checks MCP servers: connects to one and counts its tools for `bough mcp test`, or sees quickly which servers of a
session cannot work."""

from __future__ import annotations

import asyncio
import contextlib
import os
import tempfile
import time
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import msgspec

from bough import __version__
from bough.agents.acp.types import HttpServer, McpServer, StdioServer
from bough.agents.process.inherited_env import inherited_env
from bough.core.environment.mask_shown_values import MASK, masked_url

if TYPE_CHECKING:
    from mcp.client import Client, Transport

# Seconds to connect and list the tools. With the time to end the connection, a check takes less than 15 s.
CONNECT_WITHIN = 10.0
# Seconds of these checks for an address to accept a connection; the client itself would not say why it did not.
REACH_WITHIN = 3.0
# The same for a quick look, during which the start of an agent waits.
LOOK_WITHIN = 2.0
# A server that pages its tools endlessly must not hold the check.
MOST_PAGES = 100
LONGEST_REASON = 500


class McpCheck(msgspec.Struct, rename="camel"):
    """The outcome of a check: what the server says about itself, or the reason why it does not work."""

    name: str
    transport: str
    works: bool
    # The server's own name and version, and the version of the protocol that it speaks.
    server_name: str | None = None
    server_version: str | None = None
    protocol_version: str | None = None
    tools: list[str] = []
    seconds: float = 0.0
    error: str | None = None


class _Observed(msgspec.Struct):
    """Facts about a connection beside its errors."""

    # The HTTP status of the last answer, if it was a failure.
    status: str = ""
    # The file that takes the stderr of the server's program.
    stderr: Any = None


async def check(server: McpServer, added_env: Sequence[str] = ()) -> McpCheck:
    """Connects to a server as an agent would, and lists its tools. Never raises because of the server. A program gets
    the variables that every agent inherits, and the added ones."""
    outcome = McpCheck(server.name, _transport(server), works=False)
    began = time.monotonic()
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as stderr:
        observed = _Observed(stderr=stderr)
        outcome.error = await _look(server, REACH_WITHIN)
        if outcome.error is None:
            try:
                async with asyncio.timeout(CONNECT_WITHIN), _connect(server, observed, added_env) as client:
                    await _describe(client, outcome)
                    outcome.works = True
            except TimeoutError:
                outcome.error = f"It did not answer within {CONNECT_WITHIN:g} s."
            except Exception as error:
                outcome.error = _reason(server, error, observed)
        if outcome.works:
            # An error while the connection was closed does not matter.
            outcome.error = None
        if outcome.error is not None:
            outcome.error = f"{outcome.error}{_last_line(server, stderr)}"[:LONGEST_REASON]
    outcome.seconds = round(time.monotonic() - began, 3)
    return outcome


async def find_problems(servers: list[McpServer]) -> list[str]:
    """Returns a notice about each server whose program cannot be run or whose address does not answer. It only looks:
    a server that passes may still fail."""
    reasons = await asyncio.gather(*(_look(server, LOOK_WITHIN) for server in servers))
    return [
        f"The MCP server {server.name} cannot be used: {reason} The agent works without its tools. "
        f"For details: bough mcp test {server.name}"
        for server, reason in zip(servers, reasons, strict=True)
        if reason is not None
    ]


async def _look(server: McpServer, within: float) -> str | None:
    """Returns why a server cannot work, or None if nothing speaks against it."""
    if isinstance(server, StdioServer):
        return await asyncio.to_thread(_unusable_program, server)
    parts = urlsplit(server.url)
    host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    if parts.scheme in getproxies() and not proxy_bypass(host):
        # Only the proxy can tell.
        return None
    try:
        async with asyncio.timeout(within):
            _, writer = await asyncio.open_connection(host, port)
    except TimeoutError:
        return f"{host}:{port} did not answer within {within:g} s."
    except OSError as error:
        return f"{host}:{port} cannot be reached ({_os_reason(error)})."
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()
    return None


def _unusable_program(server: McpServer) -> str | None:
    if not isinstance(server, StdioServer):
        return None
    program = Path(server.command)
    if not program.is_file():
        return f"Its command {server.command} does not exist."
    return None if os.access(program, os.X_OK) else f"Its command {server.command} is not executable."


async def _describe(client: Client, outcome: McpCheck) -> None:
    about = client.server_info
    if about is not None:
        outcome.server_name, outcome.server_version = about.name, about.version
    outcome.protocol_version = client.protocol_version
    if client.server_capabilities.tools is None:
        return
    cursor = None
    for _ in range(MOST_PAGES):
        page = await client.list_tools(cursor=cursor)
        outcome.tools += [tool.name for tool in page.tools]
        cursor = page.next_cursor
        if cursor is None:
            return


@contextlib.asynccontextmanager
async def _connect(server: McpServer, observed: _Observed, added_env: Sequence[str]) -> AsyncGenerator[Client]:
    """Connects with the official client. It is imported here, because it is slow to load."""
    import httpx2
    from mcp.client import Client
    from mcp.client.sse import sse_client
    from mcp.client.stdio import StdioServerParameters, stdio_client
    from mcp.client.streamable_http import streamable_http_client
    from mcp.types import Implementation

    async def note_status(response: httpx2.Response) -> None:
        failed = response.status_code >= 400
        observed.status = f"{response.status_code} {response.reason_phrase}".strip() if failed else ""

    async with contextlib.AsyncExitStack() as stack:
        transport: Transport
        if isinstance(server, StdioServer):
            env = inherited_env(os.environ, added_env)
            env |= {pair.name: pair.value for pair in server.env}
            program = StdioServerParameters(command=server.command, args=server.args, env=env, cwd=str(Path.home()))
            transport = stdio_client(program, errlog=observed.stderr)
        else:
            headers = {pair.name: pair.value for pair in server.headers}
            if isinstance(server, HttpServer):
                http = httpx2.AsyncClient(
                    headers=headers, timeout=CONNECT_WITHIN, event_hooks={"response": [note_status]}
                )
                transport = streamable_http_client(server.url, http_client=await stack.enter_async_context(http))
            else:
                transport = sse_client(server.url, headers=headers)
        info = Implementation(name="bough", version=__version__)
        yield await stack.enter_async_context(Client(transport, client_info=info))


def _reason(server: McpServer, error: BaseException, observed: _Observed) -> str:
    """Returns a sentence about the innermost cause, since task groups wrap errors in several layers."""
    import httpx2

    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    response: Any = getattr(error, "response", None)
    status = observed.status or (f"{response.status_code} {response.reason_phrase}" if response is not None else "")
    if status:
        return f"It answered with the HTTP status {status}."
    text = _without_secrets(server, str(error)).strip().rstrip(".") or type(error).__name__
    return f"It cannot be reached ({text})." if isinstance(error, (OSError, httpx2.TransportError)) else f"{text}."


def _os_reason(error: OSError) -> str:
    if error.errno is not None and error.errno > 0:
        return os.strerror(error.errno)
    return error.strerror or str(error) or type(error).__name__


def _last_line(server: McpServer, stderr: IO[str]) -> str:
    """Returns the last line that the server's program wrote to stderr, as the end of a sentence."""
    stderr.seek(0)
    lines = [line.strip() for line in stderr.read().splitlines() if line.strip()]
    return f" Its last output: {_without_secrets(server, lines[-1])}" if lines else ""


def _without_secrets(server: McpServer, text: str) -> str:
    """Masks everything that is secret about a server in text that is not ours."""
    if isinstance(server, StdioServer):
        secrets = [pair.value for pair in server.env]
    else:
        text = text.replace(server.url, masked_url(server.url))
        parts = urlsplit(server.url)
        secrets = [*(pair.value for pair in server.headers), parts.query, parts.username or "", parts.password or ""]
    for secret in sorted(filter(None, secrets), key=len, reverse=True):
        text = text.replace(secret, MASK)
    return text


def _transport(server: McpServer) -> str:
    return "stdio" if isinstance(server, StdioServer) else "http" if isinstance(server, HttpServer) else "sse"
