"""Reads and prints sizes in bytes, such as `512M`."""

from __future__ import annotations

import re

import typer

from bough.api.cli.framework.client import Json

UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMG]?)(?:i?B)?", re.IGNORECASE)


def parse_size(text: str) -> int:
    """Returns the number of bytes that a text such as `1048576`, `512M` or `1.5G` means."""
    match = _SIZE.fullmatch(text.strip())
    size = int(float(match[1]) * UNITS[match[2].upper()]) if match is not None else 0
    if size < 1:
        raise typer.BadParameter("Write a size as a number of bytes, or with K, M or G: 512M.")
    return size


def size_text(size: int) -> str:
    """Returns a size for people."""
    for unit in ("G", "M", "K"):
        if size >= UNITS[unit]:
            return f"{size / UNITS[unit]:.1f} {unit}iB"
    return f"{size} bytes"


def describe_size(transcript: Json) -> str:
    """Describes how much of its limit a transcript uses."""
    own = "" if transcript["ownLimit"] is None else ", its own limit"
    return f"{size_text(transcript['used'])} of {size_text(transcript['limit'])}{own}"
