"""Matches globs: `fnmatch` over whole texts, over the ends of texts, and over lists of names with `**`. The time grows
with the length of pattern and text, never faster: `fnmatch` translates stars to atomic groups."""

from __future__ import annotations

import fnmatch
import glob
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

MANY = "**"
"""Any number of names, in a pattern of names."""
# A set as `fnmatch` reads it: a bracket as its first member does not close it.
_SET = r"\[([!^]?+)(\]?+[^\]]*)\]"
_SETS = re.compile(_SET)
_SETS_AND_STARS = re.compile(rf"{_SET}|\*")
_EMPTY_SET = "(?!)"

escape = glob.escape


def matches(pattern: str, text: str) -> bool:
    """Tells whether the pattern covers the whole text. An unclosed bracket stands for itself, and a set without members
    matches nothing."""
    return _compiled(pattern).match(text) is not None


def matches_end(pattern: str, text: str, starts: Iterable[int]) -> bool:
    """Tells whether the pattern covers the text from one of these positions, which are sorted, to its end."""
    star = next((part.start() for part in _SETS_AND_STARS.finditer(pattern) if part[0] == "*"), None)
    if star is None:
        return any(_compiled(pattern).match(text, start) for start in starts)
    # The first position where the part before the star fits is the best: the star can skip whatever a later one would.
    beginning = _compiled(pattern[: star + 1])
    first = next((start for start in starts if beginning.match(text, start)), None)
    return first is not None and _compiled(pattern).match(text, first) is not None


def matches_names(pattern: Sequence[str], names: Sequence[str]) -> bool:
    """Tells whether each name matches its pattern in turn; `**` covers any number of names, also none."""
    at = index = 0
    # The last `**` and how far it reaches so far: only that one ever needs to reach further.
    many, reach = -1, 0
    while at < len(names):
        if index < len(pattern) and pattern[index] == MANY:
            many, reach = index, at
            index += 1
        elif index < len(pattern) and matches(pattern[index], names[at]):
            index, at = index + 1, at + 1
        elif many >= 0:
            reach += 1
            index, at = many + 1, reach
        else:
            return False
    return all(part == MANY for part in pattern[index:])


def empty_set(pattern: str) -> str | None:
    """Returns a set in the pattern that holds no character, such as `[z-a]`: with one, the pattern matches nothing."""
    return next((part[0] for part in _SETS.finditer(pattern) if _EMPTY_SET in _translated(part[0])), None)


@lru_cache(maxsize=2048)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(_translated(pattern))


def _translated(pattern: str) -> str:
    # Unlike `fnmatch`, people also write `[^a]` for "anything but a".
    return fnmatch.translate(_SETS.sub(lambda part: f"[{'!' if part[1] else ''}{part[2]}]", pattern))
