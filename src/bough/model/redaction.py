"""Replaces secret values by `***` in texts and JSON that people and programs read: whole texts, texts that arrive in
pieces, and JSON values.

Values shorter than six characters and ordinary words are not treated as secrets, because transcripts would become
unreadable without protecting anything.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, cast
from urllib.parse import quote

import msgspec

MASK = "***"
SHORTEST = 6
"""Shorter values are not masked."""
LONGEST = 4096
"""Longer values are looked for in pieces of this length."""
SHORTEST_LINE = 20
"""Lines of a value are looked for by themselves from this length on: a key may be printed with other line ends."""
DEEPEST = 100
"""Values that are nested more deeply are masked unread."""
WORDS = frozenset(
    {
        *(
            "localhost",
            "127.0.0.1",
            "production",
            "development",
            "staging",
            "testing",
            "default",
            "enabled",
            "disabled",
        ),
        *("verbose", "warning", "notice", "always", "xterm-256color", "C.UTF-8", "en_US.UTF-8"),
        # Words in the fields of messages, tool calls and approvals that programs compare.
        *("allowed", "callback", "cancelled", "completed", "content", "delete", "denied", "execute", "failed"),
        *("in_progress", "omitted", "outcome", "pending", "policy", "resource", "resource_link", "running", "search"),
        *("stopped", "switch_mode", "system", "terminal", "thought", "update"),
    }
)
"""Values that are words of everyday use."""
# Identifiers are compared, not read.
_EXACT = frozenset({"toolCallId", "callId", "optionId", "messageId"})
# Names of fields that are part of the form of messages and tool calls, whatever a secret looks like.
_FIELDS = _EXACT | frozenset(
    {
        *("arguments", "command", "content", "decision", "denied", "exitCode", "firstTitle", "locations", "masked"),
        *("mimeType", "newText", "oldText", "original", "output", "partial", "permission", "rawInput", "reason"),
        *("result", "sessionUpdate", "signal", "status", "stderr", "terminalId", "update", "priority", "entries"),
    }
)
# Fields whose texts grow while a tool runs. Cutting others would change what they mean.
_GROWING = frozenset(
    {
        "aggregatedOutput",
        "aggregated_output",
        "data",
        "formatted_output",
        "newText",
        "output",
        "stderr",
        "stdout",
        "text",
    }
)


class Redactor:
    """Knows the secret values of one session."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        # Longer ones first: a value may be part of another.
        self._values = sorted({form for value in values for form in _forms(value)}, key=lambda form: (-len(form), form))
        self._numbers = frozenset(form for form in self._values if form.isdecimal())

    def __bool__(self) -> bool:
        return bool(self._values)

    def text(self, text: str) -> str:
        """Returns a text with every secret value masked."""
        for value in self._values:
            if value in text:
                text = text.replace(value, MASK)
        return text

    def value(self, value: Any) -> Any:
        """Returns a JSON value with the secret values in its texts and names masked."""
        return self._masked(value, DEEPEST) if self._values else value

    def json(self, content: msgspec.Raw) -> msgspec.Raw:
        """Returns encoded JSON with the secret values masked."""
        if not self._values:
            return content
        decoded: Any = msgspec.json.decode(content)
        masked = self.value(decoded)
        return content if masked == decoded else msgspec.Raw(msgspec.json.encode(masked))

    def stream(self, withheld: str = "") -> RedactedStream:
        """Returns a filter for a text that arrives in pieces; `withheld` is what an earlier one kept back."""
        return RedactedStream(self, withheld)

    def unfinished(self, text: str) -> int:
        """Returns where the end of a text begins that may become a secret value when the text goes on."""
        start = 0
        while True:
            place = self._beginning(text, start)
            end = max((self._end_of_match(text, value, place) for value in self._values), default=place)
            if end <= place:
                return place
            # A whole value reaches into what looked like the beginning of another.
            start = end

    def finished(self, value: Any, depth: int = DEEPEST) -> Any:
        """Returns a JSON value that may still grow, without the ends of its texts that may become secret values."""
        if depth and isinstance(value, list):
            return [self.finished(item, depth - 1) for item in cast("list[Any]", value)]
        if depth and isinstance(value, dict):
            fields = cast("dict[str, Any]", value)
            return {
                name: item[: self.unfinished(item)]
                if name in _GROWING and isinstance(item, str)
                else self.finished(item, depth - 1)
                for name, item in fields.items()
            }
        return value

    def _beginning(self, text: str, start: int) -> int:
        """Returns the first place from which on the text is the beginning of a value, but not a whole one."""
        first = len(text)
        for value in self._values:
            place = max(start, len(text) - len(value) + 1)
            while (place := text.find(value[0], place, first)) >= 0:
                if value.startswith(text[place:]):
                    first = place
                    break
                place += 1
        return first

    def _end_of_match(self, text: str, value: str, place: int) -> int:
        """Returns the end of a value that begins before a place and ends after it, or the place."""
        found = text.find(value, max(0, place - len(value) + 1), place + len(value) - 1)
        return found + len(value) if 0 <= found < place else place

    def _masked(self, value: Any, depth: int) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list | dict) and depth == 0:
            return MASK
        if isinstance(value, list):
            return [self._masked(item, depth - 1) for item in cast("list[Any]", value)]
        if isinstance(value, dict):
            fields = cast("dict[str, Any]", value)
            return {
                name if name in _FIELDS else self.text(name): item if name in _EXACT else self._masked(item, depth - 1)
                for name, item in fields.items()
            }
        if self._numbers and type(value) in (int, float) and str(value) in self._numbers:
            return MASK
        return value


class RedactedStream:
    """Masks a text that arrives in pieces. It keeps back an end that may be the beginning of a secret value."""

    __slots__ = ("_redactor", "withheld")

    def __init__(self, redactor: Redactor, withheld: str) -> None:
        self._redactor = redactor
        self.withheld = withheld

    def feed(self, text: str) -> str:
        """Takes the next piece, and returns what can be shown now."""
        text = self.withheld + text
        place = self._redactor.unfinished(text)
        self.withheld = text[place:]
        return self._redactor.text(text[:place])

    def close(self) -> str:
        """Returns what was kept back, because nothing more will come."""
        text, self.withheld = self.withheld, ""
        return self._redactor.text(text)


NOTHING_SECRET = Redactor()


@lru_cache(maxsize=256)
def redactor_for(values: frozenset[str]) -> Redactor:
    """Returns the redactor of some values; sessions with the same values share it."""
    return Redactor(values) if values else NOTHING_SECRET


def _forms(value: str) -> Iterable[str]:
    """Returns the forms in which a value may appear: as it is, inside JSON, inside an address, and by lines."""
    value = value.strip()
    if len(value) < SHORTEST or value in WORDS:
        return
    for form in (
        value,
        json.dumps(value)[1:-1],
        json.dumps(value, ensure_ascii=False)[1:-1],
        quote(value, safe="", errors="replace"),
    ):
        yield from _pieces(form)
    lines = [line.strip() for line in value.splitlines()]
    if len(lines) > 1:
        for line in lines:
            if len(line) >= SHORTEST_LINE and not line.startswith("-----"):
                yield from _pieces(line)


def _pieces(form: str) -> Iterable[str]:
    for start in range(0, len(form), LONGEST):
        piece = form[start : start + LONGEST]
        if len(piece) >= SHORTEST:
            yield piece
