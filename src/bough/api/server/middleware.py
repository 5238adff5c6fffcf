"""In front of the whole application: the gate, how large a head and how slow a body may be, and what every answer
carries. Who may come in is `auth`'s decision; what a request does, the routes'."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, cast
from urllib.parse import quote

import msgspec
import structlog
from litestar.exceptions import HTTPException
from litestar.types import ASGIApp, HTTPScope, Message, Receive, Scope, Send

from bough.api.errors import HTTP_CODES, ErrorAnswer, ErrorBody, answer, meaning
from bough.api.http.auth import Gate
from bough.api.page.routes import asks_for_the_page
from bough.api.server.limits import LARGEST_HEAD
from bough.errors import BoughError, Unauthenticated
from bough.model.ids import new_id

log = structlog.get_logger("bough.security")

# WebSocket close codes 4000–4999 are ours; the last three digits are the HTTP status.
CLOSE_BASE = 4000
LONGEST_LOGGED = 200
# Seconds without a byte after which a body is given up; whoever sends one has it at hand.
BODY_WITHIN = 30.0
# What is secret stays out of caches, and nobody guesses that an answer is a page.
ALWAYS = ((b"x-content-type-options", b"nosniff"), (b"cache-control", b"no-store"))
TOOLS = frozenset({"/mcp", "/mcp/"})
CHANGING = frozenset({"POST", "PUT", "PATCH", "DELETE"})


class GateMiddleware:
    """The gate in front of the whole application, WebSockets and mounted parts included. `methods` are those of each
    route, by its template."""

    def __init__(
        self, app: ASGIApp, gate: Gate, methods: Mapping[str, frozenset[str]], tools: ASGIApp | None = None
    ) -> None:
        self._app = app
        self._gate = gate
        self._methods = methods
        self._tools = tools

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            body = _Body(receive)
            sending = self._sending(scope, body, send)
            if _head_size(scope) > LARGEST_HEAD:
                message = f"The head of a request has at most {LARGEST_HEAD} bytes."
                await _send(ErrorAnswer(ErrorBody(HTTP_CODES[431], message, new_id())), 431, scope, sending)
                return
            await self._enter(scope, body, sending)
        elif scope["type"] == "websocket":
            await self._enter(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _enter(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._tools is not None and scope["type"] == "http" and scope["path"] in TOOLS:
            # Agents have tokens of their own, which open nothing else.
            try:
                self._gate.check_place(scope)
            except BoughError as error:
                await _refuse(error, scope, receive, send)
                return
            await self._tools(scope, receive, send)
            return
        try:
            caller = self._gate.caller(scope)
        except BoughError as error:
            # The page's link carries the token in its query; that one route looks at it itself.
            if not (isinstance(error, Unauthenticated) and asks_for_the_page(scope)):
                await _refuse(error, scope, receive, send)
                return
            caller = None
        if scope["type"] == "http" and scope["method"] in CHANGING and self._gate.wants_json(scope):
            message = "With the page's cookie, a body must be JSON: send `Content-Type: application/json`."
            await _send(ErrorAnswer(ErrorBody(HTTP_CODES[415], message, new_id())), 415, scope, send)
            return
        scope["state"] = {"caller": caller}
        if asks_for_the_page(scope):
            # All its addresses are one route; which of them was meant is the page's own matter.
            scope["state"] = {"caller": caller, "page": scope["path"]}
            scope = cast("HTTPScope", {**scope, "path": "/", "raw_path": b"/"})
        if scope["type"] == "http" and scope["method"] == "HEAD":
            # A copy: the server below must still know that it is a HEAD.
            scope = cast("HTTPScope", {**scope, "method": "GET"})
        await self._app(scope, receive, send)

    def _sending(self, scope: HTTPScope, body: _Body, send: Send) -> Send:
        """Answers with what all of them carry, and to HEAD without a body."""
        method = scope["method"]

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                body.answered = True
                headers = list(message["headers"])
                known = {name for name, _ in headers}
                headers += [(name, value) for name, value in ALWAYS if name not in known]
                if method == "OPTIONS" or b"allow" in known:
                    headers = self._allowing(scope, headers)
                message["headers"] = headers
                await send(message)
                if method == "HEAD":
                    await send({"type": "http.response.body", "body": b"", "more_body": False})
            elif method != "HEAD":
                await send(message)

        return sending

    def _allowing(self, scope: HTTPScope, headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        """All methods of a route; those who made the header know only some of them."""
        found = next((value.decode() for name, value in headers if name == b"allow"), None)
        if found is None:
            return headers
        # A path that leads nowhere has no template.
        template = scope["path_template"] if "path_template" in scope else ""  # noqa: SIM401
        methods = self._methods.get(template, frozenset(found.split(", ")))
        if "GET" in methods:
            methods = methods.union({"HEAD"})
        return [(name, ", ".join(sorted(methods)).encode() if name == b"allow" else value) for name, value in headers]


class _Body:
    """What a client sends, given up when it stops in the middle."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._whole = False
        self.answered = False

    async def __call__(self) -> Any:
        if self._whole:
            return await self._receive()
        try:
            async with asyncio.timeout(BODY_WITHIN):
                message = await self._receive()
        except TimeoutError:
            self._whole = True
            if self.answered:
                return {"type": "http.disconnect"}
            said = f"No more of the body came for {BODY_WITHIN:.0f} s."
            raise HTTPException(detail=said, status_code=408, headers={"connection": "close"}) from None
        self._whole = message["type"] != "http.request" or not message.get("more_body", False)
        return message


def _head_size(scope: Scope) -> int:
    sizes = sum(len(name) + len(value) for name, value in scope["headers"])
    return sizes + len(scope["raw_path"]) + len(scope["query_string"])


async def _refuse(error: BoughError, scope: Scope, receive: Receive, send: Send) -> None:
    status = meaning(error).status
    if scope["type"] == "websocket":
        # Only an open socket can be told why it is closed: refused at the door, every client sees the same blank 403.
        await receive()
        await send({"type": "websocket.accept", "subprotocol": None, "headers": []})
        await send({"type": "websocket.close", "code": CLOSE_BASE + status, "reason": error.message[:120]})
        return
    await _send(answer(error), status, scope, send)


async def _send(told: ErrorAnswer, status: int, scope: Scope, send: Send) -> None:
    log_refusal(told, scope)
    body = msgspec.json.encode(told)
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": status, "headers": headers})  # type: ignore[typeddict-item]
    await send({"type": "http.response.body", "body": body, "more_body": False})


def log_refusal(told: ErrorAnswer, scope: Scope) -> None:
    """The line by which the id of an error is found again; what was sent may be secret and is not in it."""
    method = scope["method"] if scope["type"] == "http" else "WS"
    # Quoted again, so that a path that was made up for it cannot write into a terminal.
    path = quote(scope["path"][:LONGEST_LOGGED], errors="replace")
    log.info("request_refused", id=told.error.id, code=told.error.code, method=method, path=path)
