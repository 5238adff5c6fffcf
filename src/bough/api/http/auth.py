"""Who may come in (L1): the right Host and Origin, then a bearer token or the page's cookie, compared in constant
time."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from pathlib import Path
from urllib.parse import urlsplit

import structlog
from litestar.types import Scope

from bough.errors import Denied, Unauthenticated
from bough.model.session import Caller
from bough.settings import Settings

log = structlog.get_logger("bough.security")

LOCAL_NAMES = ("127.0.0.1", "localhost", "::1")
OPEN = frozenset({("GET", "/api/health"), ("HEAD", "/api/health")})
# What a page of another site can have a browser send along with our cookie does no harm.
HARMLESS = frozenset({"GET", "HEAD", "OPTIONS"})
PORTS = {"http": 80, "https": 443}


def load_token(data: Path) -> str:
    """The server's token, made once and kept over restarts in a file that only its owner can read."""
    path = data / "token"
    try:
        # Empty if a server died, or the disk was full, while it was made: an empty token would let everybody in.
        if kept := path.read_text("ascii").strip():
            return kept
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
        headers = _headers(scope)
        self._check_host(headers, _scheme(scope))
        if scope["type"] == "http" and (scope["method"], scope["path"]) in OPEN:
            return Caller()
        if self._has_token(headers):
            return Caller()
        if self._has_cookie(headers.get("cookie", ""), self.cookie_name(scope)):
            self._check_page(scope, headers)
            return Caller()
        raise Unauthenticated(
            "unauthenticated", "This needs the server's token: send `Authorization: Bearer TOKEN`, or open its link."
        )

    def check_place(self, scope: Scope) -> None:
        """Denied if a request comes under another name, or from the page of another site."""
        self._check_host(_headers(scope), _scheme(scope))

    def wants_json(self, scope: Scope) -> bool:
        """Whether a request lacks the content type that pages of other sites cannot send: only our page needs it."""
        headers = _headers(scope)
        empty = headers.get("content-length", "0") == "0" and "transfer-encoding" not in headers
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        return not empty and kind != "application/json" and not self._has_token(headers)

    def _has_token(self, headers: dict[str, str]) -> bool:
        scheme, _, given = headers.get("authorization", "").partition(" ")
        return scheme.lower() == "bearer" and self.right_token(given.strip())

    def _check_host(self, headers: dict[str, str], scheme: str) -> None:
        host = headers.get("host", "")
        here = _place(f"{scheme}://{host}")
        if here is None or here[1] not in self._names:
            raise Denied("foreign_host", f"This server is not reached under the name {host[:100]!r}.")
        origin = headers.get("origin")
        if origin is not None and _place(origin) != here:
            log.warning("foreign_origin", origin=origin[:200], host=host)
            raise Denied("foreign_origin", f"Requests from the page {origin[:100]!r} are not taken.")

    def _check_page(self, scope: Scope, headers: dict[str, str]) -> None:
        """A browser sends the cookie by itself; that our own page asks, it must say too."""
        if scope["type"] == "http" and scope["method"] in HARMLESS:
            return
        if "origin" not in headers and headers.get("sec-fetch-site") != "same-origin":
            log.warning("no_origin", path=scope["path"][:200])
            raise Denied(
                "foreign_origin",
                "With the page's cookie, a change needs the page's `Origin`. Scripts send the token instead.",
            )

    def _has_cookie(self, text: str, name: str) -> bool:
        # Cut by hand: SimpleCookie gives up on a header in which another server of this host has put odd characters.
        for part in text.split(";"):
            key, _, value = part.strip().partition("=")
            if key == name and hmac.compare_digest(value.strip('"').encode(), self.cookie_value.encode()):
                return True
        return False


def _headers(scope: Scope) -> dict[str, str]:
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}


def _scheme(scope: Scope) -> str:
    return {"ws": "http", "wss": "https"}.get(scope["scheme"], scope["scheme"])


def _place(address: str) -> tuple[str, str, int] | None:
    """Scheme, name and port, which together are an origin; none if there is anything else."""
    try:
        parts = urlsplit(address)
        port = parts.port or PORTS.get(parts.scheme)
    except ValueError:
        return None
    if port is None or not parts.hostname or "@" in parts.netloc or parts.path or parts.query or parts.fragment:
        return None
    return parts.scheme, parts.hostname, port
