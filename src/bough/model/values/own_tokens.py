"""Hashes Bough's own tokens and keys, and recognizes them in a text by their form."""

from __future__ import annotations

import hashlib
import re

START = "bough-"
"""Begins every token."""
SESSION = "bough-session-"
"""Begins the token of a running agent; the session's id and a dot follow."""
USER = "bough-user-"
"""Begins the token of a user."""
PAGE = "bough-page-"
"""Begins the key of a browser."""
SERVER = "bough-server-"
"""Begins the server's own token."""

_ID = 36
_RANDOM = 43
# What `secrets.token_urlsafe(32)` returns. Nothing limits the end, because a program may print more right after it.
_TOKENS = re.compile(rf"bough-(?:session-[0-9a-f-]{{{_ID}}}\.|(?:user|page|server)-)[A-Za-z0-9_-]{{{_RANDOM}}}")
_LENGTHS = {SESSION: _ID + 1 + _RANDOM, USER: _RANDOM, PAGE: _RANDOM, SERVER: _RANDOM}
_LONGEST = max(len(prefix) + length for prefix, length in _LENGTHS.items())
_LETTERS = re.compile(r"[A-Za-z0-9_.-]*")


def hashed(secret: str) -> str:
    """Returns what the database stores of a token or key."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def find(text: str, start: int = 0) -> tuple[int, int] | None:
    """Returns where the first token from `start` on begins and ends."""
    match = _TOKENS.search(text, start)
    return match.span() if match else None


def unfinished(text: str, start: int = 0) -> int:
    """Returns the first place from which on the text may become a token; its length if there is none."""
    place = text.find(START[0], max(start, len(text) - _LONGEST + 1))
    while place >= 0:
        if _may_become(text[place:]):
            return place
        place = text.find(START[0], place + 1)
    return len(text)


def gives_away(text: str, least: int) -> bool:
    """Returns whether a text is the beginning of a token, with at least so many of its secret characters."""
    return any(
        text.startswith(prefix) and len(text) >= len(prefix) + length - _RANDOM + least and _may_become(text)
        for prefix, length in _LENGTHS.items()
    )


def _may_become(text: str) -> bool:
    for prefix, length in _LENGTHS.items():
        if prefix.startswith(text):
            return True
        if text.startswith(prefix) and len(text) < len(prefix) + length:
            return _LETTERS.fullmatch(text) is not None
    return False
