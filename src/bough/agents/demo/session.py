"""Owns an open session: what the client gave it, and a turn for each of its prompts.
It leaves the order of turns to `serving`, what a turn does to the turn, and which sessions are open to the server.
"""

from bough.agents.acp_server.params import McpServer
from bough.agents.acp_server.rpc import Connection, Json, RequestId
from bough.agents.acp_server.turn_queue import Turns
from bough.agents.demo.capabilities import Features
from bough.agents.demo.store import SessionFile
from bough.agents.demo.turn import Turn
from bough.agents.demo.updates import Voice


class Session(Turns):
    """A session that this process holds open."""

    def __init__(self, connection: Connection, features: Features, file: SessionFile) -> None:
        super().__init__(connection)
        self.file = file
        self.servers: list[McpServer] = []
        self._features = features

    def prompt(self, request_id: RequestId, content: list[Json]) -> None:
        """Takes a prompt; it is answered when its turn, behind those before it, has ended."""
        voice = Voice(self.connection, self.file, self._features)
        self.add(request_id, Turn(voice, self._features, self.servers, content))
