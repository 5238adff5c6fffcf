"""Sends a session's updates and permission requests to the client, and records them in the session's file."""

from __future__ import annotations

import os
from typing import Any, Generic

from bough.agents.acp_server.connection import ClientConnection
from bough.agents.acp_server.permission_request import read_answer
from bough.agents.acp_server.records import UpdateRecord
from bough.agents.acp_server.session_store import SessionFile, State, now
from bough.agents.json_rpc import Json


def new_id(prefix: str) -> str:
    """Returns a fresh id for a message or tool call."""
    return f"{prefix}-{os.urandom(8).hex()}"


class SessionUpdates(Generic[State]):
    """The updates of one session. Agents add the ways in which they speak."""

    def __init__(self, connection: ClientConnection, file: SessionFile[State]) -> None:
        self.connection = connection
        self.file = file

    def send(self, update: Json) -> None:
        """Sends an update without recording it."""
        self.connection.notify("session/update", {"sessionId": self.file.id, "update": update})

    def update(self, update: Json) -> None:
        """Records and sends an update."""
        self.file.append(UpdateRecord(at=now(), update=update))
        self.send(update)

    async def request_permission(self, tool_call: Json, options: list[dict[str, str]]) -> str:
        """Returns the kind of the option that the client chose, or `cancelled`."""
        params: Json = {"sessionId": self.file.id, "toolCall": tool_call, "options": options}
        return read_answer(await self.connection.request("session/request_permission", params))


class ToolCall:
    """A tool call as the client sees it, from its announcement to its end."""

    def __init__(self, updates: SessionUpdates[Any], **fields: Any) -> None:
        self._updates = updates
        self.id = new_id("call")
        self.open = True
        self.fields: Json = {"toolCallId": self.id, "status": "pending", **fields}
        updates.update({"sessionUpdate": "tool_call", **self.fields})

    def start(self) -> None:
        """Reports that the work has begun."""
        self.update(status="in_progress")

    def update(self, **fields: Any) -> None:
        """Reports changed fields."""
        self.fields.update(fields)
        self.open = self.fields["status"] in ("pending", "in_progress")
        self._updates.update({"sessionUpdate": "tool_call_update", "toolCallId": self.id, **fields})

    def fail(self, reason: str) -> None:
        """Reports why the work was not done."""
        self.update(status="failed", content=[text_content(reason)], rawOutput={"error": reason})


def text_content(text: str) -> Json:
    """Returns a text as the content of a tool call."""
    return {"type": "content", "content": {"type": "text", "text": text}}
