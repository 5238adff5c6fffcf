"""`bough serve`: binds the address, says when it is ready, stops in order (L1). The application itself is `http`."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import json
import os
import signal
import socket
from collections.abc import Callable, Generator
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import structlog
import uvicorn

from bough.api.http.auth import Gate, load_token
from bough.api.mcp.protocol import door
from bough.api.server import app
from bough.api.server.limits import BoundedProtocol
from bough.core.services import Services
from bough.datafolder import only_one
from bough.errors import Conflict, Invalid
from bough.settings import Settings

log = structlog.get_logger("bough.serve")

# Open streams are told to reconnect; whoever does not leave by then is cut off.
LINGER = 3
BACKLOG = 2048


class Server(uvicorn.Server):
    """Uvicorn with our own signals (it would die of the one that stopped it), a word when it is ready and one when it
    begins to end."""

    def __init__(
        self, config: uvicorn.Config, ready: Callable[[], None], ending: Callable[[], None] | None = None
    ) -> None:
        super().__init__(config)
        self._ready = ready
        self._ending = ending

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        if self._ending is not None:
            self._ending()
        await super().shutdown(sockets)

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self.handle_exit, number, None)
        try:
            yield
        finally:
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.remove_signal_handler(number)


async def serve(
    settings: Settings,
    running: Callable[[Settings, str | None], AbstractAsyncContextManager[Services]],
    announce: Callable[[str, str], None],
    stop: asyncio.Event | None = None,
) -> None:
    """Runs a server until a signal or `stop`; `announce` is given its address and its link once it is ready."""
    data = settings.data_path
    data.mkdir(parents=True, exist_ok=True, mode=0o700)
    with _bound(settings, data) as sock:
        port = sock.getsockname()[1]
        url = f"http://{_shown(settings.host)}:{port}"
        async with running(settings, f"{url}{door.PATH}/") as services:
            sock.listen(BACKLOG)
            token = load_token(data)
            gate = Gate(token, settings)
            tools = door.Door(services, gate.right_token)
            config = uvicorn.Config(
                app.build(services, gate, tools),
                loop="none",
                lifespan="off",
                http=BoundedProtocol,
                log_config=None,
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=LINGER,
                ws_max_size=settings.max_body,
                # Compressing costs more time than sending does on the networks that this serves.
                ws_per_message_deflate=False,
            )

            def ready() -> None:
                _write_private(data / "server.json", json.dumps({"url": url, "pid": os.getpid(), "token": token}))
                announce(url, f"{url}/?token={token}")

            def ending() -> None:
                services.waiting.close()
                services.calls.let_go()

            server = Server(config, ready, ending)
            stopping = asyncio.create_task(_stop_on(server, stop)) if stop is not None else None
            try:
                async with tools.running():
                    await server.serve([sock])
            finally:
                (data / "server.json").unlink(missing_ok=True)
                if stopping is not None:
                    stopping.cancel()


async def _stop_on(server: Server, stop: asyncio.Event) -> None:
    await stop.wait()
    server.should_exit = True


@contextlib.contextmanager
def _bound(settings: Settings, data: Path) -> Generator[socket.socket]:
    """A socket on the chosen address; a picked port is remembered, since living agents hold the address."""
    remembered = data / "port"
    port = settings.port
    if port == 0 and remembered.exists():
        port = int(remembered.read_text("ascii"))
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    # The protocol is named because asyncio turns Nagle's delay off only for sockets that say they are TCP.
    sock = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            sock.bind((settings.host, port))
        except OSError as error:
            # A server that works on this folder already has it, most likely; that is the better answer then.
            with only_one(data):
                pass
            if isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL:
                raise Invalid("bad_host", f"{settings.host!r} is not an address of this machine.") from error
            raise Conflict(
                "port_taken",
                f"Port {port} on {settings.host} cannot be used: {error.strerror}. Choose another with --port.",
            ) from error
        if settings.port == 0:
            remembered.write_text(f"{sock.getsockname()[1]}\n", "ascii")
        sock.setblocking(False)
        yield sock
    finally:
        sock.close()


def _shown(host: str) -> str:
    """The address as a browser on this machine writes it."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"[{host}]" if ":" in host else host


def _write_private(path: Path, text: str) -> None:
    """Writes a file that only its owner can read, whole or not at all."""
    temporary = path.with_suffix(".tmp")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text + "\n")
    temporary.replace(path)
