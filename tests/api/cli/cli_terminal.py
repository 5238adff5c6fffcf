"""Runs a command in a terminal with a simulated person, over a connection that can be cut."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import pty
import struct
import sys
import termios
from collections.abc import AsyncGenerator

from tests.api.cli.cli_program import PATIENCE
from tests.support.server import Running

ROWS, COLUMNS = 30, 80


class Terminal:
    """The screen and the keyboard of a terminal."""

    def __init__(self, handle: int, process: asyncio.subprocess.Process) -> None:
        self._handle = handle
        self._process = process
        self._grown = asyncio.Event()
        self.screen = ""
        os.set_blocking(handle, False)
        asyncio.get_running_loop().add_reader(handle, self._read)

    def _read(self) -> None:
        try:
            piece = os.read(self._handle, 65536)
        except OSError:
            piece = b""
        if not piece:
            asyncio.get_running_loop().remove_reader(self._handle)
        self.screen += piece.decode("utf-8", "replace")
        self._grown.set()

    async def until(self, text: str, times: int = 1) -> None:
        async with asyncio.timeout(PATIENCE):
            while self.screen.count(text) < times:
                self._grown.clear()
                await self._grown.wait()

    def type(self, text: str) -> None:
        os.write(self._handle, text.encode())

    async def end(self) -> int:
        async with asyncio.timeout(PATIENCE):
            return await self._process.wait()


@contextlib.asynccontextmanager
async def terminal(*arguments: str, **env: str) -> AsyncGenerator[Terminal]:
    """Runs the real program on its own terminal, so that Ctrl-C reaches it as it would from a person."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))

    def take() -> None:
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bough", *arguments),
        env={**os.environ, "TERM": "xterm", **env},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        preexec_fn=take,
    )
    os.close(theirs)
    shown = Terminal(ours, process)
    try:
        yield shown
    finally:
        asyncio.get_running_loop().remove_reader(ours)
        if process.returncode is None:
            process.kill()
            await process.wait()
        os.close(ours)


class Line:
    """A connection to the server that can be cut and restored."""

    def __init__(self) -> None:
        self.url = ""
        self.open = True
        self._writers: set[asyncio.StreamWriter] = set()

    def cut(self) -> None:
        self.open = False
        for writer in self._writers:
            writer.transport.abort()

    def mend(self) -> None:
        self.open = True

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, port: int) -> None:
        if not self.open:
            writer.transport.abort()
            return
        back, there = await asyncio.open_connection("127.0.0.1", port)
        pair = {writer, there}
        self._writers |= pair
        ways = [asyncio.create_task(_pour(reader, there)), asyncio.create_task(_pour(back, writer))]
        await asyncio.wait(ways)
        self._writers -= pair


async def _pour(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while piece := await source.read(65536):
            target.write(piece)
            await target.drain()
    target.close()


@contextlib.asynccontextmanager
async def line_to(server: Running) -> AsyncGenerator[Line]:
    line = Line()
    port = int(server.url.rpartition(":")[2])
    listening = await asyncio.start_server(lambda reader, writer: line.carry(reader, writer, port), "127.0.0.1", 0)
    line.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    async with listening:
        yield line
        line.cut()
