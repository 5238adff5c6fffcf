"""Extracts the searchable text of a message: everything that a person or an agent wrote or did."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import msgspec

# The most characters of one message that are indexed.
LARGEST_TEXT = 256 * 1024
# Values that are nested deeper are not indexed.
DEEPEST = 12

# Fields that are not indexed: ids, words of the protocol, text before an edit, binary data.
NOT_INDEXED = frozenset(
    {
        *("type", "kind", "status", "partial", "sessionUpdate", "mimeType", "data", "meta", "_meta", "permission"),
        *("toolCallId", "messageId", "sessionId", "taskId", "callId", "approvalId", "agent", "priority", "annotations"),
        *("oldText", "race", "undoCheckpointId"),
        # The text of a report quotes it.
        "lastMessage",
    }
)
# The most telling fields come first; the others follow in the order in which they are stored.
FIRST = ("title", "tool", "name", "question", "text", "path", "args")


def searchable(content: msgspec.Raw) -> tuple[str, str]:
    """Returns the type of a message, and its text."""
    body: Any = msgspec.json.decode(content)
    if not isinstance(body, dict):
        return "", ""
    body = cast("dict[str, Any]", body)
    kind = body.get("type")
    text = body.get("text")
    if kind in ("text", "thought") and isinstance(text, str):
        return kind, text[:LARGEST_TEXT]
    return kind if isinstance(kind, str) else "", _joined(_texts(body, 0))


def _joined(texts: Iterator[str]) -> str:
    """Joins the texts by lines, each once, up to the limit."""
    seen: dict[str, None] = {}
    room = LARGEST_TEXT
    for text in texts:
        if text not in seen:
            seen[text[:room]] = None
            room -= len(text) + 1
        if room <= 0:
            break
    return "\n".join(seen)


def _texts(value: Any, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        if value and not value.isspace():
            yield value
    elif depth > DEEPEST:
        return
    elif isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        names = [name for name in FIRST if name in fields] + [name for name in fields if name not in FIRST]
        for name in names:
            if name not in NOT_INDEXED:
                yield from _texts(fields[name], depth + 1)
    elif isinstance(value, list):
        for item in cast("list[Any]", value):
            yield from _texts(item, depth + 1)
    elif type(value) in (int, float):
        yield str(value)
