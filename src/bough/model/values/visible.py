"""Shows characters that people cannot see, or that change how others look, as escapes: control characters, marks of
writing direction, and characters without width. Used wherever a person decides about a text that an agent wrote."""

from __future__ import annotations

import re
from typing import Any, cast

# Everything of the categories Cc (but line feed and tab), Cf, Zl and Zp, lone surrogates, and letters without a shape.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5"
    "\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff"
    "\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
ORIGINAL = "original"
"""The field of a shown tool call that holds it as the agent sent it, if the two differ."""
# Identifiers are compared, not read.
_EXACT = frozenset({"toolCallId", "callId", "optionId"})


def visible(text: str) -> str:
    """Returns a text in which every hidden character is an escape such as `\\u202e`."""
    return _HIDDEN.sub(_escape, text)


def visible_value(value: Any) -> Any:
    """Returns a JSON value with all its texts and names visible."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, list):
        return [visible_value(item) for item in cast("list[Any]", value)]
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        return {visible(name): item if name in _EXACT else visible_value(item) for name, item in fields.items()}
    return value


def visible_call(call: dict[str, Any]) -> dict[str, Any]:
    """Returns a tool call to show to a person; if that differs, the original is in a field of its own."""
    shown: dict[str, Any] = visible_value(call)
    return shown if shown == call else {**shown, ORIGINAL: call}


def original_call(call: dict[str, Any]) -> dict[str, Any]:
    """Returns a shown tool call as the agent sent it."""
    return cast("dict[str, Any]", call.get(ORIGINAL, call))


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
