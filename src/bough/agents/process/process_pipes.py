"""Connects an agent's three pipes to the event loop: lines from stdout, the tail of stderr, lines to stdin."""

import asyncio
import contextlib
import os
from collections import deque
from typing import IO, cast

from bough.agents.lines import LineSplitter

UNDELIVERED_LIMIT = 4 * 1024 * 1024
"""Bytes of undelivered lines beyond which reading pauses, so that the agent blocks on its full pipe."""
STDERR_TAIL = 64 * 1024
"""Bytes of stderr that are kept: enough for a stack trace, little enough not to hurt."""


class StdoutLines(asyncio.Protocol):
    """Lines from stdout, in the batches in which they were read."""

    def __init__(self, cap: int) -> None:
        self._splitter = LineSplitter(cap)
        self._batches: deque[tuple[int, list[bytes]]] = deque()
        self._undelivered = 0
        self._paused = False
        self._changed = asyncio.Event()
        self._transport: asyncio.ReadTransport | None = None
        self.activity = 0
        self.ended = asyncio.Event()

    @property
    def overflow(self) -> bool:
        """Whether the stream was abandoned because of a line beyond the cap."""
        return self._splitter.overflow

    @property
    def idle(self) -> bool:
        """Whether nothing waits to be delivered, here or in the pipe."""
        return not self._batches and not self._paused

    async def batch(self) -> list[bytes] | None:
        """Returns the next lines, or None when the stream has ended."""
        while not self._batches:
            if self.ended.is_set():
                return None
            self._changed.clear()
            await self._changed.wait()
        self.activity += 1
        size, lines = self._batches.popleft()
        self._undelivered -= size
        if self._paused and self._undelivered <= UNDELIVERED_LIMIT // 2:
            self._paused = False
            if self._transport is not None and not self._transport.is_closing():
                self._transport.resume_reading()
        return lines

    def close(self) -> None:
        """Ends the stream now. Lines that were read before are still delivered."""
        if self._transport is not None:
            self._transport.close()
        self._end()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.ReadTransport", transport)

    def data_received(self, data: bytes) -> None:
        self.activity += 1
        lines = self._splitter.feed(data)
        if lines:
            self._batches.append((len(data), lines))
            self._undelivered += len(data)
            self._changed.set()
        if self._splitter.overflow:
            self.close()
        elif self._undelivered > UNDELIVERED_LIMIT and not self._paused and self._transport is not None:
            self._paused = True
            self._transport.pause_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        self._end()

    def _end(self) -> None:
        if not self.ended.is_set():
            rest = self._splitter.rest()
            if rest:
                self._batches.append((0, [rest]))
            self.ended.set()
            self._changed.set()


class ErrorPipe(asyncio.Protocol):
    """The tail of stderr. It is always read, so that no agent blocks on it."""

    def __init__(self) -> None:
        self._tail = bytearray()
        self._transport: asyncio.BaseTransport | None = None
        self.activity = 0
        self.ended = asyncio.Event()

    def text(self) -> str:
        return self._tail[-STDERR_TAIL:].decode(errors="replace")

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()
        self.ended.set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self.activity += 1
        self._tail += data
        if len(self._tail) > 2 * STDERR_TAIL:
            del self._tail[:-STDERR_TAIL]

    def connection_lost(self, exc: Exception | None) -> None:
        self.ended.set()


class InputPipe(asyncio.BaseProtocol):
    """Lines to stdin. A slow agent slows down the sender."""

    def __init__(self) -> None:
        self._transport: asyncio.WriteTransport | None = None
        self._flowing = asyncio.Event()
        self._flowing.set()
        self.closed = False

    async def write(self, line: bytes) -> bool:
        """Writes a line and waits until the agent has read most of it. Returns False if its end is closed."""
        if self.closed or self._transport is None:
            return False
        self._transport.write(line + b"\n")
        await self._flowing.wait()
        return not self.closed

    def close(self) -> None:
        """Sends EOF after the lines that are still queued."""
        self.closed = True
        self._flowing.set()
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        """Closes at once and drops queued lines."""
        self.closed = True
        self._flowing.set()
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.WriteTransport", transport)

    def pause_writing(self) -> None:
        self._flowing.clear()

    def resume_writing(self) -> None:
        self._flowing.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None  # A transport of the standard library cannot be aborted after its end.
        self.closed = True
        self._flowing.set()


class Pipes:
    """This process's ends of an agent's three pipes, and the agent's ends until it has started.

    These are real pipes, not the socket pairs of event loops, because a program can open /dev/stderr only on a pipe.
    """

    def __init__(self, cap: int) -> None:
        self.output, self.errors, self.input = StdoutLines(cap), ErrorPipe(), InputPipe()
        self._child_ends: list[int] = []

    @property
    def child_ends(self) -> tuple[int, int, int]:
        """The child's stdin, stdout and stderr."""
        stdin, stdout, stderr = self._child_ends
        return stdin, stdout, stderr

    async def open(self) -> None:
        loop = asyncio.get_running_loop()
        await loop.connect_write_pipe(lambda: self.input, self._pipe(writing=True))
        await loop.connect_read_pipe(lambda: self.output, self._pipe())
        await loop.connect_read_pipe(lambda: self.errors, self._pipe())

    def close_child_ends(self) -> None:
        while self._child_ends:
            os.close(self._child_ends.pop())

    async def close_when_quiet(self, seconds: float) -> None:
        """Waits for the end of stdout and stderr. Closes them when nothing moves for this long."""
        while not (self.output.ended.is_set() and self.errors.ended.is_set()):
            before = (self.output.activity, self.errors.activity)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self.output.ended.wait()
                    await self.errors.ended.wait()
            if self.output.idle and before == (self.output.activity, self.errors.activity):
                self.output.close()
                self.errors.close()

    def close(self) -> None:
        self.close_child_ends()
        self.input.abort()
        self.output.close()
        self.errors.close()

    def _pipe(self, *, writing: bool = False) -> IO[bytes]:
        read, write = os.pipe()
        own_end, child_end = (write, read) if writing else (read, write)
        self._child_ends.append(child_end)
        return open(own_end, "wb" if writing else "rb", buffering=0)
