"""A picture for tests: the smallest possible PNG, as bytes and in the form of a prompt's attachment."""

from __future__ import annotations

import base64
import zlib
from typing import Any

_HEAD = b"IHDR" + (1).to_bytes(4, "big") * 2 + b"\x08\x00\x00\x00\x00"
_BODY = b"IDAT" + zlib.compress(b"\x00\x00")


def _chunk(data: bytes) -> bytes:
    return (len(data) - 4).to_bytes(4, "big") + data + zlib.crc32(data).to_bytes(4, "big")


PNG = b"\x89PNG\r\n\x1a\n" + _chunk(_HEAD) + _chunk(_BODY) + _chunk(b"IEND")


def picture(name: str = "shot.png", **fields: Any) -> dict[str, Any]:
    """Returns a picture as a prompt carries it."""
    return {"name": name, "data": base64.b64encode(PNG).decode(), **fields}
