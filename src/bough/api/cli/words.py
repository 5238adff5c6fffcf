"""Small forms for people: ids, times, sizes and texts as they fit into a line. Where they go is `out`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime

from bough.model.ids import LENGTH, SHORTEST, shortest_unique

# What an agent writes must not steer the terminal: no control character passes but line break and tab.
_CONTROLS = {code: None for code in (*range(0x20), 0x7F, *range(0x80, 0xA0)) if chr(code) not in "\n\t"}
_SPACES = re.compile(r"\s+")


def clean(text: str) -> str:
    """Text that is safe to show, lone surrogates included."""
    return text.translate(_CONTROLS).encode("utf-8", "replace").decode("utf-8")


def brief(text: str, most: int = 80) -> str:
    """A text as one line of at most so many characters."""
    line = _SPACES.sub(" ", clean(text)).strip()
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"


def short(one: str, known: Iterable[str] = ()) -> str:
    """An id by its end, which is random: 8 characters tell it from others that we do not know of, too."""
    others = [other for other in known if other != one]
    for length in range(SHORTEST, LENGTH):
        if not any(other.endswith(one[-length:]) for other in others):
            return one[-length:].lstrip("-")
    return one


def short_forms(ids: list[str], *, complete: bool = False) -> dict[str, str]:
    """The short form of each id in a list (R5). Beginnings are shared by all that is born in the same minute, so they
    are used only if the list holds everything there is."""
    if complete:
        return shortest_unique(ids)
    return {one: short(one, ids) for one in ids}


def ago(moment: str | None) -> str:
    """How long ago something was, in its largest unit."""
    if not moment:
        return ""
    seconds = max(0.0, (datetime.now(UTC) - datetime.fromisoformat(moment)).total_seconds())
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{int(seconds // size)} {unit} ago"
    return "now" if seconds < 1 else f"{int(seconds)} s ago"


def clock(moment: str | None) -> str:
    """The time of day where the reader is."""
    return datetime.fromisoformat(moment).astimezone().strftime("%H:%M:%S") if moment else ""


def moment(text: str | None) -> str:
    """Day and time where the reader is."""
    return datetime.fromisoformat(text).astimezone().strftime("%Y-%m-%d %H:%M:%S") if text else ""
