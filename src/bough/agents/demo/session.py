"""Holds a demo session open and makes a turn for each of its prompts."""

from bough.agents.acp_server.connection import ClientConnection
from bough.agents.acp_server.open_session import OpenSession
from bough.agents.demo.capabilities import Features
from bough.agents.demo.state import DemoFile, DemoState
from bough.agents.demo.turn import DemoTurn
from bough.agents.demo.updates import DemoUpdates
from bough.agents.json_rpc import Json


class DemoSession(OpenSession[DemoState]):
    """A session that this process holds open."""

    def __init__(self, connection: ClientConnection, features: Features, file: DemoFile) -> None:
        super().__init__(connection, file)
        self._features = features

    def new_turn(self, content: list[Json]) -> DemoTurn:
        """Returns the turn for a prompt."""
        updates = DemoUpdates(self.connection, self.file, self._features)
        return DemoTurn(updates, self._features, self.servers, content)
