"""Folding: a stream of agent updates becomes transcript entries (R4). Pure state, no I/O; storing and publishing is
`recorder`."""

from __future__ import annotations

from typing import Any, Literal, cast

import msgspec

from bough.agents.acp.wire import Update
from bough.model.ids import new_id
from bough.model.message import Message, Role, raw

Kind = Literal["text", "thought", "tool", "plan", "other"]

SPOKEN: dict[str, Kind] = {"agent_message_chunk": "text", "agent_thought_chunk": "thought"}
# State of the conversation rather than part of it: kept with the session.
STATE = frozenset(
    {
        "usage_update",
        "session_info_update",
        "current_mode_update",
        "config_option_update",
        "available_commands_update",
    }
)
# Tuples: what agents send in their place need not have a hash.
OPEN_TOOL = ("pending", "in_progress")
ENDED_TOOL = ("completed", "failed")
# What of a command's output is kept, from its end.
LONGEST_OUTPUT = 1024 * 1024
CUT_OFF = "The turn ended before this call did; whether it took effect is not known."
DENIED = "This was denied, and not done."


class Entry:
    """One message in the making."""

    __slots__ = (
        "announce",
        "body",
        "closed",
        "id",
        "kind",
        "length",
        "message_id",
        "parts",
        "role",
        "seen",
        "stored",
    )

    def __init__(self, kind: Kind, role: Role, message_id: str | None = None, id: str | None = None) -> None:
        self.id = id or new_id()
        self.kind: Kind = kind
        self.role: Role = role
        self.message_id = message_id
        self.parts: list[str] = []
        self.body: dict[str, Any] = {}
        self.closed = False
        # Whether its row exists, and whether its next write is an event of its own.
        self.stored = False
        self.announce = True
        # How many parts, and how many characters, subscribers have been sent.
        self.seen = 0
        self.length = 0

    def text(self) -> str:
        return "".join(self.parts)

    def unseen(self) -> str:
        """What subscribers have not been sent yet; from now on they have."""
        text = "".join(self.parts[self.seen :])
        self.seen = len(self.parts)
        self.length += len(text)
        return text

    def content(self) -> msgspec.Raw:
        """What is stored. Text parts are joined for good here, so that a long message is not joined again and again."""
        if self.kind in ("text", "thought"):
            self.unseen()
            text = self.text()
            self.parts = [text]
            self.seen = 1
            body: dict[str, Any] = {"type": self.kind, "text": text, "partial": not self.closed}
            if not self.closed and self.message_id is not None:
                # Whoever takes this message up after a restart must know which chunks belong to it.
                body["messageId"] = self.message_id
            return raw(body)
        return raw(self.body)


class Fold:
    """The transcript of one turn as it grows."""

    def __init__(self) -> None:
        self.dirty: dict[Entry, None] = {}
        self.grown: dict[Entry, None] = {}
        self.state: dict[str, dict[str, Any]] = {}
        self.tool_count = 0
        # Characters that were added since somebody last set this to nothing.
        self.unwritten = 0
        self._open: Entry | None = None
        self._said: Entry | None = None
        self._plan: Entry | None = None
        self._tools: dict[str, Entry] = {}

    def restore(self, messages: list[Message]) -> list[Entry]:
        """Takes up a turn where its rows have left it; gives back what is still growing."""
        for message in messages:
            body: dict[str, Any] = msgspec.json.decode(message.content)
            kind = body.get("type")
            if kind in ("text", "thought") and message.role == "agent" and body.get("partial"):
                entry = self._open = Entry(kind, "agent", body.get("messageId"), message.id)
                entry.parts = [body["text"]]
                entry.unseen()
            elif kind == "tool":
                entry = self._tools[body["toolCallId"]] = Entry("tool", "system", None, message.id)
                entry.body = body
                self.tool_count += 1
            elif kind == "plan":
                entry = self._plan = Entry("plan", "system", None, message.id)
                entry.body = body
            else:
                continue
            entry.stored = True
            entry.announce = False
        return [self._open] if self._open is not None else []

    def add(self, updates: list[Update]) -> None:
        """Takes updates in the order in which the agent sent them."""
        for update in updates:
            text = update.text
            if text is not None:
                entry = self._open
                kind = SPOKEN.get(update.kind)
                if kind is None:
                    continue  # the agent repeats what the user said; that is stored already
                if (
                    entry is None
                    or entry.kind != kind
                    or (update.message_id is not None and entry.message_id != update.message_id)
                ):
                    entry = self._speak(kind, update.message_id)
                entry.parts.append(text)
                self.unwritten += len(text)
                self.grown[entry] = None
            else:
                self._other(update)

    def _speak(self, kind: Kind, message_id: str | None) -> Entry:
        self.close_text()
        entry = self._open = Entry(kind, "agent", message_id)
        if kind == "text":
            self._said = entry
        self.dirty[entry] = None
        return entry

    def last_text(self) -> str:
        """What the agent said last in this turn, as far as this fold has heard it."""
        return self._said.text() if self._said is not None else ""

    def close_text(self) -> None:
        """The message that was growing is whole."""
        entry = self._open
        if entry is not None:
            entry.closed = True
            self._touch(entry)
            self._open = None

    def _touch(self, entry: Entry) -> None:
        entry.announce = True
        self.dirty[entry] = None

    def _other(self, update: Update) -> None:
        body: dict[str, Any] = msgspec.json.decode(update.raw)
        kind = update.kind
        if kind in ("tool_call", "tool_call_update"):
            self.tool(body)
        elif kind == "plan":
            self._replace_plan(body)
        elif kind in STATE:
            self.state[kind] = body
        elif kind != "user_message_chunk":
            self._keep(kind, body)

    def tool(self, update: dict[str, Any]) -> Entry:
        """Makes or changes a tool call; a permission request may be the first to speak of one.

        An id that is used again after its call has ended is that of another call: nothing that was said of the first
        counts for it. Only an update may still have a word about a call that is over.
        """
        call_id = str(update.get("toolCallId", ""))
        entry = self._tools.get(call_id)
        if entry is None or (entry.body["result"].get("status") in ENDED_TOOL and not _is_last_word(update)):
            self.close_text()
            entry = self._tools[call_id] = Entry("tool", "system")
            self.tool_count += 1
            entry.body = {"type": "tool", "tool": "", "args": {}, "result": {}, "toolCallId": call_id}
        _merge_tool(entry.body, update)
        self._touch(entry)
        return entry

    def permit(self, entry: Entry, told: dict[str, Any] | None) -> None:
        """What policy made of a tool call, if anything; agents have no word in it."""
        if entry.body.pop("permission", None) != told:
            self._touch(entry)
        if told is not None:
            entry.body["permission"] = told

    def deny(self, call_id: str) -> None:
        """A call was denied. Some agents say nothing more about it, and those that do have the last word."""
        entry = self._tools.get(call_id)
        if entry is not None and entry.body["result"].get("status", "pending") in OPEN_TOOL:
            entry.body["result"] |= {"status": "failed", "note": DENIED}
            self._touch(entry)

    def _replace_plan(self, body: dict[str, Any]) -> None:
        if self._plan is None:
            self.close_text()
            self._plan = Entry("plan", "system")
        self._plan.body = {"type": "plan", "steps": body.get("entries", [])}
        self._touch(self._plan)

    def _keep(self, kind: str, body: dict[str, Any]) -> None:
        """What we do not know, or what is not text, is kept as it came."""
        self.close_text()
        spoken = kind in SPOKEN
        entry = Entry("other", "agent" if spoken else "system")
        if spoken:
            entry.body = {"type": "content", "content": body.get("content")}
        else:
            entry.body = {"type": "update", "kind": kind, "update": body}
        self._touch(entry)

    def close(self) -> None:
        """The turn is over: nothing in it stays open."""
        self.close_text()
        for entry in self._tools.values():
            result = entry.body["result"]
            if result.get("status") in OPEN_TOOL:
                result["status"] = "failed"
                result["note"] = CUT_OFF
                self._touch(entry)


def _is_last_word(update: dict[str, Any]) -> bool:
    """Whether this is about a call that is over, and not the beginning of another one."""
    kind = update.get("sessionUpdate")
    return kind == "tool_call_update" or (kind == "tool_call" and update.get("status") in ENDED_TOOL)


def _merge_tool(body: dict[str, Any], update: dict[str, Any]) -> None:
    meta = _object(update.get("_meta"))
    _merge_names(body, update, meta)
    if update.get("locations") is not None:
        body["locations"] = update["locations"]
    if update.get("rawInput") is not None:
        given = update["rawInput"]
        body["args"] = given if isinstance(given, dict) else {"input": given}
    result: dict[str, Any] = body["result"]
    if update.get("status") not in (None, "failed"):
        result.pop("note", None)
    if isinstance(update.get("status"), str):
        result["status"] = update["status"]
    if update.get("rawOutput") is not None:
        result["output"] = update["rawOutput"]
    if update.get("content") is not None:
        result["content"] = _with_diffs(update["content"], result.get("content"))
    _merge_terminal(result, meta)
    if meta:
        body["meta"] = {**body.get("meta", {}), **meta}


def _merge_names(body: dict[str, Any], update: dict[str, Any], meta: dict[str, Any]) -> None:
    name = update.get("name") or _adapter_name(meta)
    for field in ("title", "kind"):
        if isinstance(update.get(field), str):
            # What a call was called first, before the agent had better words for it, may say whose tool it is.
            if field == "title" and body.get(field, update[field]) != update[field]:
                body.setdefault("firstTitle", body[field])
            body[field] = update[field]
    if isinstance(name, str) and name:
        # The name of its own that the agent's program gives a tool is kept apart from words for people.
        body["tool"] = body["name"] = name
    elif not body["tool"]:
        body["tool"] = body.get("kind") or body.get("title") or "tool"


def _adapter_name(meta: dict[str, Any]) -> Any:
    """Returns the `toolName` that an adapter puts below a key of its own in `_meta`."""
    return next((name for value in meta.values() if (name := _object(value).get("toolName"))), None)


def _object(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _with_diffs(content: Any, before: Any) -> Any:
    """The content of a call, with the diffs that it had: some agents put a word of success in their place."""
    told = cast("list[Any]", content) if isinstance(content, list) else [content]
    if any(map(_is_diff, told)):
        return told
    return [*told, *filter(_is_diff, cast("list[Any]", before or []))]


def _is_diff(part: Any) -> bool:
    return isinstance(part, dict) and cast("dict[str, Any]", part).get("type") == "diff"


def _merge_terminal(result: dict[str, Any], meta: dict[str, Any]) -> None:
    """What a command printed and how it ended, from agents that tell it beside the content."""
    printed = meta.pop("terminal_output_delta", None)
    if isinstance(printed, dict) and isinstance(data := cast("dict[str, Any]", printed).get("data"), str):
        known = result.get("output")
        result["output"] = ((known if isinstance(known, str) else "") + data)[-LONGEST_OUTPUT:]
    ended = meta.pop("terminal_exit", None)
    if isinstance(ended, dict):
        ended = cast("dict[str, Any]", ended)
        result["exitCode"], result["signal"] = ended.get("exit_code"), ended.get("signal")
