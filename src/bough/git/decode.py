"""What git prints, as text that can be stored and sent: its bytes need not be UTF-8. What it means is the others'
part."""

from __future__ import annotations


def shown(text: str) -> str:
    """The same text for people and JSON; bytes that are no UTF-8 become a replacement character."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace").replace("\0", "�")
