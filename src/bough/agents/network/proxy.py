"""Serves the connections of a box: an HTTP proxy for allowed hosts, and doors to single services of this machine."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncGenerator, Callable, Coroutine
from typing import Any, NamedTuple

from bough.agents.network import http_head
from bough.agents.network.dial import NotPublic, Unreachable, dial
from bough.agents.network.gate import Gate
from bough.agents.network.hosts import Target
from bough.agents.network.http_head import HEAD_LIMIT, BadRequest, Request

HEAD_WITHIN = 60.0
"""Seconds for a client to send its request."""
MOST_CONNECTIONS = 400
"""Connections at a time. Each needs two descriptors, and a process may often have 1024."""
LINGER = 1.0
"""Seconds for a client to read a refusal and close the connection."""
BLOCK = 64 * 1024
"""Bytes that are read at once; a connection holds a few of these in memory at most."""
ESTABLISHED = b"HTTP/1.1 200 Connection established\r\n\r\n"

Note = Callable[[Target, str, str], None]
"""Writes down a decision: the target, `allowed`, `denied` or `failed`, and the reason."""


class Door(NamedTuple):
    """A service of this machine that is reached through a port of the box. With a path, only requests for this path
    pass; otherwise everything does."""

    target: Target
    path: str = ""


class Stream(NamedTuple):
    """Both directions of a connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter


class Proxy:
    """Serves one box. `note` writes down decisions."""

    def __init__(self, gate: Gate, note: Note) -> None:
        self._gate = gate
        self._note = note
        self._connections: set[asyncio.Task[None]] = set()

    async def listen(self, listener: socket.socket, door: Door | None = None) -> asyncio.Server:
        """Serves a port of the box: a door, or the proxy itself."""

        async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            self._connections.add(task)
            task.add_done_callback(self._connections.discard)
            with contextlib.suppress(asyncio.CancelledError):  # By `close`; asyncio would log it as an error.
                await self._serve(Stream(reader, writer), door)

        return await asyncio.start_server(connected, sock=listener, limit=HEAD_LIMIT)

    async def close(self) -> None:
        """Ends all connections."""
        for task in list(self._connections):
            task.cancel()
        if self._connections:
            await asyncio.wait(self._connections)

    async def _serve(self, client: Stream, door: Door | None) -> None:
        try:
            with contextlib.suppress(OSError, TimeoutError):
                if len(self._connections) > MOST_CONNECTIONS:
                    # Closed at once, because too many are waiting already.
                    client.writer.write(http_head.refusal(503, "The sandbox has too many connections at a time."))
                elif door is None:
                    await self._serve_request(client)
                elif door.path:
                    await self._serve_path(client, door)
                else:
                    async with _connected(door.target, trusted=True) as host:
                        await _pass_on(client, host)
        except Unreachable:
            return  # A door whose service does not run: the client sees a closed connection.
        finally:
            await _close(client.writer)

    async def _serve_request(self, client: Stream) -> None:
        """Serves one request to the proxy."""
        try:
            async with asyncio.timeout(HEAD_WITHIN):
                request = await http_head.read_request(client.reader)
            if request is None:
                return
            is_tunnel = request.method == "CONNECT"
            target = http_head.connect_target(request) if is_tunnel else http_head.plain_target(request)
            path = "" if is_tunnel else http_head.origin_path(request)
        except (BadRequest, ValueError) as error:
            await _refuse(client, 400, str(error))
            return
        if not await self._is_allowed(client, target):
            return
        try:
            async with _connected(target, trusted=self._gate.is_trusted(target)) as host:
                if is_tunnel:
                    client.writer.write(ESTABLISHED)
                else:
                    host.writer.write(http_head.origin_head(request, target, path))
                await _pass_on(client, host)
        except NotPublic as error:
            self._note(target, "denied", str(error))
            await _refuse(client, 403, _blocked(target, str(error)))
        except Unreachable as error:
            self._note(target, "failed", str(error))
            await _refuse(client, 502, f"The connection to {target.endpoint} failed. {error}")

    async def _is_allowed(self, client: Stream, target: Target) -> bool:
        """Asks the gate, and tells the client if its request is blocked."""
        verdict = await self._gate.decide(target)
        self._note(target, "allowed" if verdict.allowed else "denied", verdict.reason)
        if not verdict.allowed:
            await _refuse(client, 403, _blocked(target, verdict.reason))
        return verdict.allowed

    async def _serve_path(self, client: Stream, door: Door) -> None:
        """Passes one request for the door's path on, and the answer back. Everything else at that service stays closed:
        the client gets one request for each connection, and no more than the body that its head announces."""
        try:
            async with asyncio.timeout(HEAD_WITHIN):
                request = await http_head.read_request(client.reader)
            if request is None:
                return
            if request.target.partition("?")[0].rstrip("/") != door.path.rstrip("/"):
                await _refuse(client, 403, f"Only {door.path} is open to the sandbox.")
                return
            length = _length(request)
        except BadRequest as error:
            await _refuse(client, 400, str(error))
            return
        async with _connected(door.target, trusted=True) as host:
            host.writer.write(http_head.origin_head(request, door.target, request.target))
            await _exchange(client, host, length)


def _length(request: Request) -> int:
    """Returns the length of a request's body."""
    if request.value("transfer-encoding"):
        raise BadRequest("Send the length of the body in Content-Length.")
    lengths = {value for name, value in request.headers if name.lower() == "content-length"} or {"0"}
    text = lengths.pop()
    if lengths or not text.isdecimal() or not text.isascii() or len(text) > 12:
        raise BadRequest("Content-Length is malformed.")
    return int(text)


def _blocked(target: Target, reason: str) -> str:
    return f"Bough's sandbox blocked the connection to {target.endpoint}. {reason}"


@contextlib.asynccontextmanager
async def _connected(target: Target, *, trusted: bool) -> AsyncGenerator[Stream]:
    sock = await dial(target, trusted=trusted)
    reader, writer = await asyncio.open_connection(sock=sock, limit=BLOCK)
    try:
        yield Stream(reader, writer)
    finally:
        await _close(writer)


async def _refuse(client: Stream, status: int, text: str) -> None:
    """Answers with a refusal. Reads the rest of the request for a moment: closing a connection with unread data would
    take the answer away from the client."""
    client.writer.write(http_head.refusal(status, text))
    await client.writer.drain()
    client.writer.write_eof()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(LINGER):
            while await client.reader.read(BLOCK):
                pass


async def _pass_on(client: Stream, host: Stream) -> None:
    """Passes everything on in both directions until both have ended."""
    await _both(_copy(client.reader, host.writer), _copy(host.reader, client.writer))


async def _exchange(client: Stream, host: Stream, length: int) -> None:
    """Passes a body of this length on, and the answer back. Ends as soon as the answer has, or the client is gone."""

    async def send() -> None:
        left = length
        while left:
            block = await client.reader.read(min(left, BLOCK))
            if not block:
                return
            host.writer.write(block)
            await host.writer.drain()
            left -= len(block)
        # Until the client closes. A second request is never passed on.
        while await client.reader.read(BLOCK):
            pass

    answer = asyncio.create_task(_copy(host.reader, client.writer))
    body = asyncio.create_task(send())
    try:
        await asyncio.wait((answer, body), return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (answer, body):
            task.cancel()
        await asyncio.wait((answer, body))
        for task in (answer, body):
            if not task.cancelled():
                task.exception()  # Marks it as retrieved: a broken connection is an ordinary end.


async def _both(first: Coroutine[Any, Any, None], second: Coroutine[Any, Any, None]) -> None:
    """Runs both copies. A broken connection ends both; a side that only ends its own data still receives the rest."""
    tasks = (asyncio.create_task(first), asyncio.create_task(second))
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        for task in tasks:
            if not task.cancelled():
                task.exception()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while block := await reader.read(BLOCK):
        writer.write(block)
        await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()


async def _close(writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError, TimeoutError):
        async with asyncio.timeout(HEAD_WITHIN):
            writer.close()
            await writer.wait_closed()
