"""`bough acp`: an agent of the Agent Client Protocol on stdio, for editors. It is a thin pipe to the server, and starts
one if there is none; what is said through it is `bough.api.acp`."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
import time
from urllib.parse import urlsplit

import typer

from bough.api.cli.framework import output as out
from bough.api.cli.framework.base import DONE, FAILED, Here, command
from bough.api.cli.framework.target import Place
from bough.errors import NotFound

# A server is ready in a second or two; a machine that has just been switched on takes longer.
START_WITHIN = 60.0
LOOK_EVERY = 0.05
ANSWER_WITHIN = 5.0
# When the server that was started has ended, another one may be on its way.
OTHER_WITHIN = 10.0
# Lines of the editor that are read ahead.
MOST_LINES = 16
PIECE = 1 << 16
# After the last line of the editor its open requests have this long to be answered.
LINGER = 2.0
# As long as a line of the protocol may be.
LONGEST_LINE = 64 * 1024 * 1024


def add_to(app: typer.Typer) -> None:
    @command(app, "acp", common=("data", "url", "token"))
    def acp(here: Here) -> int:  # pyright: ignore[reportUnusedFunction]
        """Speak the Agent Client Protocol on stdio, for an editor.

        Sessions are those of the server on this data folder; it is started if it does not run.
        """
        url, token = _server(here.place)
        return asyncio.run(_pipe(url, token))


def _server(place: Place) -> tuple[str, str]:
    """Address and token of the server, started if it has to be."""
    found = _running(place)
    if found is not None:
        return found
    if place.address is not None:
        raise place.nobody()
    return _started(place)


def _running(place: Place) -> tuple[str, str] | None:
    """The server, if one answers; one that was killed leaves its file behind."""
    try:
        url, token = place.find()
        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        with socket.create_connection((parts.hostname or "", port), timeout=ANSWER_WITHIN):
            return url, token
    except (NotFound, OSError, ValueError):
        return None


def _started(place: Place) -> tuple[str, str]:
    folder = place.folder
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    log = folder / "server.log"
    with log.open("ab") as output:
        server = subprocess.Popen(
            [sys.executable, "-m", "bough", "serve", "--data", str(folder)],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            # It outlives the editor that happened to need it first.
            start_new_session=True,
        )
    deadline = time.monotonic() + START_WITHIN
    while time.monotonic() < deadline:
        found = _running(place)
        if found is not None:
            out.note(f"Started a server at {found[0]}, with its log in {log}.")
            return found
        if server.poll() is not None:
            # Another editor may have been quicker; its server is not ready yet, perhaps.
            deadline = min(deadline, time.monotonic() + OTHER_WITHIN)
        time.sleep(LOOK_EVERY)
    raise NotFound("no_server", f"No server could be started on {folder}. Its log is {log}.")


async def _pipe(url: str, token: str) -> int:
    """Lines from stdin to the server and back, until one side ends."""
    from websockets.asyncio.client import connect
    from websockets.exceptions import ConnectionClosed, WebSocketException

    address = f"{url.replace('http', 'ws', 1)}/acp"
    headers = {"Authorization": f"Bearer {token}"}
    try:
        # Without pings: an editor may take its time with what it was sent.
        opening = connect(
            address, additional_headers=headers, max_size=LONGEST_LINE, compression=None, ping_interval=None
        )
        server = await opening
    except (OSError, WebSocketException) as error:
        out.note(f"No server answers at {url}: {error}")
        return FAILED

    waiting = _Open()

    async def outward() -> int:
        lines = _lines()
        while line := await lines.get():
            waiting.note(line, ours=True)
            await server.send(line.decode("utf-8", "replace"))
        # Whoever only had this to say wants the answer.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LINGER):
                await waiting.none.wait()
        return DONE

    async def inward() -> int:
        loop = asyncio.get_running_loop()
        async for frame in server:
            text = frame if isinstance(frame, str) else frame.decode("utf-8", "replace")
            await loop.run_in_executor(None, _print, text)
            waiting.note(text, ours=False)
        out.note("The server has ended.")
        return FAILED

    async with server:
        ways = [asyncio.create_task(outward()), asyncio.create_task(inward())]
        done, left = await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        for way in left:
            way.cancel()
        await asyncio.wait(ways)
        try:
            return max(way.result() for way in done)
        except ConnectionClosed as closed:
            out.note(f"The server has ended the connection: {closed}")
        except BrokenPipeError:
            # Nobody reads what is printed: the editor is gone.
            return DONE
        return FAILED


def _lines() -> asyncio.Queue[bytes]:
    """What comes on stdin, by lines, until an empty one. Read in a thread of its own, which nobody has to wait for: the
    end of the server ends this program too, whatever stdin does."""
    lines: asyncio.Queue[bytes] = asyncio.Queue(MOST_LINES)
    loop = asyncio.get_running_loop()

    def read() -> None:
        pieces: list[bytes] = []
        # Not through Python's buffer, whose lock this thread would hold when the program ends.
        stdin = sys.stdin.fileno()
        with contextlib.suppress(RuntimeError, OSError):
            while piece := os.read(stdin, PIECE):
                head, *whole = piece.split(b"\n")
                pieces.append(head)
                for start in whole:
                    give(pieces)
                    pieces = [start]
            give(pieces)
            asyncio.run_coroutine_threadsafe(lines.put(b""), loop).result()

    def give(pieces: list[bytes]) -> None:
        if line := b"".join(pieces).strip():
            asyncio.run_coroutine_threadsafe(lines.put(line), loop).result()

    threading.Thread(target=read, daemon=True).start()
    return lines


class _Open:
    """Requests of the editor that are not answered yet."""

    def __init__(self) -> None:
        self._ids: set[str] = set()
        self.none = asyncio.Event()
        self.none.set()

    def note(self, line: str | bytes, *, ours: bool) -> None:
        try:
            message = json.loads(line)
        except ValueError:
            return
        if not isinstance(message, dict) or "id" not in message:
            return
        if ours and "method" in message:
            self._ids.add(json.dumps(message["id"]))
            self.none.clear()
        elif not ours and "method" not in message:
            self._ids.discard(json.dumps(message["id"]))
            if not self._ids:
                self.none.set()


def _print(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
