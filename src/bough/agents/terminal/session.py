"""Holds a terminal session open, and ends the processes that its commands left running when it is closed."""

from __future__ import annotations

from bough.agents.acp_server.connection import ClientConnection
from bough.agents.acp_server.open_session import OpenSession
from bough.agents.json_rpc import Json
from bough.agents.terminal import command_processes
from bough.agents.terminal.state import TerminalFile, TerminalState
from bough.agents.terminal.tool_updates import TerminalUpdates
from bough.agents.terminal.turn import TerminalTurn


class TerminalSession(OpenSession[TerminalState]):
    """A session that this process holds open."""

    def __init__(self, connection: ClientConnection, file: TerminalFile) -> None:
        super().__init__(connection, file)
        self._used = False

    def new_turn(self, content: list[Json]) -> TerminalTurn:
        """Returns the turn for a prompt."""
        self._used = True
        return TerminalTurn(TerminalUpdates(self.connection, self.file), content)

    async def close(self) -> None:
        """Cancels everything, and returns when every prompt is answered and no process of a command is left."""
        self.cancel()
        if self._used:
            await command_processes.end(f"{self.file.id}/")
        await super().close()

    def kill(self) -> None:
        """Kills all remaining processes at once."""
        if self._used:
            command_processes.kill(f"{self.file.id}/")
