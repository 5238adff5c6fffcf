"""The door for agents at `/mcp/`: knows a caller by its token alone, hands requests to `server`, and notes whose
answers have arrived. People and scripts come in with the server's own token."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable
from typing import TYPE_CHECKING, Any

import structlog
from litestar.types import Message, Receive, Scope, Send

from bough.api.mcp.calling import Toolbox
from bough.api.mcp.catalog import TOOLS
from bough.core import session_tokens
from bough.core.services import Services
from bough.errors import BoughError, Unauthenticated
from bough.model.session import Caller

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

log = structlog.get_logger("bough.mcp")

PATH = "/mcp"


class Door:
    """Bough's tools over HTTP. `person` says whether a token is the server's own."""

    def __init__(self, services: Services, person: Callable[[str], bool]) -> None:
        self._services = services
        self._person = person
        self._toolbox = Toolbox(services, TOOLS)
        self._manager: asyncio.Future[StreamableHTTPSessionManager] | None = None
        services.calls.provide(self._toolbox.acts())

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Open until the end. The protocol is loaded meanwhile: the server's own start does not wait for it."""
        loop = asyncio.get_running_loop()
        self._manager = loop.create_future()
        ending = asyncio.Event()
        running = asyncio.create_task(self._run(self._manager, ending), name="mcp")
        try:
            yield
        finally:
            ending.set()
            await asyncio.wait([running])

    async def _run(self, ready: asyncio.Future[StreamableHTTPSessionManager], ending: asyncio.Event) -> None:
        try:
            manager = await asyncio.to_thread(self._load)
            async with manager.run():
                ready.set_result(manager)
                await ending.wait()
        except Exception as error:
            log.exception("mcp_broke")
            if not ready.done():
                ready.set_exception(error)

    def _load(self) -> StreamableHTTPSessionManager:
        from bough.api.mcp import server

        return server.build(self._toolbox, TOOLS, self._services.settings.max_body)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request; whoever is not known is told no more than that."""
        assert scope["type"] == "http"
        try:
            caller = await self._caller(scope)
        except Unauthenticated:
            await _bare(401, send)
            return
        except BoughError as error:
            log.warning("mcp_caller_not_looked_up", error=error.message)
            await _bare(503, send)
            return
        assert self._manager is not None
        manager = await asyncio.shield(self._manager)
        calls: list[str] = []
        inner: Any = {**scope, "state": {"caller": caller, "calls": calls}}
        arrival = _Arrival(receive, send)
        await manager.handle_request(inner, arrival.receive, arrival.send)
        if arrival.arrived:
            for call_id in calls:
                await self._services.calls.answered(call_id)

    async def _caller(self, scope: Scope) -> Caller:
        header = next((value for name, value in scope["headers"] if name.lower() == b"authorization"), b"")
        scheme, _, token = header.decode("latin-1").partition(" ")
        if scheme.lower() != "bearer":
            raise Unauthenticated("unauthenticated", "A bearer token is missing.")
        token = token.strip()
        return Caller() if self._person(token) else await session_tokens.caller(self._services.store, token)


class _Arrival:
    """Watches whether the client was still there when the whole answer was sent."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive = receive
        self._send = send
        self._gone = False
        self.arrived = False

    async def receive(self) -> Any:
        message = await self._receive()
        self._gone = self._gone or message["type"] == "http.disconnect"
        return message

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.body" and not message.get("more_body"):
            self._gone = self._gone or await self._has_left()
            await self._send(message)
            self.arrived = not self._gone
        else:
            await self._send(message)

    async def _has_left(self) -> bool:
        """The body has been read by now, so the next that is received is that the client has left."""
        asked = asyncio.ensure_future(self._receive())
        await asyncio.wait([asked], timeout=0)
        if asked.done():
            return asked.result()["type"] == "http.disconnect"
        asked.cancel()
        return False


async def _bare(status: int, send: Send) -> None:
    await send({"type": "http.response.start", "status": status, "headers": [(b"content-length", b"0")]})
    await send({"type": "http.response.body", "body": b"", "more_body": False})
