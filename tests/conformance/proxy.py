"""Adds the server's token to each request of a client that cannot send one, on loopback, and passes everything else on
unchanged."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from urllib.parse import urlsplit


@contextlib.asynccontextmanager
async def proxy(url: str, token: str) -> AsyncGenerator[str]:
    """Yields the address at which the server can be reached without a token."""
    there = urlsplit(url)

    async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            head = await reader.readuntil(b"\r\n\r\n")
            inward, outward = await asyncio.open_connection(there.hostname, there.port)
            outward.write(_with_token(head, token))
            await asyncio.gather(_copy(reader, outward), _copy(inward, writer))
        writer.close()

    async with await asyncio.start_server(pass_on, "127.0.0.1", 0) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


def _with_token(head: bytes, token: str) -> bytes:
    """Returns a request's head with the token. Each connection has one request, so the rest needs no parsing."""
    first, *rest = head.split(b"\r\n")
    lines = [line for line in rest if not line.lower().startswith(b"connection:")]
    return b"\r\n".join([first, b"Connection: close", b"Authorization: Bearer " + token.encode(), *lines])


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
    writer.close()
