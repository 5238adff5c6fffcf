"""Sends the messages and thoughts of one turn, gives each its id, and records each once it is whole."""

from bough.agents.acp_server.connection import ClientConnection
from bough.agents.acp_server.records import Tokens, UpdateRecord
from bough.agents.acp_server.session_store import now
from bough.agents.acp_server.updates import SessionUpdates, new_id
from bough.agents.demo.capabilities import Features
from bough.agents.demo.state import DemoFile, DemoState
from bough.agents.json_rpc import Json, encode_notification

# Chunks per write of a flood: large enough to be quick, small enough that a cancel takes effect soon.
BATCH = 500


class DemoUpdates(SessionUpdates[DemoState]):
    """The updates of one turn."""

    def __init__(self, connection: ClientConnection, file: DemoFile, features: Features) -> None:
        super().__init__(connection, file)
        self.spent = Tokens()
        self._has_ids = "message-ids" in features
        # The message in progress: its kind, its id and the pieces sent so far.
        self._kind = ""
        self._message_id = ""
        self._pieces: list[str] = []

    def update(self, update: Json) -> None:
        """Ends the message in progress, then records and sends an update."""
        self.end_message()
        super().update(update)

    def say(self, text: str) -> None:
        """Sends a piece of an agent message."""
        self._send_piece("agent_message_chunk", text)

    def think(self, text: str) -> None:
        """Sends a piece of a thought."""
        self._send_piece("agent_thought_chunk", text)

    async def flood(self, chunks: int) -> None:
        """Sends many chunks of one message, many per write."""
        self._send_piece("agent_message_chunk", "tick 1")
        params = {"sessionId": self.file.id, "update": self._chunk("@")}
        # Only the number differs from line to line.
        head, tail = encode_notification("session/update", params).split(b'"@"')
        for first in range(2, chunks + 1, BATCH):
            texts = [f"tick {index}" for index in range(first, min(first + BATCH, chunks + 1))]
            self._pieces += texts
            lines = [b'%b"\\n%b"%b\n' % (head, text.encode(), tail) for text in texts]
            self.connection.output.write(b"".join(lines))
            await self.connection.output.drain()

    def end_message(self) -> None:
        """Records the message in progress, if there is one."""
        if not self._pieces:
            return
        text = "\n".join(self._pieces)
        if self._kind == "agent_message_chunk":
            self.spent.output_tokens += len(text.split())
        else:
            self.spent.thought_tokens += len(text.split())
        self._pieces = []
        self.file.append(UpdateRecord(at=now(), update=self._chunk(text)))

    def _send_piece(self, kind: str, text: str) -> None:
        if kind != self._kind:
            self.end_message()
        if not self._pieces:
            self._kind, self._message_id = kind, new_id("msg")
        # Each piece is a line of its own, so that a repeated text is visible.
        line = "\n" + text if self._pieces else text
        self._pieces.append(text)
        self.send(self._chunk(line))

    def _chunk(self, text: str) -> Json:
        chunk: Json = {"sessionUpdate": self._kind, "content": {"type": "text", "text": text}}
        return {**chunk, "messageId": self._message_id} if self._has_ids else chunk
