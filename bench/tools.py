"""Measures calls of Bough's reading tools over HTTP against a tool on the same stack that returns the same answer as a
constant: one caller, one call after the other."""

from __future__ import annotations

import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec

from bench.clients.http import Http
from bench.floors import constant_tools as trivial
from bench.support import database, measure
from bench.support.database import Size
from bench.support.measure import Sample
from bench.support.report import Result, Row, noise
from tests.support.client import Client
from tests.support.mcp import tool_caller
from tests.support.repos import make_repo
from tests.support.server import ServerProcess

SIZE = Size(1_000, 1_000, 20)
CHILDREN = 20
ROUNDS = 60
CALLS = 10
LEAST = 0.6
TODAY, BEFORE = "2026-07-28", "2025-11-25"
META = "io.modelcontextprotocol"


async def run() -> Result:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        await database.copied(SIZE, folder / "data")
        server = ServerProcess(folder / "data", folder / "work", env={"BOUGH_MAX_AGENTS": "1"})
        async with server, server.client() as client:
            calls, token = await _tree(client, server, folder)
            try:
                rows = [
                    *await _measured(server.url, server.token, calls, TODAY, "a person's token"),
                    *await _measured(server.url, token, calls, TODAY, "an agent's token"),
                    *await _measured(server.url, token, calls, BEFORE, "an agent's token"),
                ]
            finally:
                await client.call("POST", f"/api/sessions/{calls['agor_sessions_get']['sessionId']}/stop")
    return Result(title="tools", about=_ABOUT, rows=rows)


_ABOUT = f"""\
- **Setup:** calls per second of reading tools, one caller over one connection, among {SIZE}. The caller's tree has
  {CHILDREN} branches. The clients use {TODAY} (like Claude Code) and {BEFORE} (like OpenCode and Codex).
- **Floor:** a server of the same protocol package behind the same authentication and HTTP server, in another
  process, whose tool returns the same answer as a constant. It checks no token and reads nothing.
- Nothing is written meanwhile, so answers are reused. Built again each time, the ratios were 0.59 to 0.74."""


async def _tree(client: Client, server: ServerProcess, folder: Path) -> tuple[dict[str, dict[str, Any]], str]:
    """Returns the calls, and the token of an agent that works in a tree of its own."""
    repo = await client.repo(make_repo(folder / "work" / "repo"))
    session = await client.session(repo["id"], agent="demo", title="Orchestra")
    done = await client.ask(session["id"], "[[say A few words at the end of a task.]]")
    for number in range(CHILDREN):
        await client.call("POST", f"/api/sessions/{session['id']}/fork", json={"title": f"Part {number}"})
    hanging = await client.prompt(session["id"], "[[hang]]")
    await client.wait_task(hanging, "running")
    calls: dict[str, dict[str, Any]] = {
        "agor_sessions_get": {"sessionId": session["id"]},
        "agor_sessions_list": {"limit": 20},
        "agor_tasks_get": {"taskId": done["id"]},
    }
    return calls, tool_caller.replace_token(server.data, session["id"])


async def _measured(url: str, token: str, calls: dict[str, dict[str, Any]], revision: str, caller: str) -> list[Row]:
    with Http(url, token) as ours:
        results = {tool: _called(ours, tool, arguments, revision) for tool, arguments in calls.items()}
    rows: list[Row] = []
    async with trivial.running(results) as floor_url:
        for tool, arguments in calls.items():
            # New connections each time, because a server closes those that are idle for a few seconds.
            with Http(floor_url, trivial.TOKEN) as floor, Http(url, token) as ours:
                samples = await measure.alternate(
                    ROUNDS, _rate(floor, tool, arguments, revision), _rate(ours, tool, arguments, revision)
                )
            size = len(msgspec.json.encode(results[tool])) / 1000
            rows.append(_row(f"{tool} ({size:.1f} kB), {caller}, {revision}", samples))
    return rows


def _rate(http: Http, tool: str, arguments: dict[str, Any], revision: str) -> Callable[[], Awaitable[float]]:
    return measure.per_call(CALLS, lambda: _called(http, tool, arguments, revision))


def _called(http: Http, tool: str, arguments: dict[str, Any], revision: str) -> dict[str, Any]:
    """Calls a tool and returns its result."""
    params: dict[str, Any] = {"name": tool, "arguments": arguments}
    headers = f"Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: {revision}\r\n"
    if revision == TODAY:
        headers += f"Mcp-Method: tools/call\r\nMcp-Name: {tool}\r\n"
        params["_meta"] = {f"{META}/protocolVersion": revision, f"{META}/clientCapabilities": {}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    answer = http.post("/mcp/", body, headers)
    if answer.status != 200 or b'"isError":true' in answer.body:
        raise RuntimeError(f"{tool} was answered with {answer.status}: {answer.body[:500]!r}")
    return answer.json()["result"]["structuredContent"]


def _row(name: str, samples: list[Sample]) -> Row:
    floor, ours = samples
    ratio = floor.median / ours.median
    return Row(
        name=name,
        floor=f"{1 / floor.median:.0f}/s{noise(floor)}",
        ours=f"{1 / ours.median:.0f}/s{noise(ours)}",
        ratio=f"{ratio:.2f}",
        target=f"≥ {LEAST}",
        number=ratio,
        ok=ratio >= LEAST,
    )
