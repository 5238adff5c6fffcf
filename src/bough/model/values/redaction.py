"""Replaces secret values by `***` in texts and JSON that people and programs read: whole texts, texts that arrive in
pieces, and JSON values. Bough's own tokens and keys are masked by their form, whoever they belong to.

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

from bough.model.values import own_tokens

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
# Stands for every token of Bough among the values.
_TOKEN = ""
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
        """Divides a text that may continue: returns its masked beginning, and an end that may become a secret value."""
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

    def beginning(self, text: str) -> str:
        """Returns the masked beginning of a text that may have been cut in the middle of a secret value."""
        shown, rest = self.divide(text)
        return shown + (MASK if self.gives_away(rest) else rest)

    def restore(self, edited: str, original: str) -> str | None:
        """Returns an edited text with the values that `original` has in the places of the masks. A text without masks
        stays as it is. Returns None if it has another number of them, because nobody can tell what they stand for."""
        values: list[str] = []
        done = 0
        for begin, end in self._matches(original):
            # An original may hold asterisks of its own.
            values += [MASK] * original.count(MASK, done, begin) + [original[begin:end]]
            done = end
        if not done:
            return edited
        values += [MASK] * original.count(MASK, done)
        first, *rest = edited.split(MASK)
        if not rest:
            return edited
        if len(rest) != len(values):
            return None
        return first + "".join(value + text for value, text in zip(values, rest, strict=True))

    def gives_away(self, text: str) -> bool:
        """Returns whether a text is a large part of a secret value, from its beginning."""
        return len(text) >= SHORTEST_END and (
            own_tokens.gives_away(text, SHORTEST_END)
            or any(3 * len(text) >= len(value) and value.startswith(text) for value in self._values)
        )

    def value(self, value: Any) -> Any:
        """Returns a JSON value with the secret values in its texts and names masked."""
        return self._masked(value, DEEPEST)

    def json(self, content: msgspec.Raw) -> msgspec.Raw:
        """Returns encoded JSON with the secret values masked."""
        if not self._values and own_tokens.START.encode() not in bytes(content):
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
        # The next place of each value. Tokens come first, then longer values: the first wins at the same place.
        shorter = self._values[bisect_left(self._values, -len(text), key=_longer_first) :]
        places = {value: span for value in (_TOKEN, *shorter) if (span := _find(value, text, 0)) is not None}
        while places:
            first = min(places, key=lambda value: places[value][0])
            begin, end = places[first]
            yield begin, end
            for value in [value for value, span in places.items() if span[0] < end]:
                span = _find(value, text, end)
                if span is None:
                    del places[value]
                else:
                    places[value] = span

    def _unfinished(self, text: str, start: int) -> int:
        """Returns the first place from which on the text is the beginning of a value, but not a whole one."""
        first = own_tokens.unfinished(text, start)
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


def _find(value: str, text: str, start: int) -> tuple[int, int] | None:
    """Returns where a value, or a token, begins and ends."""
    if value == _TOKEN:
        return own_tokens.find(text, start)
    place = text.find(value, start)
    return None if place < 0 else (place, place + len(value))


def _pieces(form: str) -> Iterable[str]:
    for start in range(0, len(form), LONGEST):
        piece = form[start : start + LONGEST]
        if len(piece) >= SHORTEST:
            yield piece
