"""A minimal HTTP client: one kept-alive connection, one request at a time, bytes in and out. A full client would cost
more than the server that it measures."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from typing import Any, NamedTuple, Self
from urllib.parse import urlsplit

import msgspec


class Answer(NamedTuple):
    status: int
    body: bytes

    def json(self) -> Any:
        return msgspec.json.decode(self.body)


class Http:
    """A connection to one server."""

    def __init__(self, url: str, token: str) -> None:
        self._host = urlsplit(url).netloc
        self._token = token
        name, _, port = self._host.rpartition(":")
        self._socket = socket.create_connection((name, int(port)))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def get(self, path: str) -> Answer:
        self.send("GET", path)
        return self.receive()

    def post(self, path: str, body: dict[str, Any], headers: str = "") -> Answer:
        self.send("POST", path, body, headers)
        return self.receive()

    def send(self, method: str, path: str, body: dict[str, Any] | None = None, headers: str = "") -> None:
        """Sends a request, to be followed by receiving its response; `headers` are further lines of its head."""
        self._socket.sendall(spelled(self._host, self._token, method, path, body, headers))

    def receive(self) -> Answer:
        data = b""
        while (end := data.find(b"\r\n\r\n")) < 0:
            data += self._more()
        status, length = heads(data[:end])
        parts = [data[end + 4 :]]
        missing = length - len(parts[0])
        while missing > 0:
            parts.append(self._more())
            missing -= len(parts[-1])
        return Answer(status, b"".join(parts))

    def _more(self) -> bytes:
        data = self._socket.recv(1 << 18)
        if not data:
            raise ConnectionError("the server hung up")
        return data


async def at_once(url: str, token: str, requests: Sequence[tuple[str, dict[str, Any]]]) -> list[Answer]:
    """Posts all requests at the same moment, each on a connection that was opened before."""
    host = urlsplit(url).netloc
    name, _, port = host.rpartition(":")
    open_ones = [await asyncio.open_connection(name, int(port)) for _ in requests]

    async def post(index: int) -> Answer:
        reader, writer = open_ones[index]
        path, body = requests[index]
        writer.write(spelled(host, token, "POST", path, body))
        status, length = heads(await reader.readuntil(b"\r\n\r\n"))
        return Answer(status, await reader.readexactly(length))

    try:
        return await asyncio.gather(*(post(index) for index in range(len(requests))))
    finally:
        for _, writer in open_ones:
            writer.close()


def spelled(host: str, token: str, method: str, path: str, body: dict[str, Any] | None, headers: str = "") -> bytes:
    data = b"" if body is None else msgspec.json.encode(body)
    head = f"{method} {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n{headers}"
    if body is not None:
        head += f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n"
    return head.encode() + b"\r\n" + data


def heads(head: bytes) -> tuple[int, int]:
    """Returns the status and the length of the body."""
    lines = head.lower().split(b"\r\n")
    length = next((int(line[15:]) for line in lines if line.startswith(b"content-length:")), 0)
    return int(lines[0].split()[1]), length
