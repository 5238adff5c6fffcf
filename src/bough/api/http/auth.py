"""Authenticates requests: checks Host and Origin, then a bearer token or the page's cookie, in constant time."""

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
# Methods that change nothing, so that another site's page can do no harm by sending them with our cookie.
HARMLESS = frozenset({"GET", "HEAD", "OPTIONS"})
PORTS = {"http": 80, "https": 443}


def load_token(data: Path) -> str:
    """Returns the server's token, which is created once and stored in a file that only its owner can read."""
    path = data / "token"
    try:
        # The file is empty if a server died, or the disk was full, while writing it; an empty token admits everybody.
        if stored := path.read_text("ascii").strip():
            return stored
    except FileNotFoundError:
        pass
    token = secrets.token_urlsafe(32)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w", encoding="ascii") as file:
        file.write(token + "\n")
    return token


class Gate:
    """Checks every request before it reaches a route."""

    def __init__(self, token: str, settings: Settings) -> None:
        self._token = token.encode()
        # The cookie is not the token itself, so that a stolen cookie gives access to the page only.
        self.cookie_value = hmac.new(self._token, b"page", hashlib.sha256).hexdigest()
        extra = [name.strip() for name in settings.allowed_hosts.split(",") if name.strip()]
        self._names = {*LOCAL_NAMES, settings.host, *extra} - {"0.0.0.0", "::"}

    def cookie_name(self, scope: Scope) -> str:
        """Returns the cookie's name, which includes the port because all ports of a host share cookies."""
        server = scope["server"]
        return f"bough_{server[1] if server else 0}"

    def right_token(self, token: str) -> bool:
        return hmac.compare_digest(token.encode("utf-8", "surrogatepass"), self._token)

    def caller(self, scope: Scope) -> Caller:
        """Returns the caller; raises Denied or Unauthenticated."""
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
            "unauthenticated", "This needs the server's token: send `Authorization: Bearer TOKEN`, or run bough open."
        )

    def check_host_and_origin(self, scope: Scope) -> None:
        """Raises Denied for a request to another host name or from another site's page."""
        self._check_host(_headers(scope), _scheme(scope))

    def lacks_json_type(self, scope: Scope) -> bool:
        """Returns whether a cookie-authenticated request lacks the JSON content type, which other sites cannot send."""
        headers = _headers(scope)
        empty = headers.get("content-length", "0") == "0" and "transfer-encoding" not in headers
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        return not empty and kind != "application/json" and not self._has_token(headers)

    def _has_token(self, headers: dict[str, str]) -> bool:
        scheme, _, token = headers.get("authorization", "").partition(" ")
        return scheme.lower() == "bearer" and self.right_token(token.strip())

    def _check_host(self, headers: dict[str, str], scheme: str) -> None:
        host = headers.get("host", "")
        own_origin = _origin_of(f"{scheme}://{host}")
        if own_origin is None or own_origin[1] not in self._names:
            raise Denied(
                "foreign_host", f"This server does not accept the host name {host[:100]!r}; add it to allowed_hosts."
            )
        origin = headers.get("origin")
        if origin is not None and _origin_of(origin) != own_origin:
            log.warning("foreign_origin", origin=origin[:200], host=host)
            raise Denied("foreign_origin", f"Requests from the page {origin[:100]!r} are not accepted.")

    def _check_page(self, scope: Scope, headers: dict[str, str]) -> None:
        """Checks that a change comes from our own page, because browsers send the cookie with any request."""
        if scope["type"] == "http" and scope["method"] in HARMLESS:
            return
        if "origin" not in headers and headers.get("sec-fetch-site") != "same-origin":
            log.warning("no_origin", path=scope["path"][:200])
            raise Denied(
                "foreign_origin",
                "With the page's cookie, changes need the page's `Origin`. Scripts must send the token instead.",
            )

    def _has_cookie(self, text: str, name: str) -> bool:
        # Not with SimpleCookie, which rejects the whole header if another server on this host has set an odd cookie.
        for part in text.split(";"):
            key, _, value = part.strip().partition("=")
            if key == name and hmac.compare_digest(value.strip('"').encode(), self.cookie_value.encode()):
                return True
        return False


def _headers(scope: Scope) -> dict[str, str]:
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}


def _scheme(scope: Scope) -> str:
    return {"ws": "http", "wss": "https"}.get(scope["scheme"], scope["scheme"])


def _origin_of(address: str) -> tuple[str, str, int] | None:
    """Returns scheme, host name and port, which form an origin; None if the address has anything else."""
    try:
        parts = urlsplit(address)
        port = parts.port or PORTS.get(parts.scheme)
    except ValueError:
        return None
    if port is None or not parts.hostname or "@" in parts.netloc or parts.path or parts.query or parts.fragment:
        return None
    return parts.scheme, parts.hostname, port
