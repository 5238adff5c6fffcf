"""Owns what one turn says: sends updates, gives each message its id, and records each message once whole.
It leaves what to say to the turn.
"""

import os

from bough.agents.acp_server.record_files import now
from bough.agents.acp_server.rpc import Connection, Json, encode
from bough.agents.demo.capabilities import Features
from bough.agents.demo.records import Tokens, UpdateRecord
from bough.agents.demo.store import SessionFile

# Chunks per write of a flood: large enough to be quick, small enough that a cancel is heard soon.
BATCH = 500


def new_id(prefix: str) -> str:
    return f"{prefix}-{os.urandom(8).hex()}"


class Voice:
    """Speaks to the client in one session."""

    def __init__(self, connection: Connection, file: SessionFile, features: Features) -> None:
        self.connection = connection
        self.file = file
        self.spent = Tokens()
        self._ids = "message-ids" in features
        self._kind = ""
        self._message_id = ""
        self._pieces: list[str] = []

    def send(self, update: Json) -> None:
        """Sends an update that leaves no trace in the record."""
        self.connection.notify("session/update", {"sessionId": self.file.id, "update": update})

    def update(self, update: Json) -> None:
        """Records and sends an update; a message that was being said ends here."""
        self.end_message()
        self.file.append(UpdateRecord(at=now(), update=update))
        self.send(update)

    def say(self, text: str) -> None:
        self._piece("agent_message_chunk", text)

    def think(self, text: str) -> None:
        self._piece("agent_thought_chunk", text)

    async def flood(self, chunks: int) -> None:
        """Says many chunks, many to a write."""
        self._piece("agent_message_chunk", "tick 1")
        params = {"sessionId": self.file.id, "update": self._chunk("@")}
        # Only the number differs from line to line.
        head, tail = encode({"jsonrpc": "2.0", "method": "session/update", "params": params}).split(b'"@"')
        for first in range(2, chunks + 1, BATCH):
            texts = [f"tick {index}" for index in range(first, min(first + BATCH, chunks + 1))]
            self._pieces += texts
            lines = [b'%b"\\n%b"%b\n' % (head, text.encode(), tail) for text in texts]
            self.connection.output.write(b"".join(lines))
            await self.connection.output.drain()

    def end_message(self) -> None:
        """Records the message in progress, if any, and forgets its id."""
        if not self._pieces:
            return
        text = "\n".join(self._pieces)
        if self._kind == "agent_message_chunk":
            self.spent.output_tokens += len(text.split())
        else:
            self.spent.thought_tokens += len(text.split())
        self._pieces = []
        self.file.append(UpdateRecord(at=now(), update=self._chunk(text)))

    def _piece(self, kind: str, text: str) -> None:
        if kind != self._kind:
            self.end_message()
        if not self._pieces:
            self._kind, self._message_id = kind, new_id("msg")
        # Pieces of one message are lines of it, so that what is said twice can be read.
        shown = "\n" + text if self._pieces else text
        self._pieces.append(text)
        self.send(self._chunk(shown))

    def _chunk(self, text: str) -> Json:
        chunk: Json = {"sessionUpdate": self._kind, "content": {"type": "text", "text": text}}
        return {**chunk, "messageId": self._message_id} if self._ids else chunk
