"""Turns a transcript into protocol updates: whole messages for a replay, and only what is new for watchers. Both use
the same state, so a replay and a live stream show the same. It sends nothing itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from bough.api.acp.view.shapes import Update, block, plan_entries, tool_fields
from bough.model.message import QUEUED_BASE, Message, files_of

SPOKEN = {"text": "agent_message_chunk", "thought": "agent_thought_chunk"}
# Bough's own messages in a transcript, with prefixes that distinguish them from the agent's text.
NOTES = {
    "notice": "",
    "error": "Error: ",
    "cancelled": "",
    "callback": "Report: ",
    "outcome": "Outcome: ",
    "btw": "Side question: ",
}
OMITTED = "omitted"
"""The type of a message whose content is too long for its event; it must be read from the database."""

# Values that clear a field that a tool call no longer has.
EMPTY: Update = {"content": [], "locations": [], "rawInput": {}, "rawOutput": None}


class ShownMessage(msgspec.Struct, rename="camel"):
    """The parts of a message that projection needs, with its content decoded."""

    id: str
    task_id: str | None
    position: int
    role: str
    content: dict[str, Any]
    updated_at: str

    @classmethod
    def of(cls, row: Message) -> ShownMessage:
        content = msgspec.json.decode(row.content)
        return cls(row.id, row.task_id, row.position, row.role, content, row.updated_at)


class Projection:
    """Tracks what one client has been shown of a session. `mine` tells whether the client started a task itself;
    clients show their own prompts without being told."""

    def __init__(self, mine: Callable[[str | None], bool]) -> None:
        self._mine = mine
        # For each message: when it was last shown, how many characters of its text were sent, the fields of its tool
        # call, and whole updates. Contents are stored as hashes, because transcripts are long.
        self._moments: dict[str, str] = {}
        self._texts: dict[str, tuple[str, int]] = {}
        self._tools: dict[str, dict[str, int]] = {}
        self._sent_whole: dict[str, int] = {}
        # Message ids of tool calls, by the agent's own ids.
        self._calls: dict[str, str] = {}

    def show(self, message: ShownMessage) -> list[Update]:
        """Returns what is new in a message; ignores an event older than the row that was already read."""
        if message.position >= QUEUED_BASE or message.updated_at < self._moments.get(message.id, ""):
            return []
        self._moments[message.id] = message.updated_at
        body, id = message.content, message.id
        kind = body.get("type")
        if message.role == "user" and kind == "text":
            return self._user(message)
        if message.role == "agent" and kind in SPOKEN:
            return self._text(id, SPOKEN[kind], str(body.get("text", "")))
        if kind == "tool":
            self._calls[str(body.get("toolCallId"))] = id
            return self._tool(id, tool_fields(body))
        if kind == "plan":
            return self._again(id, {"sessionUpdate": "plan", "entries": plan_entries(body.get("steps"))})
        if kind == "content":
            content = block(body.get("content"))
            return self._once(id, _chunk("agent_message_chunk", content, id)) if content is not None else []
        if kind in NOTES and (text := str(body.get("text") or "")):
            return self._once(id, _note(NOTES[kind] + text, id))
        return []

    def grow(self, message_id: str, offset: int, text: str) -> list[Update] | None:
        """Returns the new text of a message; None if text before it is missing or the message is unknown."""
        sent = self._texts.get(message_id)
        if sent is None or offset > sent[1]:
            return None
        return self._text(message_id, sent[0], text, offset)

    def call(self, agents_id: str) -> str | None:
        """Returns the client's id of a tool call."""
        return self._calls.get(agents_id)

    def _user(self, message: ShownMessage) -> list[Update]:
        if message.id in self._sent_whole:
            return []
        self._sent_whole[message.id] = 0
        if self._mine(message.task_id):
            return []
        names = "".join(f"\n[{file.described}]" for file in files_of(message.content))
        text = {"type": "text", "text": str(message.content.get("text", "")) + names}
        return [_chunk("user_message_chunk", text, message.id)]

    def _text(self, id: str, update: str, text: str, offset: int = 0) -> list[Update]:
        _, shown = self._texts.get(id, (update, 0))
        new = text[max(shown - offset, 0) :]
        self._texts[id] = (update, max(shown, offset + len(text)))
        return [_chunk(update, {"type": "text", "text": new}, id)] if new else []

    def _tool(self, id: str, fields: Update) -> list[Update]:
        sent = self._tools.get(id)
        hashes = self._tools[id] = {name: _hash(value) for name, value in fields.items()}
        if sent is None:
            return [{"sessionUpdate": "tool_call", "toolCallId": id, **fields}]
        lost = {name: EMPTY.get(name) for name in sent.keys() - hashes.keys()}
        changed = {name: value for name, value in fields.items() if sent.get(name) != hashes[name]}
        if not lost and not changed:
            return []
        return [{"sessionUpdate": "tool_call_update", "toolCallId": id, **lost, **changed}]

    def _once(self, id: str, update: Update) -> list[Update]:
        """Sends an update that never changes, once."""
        return [] if id in self._sent_whole else self._again(id, update)

    def _again(self, id: str, update: Update) -> list[Update]:
        """Sends a whole update again whenever it has changed, as for plans."""
        if self._sent_whole.get(id) == (digest := _hash(update)):
            return []
        self._sent_whole[id] = digest
        return [update]


def _hash(value: Any) -> int:
    return hash(msgspec.json.encode(value))


def _chunk(update: str, content: Update, id: str) -> Update:
    return {"sessionUpdate": update, "content": content, "messageId": id}


def _note(text: str, id: str) -> Update:
    return _chunk("agent_message_chunk", {"type": "text", "text": text}, id)
