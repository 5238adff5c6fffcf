"""Reads fields of the JSON lines in an agent's conversation files, as its catalog file describes them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, cast

import msgspec

from bough.agents.acp.wire import is_too_deep
from bough.agents.catalog.conversation_files import ConversationFiles, LineField, LineUsage

USAGE_FIELDS = ("inputTokens", "outputTokens", "cachedReadTokens", "cachedWriteTokens")
LARGEST_NUMBER = 10**12
"""More tokens than a conversation can have; a file may say anything."""

Line = dict[str, Any]
Tokens = dict[str, int]


def parse(lines: Iterable[bytes]) -> Iterator[Line]:
    """Decodes lines. Leaves out what is not a JSON object that can be read safely."""
    for line in lines:
        if not line.lstrip().startswith(b"{") or is_too_deep(line):
            continue
        try:
            value: Any = msgspec.json.decode(line.decode("utf-8", "replace"))
        except (msgspec.DecodeError, RecursionError):
            continue
        if isinstance(value, dict):
            yield cast("Line", value)


def value_at(line: Line, path: str) -> Any:
    """Returns the value at `path.to.field`, or None."""
    value: Any = line
    for name in path.split("."):
        if not isinstance(value, dict):
            return None
        value = cast("Line", value).get(name)
    return value


def matches(line: Line, where: dict[str, str]) -> bool:
    """Tells whether a line has these fields with these values; `*` stands for any value, an empty text for none."""
    for path, expected in where.items():
        value = value_at(line, path)
        is_there = value not in (None, False)
        if expected == "" and is_there:
            return False
        if expected == "*" and not is_there:
            return False
        if expected not in ("", "*") and value != expected:
            return False
    return True


def text_of(line: Line, field: LineField | None) -> str:
    """Returns the text of a field, or of its blocks; an empty one if the line does not count."""
    if field is None or not matches(line, field.where):
        return ""
    return _text(value_at(line, field.field))


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(text for item in cast("list[Any]", value) if (text := _text(item)))
    if isinstance(value, dict):
        text = cast("Line", value).get("text")
        return text if isinstance(text, str) else ""
    return ""


def prompt_of(line: Line, files: ConversationFiles) -> str:
    """Returns a person's prompt in a line; an empty text if it holds none."""
    text = text_of(line, files.prompt)
    return "" if any(re.match(pattern, text.lstrip()) for pattern in files.not_prompts) else text


class TokenCount:
    """Counts the tokens of a conversation by its turns, from the lines of its file."""

    def __init__(self, usage: LineUsage | None) -> None:
        self._usage = usage
        self._turns: list[dict[Any, Tokens]] = [{}]

    def begin_turn(self) -> None:
        self._turns.append({})

    def add(self, line: Line) -> None:
        usage = self._usage
        if usage is None or not matches(line, usage.where):
            return
        calls = self._turns[-1]
        key = str(value_at(line, usage.id)) if usage.id else len(calls)
        calls[key] = {
            name: min(sum(_number(value_at(line, path)) for path in paths), LARGEST_NUMBER)
            for name, paths in zip(
                USAGE_FIELDS, (usage.input, usage.output, usage.cached_read, usage.cached_write), strict=True
            )
        }

    def turns(self) -> list[Tokens]:
        """Returns the tokens of each turn; what was counted before the first turn is left out."""
        if self._usage is None:
            return [{} for _ in self._turns[1:]]
        if self._usage.counts == "session":
            return self._differences()
        return [_sum(calls.values()) for calls in self._turns[1:]]

    def _differences(self) -> list[Tokens]:
        turns: list[Tokens] = []
        before: Tokens = {}
        for calls in self._turns:
            now = list(calls.values())[-1] if calls else before
            turns.append({name: max(value - before.get(name, 0), 0) for name, value in now.items()})
            before = now
        return turns[1:]


def _number(value: Any) -> int:
    return value if type(value) is int and value > 0 else 0


def _sum(calls: Iterable[Tokens]) -> Tokens:
    total: Tokens = {}
    for call in calls:
        for name, value in call.items():
            total[name] = min(total.get(name, 0) + value, LARGEST_NUMBER)
    return total
