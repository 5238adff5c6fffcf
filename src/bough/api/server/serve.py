"""Runs the server: binds the address, starts the services and uvicorn, and stops them in order."""

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

from bough import data_folder, descriptors
from bough.api.http.auth import Gate
from bough.api.http.server_token import load_token, write_private
from bough.api.mcp.protocol import door
from bough.api.server import app
from bough.api.server.limits import BoundedProtocol
from bough.core.services import Services
from bough.data_folder_lock import only_one
from bough.errors import Conflict, Invalid
from bough.settings import Settings

log = structlog.get_logger("bough.serve")

# Seconds that open connections have to close on shutdown before they are cut off.
LINGER = 3
BACKLOG = 2048
# The file in the data folder that holds the port picked for `port = 0`.
REMEMBERED_PORT = "port"


class Server(uvicorn.Server):
    """Uvicorn with callbacks for when it is ready and when it begins to stop, and with our own signal handlers, because
    uvicorn raises the signal again after it has stopped."""

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
    """Runs a server until a signal or `stop`; calls `announce` with its address and link when it is ready."""
    descriptors.ensure_enough(settings.max_agents)
    data = settings.data_path
    data_folder.prepare(data)
    with _bound(settings, data) as sock:
        port = sock.getsockname()[1]
        url = f"http://{_url_host(settings.host)}:{port}"
        async with running(settings, f"{url}{door.PATH}/") as services:
            if settings.port == 0:
                # Only now has this server the data folder and the database for itself.
                (data / REMEMBERED_PORT).write_text(f"{port}\n", "ascii")
            sock.listen(BACKLOG)
            token = load_token(data)
            gate = Gate(token, settings, services.page_keys)
            tools = door.Door(services, gate.right_token)
            config = uvicorn.Config(
                app.build(services, gate, tools, lambda token: _announce_token(data, url, token)),
                loop="none",
                lifespan="off",
                http=BoundedProtocol,
                log_config=None,
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=LINGER,
                ws_max_size=settings.max_body,
                # On local networks, compressing takes longer than sending.
                ws_per_message_deflate=False,
            )

            def ready() -> None:
                _announce_token(data, url, token)
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
    """Yields a socket bound to the configured address. Port 0 means the port picked last, because running agents use
    it, or another if that one is taken."""
    remembered = data / REMEMBERED_PORT
    ports = [settings.port]
    if settings.port == 0 and remembered.exists():
        ports.insert(0, int(remembered.read_text("ascii")))
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    # The protocol is explicit because asyncio disables Nagle's algorithm only for sockets that declare TCP.
    sock = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        for port in ports:
            try:
                sock.bind((settings.host, port))
                break
            except OSError as error:
                # Most likely a server on this folder has the port; then `only_one` raises the better error.
                with only_one(data):
                    pass
                if isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL:
                    raise Invalid(
                        "bad_host", f"{settings.host!r} is not an address of this machine. Choose another with --host."
                    ) from error
                if port != ports[-1]:
                    log.warning("port_changed", taken=port, error=error.strerror)
                    continue
                raise Conflict(
                    "port_taken",
                    f"Cannot use port {port} on {settings.host}: {error.strerror}. Choose another with --port.",
                ) from error
        sock.setblocking(False)
        yield sock
    finally:
        sock.close()


def _url_host(host: str) -> str:
    """Returns the host as a browser on this machine writes it."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"[{host}]" if ":" in host else host


def _announce_token(data: Path, url: str, token: str) -> None:
    """Writes the file by which commands find the server."""
    write_private(data / "server.json", json.dumps({"url": url, "pid": os.getpid(), "token": token}))
