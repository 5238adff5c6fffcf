"""Handles every request before the routes: authenticates it, bounds the size of its head and the time between pieces of
its body, and adds the headers that every answer has. Uvicorn has no time limit for bodies, hence the one here."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, cast
from urllib.parse import quote

import msgspec
import structlog
from litestar.exceptions import HTTPException
from litestar.types import ASGIApp, HTTPScope, Message, Receive, Scope, Send

from bough.api import roles
from bough.api.errors import HTTP_CODES, ErrorAnswer, ErrorBody, answer, error_id, meaning
from bough.api.http.auth import Grant, chosen_protocol
from bough.api.http.server_parts import KEY, ServerParts
from bough.api.page.routes import REDEEM, is_page_request, opened_by_cookie
from bough.api.server.limits import LARGEST_HEAD
from bough.errors import BoughError, Unauthenticated, Unavailable
from bough.model.session import Caller
from bough.model.values.ids import new_id
from bough.observe import request_id

log = structlog.get_logger("bough.security")

# WebSocket close codes 4000–4999 are ours; the last three digits are the HTTP status.
CLOSE_BASE = 4000
LONGEST_LOGGED = 200
# Seconds without a byte after which a body is given up; clients have their bodies ready.
BODY_WITHIN = 30.0
# Keeps secrets out of caches, and browsers from guessing that an answer is a page.
ALWAYS = ((b"x-content-type-options", b"nosniff"), (b"cache-control", b"no-store"))
TOOLS = frozenset({"/mcp", "/mcp/"})
# Answers that last as long as their client listens.
STREAMS = frozenset({"/api/events"})
# Requests that are answered when something happens, which may take as long as their client waits.
WAITING = frozenset({"/api/wait"})
CHANGING = frozenset({"POST", "PUT", "PATCH", "DELETE"})

SHUTTING_DOWN = (
    "The server stopped during this request, which may have been carried out. Look before you repeat it, or repeat it "
    "with the same Idempotency-Key."
)


class GateMiddleware:
    """Wraps the whole application, including WebSockets and the MCP door. `methods` lists each route's methods by its
    path template."""

    def __init__(
        self, app: ASGIApp, parts: ServerParts, methods: Mapping[str, frozenset[str]], tools: ASGIApp | None = None
    ) -> None:
        self._app = app
        self._parts = parts
        self._gate = parts.gate
        self._methods = methods
        self._tools = tools

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] in ("http", "websocket"):
            header = next((value for name, value in scope["headers"] if name == request_id.HEADER), None)
            request_id.begin(header, new_id())
        if scope["type"] == "http":
            body = _Body(receive)
            sending = self._sending(scope, body, send)
            if _head_size(scope) > LARGEST_HEAD:
                message = f"The request line and headers exceed {LARGEST_HEAD} bytes."
                await _send(ErrorAnswer(ErrorBody(HTTP_CODES[431], message, error_id())), 431, scope, sending)
                return
            try:
                await self._enter(scope, body, sending)
            except asyncio.CancelledError:
                # Uvicorn cancels requests only when the server stops, and would answer this one with a bare 500.
                if body.answered:
                    raise
                error = Unavailable("shutting_down", SHUTTING_DOWN)
                await _send(answer(error), meaning(error).status, scope, sending)
        elif scope["type"] == "websocket":
            await self._enter(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _enter(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._tools is not None and scope["type"] == "http" and scope["path"] in TOOLS:
            # Agents have their own tokens, which are valid only for this door.
            try:
                self._gate.check_host_and_origin(scope)
            except BoughError as error:
                await refuse(error, scope, receive, send)
                return
            granted = self._gate.of_person(scope)
            if granted is None:
                await self._tools(scope, receive, send)
            else:
                await _while_valid(granted, self._tools, scope, receive, send)
            return
        try:
            grant = self._gate.grant(scope)
            if scope["type"] == "websocket" and f"WS {scope['path']}" in roles.ROUTES:
                # Here, because only this can tell the reason; the routes check the role of other requests.
                roles.check_route(grant.caller, "WS", scope["path"])
        except BoughError as error:
            # The page's link has the token in its query; only the page's route checks it there.
            page = is_page_request(scope) or (opened_by_cookie(scope) and self._gate.has_page_cookie(scope))
            if not (isinstance(error, Unauthenticated) and page):
                await refuse(error, scope, receive, send)
                return
            grant = None
        if _changes_as_page(scope, grant) and self._gate.lacks_json_type(scope):
            message = "With a page key, a body must be JSON; send `Content-Type: application/json`."
            await _send(ErrorAnswer(ErrorBody(HTTP_CODES[415], message, error_id())), 415, scope, send)
            return
        state: dict[str, Any] = {"caller": grant.caller if grant else None, "grant": grant, KEY: self._parts}
        scope["state"] = state
        if is_page_request(scope):
            # All of the page's addresses use one route; the page's own code tells them apart.
            state["page"] = scope["path"]
            scope = cast("HTTPScope", {**scope, "path": "/", "raw_path": b"/"})
        if grant is not None and (scope["type"] == "websocket" or scope["path"] in STREAMS):
            receive = _until_revoked(grant, scope, receive)
        if scope["type"] == "http" and scope["method"] == "HEAD":
            # A copy, because the server must still see that it is a HEAD request.
            scope = cast("HTTPScope", {**scope, "method": "GET"})
        if grant is not None and scope["path"] in WAITING:
            await _while_valid(grant, self._app, scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _sending(self, scope: HTTPScope, body: _Body, send: Send) -> Send:
        """Returns a `send` that adds the common headers, and omits the body for HEAD."""
        method = scope["method"]

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                body.answered = True
                headers = list(message["headers"])
                known = {name for name, _ in headers}
                headers += [(name, value) for name, value in ALWAYS if name not in known]
                headers.append((request_id.HEADER, request_id.current().encode()))
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
        """Completes the Allow header, because each handler knows only its own methods."""
        allowed = next((value.decode() for name, value in headers if name == b"allow"), None)
        if allowed is None:
            return headers
        # An unknown path has no template.
        template = scope["path_template"] if "path_template" in scope else ""  # noqa: SIM401
        methods = self._methods.get(template, frozenset(allowed.split(", ")))
        if "GET" in methods:
            methods = methods.union({"HEAD"})
        return [(name, ", ".join(sorted(methods)).encode() if name == b"allow" else value) for name, value in headers]


def _changes_as_page(scope: Scope, grant: Grant | None) -> bool:
    return scope["type"] == "http" and scope["method"] in CHANGING and (grant is None or grant.key is not None)


def _until_revoked(grant: Grant, scope: Scope, receive: Receive) -> Receive:
    """Returns a `receive` that reports a disconnect as soon as the caller's token or key is revoked."""
    kind = "websocket.disconnect" if scope["type"] == "websocket" else "http.disconnect"

    async def receiving() -> Any:
        revoked = asyncio.ensure_future(grant.revoked.wait())
        message = asyncio.ensure_future(receive())
        try:
            await asyncio.wait((revoked, message), return_when=asyncio.FIRST_COMPLETED)
            # First, because a client that sends without a pause always has a message ready.
            if grant.revoked.is_set():
                return {"type": kind, "code": CLOSE_BASE + 401}
            return message.result()
        finally:
            revoked.cancel()
            message.cancel()

    return receiving


async def _while_valid(grant: Grant, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    """Answers a request unless the caller's token or key is revoked before the answer begins."""
    began = False

    async def sending(message: Message) -> None:
        nonlocal began
        began = True
        await send(message)

    working = asyncio.ensure_future(app(scope, receive, sending))
    revoked = asyncio.ensure_future(grant.revoked.wait())
    try:
        await asyncio.wait((working, revoked), return_when=asyncio.FIRST_COMPLETED)
    finally:
        working.cancel()
        revoked.cancel()
        await asyncio.wait((working, revoked))
    if not working.cancelled():
        working.result()
    elif not began:
        error = Unauthenticated("unauthenticated", "Your token was revoked, or your role changed, during this request.")
        await _send(answer(error), meaning(error).status, scope, send)


class _Body:
    """Receives a request's body; raises a 408 error if the client stops in the middle, which uvicorn does not bound."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._complete = False
        self.answered = False

    async def __call__(self) -> Any:
        if self._complete:
            return await self._receive()
        try:
            async with asyncio.timeout(BODY_WITHIN):
                message = await self._receive()
        except TimeoutError:
            self._complete = True
            if self.answered:
                return {"type": "http.disconnect"}
            detail = f"The body stopped arriving for {BODY_WITHIN:.0f} s."
            raise HTTPException(detail=detail, status_code=408, headers={"connection": "close"}) from None
        self._complete = message["type"] != "http.request" or not message.get("more_body", False)
        return message


def _head_size(scope: Scope) -> int:
    sizes = sum(len(name) + len(value) for name, value in scope["headers"])
    return sizes + len(scope["raw_path"]) + len(scope["query_string"])


async def refuse(error: BoughError, scope: Scope, receive: Receive, send: Send) -> None:
    """Answers a request or socket with an error."""
    status = meaning(error).status
    if scope["type"] == "websocket":
        # Only an open socket can be closed with a reason; refused earlier, every client sees the same blank 403.
        await receive()
        await send({"type": "websocket.accept", "subprotocol": chosen_protocol(scope), "headers": []})
        await send({"type": "websocket.close", "code": CLOSE_BASE + status, "reason": error.message[:120]})
        return
    await _send(answer(error), status, scope, send)


async def _send(error: ErrorAnswer, status: int, scope: Scope, send: Send) -> None:
    log_refusal(error, scope)
    body = msgspec.json.encode(error)
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": status, "headers": headers})  # type: ignore[typeddict-item]
    await send({"type": "http.response.body", "body": body, "more_body": False})


def log_refusal(error: ErrorAnswer, scope: Scope) -> None:
    """Logs an error's id, so that it can be found again, but not the request's contents, which may be secret."""
    method = scope["method"] if scope["type"] == "http" else "WS"
    # Quoted again, so that a crafted path cannot send control characters to a terminal.
    path = quote(scope["path"][:LONGEST_LOGGED], errors="replace")
    refusal = {"id": error.error.id, "code": error.error.code, "method": method, "path": path}
    caller: Caller | None = scope["state"].get("caller") if "state" in scope else None
    if error.error.code == "role_too_low" and caller is not None:
        log.warning("role_too_low", user=caller.person, token=caller.token_id, role=caller.role, **refusal)
    elif path == REDEEM:
        log.warning("sign_in_refused", **refusal)
    else:
        log.info("request_refused", **refusal)
