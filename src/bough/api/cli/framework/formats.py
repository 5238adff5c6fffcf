"""Formats ids, times, numbers and texts so that they fit in a line and are safe to print on a terminal."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime

from bough.model.ids import LENGTH, SHORTEST, shortest_unique

# An agent's text must not control the terminal, so control characters other than newline and tab are removed. So are
# the ones that change the text's direction, which could make a command look like a different one.
_DIRECTION_MARKS = (*range(0x202A, 0x202F), *range(0x2066, 0x206A))
_CODES = tuple(code for code in (*range(0x20), 0x7F, *range(0x80, 0xA0), *_DIRECTION_MARKS) if chr(code) not in "\n\t")
_CONTROLS: dict[int, str | None] = dict.fromkeys(_CODES)
_ESCAPES = {code: f"\\u{code:04x}" for code in _CODES}
_SPACES = re.compile(r"\s+")
# A full id that is a word of its own; one inside a path or a link is not matched.
_ID = re.compile(r"(?<![\w/.=-])[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![\w/=-])")


def clean(text: str) -> str:
    """Returns text that is safe to print, even with lone surrogates."""
    return text.translate(_CONTROLS).encode("utf-8", "replace").decode("utf-8")


def escaped(document: str) -> str:
    """Returns a JSON document that is safe to print and has the same value."""
    return document.translate(_ESCAPES)


def brief(text: str, most: int = 80) -> str:
    """Returns a text as one line of at most `most` characters."""
    line = _SPACES.sub(" ", clean(text)).strip()
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"


def short(full_id: str, known: Iterable[str] = ()) -> str:
    """Returns the end of an id. The end is random, so 8 characters are unique among unknown ids as well."""
    others = [other for other in known if other != full_id]
    for length in range(SHORTEST, LENGTH):
        if not any(other.endswith(full_id[-length:]) for other in others):
            return full_id[-length:].lstrip("-")
    return full_id


def short_forms(ids: list[str], *, complete: bool = False) -> dict[str, str]:
    """Returns the short form of each id in a list. Ids created in the same minute begin alike, so beginnings are used
    only if the list is complete."""
    if complete:
        return shortest_unique(ids)
    return {full_id: short(full_id, ids) for full_id in ids}


def shorten(sentence: str) -> str:
    """Returns a sentence with each full id replaced by its short form."""
    forms = short_forms(sorted(set(_ID.findall(sentence))))
    return _ID.sub(lambda match: forms[match[0]], sentence)


def ago(moment: str | None) -> str:
    """Returns how long ago a moment was, in its largest unit."""
    if not moment:
        return ""
    seconds = (datetime.now(UTC) - datetime.fromisoformat(moment)).total_seconds()
    return "now" if seconds < 1 else f"{_span(seconds)} ago"


def ahead(moment: str | None) -> str:
    """Returns how far away a future moment is, in its largest unit."""
    if not moment:
        return ""
    seconds = (datetime.fromisoformat(moment) - datetime.now(UTC)).total_seconds()
    return "now" if seconds < 1 else f"in {_span(seconds)}"


def _span(seconds: float) -> str:
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{int(seconds // size)} {unit}"
    return f"{int(seconds)} s"


def clock(moment: str | None) -> str:
    """Returns the local time of day."""
    return datetime.fromisoformat(moment).astimezone().strftime("%H:%M:%S") if moment else ""


def moment(text: str | None) -> str:
    """Returns the local date and time."""
    return datetime.fromisoformat(text).astimezone().strftime("%Y-%m-%d %H:%M:%S") if text else ""


def amount(number: float) -> str:
    """Returns a large number in a few characters, such as 1.2M."""
    for unit, size in (("M", 1_000_000), ("k", 1_000)):
        if number >= size:
            return f"{number / size:.1f}{unit}"
    return f"{number:.0f}"
