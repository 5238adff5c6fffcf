"""Formats ids, times, numbers and texts so that they fit in a line."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime

from bough.api.cli.framework.terminal_safety import clean
from bough.model.values.ids import LENGTH, SHORTEST

_SPACES = re.compile(r"\s+")
# A full id that is a word of its own; one inside a path or a link is not matched.
_ID = re.compile(r"(?<![\w/.=-])[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![\w/=-])")


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


def short_forms(ids: list[str]) -> dict[str, str]:
    """Returns the short form of each id in a list: its end, so that a record has the same form everywhere."""
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
