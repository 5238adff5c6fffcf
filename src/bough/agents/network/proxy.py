"""Serves the connections of a box: an HTTP proxy for allowed hosts, and doors to single services of this machine."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncGenerator, Callable
from typing import NamedTuple

from bough.agents.network import http_head, streams
from bough.agents.network.addresses import Reach
from bough.agents.network.dial import NotPublic, Unreachable, dial
from bough.agents.network.gate import TOO_MANY, HostGate, HostVerdict
from bough.agents.network.hosts import HostAndPort
from bough.agents.network.http_head import HEAD_LIMIT, BadRequest, Request
from bough.agents.network.streams import BLOCK, StreamPair

HEAD_WITHIN = 60.0
"""Seconds for a client to send its request."""
MOST_CONNECTIONS = 400
"""Connections at a time. Each needs two descriptors, and a process may often have 1024."""
MOST_WAITING = 100
"""Connections that wait for a person's answer at a time; they leave room for those to allowed hosts."""
WATCH = 1.0
"""Seconds between looks whether a client that waits for an answer is still there."""
ESTABLISHED = b"HTTP/1.1 200 Connection established\r\n\r\n"

Note = Callable[[HostAndPort, str, str], None]
"""Writes down a decision: the target, `allowed`, `denied` or `failed`, and the reason."""


class LocalService(NamedTuple):
    """A service of this machine that is reached through a port of the box. With a path, only requests for this path
    pass; otherwise everything does."""

    target: HostAndPort
    path: str = ""


class ClientGone(Exception):
    """A client that has closed its connection before it got an answer."""


class Proxy:
    """Serves one box. `note` writes down decisions."""

    def __init__(self, gate: HostGate, note: Note) -> None:
        self.gate = gate
        self._note = note
        self._connections: set[asyncio.Task[None]] = set()
        # The hosts to which connections through the proxy lead.
        self._targets: dict[asyncio.Task[None], HostAndPort] = {}
        self._waiting = 0

    @property
    def open(self) -> int:
        """The number of connections."""
        return len(self._connections)

    async def listen(self, listener: socket.socket, door: LocalService | None = None) -> asyncio.Server:
        """Serves a port of the box: a door, or the proxy itself."""

        async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            self._connections.add(task)
            task.add_done_callback(self._forget)
            with contextlib.suppress(asyncio.CancelledError):  # By `close`; asyncio would log it as an error.
                await self._serve(task, StreamPair(reader, writer), door)

        return await asyncio.start_server(connected, sock=listener, limit=HEAD_LIMIT)

    def close_revoked(self) -> None:
        """Ends the connections to hosts that are no longer allowed."""
        for task, target in self._targets.items():
            verdict = self.gate.known(target)
            if verdict is None or not verdict.allowed:
                task.cancel()

    async def close(self) -> None:
        """Ends all connections."""
        for task in list(self._connections):
            task.cancel()
        if self._connections:
            await asyncio.wait(self._connections)

    def _forget(self, task: asyncio.Task[None]) -> None:
        self._connections.discard(task)
        self._targets.pop(task, None)

    async def _serve(self, task: asyncio.Task[None], client: StreamPair, door: LocalService | None) -> None:
        try:
            with contextlib.suppress(OSError, TimeoutError):
                if len(self._connections) > MOST_CONNECTIONS:
                    # Closed at once, because too many are waiting already.
                    client.writer.write(http_head.refusal(503, "The sandbox has too many connections at a time."))
                elif door is None:
                    await self._serve_request(task, client)
                elif door.path:
                    await self._serve_path(client, door)
                else:
                    async with _connected(door.target, "any") as host:
                        await streams.pass_on(client, host)
            await streams.close(client.writer)
        except (Unreachable, ClientGone):
            return  # For a door whose service does not run, the client sees a closed connection.
        finally:
            client.writer.transport.abort()

    async def _serve_request(self, task: asyncio.Task[None], client: StreamPair) -> None:
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
        verdict = await self._decide(client, target)
        self._note(target, "allowed" if verdict.allowed else "denied", verdict.reason)
        if not verdict.allowed:
            await _refuse(client, 403, _blocked(target, verdict.reason))
            return
        self._targets[task] = target
        try:
            async with _connected(target, self.gate.reach(target)) as host:
                if is_tunnel:
                    client.writer.write(ESTABLISHED)
                else:
                    host.writer.write(http_head.origin_head(request, target, path))
                await streams.pass_on(client, host)
        except NotPublic as error:
            self._note(target, "denied", str(error))
            await _refuse(client, 403, _blocked(target, str(error)))
        except Unreachable as error:
            self._note(target, "failed", str(error))
            await _refuse(client, 502, f"The connection to {target.endpoint} failed. {error}")

    async def _decide(self, client: StreamPair, target: HostAndPort) -> HostVerdict:
        """Asks the gate. Raises `ClientGone` if the client does not wait for the answer."""
        known = self.gate.known(target)
        if known is not None:
            return known
        if self._waiting >= MOST_WAITING:
            return HostVerdict(False, TOO_MANY)
        self._waiting += 1
        decision = asyncio.create_task(self.gate.decide(target))
        try:
            while not (await asyncio.wait((decision,), timeout=WATCH))[0]:
                if client.reader.at_eof():
                    raise ClientGone
            return decision.result()
        finally:
            self._waiting -= 1
            decision.cancel()

    async def _serve_path(self, client: StreamPair, door: LocalService) -> None:
        """Passes one request for the door's path on, and the answer back. Everything else at that service stays closed:
        the client gets one request for each connection, and no more than the body that its head announces."""
        try:
            async with asyncio.timeout(HEAD_WITHIN):
                request = await http_head.read_request(client.reader)
            if request is None:
                return
            if request.target.partition("?")[0] not in (door.path, door.path.rstrip("/")):
                await _refuse(client, 403, f"Only {door.path} is open to the sandbox.")
                return
            length = _length(request)
        except BadRequest as error:
            await _refuse(client, 400, str(error))
            return
        with await dial(door.target, "any") as host:
            head = http_head.origin_head(request, door.target, request.target)
            await streams.exchange(client, host, head, length)


def _length(request: Request) -> int:
    """Returns the length of a request's body."""
    if request.has("transfer-encoding"):
        raise BadRequest("Send the length of the body in Content-Length.")
    lengths = {value for name, value in request.headers if name.lower() == "content-length"} or {"0"}
    text = lengths.pop()
    if lengths or not text.isdecimal() or not text.isascii() or len(text) > 12:
        raise BadRequest("Content-Length is malformed.")
    return int(text)


def _blocked(target: HostAndPort, reason: str) -> str:
    return f"Bough's sandbox blocked the connection to {target.endpoint}. {reason}"


@contextlib.asynccontextmanager
async def _connected(target: HostAndPort, reach: Reach) -> AsyncGenerator[StreamPair]:
    sock = await dial(target, reach)
    reader, writer = await asyncio.open_connection(sock=sock, limit=BLOCK)
    try:
        yield StreamPair(reader, writer)
    except BaseException:
        writer.transport.abort()
        raise
    await streams.close(writer)


async def _refuse(client: StreamPair, status: int, text: str) -> None:
    """Answers with a refusal."""
    client.writer.write(http_head.refusal(status, text))
    await streams.finish(client)
