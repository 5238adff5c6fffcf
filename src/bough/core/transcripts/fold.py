"""Folds a stream of agent updates into transcript messages (R4). Pure state without I/O; `recorder` stores and
publishes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import msgspec

from bough.agents.acp.wire import SessionUpdate
from bough.agents.catalog.tool_vocabulary import ToolVocabulary
from bough.core.transcripts.ended_calls import EndedCalls
from bough.core.transcripts.growing_message import ENDED_TOOL, OPEN_TOOL, GrowingMessage, Kind
from bough.core.transcripts.plan_tools import plan_steps
from bough.model.message import Message, Role
from bough.model.values.redaction import NOTHING_SECRET, Redactor

SPOKEN: dict[str, Kind] = {"agent_message_chunk": "text", "agent_thought_chunk": "thought"}
# These describe the conversation's state and are stored with the session, not in the transcript.
STATE = frozenset(
    {
        "usage_update",
        "session_info_update",
        "current_mode_update",
        "config_option_update",
        "available_commands_update",
    }
)
# Characters after which a text goes on in another message: a growing message is written as a whole again and again, and
# agents decide how long it is.
LONGEST_SPOKEN = 4 * 1024 * 1024
# Calls of a turn that updates can still concern. Agents decide how many they make, and the end of a turn ends the open
# ones in one transaction.
MOST_CALLS = 2000
CUT_OFF = "The turn ended before this call did; it may or may not have taken effect."
TOO_MANY = "The agent made too many calls to follow this one; it may or may not have taken effect."
DENIED = "Denied – not run."


class Fold:
    """The growing transcript of one turn."""

    def __init__(self, vocabulary: ToolVocabulary | None = None, redactor: Redactor = NOTHING_SECRET) -> None:
        """Takes the agent's words for its tools, which tell the calls that write its plan, and what masks the session's
        secret values."""
        self._vocabulary = vocabulary or ToolVocabulary()
        self._redactor = redactor
        self.dirty: dict[GrowingMessage, None] = {}
        self.grown: dict[GrowingMessage, None] = {}
        self.state: dict[str, dict[str, Any]] = {}
        self.tool_count = 0
        # Characters added since this was last reset.
        self.unwritten = 0
        self._open: GrowingMessage | None = None
        self._said: GrowingMessage | None = None
        self._plan: GrowingMessage | None = None
        self._tools: dict[str, GrowingMessage] = {}
        self.calls = EndedCalls()

    def _entry(self, kind: Kind, role: Role, message_id: str | None = None) -> GrowingMessage:
        return GrowingMessage(kind, role, message_id, redactor=self._redactor)

    def learn(self, redactor: Redactor) -> None:
        """Takes a redactor of more values, for what follows."""
        self._redactor = redactor
        for entry in {self._open, self._plan, *self._tools.values(), *self.dirty, *self.grown}:
            if entry is not None:
                entry.learn(redactor)

    @property
    def withheld(self) -> dict[str, str]:
        """The ends of messages that are not stored, because they may become secret values, by the messages' ids."""
        entries = (self._open, *self._tools.values())
        return {entry.id: entry.unshown for entry in entries if entry is not None and entry.unshown}

    def restore(self, messages: list[Message], withheld: Mapping[str, str] | None = None) -> list[GrowingMessage]:
        """Restores a turn's state from its rows, and the ends of messages that were withheld. Returns the messages that
        are still growing."""
        withheld = withheld or {}
        for message in messages:
            body: dict[str, Any] = msgspec.json.decode(message.content)
            kind = body.get("type")
            if kind in ("text", "thought") and message.role == "agent" and body.get("partial"):
                rest = withheld.get(message.id, "")
                entry = self._open = GrowingMessage(
                    kind, "agent", body.get("messageId"), message.id, self._redactor, rest
                )
                entry.parts = [body["text"]]
                entry.spoken = len(body["text"])
                entry.unseen()
            elif kind == "tool":
                rest = withheld.get(message.id, "")
                entry = GrowingMessage("tool", "system", None, message.id, self._redactor, rest)
                self._tools[body["toolCallId"]] = entry
                entry.body = body
                entry.printed = isinstance(body["result"].get("output"), str)
                self.tool_count += 1
                self.calls.observe(entry)
            elif kind == "plan":
                entry = self._plan = GrowingMessage("plan", "system", None, message.id, self._redactor)
                entry.body = body
            else:
                continue
            entry.stored = True
            entry.announce = False
            entry.size = len(bytes(message.content))
        return [self._open] if self._open is not None else []

    def add(self, updates: list[SessionUpdate]) -> None:
        """Folds updates in the order in which the agent sent them."""
        for update in updates:
            text = update.text
            if text is not None:
                entry = self._open
                kind = SPOKEN.get(update.kind)
                if kind is None:
                    continue  # the agent echoes the user's text, which is already stored
                # A chunk without an id does not belong to a message that has one: it is, for example, an error that
                # follows a partial answer.
                is_other = entry is None or entry.kind != kind or entry.message_id != update.message_id
                if entry is None or is_other or entry.spoken >= LONGEST_SPOKEN:
                    entry = self._speak(kind, update.message_id)
                entry.append(text)
                self.unwritten += len(text)
                self.grown[entry] = None
            else:
                self._other(update)

    def _speak(self, kind: Kind, message_id: str | None) -> GrowingMessage:
        self.close_text()
        entry = self._open = self._entry(kind, "agent", message_id)
        if kind == "text":
            self._said = entry
        self.dirty[entry] = None
        return entry

    def last_text(self) -> str:
        """Returns the agent's last text of this turn, as far as this fold has received it."""
        return self._said.text() if self._said is not None else ""

    def close_text(self) -> None:
        """Marks the growing message as complete."""
        entry = self._open
        if entry is not None:
            entry.close()
            self._touch(entry)
            self._open = None

    def _touch(self, entry: GrowingMessage) -> None:
        entry.announce = True
        self.dirty[entry] = None

    def _other(self, update: SessionUpdate) -> None:
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

    def tool(self, update: dict[str, Any]) -> GrowingMessage:
        """Creates or updates a tool call; a permission request may be the first to mention one.

        An id that is reused after its call has ended belongs to a new call, which inherits nothing from the first.
        Only an update may still add to a call that has ended."""
        call_id = str(update.get("toolCallId", ""))
        entry = self._tools.get(call_id)
        if entry is None or (entry.body["result"].get("status") in ENDED_TOOL and not _is_last_word(update)):
            self.close_text()
            self._tools.pop(call_id, None)
            entry = self._tools[call_id] = self._entry("tool", "system")
            self.tool_count += 1
            if len(self._tools) > MOST_CALLS:
                self._end(self._tools.pop(next(iter(self._tools))), TOO_MANY)
            entry.body = {"type": "tool", "tool": "", "args": {}, "result": {}, "toolCallId": call_id}
        _merge_tool(entry, update)
        self.calls.observe(entry)
        self._touch(entry)
        if update.get("rawInput") is not None:
            steps = plan_steps(self._vocabulary, entry.body)
            if steps is not None and (self._plan is None or self._plan.body["steps"] != steps):
                self._replace_plan({"entries": steps})
        return entry

    def permit(self, entry: GrowingMessage, outcome: dict[str, Any] | None) -> None:
        """Records the decision about a tool call. Agents cannot set it."""
        if entry.body.pop("permission", None) != outcome:
            self._touch(entry)
        if outcome is not None:
            entry.body["permission"] = outcome

    def decide(self, call_id: str, outcome: dict[str, Any]) -> None:
        """Records the answer to the question about a tool call, unless policy has decided about it."""
        entry = self._tools.get(call_id)
        if entry is not None and "permission" not in entry.body:
            self.permit(entry, outcome)

    def deny(self, call_id: str) -> None:
        """Marks a call as denied. Some agents send nothing more about it; those that do have the last word."""
        entry = self._tools.get(call_id)
        if entry is not None and entry.body["result"].get("status", "pending") in OPEN_TOOL:
            entry.body["result"] |= {"status": "failed", "note": DENIED, "denied": True}
            entry.end_output()
            self._touch(entry)

    def _replace_plan(self, body: dict[str, Any]) -> None:
        if self._plan is None:
            self.close_text()
            self._plan = self._entry("plan", "system")
        self._plan.body = {"type": "plan", "steps": body.get("entries", [])}
        self._touch(self._plan)

    def _keep(self, kind: str, body: dict[str, Any]) -> None:
        """Stores an unknown or non-text update as it came."""
        self.close_text()
        spoken = kind in SPOKEN
        entry = self._entry("other", "agent" if spoken else "system")
        if spoken:
            entry.body = {"type": "content", "content": body.get("content")}
        else:
            entry.body = {"type": "update", "kind": kind, "update": body}
        self._touch(entry)

    def notice(self, text: str) -> None:
        """Adds a notice of Bough's own."""
        self.close_text()
        entry = self._entry("other", "system")
        entry.body = {"type": "notice", "text": text}
        self._touch(entry)

    def close(self) -> None:
        """Closes everything that is still open, because the turn is over."""
        self.close_text()
        for entry in self._tools.values():
            self._end(entry, CUT_OFF)

    def _end(self, entry: GrowingMessage, note: str) -> None:
        """Ends a call about which nothing more can come."""
        result = entry.body["result"]
        status = result.get("status")
        if status in OPEN_TOOL:
            result["status"] = "failed"
            result["note"] = note
        # A call without a usual status may have texts whose ends were withheld. Once they are shown, closing it again
        # changes nothing: a turn may have very many calls.
        is_shown = entry.closed and not entry.unshown
        if status in OPEN_TOOL or (status not in ENDED_TOOL and not is_shown):
            self._touch(entry)
        entry.close()


def _is_last_word(update: dict[str, Any]) -> bool:
    """Tells whether the update concerns an ended call rather than the start of a new one."""
    kind = update.get("sessionUpdate")
    return kind == "tool_call_update" or (kind == "tool_call" and update.get("status") in ENDED_TOOL)


def _merge_tool(entry: GrowingMessage, update: dict[str, Any]) -> None:
    body = entry.body
    meta = _object(update.get("_meta"))
    _merge_names(body, update, meta)
    if update.get("locations") is not None:
        body["locations"] = update["locations"]
    if update.get("rawInput") is not None:
        raw_input = update["rawInput"]
        body["args"] = raw_input if isinstance(raw_input, dict) else {"input": raw_input}
    result: dict[str, Any] = body["result"]
    if update.get("status") not in (None, "failed"):
        result.pop("note", None)
        result.pop("denied", None)
    if isinstance(update.get("status"), str):
        result["status"] = update["status"]
    if update.get("rawOutput") is not None:
        entry.set_output(update["rawOutput"])
    if update.get("content") is not None:
        result["content"] = _with_diffs(update["content"], result.get("content"))
    _merge_terminal(entry, meta)
    if result.get("status") in ENDED_TOOL:
        entry.end_output()
    if meta:
        body["meta"] = {**body.get("meta", {}), **meta}


def _merge_names(body: dict[str, Any], update: dict[str, Any], meta: dict[str, Any]) -> None:
    name = update.get("name") or _adapter_name(meta)
    for field in ("title", "kind"):
        if isinstance(update.get(field), str):
            # A call's first title may tell whose tool it is, before the agent finds better words.
            if field == "title" and body.get(field, update[field]) != update[field]:
                body.setdefault("firstTitle", body[field])
            body[field] = update[field]
    if isinstance(name, str) and name:
        # The agent's own name for a tool is kept apart from its title for people.
        body["tool"] = body["name"] = name
    elif not body["tool"]:
        body["tool"] = body.get("kind") or body.get("title") or "tool"


def _adapter_name(meta: dict[str, Any]) -> Any:
    """Returns the `toolName` that an adapter puts below a key of its own in `_meta`."""
    return next((name for value in meta.values() if (name := _object(value).get("toolName"))), None)


def _object(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _with_diffs(content: Any, before: Any) -> Any:
    """Returns the content of a call with its earlier diffs: some agents replace them by a success message."""
    had_diffs = cast("list[Any]", content) if isinstance(content, list) else [content]
    if any(map(_is_diff, had_diffs)):
        return had_diffs
    return [*had_diffs, *filter(_is_diff, cast("list[Any]", before or []))]


def _is_diff(part: Any) -> bool:
    return isinstance(part, dict) and cast("dict[str, Any]", part).get("type") == "diff"


def _merge_terminal(entry: GrowingMessage, meta: dict[str, Any]) -> None:
    """Merges a command's output and exit status from agents that send them outside the content."""
    printed = meta.pop("terminal_output_delta", None)
    if isinstance(printed, dict) and isinstance(data := cast("dict[str, Any]", printed).get("data"), str):
        entry.add_output(data)
    ended = meta.pop("terminal_exit", None)
    if isinstance(ended, dict):
        ended = cast("dict[str, Any]", ended)
        entry.body["result"] |= {"exitCode": ended.get("exit_code"), "signal": ended.get("signal")}
