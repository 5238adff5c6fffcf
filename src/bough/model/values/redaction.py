"""Replaces secret values by `***` in texts and JSON that people and programs read: whole texts, texts that arrive in
pieces, and JSON values.

Values shorter than six characters and ordinary words are not treated as secrets, because transcripts would become
unreadable without protecting anything.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, cast
from urllib.parse import quote

import msgspec

MASK = "***"
SHORTEST = 6
"""Shorter values are not masked."""
LONGEST = 4096
"""Longer values are looked for in pieces of this length."""
SHORTEST_NUMBER = 10
"""Numbers in JSON are masked from this many digits on: shorter ones are mostly sizes and counts."""
SHORTEST_END = 8
"""An incomplete value at the end of a text is masked from this length on, if it is a third of the value."""
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
        *(
            "in_progress",
            "medium",
            "omitted",
            "outcome",
            "pending",
            "policy",
            "resource",
            "resource_link",
            "running",
            "search",
        ),
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
        self._by_letter: dict[str, list[str]] = {}
        for form in self._values:
            self._by_letter.setdefault(form[0], []).append(form)
        self._numbers = frozenset(form for form in self._values if form.isdecimal() and len(form) >= SHORTEST_NUMBER)

    def __bool__(self) -> bool:
        return bool(self._values)

    def text(self, text: str) -> str:
        """Returns a text with every secret value masked: from left to right, and the longest of those that begin at the
        same place."""
        parts: list[str] = []
        done = 0
        for begin, end in self._matches(text):
            parts += (text[done:begin], MASK)
            done = end
        return "".join([*parts, text[done:]]) if parts else text

    def divide(self, text: str) -> tuple[str, str]:
        """Divides a text that may go on: returns its masked beginning, and an end that may become a secret value."""
        parts: list[str] = []
        done, place = 0, self._unfinished(text, 0)
        for begin, end in self._matches(text):
            if begin >= place:
                break
            parts += (text[done:begin], MASK)
            done = end
            if end > place:
                place = self._unfinished(text, end)
        return "".join([*parts, text[done:place]]), text[place:]

    def gives_away(self, text: str) -> bool:
        """Returns whether a text is a large part of a secret value, from its beginning."""
        return len(text) >= SHORTEST_END and any(
            3 * len(text) >= len(value) and value.startswith(text) for value in self._values
        )

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

    def finished(self, value: Any, depth: int = DEEPEST) -> Any:
        """Returns a JSON value that may still grow. The texts that do are masked, and lack an end that may become a
        secret value."""
        if depth and isinstance(value, list):
            return [self.finished(item, depth - 1) for item in cast("list[Any]", value)]
        if depth and isinstance(value, dict):
            fields = cast("dict[str, Any]", value)
            return {
                name: self.divide(item)[0]
                if name in _GROWING and isinstance(item, str)
                else self.finished(item, depth - 1)
                for name, item in fields.items()
            }
        return value

    def _matches(self, text: str) -> Iterator[tuple[int, int]]:
        """Yields where secret values begin and end."""
        # The next place of each value. Longer ones come first, and win at the same place.
        shorter = self._values[bisect_left(self._values, -len(text), key=_longer_first) :]
        places = {value: place for value in shorter if (place := text.find(value)) >= 0}
        while places:
            first = min(places, key=places.__getitem__)
            end = places[first] + len(first)
            yield places[first], end
            for value in [value for value, place in places.items() if place < end]:
                places[value] = text.find(value, end)
                if places[value] < 0:
                    del places[value]

    def _unfinished(self, text: str, start: int) -> int:
        """Returns the first place from which on the text is the beginning of a value, but not a whole one."""
        first = len(text)
        for letter, values in self._by_letter.items():
            # The longest value comes first: no beginning of another is longer.
            place = text.find(letter, max(start, len(text) - len(values[0]) + 1), first)
            while place >= 0:
                end = text[place:]
                if any(len(value) > len(end) and value.startswith(end) for value in values):
                    first = place
                    break
                place = text.find(letter, place + 1, first)
        return first

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
        shown, self.withheld = self._redactor.divide(self.withheld + text)
        return shown

    def close(self) -> str:
        """Returns what was kept back, because nothing more will come. A large part of a value is masked."""
        text, self.withheld = self.withheld, ""
        return MASK if self._redactor.gives_away(text) else self._redactor.text(text)


NOTHING_SECRET = Redactor()


@lru_cache(maxsize=256)
def redactor_for(values: frozenset[str]) -> Redactor:
    """Returns the redactor of some values; sessions with the same values share it."""
    return Redactor(values) if values else NOTHING_SECRET


def _forms(value: str) -> Iterable[str]:
    """Returns the forms in which a value may appear: as it is, on one line, inside JSON, inside an
    address, and by lines."""
    value = value.strip()
    if len(value) < SHORTEST or value in WORDS:
        return
    for form in (
        value,
        " ".join(value.split()),
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


def _longer_first(form: str) -> int:
    return -len(form)


def _pieces(form: str) -> Iterable[str]:
    for start in range(0, len(form), LONGEST):
        piece = form[start : start + LONGEST]
        if len(piece) >= SHORTEST:
            yield piece
