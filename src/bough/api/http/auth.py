"""Authenticates requests: `host_and_origin` checks where they come from, then the server's token, a user's token or a
page key is checked. Cookies open only the page's files. `bough.api.roles` decides what an authenticated person may
do."""

from __future__ import annotations

import asyncio
import hmac
from dataclasses import dataclass

import msgspec
import structlog
from litestar.types import Scope

from bough.api.http.host_and_origin import check_names, check_page, header_dict, origin_text, request_scheme
from bough.core.access.page_keys import PageKeys, UsedKey
from bough.core.access.user_tokens import UserTokens
from bough.errors import Unauthenticated
from bough.model.access.page_key import PageKey
from bough.model.session import Caller, Door
from bough.model.values import times
from bough.settings import Settings

log = structlog.get_logger("bough.security")

LOCAL_NAMES = ("127.0.0.1", "localhost", "::1")
ACP_PATH = "/acp"
OPEN = frozenset({("GET", "/api/health"), ("HEAD", "/api/health")})
# Browsers cannot send headers with a WebSocket, except the list of protocols: the page offers this one, which the
# server chooses, and one that carries its key.
SOCKET_PROTOCOL = "bough"
KEY_PROTOCOL = "bough.key."


@dataclass(frozen=True)
class Grant:
    """The caller that a request was authenticated as. `revoked` is set when its token or key ends, or its role changes;
    `key` is the page key of a browser, and `token_id` a user's token."""

    caller: Caller
    revoked: asyncio.Event
    key: PageKey | None = None
    token_id: str | None = None

    @property
    def by_server_token(self) -> bool:
        return self.key is None and self.token_id is None


class RequestGate:
    """Checks every request before it reaches a route."""

    def __init__(
        self,
        token: str,
        settings: Settings,
        page_keys: PageKeys | None = None,
        user_tokens: UserTokens | None = None,
    ) -> None:
        self.page_keys = page_keys
        self._user_tokens = user_tokens
        extra = [name.strip() for name in settings.allowed_hosts.split(",") if name.strip()]
        self._names = {*LOCAL_NAMES, settings.host, *extra} - {"0.0.0.0", "::"}
        self._token = token.encode()
        self._owner = Grant(Caller(), asyncio.Event())
        self.token_used_at: str | None = None

    def replace_token(self, token: str) -> None:
        """Accepts a new token instead of the old one, and ends the streams that the old one opened."""
        self._token = token.encode()
        self._owner.revoked.set()
        self._owner = Grant(Caller(), asyncio.Event())

    def cookie_name(self, scope: Scope) -> str:
        """Returns the cookie's name, which includes the port because all ports of a host share cookies."""
        server = scope["server"]
        return f"bough_{server[1] if server else 0}"

    def right_token(self, token: str) -> bool:
        right = hmac.compare_digest(token.encode("utf-8", "surrogatepass"), self._token)
        if right:
            self.token_used_at = times.now()
        return right

    def by_token(self, secret: str, door: Door) -> Grant | None:
        """Returns what the server's token or a user's token grants; None for any other text."""
        if self.right_token(secret):
            if door == "rest":
                return self._owner
            return Grant(msgspec.structs.replace(self._owner.caller, door=door), self._owner.revoked)
        used = self._user_tokens.find(secret, door) if self._user_tokens is not None else None
        return Grant(used.caller, used.revoked, token_id=used.token.id) if used is not None else None

    def of_person(self, scope: Scope) -> Grant | None:
        """Returns what the server's or a user's token grants that came with a request for the tools; None for an
        agent's, which the tools' door checks itself."""
        secret = _bearer(header_dict(scope))
        return self.by_token(secret, "mcp") if secret is not None else None

    def page_caller(self, token_id: str | None) -> Caller | None:
        """Returns the person whose token signed a browser in; None if the token is no longer valid."""
        if token_id is None:
            return Caller(door="page")
        used = self._user_tokens.by_id(token_id, "page") if self._user_tokens is not None else None
        return used.caller if used is not None else None

    def grant(self, scope: Scope) -> Grant:
        """Returns what a request was authenticated as; raises Denied or Unauthenticated."""
        headers = header_dict(scope)
        check_names(headers, request_scheme(scope), self._names)
        if scope["type"] == "http" and (scope["method"], scope["path"]) in OPEN:
            return self._owner
        secret = _bearer(headers)
        door: Door = "acp" if scope["path"] == ACP_PATH else "rest"
        if secret is not None and (granted := self.by_token(secret, door)) is not None:
            return granted
        if secret is None and scope["type"] == "websocket":
            secret = _socket_key(headers)
        used = self._page_key(secret, scope, headers)
        caller = self.page_caller(used.key.token_id) if used is not None else None
        if used is not None and caller is not None:
            check_page(scope, headers)
            return Grant(msgspec.structs.replace(caller, token_id=used.key.id), used.revoked, used.key)
        raise Unauthenticated(
            "unauthenticated",
            "This needs the server's token or yours: send `Authorization: Bearer TOKEN`, or run bough open.",
        )

    def has_page_cookie(self, scope: Scope) -> bool:
        """Returns whether a request has the cookie of a signed-in browser, which opens only the page's files."""
        if self.page_keys is None:
            return False
        name = self.cookie_name(scope)
        # Not with SimpleCookie, which rejects the whole header if another server on this host has set an odd cookie.
        for part in header_dict(scope).get("cookie", "").split(";"):
            key, _, value = part.strip().partition("=")
            if key == name and self.page_keys.opens_page(value.strip('"')):
                return True
        return False

    def used_key(self, scope: Scope) -> UsedKey | None:
        """Returns the valid page key that came with a request, if any."""
        headers = header_dict(scope)
        return self._page_key(_bearer(headers), scope, headers)

    def check_host_and_origin(self, scope: Scope) -> None:
        """Raises Denied for a request to another host name or from another site's page."""
        check_names(header_dict(scope), request_scheme(scope), self._names)

    def lacks_json_type(self, scope: Scope) -> bool:
        """Returns whether a request of the page lacks the JSON content type, which other sites cannot send."""
        headers = header_dict(scope)
        empty = headers.get("content-length", "0") == "0" and "transfer-encoding" not in headers
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        return not empty and kind != "application/json"

    def _page_key(self, secret: str | None, scope: Scope, headers: dict[str, str]) -> UsedKey | None:
        if secret is None or self.page_keys is None:
            return None
        used = self.page_keys.find(secret)
        if used is not None and used.key.origin != origin_text(scope, headers):
            log.warning("page_key_at_other_origin", id=used.key.id, host=headers.get("host", "")[:200])
            return None
        return used


def chosen_protocol(scope: Scope) -> str | None:
    """Returns the protocol to answer a WebSocket with: ours if the client offers it, because browsers then accept no
    answer without it."""
    return SOCKET_PROTOCOL if SOCKET_PROTOCOL in _protocols(header_dict(scope)) else None


def _bearer(headers: dict[str, str]) -> str | None:
    scheme, _, secret = headers.get("authorization", "").partition(" ")
    return secret.strip() if scheme.lower() == "bearer" else None


def _socket_key(headers: dict[str, str]) -> str | None:
    return next(
        (name.removeprefix(KEY_PROTOCOL) for name in _protocols(headers) if name.startswith(KEY_PROTOCOL)), None
    )


def _protocols(headers: dict[str, str]) -> list[str]:
    return [name.strip() for name in headers.get("sec-websocket-protocol", "").split(",")]
