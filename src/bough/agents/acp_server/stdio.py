"""Reads lines from stdin and writes lines to stdout, each in its own thread, so that any kind of file works."""

import asyncio
import contextlib
import os
import threading

READ_SIZE = 1 << 16
# A longer line is a fault, not a message. It is discarded instead of filling the memory.
LINE_LIMIT = 64 * 1024 * 1024
# Takes the place of such a line. It is not JSON, so the client gets a parse error.
OVERLONG = b"(a line beyond the limit)"
# Large enough that writing is never the bottleneck, small enough that a client that stops reading slows a flood.
HIGH_WATER = 1024 * 1024
# Seconds for the last lines to reach a client that reads slowly or not at all.
FLUSH_LIMIT = 1.0


class StdoutWriter:
    """Writes in its own thread: a client that does not read must not keep the agent from listening."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._chunks: list[bytes] = []
        self._size = 0
        self._broken = False
        self._changed = threading.Condition()
        self._room = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        threading.Thread(target=self._run, name="stdout", daemon=True).start()

    def write(self, data: bytes) -> None:
        """Queues whole lines; they are written in order, as fast as the client reads."""
        with self._changed:
            if not self._broken:
                self._chunks.append(data)
                self._size += len(data)
                self._changed.notify_all()

    async def drain(self) -> None:
        """Yields to other tasks once, then waits while more than HIGH_WATER bytes are unwritten."""
        await asyncio.sleep(0)
        while self._size > HIGH_WATER:
            self._room.clear()
            # Checked again, because the writer may have made room just before the event was cleared.
            if self._size > HIGH_WATER:
                await self._room.wait()

    def flush(self) -> None:
        """Blocks until everything is written, the client is gone, or FLUSH_LIMIT has passed."""
        with self._changed:
            self._changed.wait_for(lambda: self._size == 0, FLUSH_LIMIT)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._chunks)
                data = memoryview(b"".join(self._chunks))
                self._chunks.clear()
            try:
                while data:
                    written = os.write(self._fd, data)
                    data = data[written:]
                    self._shrink(written)
            except OSError:
                # The client is gone. Our input ends too, and that ends the agent.
                with self._changed:
                    self._broken = True
                    self._chunks.clear()
                self._shrink(self._size)
                return

    def _shrink(self, written: int) -> None:
        with self._changed:
            before, self._size = self._size, self._size - written
            self._changed.notify_all()
        if self._size <= HIGH_WATER < before:
            with contextlib.suppress(RuntimeError):  # The event loop has ended, so nothing waits.
                self._loop.call_soon_threadsafe(self._room.set)


def read_lines(fd: int) -> asyncio.Queue[bytes | None]:
    """Returns a queue that a thread fills with the lines of the input, and with None at its end."""
    queue: asyncio.Queue[bytes | None] = asyncio.Queue()
    arguments = (fd, asyncio.get_running_loop(), queue)
    threading.Thread(target=_read, args=arguments, name="stdin", daemon=True).start()
    return queue


def _read(fd: int, loop: asyncio.AbstractEventLoop, queue: asyncio.Queue[bytes | None]) -> None:
    rest = bytearray()
    overlong = False
    # The thread ends when the event loop has ended (RuntimeError) or the input is gone (OSError).
    with contextlib.suppress(RuntimeError):
        with contextlib.suppress(OSError):
            while data := os.read(fd, READ_SIZE):
                *lines, tail = data.split(b"\n")
                for line in lines:
                    rest += line
                    if overlong or rest.strip():
                        loop.call_soon_threadsafe(queue.put_nowait, OVERLONG if overlong else bytes(rest))
                    rest.clear()
                    overlong = False
                rest += tail
                if len(rest) > LINE_LIMIT:
                    overlong = True
                    rest.clear()
        loop.call_soon_threadsafe(queue.put_nowait, None)
