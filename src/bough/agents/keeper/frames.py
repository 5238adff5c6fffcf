"""Encodes and decodes the frames of the keeper's protocol and journal: a header, then JSON text or raw bytes."""

import json
import struct
import zlib
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

VERSION = 1
"""The version of the protocol. It changes whenever an older peer could misread a frame; the header never changes."""
HEADER = struct.Struct("<BBIIQI")
"""Kind, flags, amount, length of the payload, first number, CRC of these fields (with CRC 0) and the payload."""
FRAME_CAP = 65 * 1024 * 1024
"""The longest payload: the longest line that is accepted (64 MiB) and its key."""

# Sent by the server:
HELLO, SEND, CONFIRM, FORGET, END, HOSTS = 1, 2, 3, 4, 5, 6
# Sent by the keeper:
WELCOME, LINES, ACK, NOTE, EXIT, STDERR, NETWORK = 16, 17, 18, 19, 20, 21, 22
# In the journal only, beside LINES and SEND:
BASE = 32

OPEN = 1
"""Flag of a LINES frame that ends inside a line, which continues in the next one."""


class TooLong(ValueError):
    """A frame announces a payload beyond the limit."""


class Head(NamedTuple):
    """The header of a frame, without its CRC."""

    kind: int
    flags: int
    amount: int
    """The number of lines that end in a LINES frame; for SEND the length of the key that begins the payload."""
    length: int
    first: int
    """The number of the line that a LINES frame begins in; for CONFIRM the confirmed number."""

    @property
    def touched(self) -> int:
        """The number of the last line of which a LINES frame holds any part."""
        return self.first + self.amount - (0 if self.flags & OPEN else 1)


class Frame(NamedTuple):
    """A whole frame."""

    head: Head
    payload: bytes

    def text(self) -> Any:
        """Decodes a JSON payload."""
        return json.loads(self.payload)


def header(
    kind: int, parts: "Sequence[bytes | bytearray | memoryview]", *, flags: int = 0, amount: int = 0, first: int = 0
) -> bytes:
    """Returns the header for a payload in parts."""
    length = sum(map(len, parts))
    crc = zlib.crc32(HEADER.pack(kind, flags, amount, length, first, 0))
    for part in parts:
        crc = zlib.crc32(part, crc)
    return HEADER.pack(kind, flags, amount, length, first, crc)


def frame(kind: int, payload: bytes = b"", *, flags: int = 0, amount: int = 0, first: int = 0) -> bytes:
    """Returns a whole frame."""
    return header(kind, [payload], flags=flags, amount=amount, first=first) + payload


def message(kind: int, **fields: Any) -> bytes:
    """Returns a frame with a JSON payload."""
    return frame(kind, json.dumps(fields, separators=(",", ":")).encode())


def send_frame(key: str, line: bytes) -> bytes:
    """Returns the frame that carries a line to the agent."""
    name = key.encode()
    return frame(SEND, name + line, amount=len(name))


def read_head(data: bytes | bytearray, position: int = 0) -> Head:
    """Reads the header at a position."""
    kind, flags, amount, length, first, _ = HEADER.unpack_from(data, position)
    return Head(kind, flags, amount, length, first)


def whole(data: bytes, payload: bytes) -> bool:
    """Returns whether a header and a payload are intact and belong together."""
    kind, flags, amount, length, first, crc = HEADER.unpack(data)
    expected = zlib.crc32(payload, zlib.crc32(HEADER.pack(kind, flags, amount, length, first, 0)))
    return len(payload) == length and crc == expected


def lines_after(number: int, head: Head, payload: bytes) -> bytes:
    """Returns the part of a LINES frame after the line with this number."""
    skip = number - head.first + 1
    if skip > head.amount:
        return b""
    position = 0
    for _ in range(skip):
        position = payload.index(b"\n", position) + 1
    return payload[position:]


class FrameReader:
    """Assembles frames from the pieces in which they arrive."""

    def __init__(self) -> None:
        self._data = bytearray()

    def feed(self, data: bytes) -> Iterator[Frame]:
        """Adds data and yields the frames that it completes. Raises `TooLong`."""
        self._data += data
        while len(self._data) >= HEADER.size:
            head = read_head(self._data)
            if head.length > FRAME_CAP:
                raise TooLong(f"a frame of {head.length} bytes")
            end = HEADER.size + head.length
            if len(self._data) < end:
                return
            payload = bytes(memoryview(self._data)[HEADER.size : end])
            del self._data[:end]
            yield Frame(head, payload)

    def rest(self) -> bytes:
        """Returns and clears the beginning of the next frame."""
        rest = bytes(self._data)
        self._data.clear()
        return rest
