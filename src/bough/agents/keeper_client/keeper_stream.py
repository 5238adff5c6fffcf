"""Reads the socket to a keeper: splits LINES frames into lines as they arrive, and passes on all other frames."""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import cast

from bough.agents.keeper import frames
from bough.agents.keeper.frames import HEADER, Frame
from bough.agents.lines import LineSplitter
from bough.agents.link import LineBatch

UNDELIVERED_LIMIT = 4 * 1024 * 1024
"""Bytes of undelivered lines beyond which reading pauses. The keeper's journal holds the rest."""

FLUSH_WITHIN = 3.0
"""Seconds for a keeper to read what was written to it before the connection is closed. A stopped one never does."""


class KeeperStream(asyncio.Protocol):
    """Delivers numbered lines in the batches in which they were read. Other frames go to the listener.

    `over` is called as soon as nothing more will come, although lines may still wait to be delivered.
    """

    def __init__(self, last: int, listener: Callable[[Frame], None], over: Callable[[], None]) -> None:
        self.last = last
        """The number of the last line that was read."""
        self._listener = listener
        self._over = over
        self._splitter = LineSplitter()
        self._left = 0  # Bytes of a LINES frame that are still to come.
        self._data = b""  # The beginning of any other frame.
        self._batches: deque[tuple[int, LineBatch]] = deque()
        self._undelivered = 0
        self._paused = False
        self._changed = asyncio.Event()
        self._transport: asyncio.Transport | None = None
        self._lost = asyncio.Event()
        self.ended = False
        """Whether nothing more will come."""

    @property
    def open(self) -> bool:
        """Whether the keeper can be written to."""
        return self._transport is not None and not self._transport.is_closing()

    async def batch(self) -> LineBatch | None:
        """Returns the next lines, or None when nothing more will come."""
        while not self._batches:
            if self.ended:
                return None
            self._changed.clear()
            await self._changed.wait()
        size, batch = self._batches.popleft()
        self._undelivered -= size
        if self._paused and self._undelivered <= UNDELIVERED_LIMIT // 2:
            self._paused = False
            if self._transport is not None and self.open:
                self._transport.resume_reading()
        return batch

    def write(self, data: bytes) -> None:
        """Writes to the keeper, if the connection is open."""
        if self._transport is not None and self.open:
            self._transport.write(data)

    def end(self) -> None:
        """Marks the end: no more lines will follow."""
        if not self.ended:
            self.ended = True
            self._changed.set()
            self._over()

    async def close(self) -> None:
        """Closes the connection. Lines that were read before are still delivered."""
        self.end()
        if self._transport is not None:
            transport = self._transport
            transport.close()
            try:
                async with asyncio.timeout(FLUSH_WITHIN):
                    await self._lost.wait()
            except TimeoutError:
                transport.abort()
                await self._lost.wait()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._lost.set()
        self.end()

    def data_received(self, data: bytes) -> None:
        if self._data:
            data, self._data = self._data + data, b""
        position, size = 0, len(data)
        while position < size:
            if self._left:
                part = data[position : position + self._left]
                position += len(part)
                self._left -= len(part)
                self._take(part)
                continue
            if size - position < HEADER.size:
                break
            head = frames.read_head(data, position)
            end = position + HEADER.size + head.length
            if head.kind == frames.LINES:
                self._left = head.length
                position += HEADER.size
            elif end > size:
                break
            else:
                self._listener(Frame(head, data[position + HEADER.size : end]))
                position = end
        self._data = data[position:]
        if self._undelivered > UNDELIVERED_LIMIT and not self._paused and self._transport is not None:
            self._paused = True
            self._transport.pause_reading()

    def _take(self, part: bytes) -> None:
        lines = self._splitter.feed(part)
        if lines:
            self.last += len(lines)
            self._batches.append((len(part), LineBatch(lines, self.last)))
            self._undelivered += len(part)
            self._changed.set()
