"""The HTTP door for Bough's tools at `/mcp/`: authenticates callers by their token, passes requests to `server`, and
records which answers arrived. People and scripts use the server's or a user's token, agents that of their session."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable, Coroutine
from typing import TYPE_CHECKING, Any

import structlog
from litestar.types import Message, Receive, Scope, Send

from bough.api.mcp.protocol.call_tool import Toolbox
from bough.api.mcp.tools.all_tools import TOOLS
from bough.core.live_agents.start import agent_tokens
from bough.core.services import Services
from bough.errors import BoughError, Unauthenticated
from bough.model.session import Caller

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

log = structlog.get_logger("bough.mcp")

PATH = "/mcp"


class McpDoor:
    """Serves Bough's tools over HTTP. `person` returns the caller for a token of the server or a user, or None."""

    def __init__(self, services: Services, person: Callable[[str], Caller | None]) -> None:
        self._services = services
        self._person = person
        self._toolbox = Toolbox(services, TOOLS)
        self._manager: asyncio.Future[StreamableHTTPSessionManager] | None = None

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Serves until the server stops. A thread imports the MCP package, which is slow, so that the start need not
        wait."""
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
        from bough.api.mcp.protocol import server

        return server.build(self._toolbox, TOOLS, self._services.settings.max_body)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handles one request; an unknown caller gets a bare 401."""
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
        if scope["method"] != "POST":
            # There are no streams to open and no MCP sessions to end.
            await _bare(405, send, (b"allow", b"POST"))
            return
        assert self._manager is not None
        manager = await asyncio.shield(self._manager)
        calls = self._services.calls
        waiter = calls.waiter()
        # The HTTP parser leaves trailing blanks, which are not part of a header's value.
        headers = [(name, value.strip(b" \t")) for name, value in scope["headers"]]
        inner: Any = {**scope, "headers": headers, "state": {"caller": caller, "waiter": waiter}}
        client = _Client(receive, send)
        try:
            await client.while_there(manager.handle_request(inner, client.receive, client.send))
            if client.answered:
                await calls.answered(waiter.calls)
        finally:
            waiter.close()
            if not client.answered:
                for call_id in waiter.calls:
                    calls.missed(call_id)

    async def _caller(self, scope: Scope) -> Caller:
        header = next((value for name, value in scope["headers"] if name.lower() == b"authorization"), b"")
        scheme, _, token = header.decode("latin-1").partition(" ")
        if scheme.lower() != "bearer":
            raise Unauthenticated("unauthenticated", "Send a bearer token.")
        token = token.strip()
        person = self._person(token)
        return person if person is not None else await agent_tokens.caller(self._services.store, token)


class _Client:
    """The client of one request; an answer counts as delivered only if the client is still connected."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive = receive
        self._send = send
        self._asked = asyncio.Event()
        self._left = asyncio.Event()
        self.answered = False

    async def while_there(self, work: Coroutine[Any, Any, None]) -> None:
        """Runs `work` until it is done or the client has disconnected."""
        watching = asyncio.create_task(self._watch())
        working = asyncio.create_task(work)
        try:
            await asyncio.wait((watching, working), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (watching, working):
                task.cancel()
            await asyncio.wait((watching, working))
        if not working.cancelled():
            working.result()

    async def _watch(self) -> None:
        # The request's handler receives the body; after it, the only message left is the disconnect.
        await self._asked.wait()
        while not self._left.is_set():
            if (await self._receive())["type"] == "http.disconnect":
                self._left.set()

    async def receive(self) -> Any:
        if self._asked.is_set():
            await self._left.wait()
            return {"type": "http.disconnect"}
        message = await self._receive()
        if message["type"] == "http.disconnect":
            self._left.set()
        if self._left.is_set() or not message.get("more_body"):
            self._asked.set()
        return message

    async def send(self, message: Message) -> None:
        last = message["type"] == "http.response.body" and not message.get("more_body")
        there = not self._left.is_set()
        await self._send(message)
        self.answered = self.answered or (last and there)


async def _bare(status: int, send: Send, *headers: tuple[bytes, bytes]) -> None:
    all_headers = [(b"content-length", b"0"), *headers]
    await send({"type": "http.response.start", "status": status, "headers": all_headers})
    await send({"type": "http.response.body", "body": b"", "more_body": False})
