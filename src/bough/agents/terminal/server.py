"""Serves the protocol as the terminal agent."""

from __future__ import annotations

import asyncio

from bough.agents.acp_server.connection import ClientConnection
from bough.agents.acp_server.server import AgentServer
from bough.agents.json_rpc import Json
from bough.agents.terminal.modes import MODES
from bough.agents.terminal.session import TerminalSession
from bough.agents.terminal.state import TerminalFile, TerminalState, TerminalStore
from bough.agents.terminal.tool_updates import ended_early

AGENT_INFO = {"name": "bough-terminal", "title": "Bough terminal", "version": "1.0.0"}
CAPABILITIES: Json = {
    "loadSession": True,
    # Only the last text block is run. An embedded file before it is accepted and ignored.
    "promptCapabilities": {"image": False, "audio": False, "embeddedContext": True},
    # MCP servers on stdio, which every agent has to accept, are not started: a terminal calls no tools.
    "mcpCapabilities": {"http": False, "sse": False},
    "sessionCapabilities": {"list": {}, "resume": {}, "close": {}, "delete": {}, "fork": {}},
}


class TerminalAgent(AgentServer[TerminalState, TerminalSession]):
    """The terminal of one client. Each session has its own shell."""

    def __init__(self, connection: ClientConnection, store: TerminalStore) -> None:
        super().__init__(connection, store, AGENT_INFO, MODES)

    def capabilities(self) -> Json:
        return CAPABILITIES

    def new_session(self, file: TerminalFile) -> TerminalSession:
        return TerminalSession(self.connection, file)

    def history(self, file: TerminalFile) -> list[Json]:
        """Returns the updates of a session. If it is not open, commands without an end are reported as ended."""
        updates = super().history(file)
        if file.id in self.sessions:
            return updates
        unfinished: dict[str, None] = {}
        for update in updates:
            if update.get("status") in ("pending", "in_progress"):
                unfinished[update["toolCallId"]] = None
            elif "status" in update:
                unfinished.pop(update["toolCallId"], None)
        return updates + [ended_early(call_id) for call_id in unfinished]

    async def stop(self) -> None:
        """Cancels everything, and kills processes that have not ended in time."""
        sessions = list(self.sessions.values())
        await super().stop()
        await asyncio.to_thread(lambda: [session.kill() for session in sessions])
