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

from bough import data_folder, open_file_limit
from bough.api.http.auth import RequestGate
from bough.api.http.server_parts import ServerParts
from bough.api.http.server_token import load_token, write_private
from bough.api.mcp.protocol import door
from bough.api.preview.proxy import PreviewProxy
from bough.api.server import app, tls_and_proxies
from bough.api.server.limits import BoundedProtocol
from bough.core.services import Services
from bough.data_folder_lock import only_one
from bough.errors import Conflict, Invalid
from bough.model.session import Caller
from bough.settings import Settings

log = structlog.get_logger("bough.serve")

# Seconds that open connections have to close on shutdown before they are cut off.
LINGER = 3
BACKLOG = 2048
# The files in the data folder that hold the ports picked for `port = 0`, for this machine's own programs, and for
# previews.
REMEMBERED_PORT = "port"
REMEMBERED_LOCAL_PORT = "local_port"
REMEMBERED_PREVIEW_PORT = "preview_port"
# Hosts that stand for all addresses, and the address by which this machine reaches them.
ALL_ADDRESSES = {"0.0.0.0": "127.0.0.1", "::": "::1"}


class Server(uvicorn.Server):
    """Uvicorn with callbacks for when it is ready and when it begins to stop, a second socket for programs on this
    machine, and our own signal handlers, because uvicorn raises the signal again after it has stopped."""

    def __init__(
        self,
        config: uvicorn.Config,
        ready: Callable[[], None],
        ending: Callable[[], None] | None = None,
        local: socket.socket | None = None,
    ) -> None:
        super().__init__(config)
        self._ready = ready
        self._ending = ending
        self._local = local

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self._local is not None:
            loop = asyncio.get_running_loop()
            self.servers.append(await loop.create_server(self._plain_protocol, sock=self._local, backlog=BACKLOG))
        self._ready()

    def _plain_protocol(self) -> asyncio.Protocol:
        """Creates a connection without TLS, for programs on this machine."""
        return BoundedProtocol(config=self.config, server_state=self.server_state, app_state=self.lifespan.state)

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
    tls_and_proxies.check(settings)
    certificate = tls_and_proxies.certificate(settings)
    open_file_limit.ensure_enough(settings.max_agents)
    data = settings.data_path
    data_folder.prepare(data)
    with contextlib.ExitStack() as stack:
        sock = stack.enter_context(_bound(settings, data))
        # Agents and commands on this machine need no certificate, and cannot be told to trust one.
        shared = certificate is not None or not tls_and_proxies.is_loopback(settings.host)
        local = stack.enter_context(_bound_locally(data)) if shared else None
        preview = stack.enter_context(_bound_for_previews(settings, data))
        port = sock.getsockname()[1]
        link_url = f"{'https' if certificate else 'http'}://{_url_host(settings)}:{port}"
        url = f"http://127.0.0.1:{local.getsockname()[1]}" if local is not None else link_url
        if certificate is None:
            # Behind a proxy, only the proxy knows the address that others use.
            link_url = url
        async with running(settings, f"{url}{door.PATH}/") as services:
            # Only now has this server the data folder and the database for itself.
            if settings.port == 0:
                (data / REMEMBERED_PORT).write_text(f"{port}\n", "ascii")
            if local is not None:
                (data / REMEMBERED_LOCAL_PORT).write_text(f"{local.getsockname()[1]}\n", "ascii")
            sock.listen(BACKLOG)
            token = load_token(data)
            gate = RequestGate(token, settings, services.page_keys, services.user_tokens)
            tools = door.McpDoor(services, lambda secret: _tools_caller(gate, secret))
            parts = ServerParts(services, gate, lambda token: _announce_token(data, url, token))
            built = app.build(parts, tools)
            config = uvicorn.Config(
                tls_and_proxies.EncryptedOnly(built, settings),
                # `EncryptedOnly` reads them, and must see where a connection really comes from.
                proxy_headers=False,
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
            # Loaded here, because the certificate was read before the database was opened.
            config.load()
            config.ssl = certificate

            def ready() -> None:
                _announce_token(data, url, token)
                announce(link_url, f"{link_url}/?token={token}")
                if local is not None and certificate is None:
                    log.info("waiting_for_proxy", host=settings.host, port=port, proxies=settings.behind_proxy)

            def ending() -> None:
                services.waiting.close()
                services.hub.closing.set()
                services.calls.let_go()

            server = Server(config, ready, ending, local)
            stopping = asyncio.create_task(_stop_on(server, stop)) if stop is not None else None
            try:
                async with tools.running(), PreviewProxy(services.previews, preview).running():
                    (data / REMEMBERED_PREVIEW_PORT).write_text(f"{preview.getsockname()[1]}\n", "ascii")
                    await server.serve([sock])
            finally:
                (data / "server.json").unlink(missing_ok=True)
                if stopping is not None:
                    stopping.cancel()


def _tools_caller(gate: RequestGate, secret: str) -> Caller | None:
    granted = gate.by_token(secret, "mcp")
    return granted.caller if granted is not None else None


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


@contextlib.contextmanager
def _bound_locally(data: Path) -> Generator[socket.socket]:
    """Yields a socket that only this machine can reach, on the port picked last, because running agents use it, or on
    another if that one is taken."""
    remembered = data / REMEMBERED_LOCAL_PORT
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            sock.bind(("127.0.0.1", int(remembered.read_text("ascii"))))
        except (OSError, ValueError, OverflowError):
            # There is none yet, or another program has taken it. If that is a server on this folder, its agents use it,
            # and `only_one` raises.
            with only_one(data):
                sock.bind(("127.0.0.1", 0))
        sock.setblocking(False)
        yield sock


@contextlib.contextmanager
def _bound_for_previews(settings: Settings, data: Path) -> Generator[socket.socket]:
    """Yields a socket for previews, which only this machine can reach: on the configured port, or on the one picked
    last, or on another if that one is taken. Then what browsers stored for an address of a preview stays."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            remembered = int((data / REMEMBERED_PREVIEW_PORT).read_text("ascii"))
        except (OSError, ValueError):
            remembered = 0
        try:
            sock.bind(("127.0.0.1", settings.preview_port or remembered))
        except (OSError, OverflowError) as error:
            if settings.preview_port:
                raise Conflict(
                    "port_taken",
                    f"Cannot use port {settings.preview_port} for previews: {error}. Choose another (preview_port).",
                ) from error
            sock.bind(("127.0.0.1", 0))
        sock.setblocking(False)
        yield sock


def _url_host(settings: Settings) -> str:
    """Returns the host as a browser writes it; for all addresses at once, the first of the allowed names, if any."""
    host = settings.host
    if host in ALL_ADDRESSES:
        host = settings.allowed_hosts.partition(",")[0].strip() or ALL_ADDRESSES[host]
    return f"[{host}]" if ":" in host else host


def _announce_token(data: Path, url: str, token: str) -> None:
    """Writes the file by which commands find the server."""
    write_private(data / "server.json", json.dumps({"url": url, "pid": os.getpid(), "token": token}))
