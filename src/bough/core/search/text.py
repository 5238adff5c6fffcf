"""Owns what of a message can be searched and is shown of it: everything that somebody said, did or was answered, as one
text. Cutting that into words is `search_words`' part."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import msgspec

# What is taken of one message, in characters.
LARGEST_TEXT = 256 * 1024
# A call that is nested deeper than this says nothing that anybody looks for.
DEEPEST = 12

# Ids, words of the protocol, what was there before an edit, and files that are no text.
UNSAID = frozenset(
    {
        *("type", "kind", "status", "partial", "sessionUpdate", "mimeType", "data", "meta", "_meta", "permission"),
        *("toolCallId", "messageId", "sessionId", "taskId", "callId", "approvalId", "agent", "priority", "annotations"),
        *("oldText", "race"),
    }
)
# What tells most about a message comes first; the rest follows in the order in which it was stored.
FIRST = ("title", "tool", "name", "question", "text", "path", "args")


def searchable(content: msgspec.Raw) -> tuple[str, str]:
    """The type of a message, and its text."""
    body: Any = msgspec.json.decode(content)
    if not isinstance(body, dict):
        return "", ""
    body = cast("dict[str, Any]", body)
    kind = body.get("type")
    text = body.get("text")
    if kind in ("text", "thought") and isinstance(text, str):
        return kind, text[:LARGEST_TEXT]
    return kind if isinstance(kind, str) else "", _joined(_said(body, 0))


def _joined(texts: Iterator[str]) -> str:
    """Each text once, a line each, as far as there is room."""
    seen: dict[str, None] = {}
    room = LARGEST_TEXT
    for text in texts:
        if text not in seen:
            seen[text[:room]] = None
            room -= len(text) + 1
        if room <= 0:
            break
    return "\n".join(seen)


def _said(value: Any, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        if value and not value.isspace():
            yield value
    elif depth > DEEPEST:
        return
    elif isinstance(value, dict):
        known = cast("dict[str, Any]", value)
        names = [name for name in FIRST if name in known] + [name for name in known if name not in FIRST]
        for name in names:
            if name not in UNSAID:
                yield from _said(known[name], depth + 1)
    elif isinstance(value, list):
        for one in cast("list[Any]", value):
            yield from _said(one, depth + 1)
    elif type(value) in (int, float):
        yield str(value)
