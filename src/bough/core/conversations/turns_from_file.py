"""Reads the turns of a conversation from its file, for agents that do not replay it."""

from __future__ import annotations

from collections import deque
from typing import Any, cast

from bough.agents.catalog import CatalogEntry
from bough.agents.catalog.conversation_files import LineTool
from bough.core.conversations.history_files import read_lines
from bough.core.conversations.line_fields import Line, prompt_of, text_of, value_at
from bough.core.conversations.turns_from_replay import LONGEST_PROMPT, MOST_TURNS, NO_TEXT, FoldedTurn
from bough.model.message import Role, raw
from bough.model.values.redaction import Redactor

ENDED = ("success", "completed", "done", "ok")


def file_turns(
    entry: CatalogEntry, path: str | None, limit: int, redactor: Redactor
) -> tuple[list[FoldedTurn], int, bool]:
    """Returns the turns in a file without secret values, how many of the oldest are left out because of the limit, and
    whether one is cut off."""
    turns: deque[FoldedTurn] = deque()
    # The size of the last turn is kept beside it: adding up all its messages for each line takes too long.
    left_out, size, last, is_cut = 0, 0, 0, False
    for line in read_lines(path) if path is not None else ():
        prompt = prompt_of(line, entry.conversations)
        if prompt:
            turns.append(FoldedTurn(redactor.text(prompt.replace("\0", "")[:LONGEST_PROMPT]) or NO_TEXT, [], 0))
            last = turns[-1].size
            size += last
        elif turns:
            added = _messages(entry, line, redactor)
            bytes_added = sum(len(bytes(content)) for _, content in added)
            if last + bytes_added > limit:
                is_cut = True
                continue
            turns[-1].messages += added
            turns[-1].tool_count += sum(1 for role, _ in added if role == "system")
            last += bytes_added
            size += bytes_added
        while len(turns) > 1 and (size > limit or len(turns) > MOST_TURNS):
            size -= turns.popleft().size
            left_out += 1
    return list(turns), left_out, is_cut


def _messages(entry: CatalogEntry, line: Line, redactor: Redactor) -> list[tuple[Role, Any]]:
    files = entry.conversations
    messages: list[tuple[Role, Any]] = []
    for kind, field in (("thought", files.thought), ("text", files.text)):
        text = text_of(line, field)
        if text:
            messages.append(("agent", raw({"type": kind, "text": redactor.text(text), "partial": False})))
    if files.tools is not None and files.text is not None:
        listed = value_at(line, files.tools.list)
        calls = cast("list[Any]", listed) if isinstance(listed, list) else []
        known = [cast("Line", call) for call in calls if isinstance(call, dict)]
        messages.extend(("system", raw(redactor.value(_tool(files.tools, call)))) for call in known)
    return messages


def _tool(fields: LineTool, call: Line) -> dict[str, Any]:
    args, status = value_at(call, fields.args), value_at(call, fields.status)
    name = value_at(call, fields.name)
    return {
        "type": "tool",
        "tool": name if isinstance(name, str) else "tool",
        "args": args if isinstance(args, dict) else {},
        "result": {
            "status": "completed" if status in ENDED or status is None else "failed",
            "output": value_at(call, fields.result),
        },
        "toolCallId": str(value_at(call, fields.id)),
    }
