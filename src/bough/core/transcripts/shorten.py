"""Shortens the output of tool calls when a transcript is nearly full. What is left out is counted in its place."""

from __future__ import annotations

from typing import Any, cast

LONGEST_TEXT = 2000
"""Characters of a text that are kept: its beginning and its end."""
MOST_ITEMS = 100
"""Items of a list that are kept."""
DEEPEST = 20
"""Values that are nested more deeply are left out."""
MEDIA = ("image", "audio")


def shortened(body: dict[str, Any]) -> dict[str, Any]:
    """Returns a tool call with short output."""
    result = body.get("result")
    if not isinstance(result, dict):
        return body
    result = dict(cast("dict[str, Any]", result))
    if "output" in result:
        result["output"] = _short(result["output"], DEEPEST)
    content = result.get("content")
    if isinstance(content, list):
        parts = cast("list[Any]", content)
        result["content"] = [_short(part, DEEPEST) for part in parts[:MOST_ITEMS]]
        if len(parts) > MOST_ITEMS:
            note = _note(len(parts) - MOST_ITEMS, "parts")
            result["content"].append({"type": "content", "content": {"type": "text", "text": note}})
    return {**body, "result": result}


def _short(value: Any, depth: int) -> Any:
    if isinstance(value, str):
        return _short_text(value)
    if isinstance(value, list):
        if depth == 0:
            return _note(len(cast("list[Any]", value)), "items")
        items = cast("list[Any]", value)
        rest = [_note(len(items) - MOST_ITEMS, "items")] if len(items) > MOST_ITEMS else []
        return [*(_short(item, depth - 1) for item in items[:MOST_ITEMS]), *rest]
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        data = fields.get("data")
        if fields.get("type") in MEDIA and isinstance(data, str) and len(data) > LONGEST_TEXT:
            # A part of an image shows nothing.
            return {"type": "text", "text": f"[an {fields['type']} left out, because the transcript is nearly full]"}
        if depth == 0:
            return _note(len(fields), "fields")
        return {name: _short(item, depth - 1) for name, item in fields.items()}
    return value


def _short_text(text: str) -> str:
    if len(text) <= LONGEST_TEXT:
        return text
    half = LONGEST_TEXT // 2
    return f"{text[:half]}\n{_note(len(text) - 2 * half, 'characters')}\n{text[-half:]}"


def _note(count: int, noun: str) -> str:
    return f"[{count} {noun} left out, because the transcript is nearly full]"
