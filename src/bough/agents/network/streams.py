"""Copies between two connections, and closes them."""

import asyncio
import contextlib
import socket
from collections.abc import Coroutine
from typing import Any, NamedTuple

BLOCK = 64 * 1024
"""Bytes that are read at once; a connection holds a few of these in memory at most."""
ANSWER_WITHIN = 60.0
"""Seconds for an answer after the client has ended its side. It may still read, or be gone: nobody can tell."""
LINGER = 1.0
"""Seconds for a client to read an answer and close the connection."""
CLOSE_WITHIN = 5.0
"""Seconds for a peer to read the rest before its connection is cut."""


class StreamPair(NamedTuple):
    """Both directions of a connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter


async def pass_on(client: StreamPair, host: StreamPair) -> None:
    """Passes everything on in both directions until both have ended. A broken connection ends both; a side that only
    ends its own data still receives the rest."""
    await _run(asyncio.FIRST_EXCEPTION, copy(client.reader, host.writer), copy(host.reader, client.writer))


async def exchange(client: StreamPair, host: socket.socket, head: bytes, length: int) -> None:
    """Passes a head and a body of this length on, and the answer back. Ends with the answer, which may come before the
    whole body was read: a host that reads no more is heard nevertheless, since its socket is read and written
    independently. Without a client, it ends after a while."""
    loop = asyncio.get_running_loop()

    async def send() -> None:
        left = length
        with contextlib.suppress(OSError):  # The host reads no more; its answer may say why.
            await loop.sock_sendall(host, head)
            while left and (block := await client.reader.read(min(left, BLOCK))):
                await loop.sock_sendall(host, block)
                left -= len(block)
        # A second request is never passed on.
        await discard(client.reader)
        if not left:
            await asyncio.sleep(ANSWER_WITHIN)

    async def answer() -> None:
        while block := await loop.sock_recv(host, BLOCK):
            client.writer.write(block)
            await client.writer.drain()

    await _run(asyncio.FIRST_COMPLETED, answer(), send())
    await finish(client)


async def finish(client: StreamPair) -> None:
    """Ends our side, and reads the rest of a request for a moment: closing a connection with unread data would take the
    answer away from the client."""
    await client.writer.drain()
    client.writer.write_eof()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(LINGER):
            await discard(client.reader)


async def discard(reader: asyncio.StreamReader) -> None:
    """Reads to the end."""
    while await reader.read(BLOCK):
        pass


async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Copies one direction to its end."""
    while block := await reader.read(BLOCK):
        writer.write(block)
        await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()


async def close(writer: asyncio.StreamWriter) -> None:
    """Closes a connection. Cuts it if the peer does not read the rest in time."""
    try:
        with contextlib.suppress(OSError, TimeoutError):
            async with asyncio.timeout(CLOSE_WITHIN):
                writer.close()
                await writer.wait_closed()
    finally:
        writer.transport.abort()


async def _run(until: str, *parts: Coroutine[Any, Any, None]) -> None:
    """Runs both parts until one has ended or failed, as asked. An error is an ordinary end: a broken connection."""
    tasks = [asyncio.create_task(part) for part in parts]
    try:
        await asyncio.wait(tasks, return_when=until)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        for task in tasks:
            if not task.cancelled():
                task.exception()  # Marks it as retrieved.
