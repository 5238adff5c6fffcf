"""Views terminals of a server under test over their WebSocket."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from tests.support.client import Client, Json

PATIENCE = 40.0


class TerminalView:
    """One viewer. It confirms what it is sent, as the page does."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket
        self.printed = b""
        self.notices: list[Json] = []

    async def type(self, text: str) -> None:
        await self.socket.send(text.encode())

    async def say(self, **fields: int) -> None:
        await self.socket.send(json.dumps(fields))

    async def step(self, *, confirm: bool = True) -> None:
        frame = await self.socket.recv()
        if isinstance(frame, str):
            self.notices.append(json.loads(frame))
            return
        self.printed += frame
        if confirm:
            with contextlib.suppress(ConnectionClosed):  # What was sent before its end is still read.
                await self.say(ack=len(frame))

    async def until(self, text: str) -> None:
        """Reads until this was printed."""
        async with asyncio.timeout(PATIENCE):
            while text.encode() not in self.printed:
                await self.step()

    async def until_notice(self, kind: str) -> Json:
        async with asyncio.timeout(PATIENCE):
            while not (matching := [notice for notice in self.notices if notice["type"] == kind]):
                await self.step()
        return matching[-1]


@contextlib.asynccontextmanager
async def viewing(client: Client, terminal_id: str, **headers: str) -> AsyncGenerator[TerminalView]:
    """Attaches to a terminal with the client's token."""
    address = f"{client.url.replace('http', 'ws', 1)}/api/terminals/attach?terminalId={terminal_id}"
    own = {"Authorization": f"Bearer {client.token}", **headers}
    async with connect(address, additional_headers=own, max_size=None) as socket:
        yield TerminalView(socket)
