"""Runs the terminal agent as a process that tests talk to."""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path
from typing import Self

from tests.support.acp import acp_driver
from tests.support.acp.acp_driver import Json

# The last line contains the output of a flood twice.
READ_LIMIT = 16 << 20
# Waits for a file, and notices it almost at once.
WAIT_FOR_GO = "while [ ! -e go ]; do sleep 0.01; done"


class Terminal(acp_driver.Driver):
    """One process of the terminal agent and everything that it has sent so far."""

    @classmethod
    @contextlib.asynccontextmanager
    async def start(cls, home: Path, env: Mapping[str, str] | None = None) -> AsyncGenerator[Self]:
        """Starts the agent. At the end it closes the agent's input, which must end an agent that still runs."""
        start = cls.launch("bough.agents.terminal", "--home", str(home), env=env, read_limit=READ_LIMIT)
        async with start as terminal:
            yield terminal

    async def open(self, cwd: Path, mode: str = "allow-all") -> str:
        return await self.new(cwd, mode)

    async def run(self, session: str, command: str) -> Json:
        """Runs a command and returns its tool call after all updates."""
        before = len(self.updates)
        assert await self.prompt(session, command) == {"stopReason": "end_turn"}
        (tool,) = self.tools(session, before)
        return tool

    async def output(self, session: str, command: str) -> str:
        """Runs a command and returns its output."""
        return (await self.run(session, command))["rawOutput"]["output"]

    def shown(self, session: str) -> list[str]:
        """Returns the output of commands as each update showed it."""
        return [
            each["content"]["text"]
            for update in self.of(session, "tool_call_update")
            for each in update.get("content", [])
        ]


def living(pid: int) -> bool:
    """Tells whether a process runs; a zombie does not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


def written_pid(file: Path) -> int:
    """Returns the process id that a command has written to a file, or 0 while it has not."""
    return int(file.read_text() or 0) if os.path.exists(file) else 0
