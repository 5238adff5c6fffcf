"""Owns an open session: a turn for each of its prompts, and the end of whatever its commands have left running.
It leaves the order of turns to `serving`, what a turn does to the turn, and which sessions are open to the server.
"""

from __future__ import annotations

from bough.agents.acp_server.rpc import Connection, Json, RequestId
from bough.agents.acp_server.turn_queue import Turns
from bough.agents.terminal import command_processes
from bough.agents.terminal.store import SessionFile
from bough.agents.terminal.tool_updates import Voice
from bough.agents.terminal.turn import Turn


class Session(Turns):
    """A session that this process holds open."""

    def __init__(self, connection: Connection, file: SessionFile) -> None:
        super().__init__(connection)
        self.file = file
        self._used = False

    def prompt(self, request_id: RequestId, content: list[Json]) -> None:
        """Takes a prompt; it is answered when its turn, behind those before it, has ended."""
        self._used = True
        self.add(request_id, Turn(Voice(self.connection, self.file), content))

    async def close(self) -> None:
        """Cancels everything, and returns when all of it has been answered and nothing of it runs any more."""
        self.cancel()
        if self._used:
            await command_processes.end(f"{self.file.id}/")
        await super().close()

    def kill(self) -> None:
        """Kills at once what is left."""
        if self._used:
            command_processes.kill(f"{self.file.id}/")
