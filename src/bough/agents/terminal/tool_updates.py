"""Owns how a command is told to the client: as one tool call, and in a few words at its end; all of it is recorded.
It leaves running the command to `command`, and the order of things to the turn.
"""

from __future__ import annotations

import os
from typing import Any

from bough.agents.acp_server.record_files import now
from bough.agents.acp_server.rpc import Connection, Json
from bough.agents.terminal.command import Exit
from bough.agents.terminal.records import UpdateRecord
from bough.agents.terminal.store import SessionFile


def new_id(prefix: str) -> str:
    return f"{prefix}-{os.urandom(8).hex()}"


class Voice:
    """Speaks to the client in one session."""

    def __init__(self, connection: Connection, file: SessionFile) -> None:
        self.connection = connection
        self.file = file

    def send(self, update: Json) -> None:
        """Sends an update that leaves no trace in the record."""
        self.connection.notify("session/update", {"sessionId": self.file.id, "update": update})

    def update(self, update: Json) -> None:
        self.file.append(UpdateRecord(at=now(), update=update))
        self.send(update)

    def say(self, text: str) -> None:
        """Says one message."""
        content = {"type": "text", "text": text}
        self.update({"sessionUpdate": "agent_message_chunk", "messageId": new_id("msg"), "content": content})


class ToolCall:
    """A command as the client sees it, from its announcement to its end."""

    def __init__(self, voice: Voice, command: str, cwd: str) -> None:
        self._voice = voice
        self.id = new_id("call")
        self.open = True
        self.fields: Json = {
            "toolCallId": self.id,
            "title": command,
            "name": "run",
            "kind": "execute",
            "status": "pending",
            "rawInput": {"command": command, "cwd": cwd},
        }
        voice.update({"sessionUpdate": "tool_call", **self.fields})

    def start(self) -> None:
        self._update(status="in_progress")

    def grow(self, text: str) -> None:
        """Shows what there is so far."""
        update: Json = {"sessionUpdate": "tool_call_update", "toolCallId": self.id, "content": _content(text)}
        self._voice.send(update)

    def end(self, exit: Exit, output: str, *, cancelled: bool = False) -> None:
        """Tells how the command ended and what it printed."""
        self._update(
            status="completed" if exit.code == 0 and not cancelled else "failed",
            content=_content(output),
            rawOutput={"exitCode": exit.code, "signal": exit.signal, "output": output},
        )

    def fail(self, reason: str) -> None:
        """Tells why there was no command."""
        self._update(**_failure(reason))

    def _update(self, **fields: Any) -> None:
        self.open = fields["status"] == "in_progress"
        self._voice.update({"sessionUpdate": "tool_call_update", "toolCallId": self.id, **fields})


def ended_early(call_id: str) -> Json:
    """Returns the end of a call whose process was killed together with its command."""
    reason = "The terminal's process ended while this command ran."
    return {"sessionUpdate": "tool_call_update", "toolCallId": call_id, **_failure(reason)}


def summary(exit: Exit, output: str) -> str:
    """Returns the end of a command in a few words."""
    if exit.signal is not None:
        return f"killed by {exit.signal}"
    return f"exit {exit.code}" if exit.code or output else "done"


def _failure(reason: str) -> Json:
    output = {"exitCode": None, "signal": None, "output": "", "error": reason}
    return {"status": "failed", "content": _content(reason), "rawOutput": output}


def _content(text: str) -> list[Json]:
    return [{"type": "content", "content": {"type": "text", "text": text}}] if text else []
