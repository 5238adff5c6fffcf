"""Turns git's output into text that can be stored and sent, because its bytes need not be UTF-8."""

from __future__ import annotations


def shown(text: str) -> str:
    """Returns text for people and JSON; invalid bytes become replacement characters."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace").replace("\0", "�")


def escaped(text: str) -> str:
    """Returns text for people and JSON; bytes that are not valid UTF-8 become escapes, so that names stay distinct."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def lines(text: str) -> list[str]:
    """Returns the lines of git's output, without empty ones. Only a line feed ends a line: names of branches and files
    may hold every other character that Python takes for a line's end or a blank."""
    return [line for line in text.split("\n") if line]
