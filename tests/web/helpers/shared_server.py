"""One server for many tests: lent to one test at a time, and cleared of everything that the test made."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import sys
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Self

from tests.support.client import Client
from tests.support.server import ServerProcess

# More sessions and agents than any test opens.
FLAGS = ("--max-sessions", "60", "--max-agents", "30")
# Seconds; a server that cannot be cleared within this time is replaced.
CLEAR_WITHIN = 30.0
ABSENT_AGENT = """\
title = "Absent agent"
command = ["bough-no-such-agent"]
install = "Install it with: pipx install absent-agent"
"""


class SharedServer:
    """Starts a server when a test first needs it, and replaces one that did not survive a test."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._numbers = itertools.count(1)
        self._server: ServerProcess | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self._end()

    @contextlib.asynccontextmanager
    async def lend(self) -> AsyncGenerator[tuple[ServerProcess, Path]]:
        """Lends the server, with an empty folder inside its workspace, to one test."""
        server = self._server or await self._start()
        root = server.root / f"test-{next(self._numbers)}"
        root.mkdir()
        try:
            yield server, root
        finally:
            try:
                async with asyncio.timeout(CLEAR_WITHIN), server.client() as client:
                    await clear(client)
            except Exception as error:  # The next test needs a clean server, whatever this one did to it.
                print(f"The shared server could not be cleared and is replaced: {error!r}", file=sys.stderr)
                await self._end()

    async def _start(self) -> ServerProcess:
        folder = self._folder / f"server-{next(self._numbers)}"
        agents = folder / "data/agents"
        agents.mkdir(parents=True)
        (agents / "absent.toml").write_text(ABSENT_AGENT, "utf-8")
        server = ServerProcess(folder / "data", folder / "work", FLAGS)
        await server.start()
        self._server = server
        return server

    async def _end(self) -> None:
        if self._server is not None:
            server, self._server = self._server, None
            await server.__aexit__()


async def clear(client: Client) -> None:
    """Removes all sessions, worktrees, repositories, boards, rules, choices and MCP servers."""
    sessions = (await client.get("/api/sessions?limit=500"))["sessions"]
    roots = {session["rootSessionId"] for session in sessions}
    await asyncio.gather(*(client.call("DELETE", f"/api/sessions/{root}?purge=true&cascade=true") for root in roots))
    for worktree in (await client.get("/api/worktrees?limit=500"))["worktrees"]:
        if worktree["removedAt"] is None:
            await client.call("DELETE", f"/api/worktrees/{worktree['id']}?force=true")
    for path, name in (
        ("/api/repos", "repos"),
        ("/api/policy/rules", "rules"),
        ("/api/policy/choices", "choices"),
        ("/api/mcp-servers", "mcpServers"),
    ):
        for record in (await client.get(f"{path}?limit=500"))[name]:
            await client.call("DELETE", f"{path}/{record['id']}")
    for board in (await client.get("/api/boards?limit=500"))["boards"]:
        if not board["isDefault"]:
            await client.call("DELETE", f"/api/boards/{board['id']}")
