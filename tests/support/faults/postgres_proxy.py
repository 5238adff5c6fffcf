"""Stands between a backend and PostgreSQL, and breaks the connection as networks do: loses the reply to a commit, cuts
connections, or goes silent without closing them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from urllib.parse import parse_qs, urlsplit


class PostgresProxy:
    """Passes bytes between clients on a local port and the unix socket of a test server."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._database = parts.path
        self._socket = f"{parse_qs(parts.query)['host'][0]}/.s.PGSQL.5432"
        self._server: asyncio.Server | None = None
        self._pairs: set[tuple[asyncio.StreamWriter, asyncio.StreamWriter]] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._flowing = asyncio.Event()
        self._flowing.set()
        # How many commits are passed on without their replies.
        self.replies_to_lose = 0
        self._holding: asyncio.Event | None = None
        self._held = asyncio.Event()

    @property
    def url(self) -> str:
        assert self._server is not None
        return f"postgresql://bough@127.0.0.1:{self._server.sockets[0].getsockname()[1]}{self._database}"

    def freeze(self) -> None:
        """Passes nothing on anymore but closes nothing, as if the host had disappeared."""
        self._flowing.clear()

    def thaw(self) -> None:
        self._flowing.set()

    def hold_commits(self) -> None:
        """Keeps commits from reaching PostgreSQL."""
        self._holding = asyncio.Event()

    async def commit_held(self) -> None:
        """Waits until a commit is held."""
        await self._held.wait()

    def release_commits(self) -> None:
        """Passes on what was held, to whoever still listens."""
        if self._holding is not None:
            self._holding.set()
            self._holding = None

    def cut(self) -> None:
        """Closes all connections."""
        for pair in list(self._pairs):
            for writer in pair:
                writer.close()

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncGenerator[PostgresProxy]:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        try:
            yield self
        finally:
            self._server.close()
            self.thaw()
            self.cut()
            for task in list(self._tasks):
                task.cancel()
            if self._tasks:
                await asyncio.wait(self._tasks)

    async def _connected(self, from_client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        try:
            from_server, to_server = await asyncio.open_unix_connection(self._socket)
        except OSError:
            # PostgreSQL is being restarted.
            to_client.close()
            return
        pair = (to_client, to_server)
        self._pairs.add(pair)
        losing = asyncio.Event()
        for work in (self._forward(from_client, to_server, losing), self._reply(from_server, to_client, losing, pair)):
            task = asyncio.create_task(work)
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, losing: asyncio.Event) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                await self._flowing.wait()
                if self._holding is not None and b"COMMIT" in data:
                    self._held.set()
                    await self._holding.wait()
                if self.replies_to_lose and b"COMMIT" in data:
                    self.replies_to_lose -= 1
                    losing.set()
                writer.write(data)
                await writer.drain()
        writer.close()

    async def _reply(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        losing: asyncio.Event,
        pair: tuple[asyncio.StreamWriter, asyncio.StreamWriter],
    ) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                await self._flowing.wait()
                if losing.is_set():
                    # PostgreSQL has committed; its reply does not arrive.
                    pair[1].close()
                    break
                writer.write(data)
                await writer.drain()
        writer.close()
        self._pairs.discard(pair)
