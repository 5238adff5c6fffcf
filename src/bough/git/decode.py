"""Turns git's output into text that can be stored and sent, because its bytes need not be UTF-8."""

from __future__ import annotations


def shown(text: str) -> str:
    """Returns text for people and JSON; invalid bytes become replacement characters."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace").replace("\0", "�")
