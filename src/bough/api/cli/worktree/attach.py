"""Attaches the person's terminal to one of the server's: passes on keys, output and sizes until it is left or ends."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
import termios
import tty
from typing import Any
from urllib.parse import quote

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from bough.api.cli.framework.client import Client, Json
from bough.errors import Conflict, NotFound

DETACH = b"\x1d"
"""Ctrl-], as in telnet."""
READ = 64 * 1024
REFUSED = 4000
"""Close codes from here on are refusals with a reason."""
# Leaves the alternate screen and turns off what a program may have turned on: mouse, pasting, a hidden cursor.
RESTORE = b"\x1b[?1049l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?2004l\x1b[?1l\x1b>\x1b[?25h\x1b[0m\r\n"


def size() -> tuple[int, int]:
    """Returns the columns and rows of this terminal."""
    chosen = os.get_terminal_size(sys.stdout.fileno())
    return chosen.columns, chosen.lines


def attach(client: Client, terminal_id: str) -> int | None:
    """Shows a terminal until it ends, and returns its exit code; None if the person detached."""
    stdin = sys.stdin.fileno()
    before = termios.tcgetattr(stdin)
    try:
        # Keeps what was typed meanwhile, which the default flushes.
        tty.setraw(stdin, termios.TCSADRAIN)
        return asyncio.run(_attached(client, terminal_id))
    finally:
        termios.tcsetattr(stdin, termios.TCSADRAIN, before)
        os.write(sys.stdout.fileno(), RESTORE)


async def _attached(client: Client, terminal_id: str) -> int | None:
    url, token = client.target.find()
    address = f"{url.replace('http', 'ws', 1)}/api/terminals/attach?terminalId={quote(terminal_id)}"
    try:
        async with connect(
            address, additional_headers={"authorization": f"Bearer {token}"}, max_size=None, max_queue=4
        ) as socket:
            return await _Attachment(socket).run()
    except ConnectionClosed as closed:
        if closed.rcvd is not None and closed.rcvd.code >= REFUSED:
            raise Conflict("terminal_refused", closed.rcvd.reason) from closed
        raise NotFound(
            "connection_lost", "The connection was lost. The terminal keeps running; attach to it again."
        ) from closed
    except OSError as error:
        raise client.target.not_running() from error


class _Attachment:
    """One connection between this terminal and the server's."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._typed: asyncio.Queue[bytes | Json | None] = asyncio.Queue()

    async def run(self) -> int | None:
        loop, stdin = asyncio.get_running_loop(), sys.stdin.fileno()
        loop.add_reader(stdin, self._read_keys)
        loop.add_signal_handler(signal.SIGWINCH, self._tell_size)
        self._tell_size()
        showing = asyncio.create_task(self._show())
        typing = asyncio.create_task(self._pass_on())
        try:
            await asyncio.wait((showing, typing), return_when=asyncio.FIRST_COMPLETED)
            return showing.result() if showing.done() else typing.result()
        finally:
            loop.remove_reader(stdin)
            loop.remove_signal_handler(signal.SIGWINCH)
            for task in (showing, typing):
                task.cancel()
            await asyncio.wait((showing, typing))

    def _read_keys(self) -> None:
        data = os.read(sys.stdin.fileno(), READ)
        before, detach, _ = data.partition(DETACH)
        if before:
            self._typed.put_nowait(before)
        if detach or not data:
            self._typed.put_nowait(None)

    def _tell_size(self) -> None:
        columns, rows = size()
        self._typed.put_nowait({"columns": columns, "rows": rows})

    async def _pass_on(self) -> None:
        """Sends keys and sizes until the person detaches."""
        while (item := await self._typed.get()) is not None:
            await self._socket.send(item if isinstance(item, bytes) else json.dumps(item))

    async def _show(self) -> int:
        """Prints until the shell ends, and returns its exit code."""
        while True:
            frame = await self._socket.recv()
            if isinstance(frame, bytes):
                await asyncio.to_thread(_write, frame)
                with contextlib.suppress(ConnectionClosed):  # What was sent before its end is still read.
                    await self._socket.send(json.dumps({"ack": len(frame)}))
                continue
            notice: dict[str, Any] = json.loads(frame)
            if notice["type"] == "ended":
                return int(notice.get("code") or 0)


def _write(data: bytes) -> None:
    """Writes all of it; the thread waits while the person's terminal is slow."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(sys.stdout.fileno(), rest) :]
