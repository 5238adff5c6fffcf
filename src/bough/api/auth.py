"""Who may come in (L1): the right Host and Origin, then a bearer token or the page's cookie, compared in constant
time."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
import structlog
from litestar.types import ASGIApp, Receive, Scope, Send

from bough.api.errors import ErrorAnswer, answer, meaning
from bough.errors import BoughError, Denied, Unauthenticated
from bough.model.session import Caller
from bough.settings import Settings

log = structlog.get_logger("bough.security")

LOCAL_NAMES = ("127.0.0.1", "localhost", "::1")
OPEN = frozenset({("GET", "/api/health"), ("HEAD", "/api/health")})
# WebSocket close codes 4000–4999 are ours; the last three digits are the HTTP status.
CLOSE_BASE = 4000


def load_token(data: Path) -> str:
    """The server's token, made once and kept over restarts in a file that only its owner can read."""
    path = data / "token"
    try:
        return path.read_text("ascii").strip()
    except FileNotFoundError:
        pass
    token = secrets.token_urlsafe(32)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w", encoding="ascii") as file:
        file.write(token + "\n")
    return token


class Gate:
    """Checks every request before any route sees it."""

    def __init__(self, token: str, settings: Settings) -> None:
        self._token = token.encode()
        # The cookie is not the token itself, so that a stolen cookie jar opens the page and nothing else.
        self.cookie_value = hmac.new(self._token, b"page", hashlib.sha256).hexdigest()
        extra = [name.strip() for name in settings.allowed_hosts.split(",") if name.strip()]
        self._names = {*LOCAL_NAMES, settings.host, *extra} - {"0.0.0.0", "::"}

    def cookie_name(self, scope: Scope) -> str:
        """Cookies are shared by all ports of a host, so the name says whose it is."""
        server = scope["server"]
        return f"bough_{server[1] if server else 0}"

    def right_token(self, given: str) -> bool:
        return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), self._token)

    def caller(self, scope: Scope) -> Caller:
        """Who is calling; Denied or Unauthenticated otherwise."""
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        self._check_host(headers)
        if scope["type"] == "http" and (scope["method"], scope["path"]) in OPEN:
            return Caller()
        scheme, _, given = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and self.right_token(given.strip()):
            return Caller()
        if self._has_cookie(headers.get("cookie", ""), self.cookie_name(scope)):
            return Caller()
        raise Unauthenticated(
            "unauthenticated", "This needs the server's token: send `Authorization: Bearer TOKEN`, or open its link."
        )

    def _check_host(self, headers: dict[str, str]) -> None:
        host = headers.get("host", "")
        if _name(f"//{host}") not in self._names:
            raise Denied("foreign_host", f"This server is not reached under the name {host[:100]!r}.")
        origin = headers.get("origin")
        if origin is not None and _place(origin) != host:
            log.warning("foreign_origin", origin=origin[:200], host=host)
            raise Denied("foreign_origin", f"Requests from the page {origin[:100]!r} are not taken.")

    def _has_cookie(self, text: str, name: str) -> bool:
        # Cut by hand: SimpleCookie gives up on a header in which another server of this host has put odd characters.
        for part in text.split(";"):
            key, _, value = part.strip().partition("=")
            if key == name and hmac.compare_digest(value.strip('"').encode(), self.cookie_value.encode()):
                return True
        return False


def _name(address: str) -> str | None:
    try:
        return urlsplit(address).hostname
    except ValueError:
        return None


def _place(origin: str) -> str | None:
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return None


class GateMiddleware:
    """The gate in front of the whole application, WebSockets and mounted parts included."""

    def __init__(self, app: ASGIApp, gate: Gate) -> None:
        self._app = app
        self._gate = gate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        try:
            caller = self._gate.caller(scope)
        except BoughError as error:
            # The page's link carries the token in its query; that one route looks at it itself.
            if not (isinstance(error, Unauthenticated) and _asks_for_the_page(scope)):
                await _refuse(error, scope, receive, send)
                return
            caller = None
        scope["state"] = {"caller": caller}
        await self._app(scope, receive, send)


def _asks_for_the_page(scope: Scope) -> bool:
    return scope["type"] == "http" and (scope["method"], scope["path"]) == ("GET", "/")


async def _refuse(error: BoughError, scope: Scope, receive: Receive, send: Send) -> None:
    status = meaning(error).status
    if scope["type"] == "websocket":
        # Only an open socket can be told why it is closed: refused at the door, every client sees the same blank 403.
        await receive()
        await send({"type": "websocket.accept", "subprotocol": None, "headers": []})
        await send({"type": "websocket.close", "code": CLOSE_BASE + status, "reason": error.message[:120]})
        return
    body = _encode(answer(error))
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": status, "headers": headers})  # type: ignore[typeddict-item]
    await send({"type": "http.response.body", "body": body, "more_body": False})


def _encode(body: ErrorAnswer) -> bytes:
    return msgspec.json.encode(body)
