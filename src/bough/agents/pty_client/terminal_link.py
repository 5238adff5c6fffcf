"""Connects one viewer to the keeper of a terminal."""

import asyncio
import contextlib
from typing import Any, NamedTuple

from bough.agents.keeper import frames
from bough.agents.keeper.frames import HEADER, Frame
from bough.agents.pty_keeper import protocol

CLOSE_WITHIN = 5.0
"""Seconds for the keeper to take the rest of what was typed."""


class Output(NamedTuple):
    """Bytes that the shell printed. `skipped` says that some before them are no longer held."""

    data: bytes
    skipped: bool


class Resized(NamedTuple):
    """A viewer has changed the size."""

    columns: int
    rows: int


class TerminalEnd(NamedTuple):
    """The shell is gone, by itself or because it was ended. A negative code is the number of a signal."""

    code: int | None
    reason: str | None


TerminalNews = Output | Resized | TerminalEnd


class TerminalLink:
    """A viewer. It reads no further than it is asked to, so that a slow one slows the shell."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self.welcome: dict[str, Any] = {}
        """The size, and where the scrollback starts and ends."""
        self._place: int | None = None

    async def next_frame(self) -> Frame | None:
        """Returns the next frame; None at the end."""
        try:
            head = frames.read_head(await self._reader.readexactly(HEADER.size))
            return Frame(head, await self._reader.readexactly(head.length))
        except (asyncio.IncompleteReadError, ConnectionError):
            return None

    async def receive(self) -> TerminalNews:
        """Returns what happened next."""
        while (frame := await self.next_frame()) is not None:
            if frame.head.kind == protocol.OUTPUT:
                skipped = self._place is not None and frame.head.first != self._place
                self._place = frame.head.first + len(frame.payload)
                return Output(frame.payload, skipped)
            if frame.head.kind == protocol.SIZE:
                size = frame.text()
                return Resized(size["columns"], size["rows"])
            if frame.head.kind == frames.EXIT:
                exit = frame.text()
                return TerminalEnd(exit["code"], exit["reason"])
        return TerminalEnd(None, None)

    async def send(self, data: bytes) -> None:
        """Passes on what a person typed. Waits while the shell does not read."""
        for offset in range(0, len(data), protocol.MOST):
            self._writer.write(frames.frame(protocol.INPUT, data[offset : offset + protocol.MOST]))
            await self._drain()

    async def resize(self, columns: int, rows: int) -> None:
        self._writer.write(frames.message(protocol.RESIZE, columns=columns, rows=rows))
        await self._drain()

    async def close(self) -> None:
        """Detaches. The shell keeps running. What was typed and is not taken within a few seconds is dropped."""
        self._writer.close()
        try:
            with contextlib.suppress(OSError, TimeoutError):
                async with asyncio.timeout(CLOSE_WITHIN):
                    await self._writer.wait_closed()
        finally:
            self._writer.transport.abort()

    async def _drain(self) -> None:
        with contextlib.suppress(ConnectionError):  # Its end is received, too.
            await self._writer.drain()
