"""Creates ids (UUIDv7 text) and checks the short forms that people type (R5)."""

from __future__ import annotations

import os
import re
import threading
import time

from bough.errors import Invalid

SHORTEST = 8
LENGTH = 36
_SHORT = re.compile(r"[0-9a-f-]{8,36}")
_BARE = re.compile(r"([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})")

_lock = threading.Lock()
_last = 0


def new_id() -> str:
    """Returns a UUIDv7. Ids created by one process sort in creation order."""
    # 48 bits of milliseconds, and the next 12 bits as a fraction (RFC 9562, method 3).
    global _last
    with _lock:
        stamp = max((time.time_ns() << 12) // 1_000_000, _last + 1)
        _last = stamp
    milliseconds, fraction = stamp >> 12, stamp & 0xFFF
    rest = int.from_bytes(os.urandom(8), "big") & 0x3FFF_FFFF_FFFF_FFFF
    value = (milliseconds << 80) | (0x7 << 76) | (fraction << 64) | (0x2 << 62) | rest
    text = f"{value:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def is_full(text: str) -> bool:
    """Tells whether this is a complete id rather than a short form."""
    return len(text) == LENGTH


def checked_short(text: str, noun: str) -> str:
    """Returns the short form in lower case, or a complete id with hyphens. Raises `Invalid` if it cannot be an id."""
    short = text.strip().lower()
    bare = _BARE.fullmatch(short)
    if bare is not None:
        return "-".join(bare.groups())
    if _SHORT.fullmatch(short) is None:
        raise Invalid(
            "bad_id",
            f"{text[:64]!r} is not a valid {noun} id. Use the full id, or at least {SHORTEST} characters of "
            "its start or end.",
        )
    return short


def prefix_range(short: str) -> tuple[str, str]:
    """Returns the half-open range of ids that start with `short`."""
    return short, short[:-1] + chr(ord(short[-1]) + 1)
