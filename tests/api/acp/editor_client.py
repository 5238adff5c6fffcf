"""Connects editors to `/acp` and checks every message of both sides against the published schema."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import msgspec
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from tests.support.acp.acp_driver import Driver, Json
from tests.support.acp.acp_summary import summarize_updates
from tests.support.server import Running

BIGGEST = 64 * 1024 * 1024


class Editor(Driver):
    """One connection to a server."""

    def __init__(self, socket: ClientConnection, repo: Path) -> None:
        self.socket = socket
        self.repo = repo
        self._outgoing: asyncio.Queue[bytes] = asyncio.Queue()
        # There is no process behind it, only a connection.
        super().__init__(None)  # pyright: ignore[reportArgumentType]
        self._sender = asyncio.create_task(self._send_all())

    def _write(self, message: Json) -> None:
        line = msgspec.json.encode(message)
        if self._schema is not None:
            self._schema.check_client_line(line, self._pending)
        self._outgoing.put_nowait(line)

    def trust(self) -> None:
        """Stops checking lines, for tests with too many of them."""
        self._schema = None

    def raw(self, line: bytes, request_id: int | str | None = None) -> None:
        if request_id is not None:
            self.expect(request_id, "_raw")
        self._outgoing.put_nowait(line)

    def expect(self, request_id: int | str, method: str) -> None:
        """Registers the request with this id, so that its answer is checked as one to this method."""
        self._answers[request_id] = asyncio.get_running_loop().create_future()
        self._pending["client", request_id] = method

    async def _send_all(self) -> None:
        with contextlib.suppress(ConnectionClosed):
            while True:
                await self.socket.send((await self._outgoing.get()).decode("utf-8", "surrogateescape"))

    async def _listen(self) -> None:
        with contextlib.suppress(ConnectionClosed):
            async for frame in self.socket:
                await self.reading.wait()
                line = frame.encode() if isinstance(frame, str) else frame
                if self._schema is not None:
                    self._schema.check_agent_line(line, self._pending)
                message: Json = msgspec.json.decode(line)
                self.log.append(message)
                self._take(message)
                async with self._changed:
                    self._changed.notify_all()

    async def vanish(self) -> None:
        """Drops the connection without closing it."""
        self.socket.transport.abort()
        await self.socket.wait_closed()

    async def done(self) -> None:
        for task in (self._sender, self._listener):
            task.cancel()
        await asyncio.wait({self._sender, self._listener})
        if not self._listener.cancelled():
            self._listener.result()

    # Steps that nearly every test takes.

    async def open(self, mode: str = "bypassPermissions", **wishes: Any) -> str:
        """Creates a session with the demo agent."""
        bough = {"agent": "demo", "mode": mode, **wishes}
        result = await self.request("session/new", {"cwd": str(self.repo), "mcpServers": [], "_meta": {"bough": bough}})
        return result["sessionId"]

    async def load(self, session: str, method: str = "session/load") -> Json:
        return await self.request(method, {"sessionId": session, "cwd": str(self.repo), "mcpServers": []})

    async def heard(self, session: str, text: str, kind: str = "agent_message_chunk") -> None:
        await self.until(lambda: text in self.said(session, kind=kind))

    async def asked(self, count: int = 1) -> Json:
        """Waits for a permission request."""
        await self.until(lambda: len(self.permissions) >= count)
        return self.permissions[count - 1]

    def kinds(self, session: str, since: int = 0) -> list[str]:
        return [update["update"]["sessionUpdate"] for update in self.updates[since:] if update["sessionId"] == session]

    def story(self, session: str, since: int = 0) -> list[Json]:
        """Returns what a client knows in the end, with chunks merged."""
        return summarize_updates(
            [update["update"] for update in self.updates[since:] if update["sessionId"] == session]
        )


@contextlib.asynccontextmanager
async def editing(
    server: Running, *, initialize: bool = True, capabilities: Json | None = None, **options: Any
) -> AsyncGenerator[Editor]:
    """Connects an editor to this server, with the repository `repo` as its folder."""
    repo = server.root / "repo"
    if not repo.exists():
        server.repo()
    headers = {"authorization": f"Bearer {server.token}"}
    address = f"{server.url.replace('http', 'ws', 1)}/acp"
    async with connect(address, additional_headers=headers, max_size=BIGGEST, **options) as socket:
        editor = Editor(socket, repo)
        try:
            if initialize:
                params: Json = {"protocolVersion": 1, "clientCapabilities": capabilities or {}}
                await editor.request("initialize", params)
            yield editor
        finally:
            await editor.done()
