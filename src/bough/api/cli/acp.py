"""`bough acp`: an agent of the Agent Client Protocol on stdio, for editors. It is a thin pipe to the server, and starts
one if there is none; what is said through it is `bough.api.acp`."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import typer

from bough.api.cli import out
from bough.api.cli.base import DONE, FAILED, Here, command
from bough.api.cli.target import Place
from bough.errors import BoughError, NotFound

# A server is ready in a second or two; a machine that has just been switched on takes longer.
START_WITHIN = 60.0
LOOK_EVERY = 0.05
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
    with contextlib.suppress(NotFound):
        url, token = place.find()
        if place.address is not None or _answers(place.folder):
            return url, token
    if place.address is not None:
        raise place.nobody()
    return _started(place)


def _answers(folder: Path) -> bool:
    """Whether the server that the folder tells of is alive; one that was killed leaves its file behind."""
    try:
        os.kill(int(json.loads((folder / "server.json").read_text("utf-8"))["pid"]), 0)
    except (OSError, ValueError, KeyError):
        return False
    return True


def _started(place: Place) -> tuple[str, str]:
    folder = place.folder
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    log = folder / "server.log"
    with contextlib.suppress(FileNotFoundError):
        (folder / "server.json").unlink()
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
        with contextlib.suppress(BoughError):
            url, token = place.find()
            out.note(f"Started a server at {url}, with its log in {log}.")
            return url, token
        if server.poll() is not None:
            break
        time.sleep(LOOK_EVERY)
    raise NotFound("no_server", f"No server could be started on {folder}. Its log is {log}.")


async def _pipe(url: str, token: str) -> int:
    """Lines from stdin to the server and back, until one side ends."""
    from websockets.asyncio.client import ClientConnection, connect
    from websockets.exceptions import ConnectionClosed, WebSocketException

    address = f"{url.replace('http', 'ws', 1)}/acp"
    headers = {"Authorization": f"Bearer {token}"}
    try:
        socket = await connect(address, additional_headers=headers, max_size=LONGEST_LINE, compression=None)
    except (OSError, WebSocketException) as error:
        out.note(f"No server answers at {url}: {error}")
        return FAILED

    open_requests = _Open()

    async def outward(socket: ClientConnection) -> int:
        reader = asyncio.StreamReader(limit=LONGEST_LINE)
        loop = asyncio.get_running_loop()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        while line := await reader.readline():
            if text := line.strip():
                open_requests.note(text, ours=True)
                await socket.send(text.decode("utf-8", "replace"))
        # Whoever only had this to say wants the answer.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LINGER):
                await open_requests.none.wait()
        return DONE

    async def inward(socket: ClientConnection) -> int:
        loop = asyncio.get_running_loop()
        try:
            async for frame in socket:
                text = frame if isinstance(frame, str) else frame.decode("utf-8", "replace")
                await loop.run_in_executor(None, _print, text)
                open_requests.note(text, ours=False)
        except ConnectionClosed as closed:
            out.note(f"The server has ended the connection: {closed}")
        return FAILED

    async with socket:
        ways = [asyncio.create_task(outward(socket)), asyncio.create_task(inward(socket))]
        done, left = await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        for way in left:
            way.cancel()
        return max(way.result() for way in done)


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
