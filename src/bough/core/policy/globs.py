"""Globs over texts: `*` is any text, `?` any character, `[a-z]` and `[!a-z]` one of a set, in time that grows with the
length of pattern and text and never faster. What is matched, and why, is `patterns`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

MANY = "**"
"""Any number of parts, in a pattern of parts."""
NEVER = "(?!)"
_SPECIAL = re.compile(r"[*?[]")


def matches(pattern: str, text: str) -> bool:
    """Whether the whole text is what the pattern says. Every pattern means something: a bracket that nobody closes is
    itself, and a set without members holds nothing."""
    return _whole(pattern).fullmatch(text) is not None


def matches_end(pattern: str, text: str, starts: Iterable[int]) -> bool:
    """Whether the text matches from any of these places, which come in order, to its end."""
    head, star, _ = _at_star(pattern)
    if not star:
        return any(_whole(pattern).fullmatch(text, at) for at in starts)
    # The first place at which all up to the star fits is the best: what the star would skip later, it can skip here.
    begin = _whole(head)
    first = next((at for at in starts if begin.match(text, at)), None)
    return first is not None and _whole(pattern).fullmatch(text, first) is not None


def matches_parts(pattern: Sequence[str], parts: Sequence[str]) -> bool:
    """Whether each part matches its pattern in turn; `**` is any number of parts, also none."""
    at = index = 0
    # Where the last `**` was, and how far it reaches so far: only that one need ever reach further.
    many, reach = -1, 0
    while at < len(parts):
        if index < len(pattern) and pattern[index] == MANY:
            many, reach = index, at
            index += 1
        elif index < len(pattern) and matches(pattern[index], parts[at]):
            index, at = index + 1, at + 1
        elif many >= 0:
            reach += 1
            index, at = many + 1, reach
        else:
            return False
    return all(one == MANY for one in pattern[index:])


def nothing(pattern: str) -> str | None:
    """A set in the pattern that holds no character, such as `[z-a]`: with one, it matches nothing."""
    index = 0
    while index < len(pattern):
        end = _closing(pattern, index + 1) if pattern[index] == "[" else None
        if end is not None and _one_of(pattern[index + 1 : end]) == NEVER:
            return pattern[index : end + 1]
        index = index + 1 if end is None else end + 1
    return None


def escaped(text: str) -> str:
    """A pattern for this very text."""
    return _SPECIAL.sub(r"[\g<0>]", text)


@lru_cache(maxsize=2048)
def _whole(pattern: str) -> re.Pattern[str]:
    """A pattern as a regular expression in which no star is ever tried again after what follows it was found."""
    pieces = [""]
    index = 0
    while index < len(pattern):
        char = pattern[index]
        index += 1
        if char == "*":
            pieces.append("")
        elif char == "?":
            pieces[-1] += "."
        elif char == "[" and (end := _closing(pattern, index)) is not None:
            pieces[-1] += _one_of(pattern[index:end])
            index = end + 1
        else:
            pieces[-1] += re.escape(char)
    first, *middle = pieces
    last = f".*{middle.pop()}" if middle else ""
    return re.compile(first + "".join(f"(?>.*?{piece})" for piece in middle if piece) + last, re.DOTALL)


def _at_star(pattern: str) -> tuple[str, str, str]:
    """A pattern, parted at its first star that is one."""
    index = 0
    while index < len(pattern):
        if pattern[index] == "*":
            return pattern[:index], "*", pattern[index + 1 :]
        end = _closing(pattern, index + 1) if pattern[index] == "[" else None
        index = index + 1 if end is None else end + 1
    return pattern, "", ""


def _closing(pattern: str, index: int) -> int | None:
    """Where the set ends that begins here; a bracket as its first member does not end it."""
    if pattern[index : index + 1] in ("!", "^"):
        index += 1
    end = pattern.find("]", index + 1)
    return None if end == -1 else end


def _one_of(members: str) -> str:
    """A set of characters as a regular expression."""
    other = members[0] in "!^"
    members = members[1:] if other else members
    ranges: list[str] = []
    index = 0
    while index < len(members):
        low = high = members[index]
        index += 1
        if members[index : index + 1] == "-" and index + 1 < len(members):
            high = members[index + 1]
            index += 2
        if low <= high:
            ranges.append(f"{re.escape(low)}-{re.escape(high)}")
    if not ranges:
        return "." if other else NEVER
    return f"[{'^' if other else ''}{''.join(ranges)}]"
