"""A minimal WebSocket client: receives and sends whole text messages as bytes, answers pings. A full client would cost
as much as the server that it measures."""

from __future__ import annotations

import base64
import os
import socket
import struct
from collections.abc import Iterator
from typing import Self
from urllib.parse import urlsplit

READ = 1 << 18
TEXT, CLOSE, PING, PONG = 1, 8, 9, 10


class Socket:
    """A connection to one path of a server."""

    def __init__(self, url: str, path: str, token: str, patience: float | None = None) -> None:
        """With `patience`, that many seconds of silence are an error."""
        host = urlsplit(url).netloc
        name, _, port = host.rpartition(":")
        self._socket = socket.create_connection((name, int(port)), patience)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        key = base64.b64encode(os.urandom(16)).decode()
        self._socket.sendall(
            f"GET {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\nUpgrade: websocket\r\n"
            f"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n".encode()
        )
        self._data = b""
        while b"\r\n\r\n" not in self._data:
            self._data += self._read()
        head, _, self._data = self._data.partition(b"\r\n\r\n")
        if b" 101 " not in head.split(b"\r\n")[0]:
            raise ConnectionError(f"the server refused: {head[:200]!r}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def messages(self) -> Iterator[bytes]:
        """Yields every text message until the server closes; Bough's messages are never fragmented."""
        while True:
            data, position, size = self._data, 0, len(self._data)
            while size - position >= 2:
                kind, length, start = data[position] & 15, data[position + 1], position + 2
                if length == 126 and size - start >= 2:
                    (length,), start = struct.unpack_from(">H", data, start), start + 2
                elif length == 127 and size - start >= 8:
                    (length,), start = struct.unpack_from(">Q", data, start), start + 8
                elif length > 125:
                    break
                end = start + length
                if end > size:
                    break
                if not data[position] & 128:
                    raise ConnectionError("a message in pieces")
                position = end
                if kind == TEXT:
                    yield data[start:end]
                elif kind == PING:
                    self._pong(data[start:end])
                elif kind == CLOSE:
                    return
            self._data = data[position:] + self._read()

    def send(self, data: bytes) -> None:
        self._frame(TEXT, data)

    def _pong(self, payload: bytes) -> None:
        self._frame(PONG, payload)

    def _frame(self, kind: int, payload: bytes) -> None:
        length = len(payload)
        head = bytes([128 | kind, 128 | min(length, 126)]) + (struct.pack(">H", length) if length > 125 else b"")
        # A client masks what it sends; a mask of zeros changes nothing.
        self._socket.sendall(head + bytes(4) + payload)

    def _read(self) -> bytes:
        data = self._socket.recv(READ)
        if not data:
            raise ConnectionError("the server hung up")
        return data
