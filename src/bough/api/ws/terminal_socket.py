"""Carries a terminal over a WebSocket: binary frames are what is typed and printed, text frames are JSON about it.

A viewer confirms what it has shown (`ack`), because a browser takes in everything at once. One that does not is sent no
more, and the shell waits once no viewer reads."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from typing import Any, Literal

import msgspec
from litestar import Router, WebSocket, websocket

from bough.agents.pty_client.terminal_link import Output, TerminalEnd, TerminalLink
from bough.agents.pty_keeper.protocol import MOST, bounded
from bough.api.errors import meaning
from bough.api.http.auth import chosen_protocol
from bough.api.http.requests import Services
from bough.api.ws.websocket_and_sse import CLOSE_BASE, close_reason
from bough.core.terminals.service import Terminals
from bough.errors import BoughError, Invalid
from bough.model.session import Caller
from bough.model.terminal import Terminal

# Bytes that a viewer may be sent beyond those that it has confirmed.
UNCONFIRMED = 256 * 1024
# Bytes of input that are held while the shell does not read, so that the viewer is still listened to.
MOST_HELD = 4 * 1024 * 1024
ITEM_SIZE = 128
# Seconds without any progress after which the rest of what a viewer typed that is gone is dropped.
REST_WITHIN = 5.0
NORMAL_CLOSE = 1000


class Said(msgspec.Struct, forbid_unknown_fields=True):
    """A text frame of a viewer: a new size, or how many more bytes of output it has shown."""

    columns: int | None = None
    rows: int | None = None
    ack: int | None = None


class Notice(msgspec.Struct, omit_defaults=True):
    """A text frame to a viewer. `opened` says how many bytes of earlier output follow; after `skipped`, output is
    missing."""

    type: Literal["opened", "resized", "skipped", "ended"]
    columns: int = 0
    rows: int = 0
    replayed: int = 0
    code: int | None = None
    reason: str | None = None


@websocket("/api/terminals/attach")
async def terminal_socket(socket: WebSocket[Any, Any, Any], services: Services) -> None:
    await socket.accept(chosen_protocol(socket.scope))
    caller: Caller = socket.scope["state"]["caller"]
    try:
        terminal_id = socket.query_params.get("terminalId")
        if terminal_id is None:
            raise Invalid("bad_terminal", "Name the terminal: ?terminalId=…")
        terminal, link = await services.terminals.attach(caller, terminal_id)
    except BoughError as error:
        await socket.close(CLOSE_BASE + meaning(error).status, close_reason(error.message))
        return
    try:
        await _Relay(socket, link, terminal, services.terminals).run()
    finally:
        await link.close()


class _Relay:
    """Passes everything between one viewer and a terminal."""

    def __init__(
        self, socket: WebSocket[Any, Any, Any], link: TerminalLink, terminal: Terminal, terminals: Terminals
    ) -> None:
        self._socket = socket
        self._link = link
        self._terminal = terminal
        self._terminals = terminals
        self._unconfirmed = 0
        self._confirmed = asyncio.Event()
        # What the shell is to get: bytes that were typed, and sizes.
        self._held: deque[bytes | tuple[int, int]] = deque()
        self._held_bytes = 0
        self._added = asyncio.Event()
        self._taken = asyncio.Event()

    async def run(self) -> None:
        welcome = self._link.welcome
        replayed = welcome["end"] - welcome["start"]
        await self._tell(Notice("opened", welcome["columns"], welcome["rows"], replayed))
        listening = asyncio.create_task(self._listen())
        sending = asyncio.create_task(self._send())
        typing = asyncio.create_task(self._type())
        revoked = asyncio.create_task(self._socket.scope["state"]["grant"].revoked.wait())
        try:
            await asyncio.wait((listening, sending, revoked), return_when=asyncio.FIRST_COMPLETED)
            if revoked.done():
                for task in (sending, typing):
                    task.cancel()
                # The disconnect that was reported for this is none yet: the viewer still learns the reason.
                self._socket.connection_state = "receive"
                await self._socket.close(CLOSE_BASE + 401, "Your token was revoked, or your role changed.")
            elif sending.done():
                await sending
                await self._terminals.gone(self._terminal)
                await self._socket.close(NORMAL_CLOSE)
            elif isinstance(error := listening.exception(), msgspec.DecodeError | Invalid):
                await self._socket.close(CLOSE_BASE + 400, close_reason(str(error)))
        finally:
            tasks = (listening, sending, typing, revoked)
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)

    async def _listen(self) -> None:
        """Takes what the viewer sends until it is gone, also while the shell does not read."""
        while (message := await self._socket.receive())["type"] != "websocket.disconnect":
            if data := message.get("bytes"):
                for offset in range(0, len(data), MOST):
                    self._hold(data[offset : offset + MOST])
            elif text := message.get("text"):
                words = msgspec.json.decode(text, type=Said)
                if words.columns is not None and words.rows is not None:
                    self._hold((bounded(words.columns), bounded(words.rows)))
                if words.ack is not None:
                    self._unconfirmed -= max(0, min(words.ack, self._unconfirmed))
                    self._confirmed.set()
            while self._held_bytes > MOST_HELD:
                await self._progress()
        with contextlib.suppress(TimeoutError):
            while self._held:
                async with asyncio.timeout(REST_WITHIN):
                    await self._progress()

    def _hold(self, item: bytes | tuple[int, int]) -> None:
        self._held.append(item)
        self._held_bytes += _size(item)
        self._added.set()

    async def _progress(self) -> None:
        self._taken.clear()
        await self._taken.wait()

    async def _type(self) -> None:
        """Passes on what the viewer sent, as fast as the shell takes it."""
        while True:
            while not self._held:
                self._added.clear()
                await self._added.wait()
            item = self._held[0]
            if isinstance(item, bytes):
                await self._link.send(item)
            else:
                await self._link.resize(*item)
            self._held.popleft()
            self._held_bytes -= _size(item)
            self._taken.set()

    async def _send(self) -> None:
        """Sends everything until the shell ends."""
        while True:
            news = await self._link.receive()
            if isinstance(news, TerminalEnd):
                await self._tell(Notice("ended", code=news.code, reason=news.reason))
                return
            if not isinstance(news, Output):
                await self._tell(Notice("resized", news.columns, news.rows))
                continue
            if news.skipped:
                await self._tell(Notice("skipped"))
            await self._socket.send_data(news.data, "binary")
            self._unconfirmed += len(news.data)
            while self._unconfirmed > UNCONFIRMED:
                self._confirmed.clear()
                await self._confirmed.wait()

    async def _tell(self, notice: Notice) -> None:
        await self._socket.send_data(msgspec.json.encode(notice).decode(), "text")


def _size(item: bytes | tuple[int, int]) -> int:
    """Returns about how much memory an item takes."""
    return ITEM_SIZE + (len(item) if isinstance(item, bytes) else 0)


router = Router("/", route_handlers=[terminal_socket], tags=["terminals"])
