"""`bough acp`: lets editors use Bough as an ACP agent on stdio. It is a thin pipe to the server's ACP door
(`bough.api.acp`) and starts a server if none is running. `bough mcp-stdio` is the same for Bough's MCP tools."""

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

from bough.api.cli.framework import output as output
from bough.api.cli.framework.base import DONE, FAILED, CommandContext, command
from bough.api.cli.framework.find_server import ServerTarget
from bough.errors import NotFound

# Seconds; a server is usually ready in one or two, but not on a machine that has just booted.
START_WITHIN = 60.0
LOOK_EVERY = 0.05
ANSWER_WITHIN = 5.0
# If our server ended at once, another editor may have started one that is not ready yet.
OTHER_WITHIN = 10.0
# Lines read ahead from the editor.
MOST_LINES = 16
PIECE = 1 << 16
# Seconds that open requests have to be answered after the editor closed stdin.
LINGER = 2.0
# The longest line of the protocol.
LONGEST_LINE = 64 * 1024 * 1024


def add_to(app: typer.Typer) -> None:
    @command(app, "acp", common=("data", "url", "token"))
    def acp(ctx: CommandContext) -> int:  # pyright: ignore[reportUnusedFunction]
        """Act as an ACP agent on stdio, for editors.

        Uses the server on this data folder and starts it if it is not running.
        """
        url, token = _server(ctx.target)
        return asyncio.run(_pipe(url, token))

    @command(app, "mcp-stdio", common=("data", "url", "token"))
    def mcp_stdio(ctx: CommandContext) -> int:  # pyright: ignore[reportUnusedFunction]
        """Offer Bough's MCP tools on stdio, for programs that take no HTTP servers.

        Bough attaches such a bridge to agents automatically, with BOUGH_MCP_URL and the session's BOUGH_MCP_TOKEN in
        the environment. Without them it uses the server on this data folder, as you.
        """
        from bough.agents.shims import mcp_stdio as bridge

        url, token = os.environ.get(bridge.URL), os.environ.get(bridge.TOKEN)
        if not url or not token:
            address, token = ctx.target.find()
            url = f"{address.rstrip('/')}/mcp/"
        bridge.serve(url, token)
        return DONE


def _server(target: ServerTarget) -> tuple[str, str]:
    """Returns the server's address and token; starts the server if necessary."""
    running = _running(target)
    if running is not None:
        return running
    if target.address is not None:
        raise target.not_running()
    return _started(target)


def _running(target: ServerTarget) -> tuple[str, str] | None:
    """Returns the server's address and token if it accepts connections; a killed server leaves its file behind."""
    try:
        url, token = target.find()
        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        with socket.create_connection((parts.hostname or "", port), timeout=ANSWER_WITHIN):
            return url, token
    except (NotFound, OSError, ValueError):
        return None


def _started(target: ServerTarget) -> tuple[str, str]:
    folder = target.folder
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    log = folder / "server.log"
    with log.open("ab") as log_file:
        server = subprocess.Popen(
            [sys.executable, "-m", "bough", "serve", "--data", str(folder)],
            stdin=subprocess.DEVNULL,
            stdout=log_file,
            stderr=log_file,
            # The server outlives the editor that started it.
            start_new_session=True,
        )
    deadline = time.monotonic() + START_WITHIN
    while time.monotonic() < deadline:
        running = _running(target)
        if running is not None:
            output.note(f"Started a server at {running[0]}; its log is {log}.")
            return running
        if server.poll() is not None:
            # Another editor may have started a server that is not ready yet.
            deadline = min(deadline, time.monotonic() + OTHER_WITHIN)
        time.sleep(LOOK_EVERY)
    raise NotFound("no_server", f"Could not start a server on {folder}. See its log: {log}")


async def _pipe(url: str, token: str) -> int:
    """Passes lines from stdin to the server and back until one side ends."""
    from websockets.asyncio.client import connect
    from websockets.exceptions import ConnectionClosed, WebSocketException

    address = f"{url.replace('http', 'ws', 1)}/acp"
    headers = {"Authorization": f"Bearer {token}"}
    try:
        # No pings: an editor may be slow to read what it was sent.
        opening = connect(
            address, additional_headers=headers, max_size=LONGEST_LINE, compression=None, ping_interval=None
        )
        server = await opening
    except (OSError, WebSocketException) as error:
        output.note(f"No server answers at {url}: {error}")
        return FAILED

    open_requests = _OpenRequests()

    async def outward() -> int:
        lines = _lines()
        while line := await lines.get():
            open_requests.note(line, ours=True)
            await server.send(line.decode("utf-8", "replace"))
        # A script that closes stdin after its request still wants the answer.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LINGER):
                await open_requests.none.wait()
        return DONE

    async def inward() -> int:
        loop = asyncio.get_running_loop()
        async for frame in server:
            text = frame if isinstance(frame, str) else frame.decode("utf-8", "replace")
            await loop.run_in_executor(None, _print, text)
            open_requests.note(text, ours=False)
        output.note("The server has stopped.")
        return FAILED

    async with server:
        pipes = [asyncio.create_task(outward()), asyncio.create_task(inward())]
        done, unfinished = await asyncio.wait(pipes, return_when=asyncio.FIRST_COMPLETED)
        for pipe in unfinished:
            pipe.cancel()
        await asyncio.wait(pipes)
        try:
            return max(pipe.result() for pipe in done)
        except ConnectionClosed as closed:
            output.note(f"The server closed the connection: {closed}")
        except BrokenPipeError:
            # The editor no longer reads our output: it is gone.
            return DONE
        return FAILED


def _lines() -> asyncio.Queue[bytes]:
    """Returns a queue of the lines of stdin; an empty line marks the end. A daemon thread reads them, so that this
    program can exit when the server stops, even if stdin blocks."""
    lines: asyncio.Queue[bytes] = asyncio.Queue(MOST_LINES)
    loop = asyncio.get_running_loop()

    def read() -> None:
        pieces: list[bytes] = []
        # Not through Python's buffer, because this thread would hold its lock when the program exits.
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


class _OpenRequests:
    """Tracks the editor's requests that have not been answered yet."""

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
