"""Small forms for people: ids, times, sizes and texts as they fit into a line. Where they go is `out`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime

from bough.model.ids import LENGTH, SHORTEST, shortest_unique

# What an agent writes must not steer the terminal: no control character passes but line break and tab, and none that
# turns the direction of what follows, which would show a command other than the one that is asked about.
_TURNS = (*range(0x202A, 0x202F), *range(0x2066, 0x206A))
_CODES = tuple(code for code in (*range(0x20), 0x7F, *range(0x80, 0xA0), *_TURNS) if chr(code) not in "\n\t")
_CONTROLS: dict[int, str | None] = dict.fromkeys(_CODES)
_ESCAPES = {code: f"\\u{code:04x}" for code in _CODES}
_SPACES = re.compile(r"\s+")
# A whole id that stands by itself; one inside a path or a link stays as it is.
_ID = re.compile(r"(?<![\w/.=-])[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![\w/=-])")


def clean(text: str) -> str:
    """Text that is safe to show, lone surrogates included."""
    return text.translate(_CONTROLS).encode("utf-8", "replace").decode("utf-8")


def escaped(document: str) -> str:
    """A JSON document that is safe to show and still says the same."""
    return document.translate(_ESCAPES)


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


def shorten(sentence: str) -> str:
    """A sentence with the short form of each id that it names."""
    forms = short_forms(sorted(set(_ID.findall(sentence))))
    return _ID.sub(lambda found: forms[found[0]], sentence)


def ago(moment: str | None) -> str:
    """How long ago something was, in its largest unit."""
    if not moment:
        return ""
    seconds = (datetime.now(UTC) - datetime.fromisoformat(moment)).total_seconds()
    return "now" if seconds < 1 else f"{_span(seconds)} ago"


def ahead(moment: str | None) -> str:
    """How long it is until something, in its largest unit."""
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
    """The time of day where the reader is."""
    return datetime.fromisoformat(moment).astimezone().strftime("%H:%M:%S") if moment else ""


def moment(text: str | None) -> str:
    """Day and time where the reader is."""
    return datetime.fromisoformat(text).astimezone().strftime("%Y-%m-%d %H:%M:%S") if text else ""


def amount(number: float) -> str:
    """A large number in a few characters."""
    for unit, size in (("M", 1_000_000), ("k", 1_000)):
        if number >= size:
            return f"{number / size:.1f}{unit}"
    return f"{number:.0f}"
