"""Removes or escapes control characters in text from agents, so that escape sequences cannot control the terminal."""

from __future__ import annotations

# An agent's text must not control the terminal, so control characters other than newline and tab are removed. So are
# the ones that change the text's direction, which could make a command look like a different one.
_DIRECTION_MARKS = (*range(0x202A, 0x202F), *range(0x2066, 0x206A))
_CODES = tuple(code for code in (*range(0x20), 0x7F, *range(0x80, 0xA0), *_DIRECTION_MARKS) if chr(code) not in "\n\t")
_CONTROLS: dict[int, str | None] = dict.fromkeys(_CODES)
_ESCAPES = {code: f"\\u{code:04x}" for code in _CODES}


def clean(text: str) -> str:
    """Returns text that is safe to print, even with lone surrogates."""
    return text.translate(_CONTROLS).encode("utf-8", "replace").decode("utf-8")


def escaped(document: str) -> str:
    """Returns a JSON document that is safe to print and has the same value."""
    return document.translate(_ESCAPES)
