"""Routes for what opens the server: list and revoke the keys of browsers, replace the server's token, and exchange a
sign-in ticket for a key."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import Any, Literal

import msgspec
from litestar import Request, Router, delete, get, post
from litestar.params import JSONBody

from bough.api.http.auth import Gate, Grant, origin_text
from bough.api.http.requests import Caller, Id, Services, errors, with_key
from bough.api.http.server_token import new_token, token_created_at
from bough.errors import Conflict, Denied
from bough.model.access.page_key import PageKey

# The listed id of the server's own token, which is no record.
SERVER = "server"
# How browsers and systems appear in User-Agent, in the order of checking: most browsers claim to be others, too.
BROWSERS = (("Edg", "Edge"), ("OPR", "Opera"), ("Firefox", "Firefox"), ("Chrome", "Chrome"), ("Safari", "Safari"))
SYSTEMS = (
    ("Android", "Android"),
    ("iPhone", "iOS"),
    ("iPad", "iOS"),
    ("Windows", "Windows"),
    ("Mac OS", "macOS"),
    ("CrOS", "ChromeOS"),
    ("Linux", "Linux"),
)


class Token(msgspec.Struct, rename="camel"):
    """Something that opens the server: its own token, or the key of a signed-in browser."""

    id: str
    kind: Literal["server", "page"]
    name: str
    # The only origin at which a page key is valid; null for the server's token.
    origin: str | None
    created_at: str | None
    last_used_at: str | None
    expires_at: str | None
    # Whether this request was authenticated with it.
    current: bool


class TokenList(msgspec.Struct):
    tokens: list[Token]


class NewServerToken(msgspec.Struct, rename="camel"):
    """The new token of the server, and the page keys that were revoked with the old one."""

    token: str
    revoked: list[Token]


class Rotation(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    revoke_pages: bool = False
    idempotency_key: str | None = None


class Ticket(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    ticket: str


class NewPageKey(msgspec.Struct, rename="camel"):
    id: str
    key: str
    expires_at: str


def router(gate: Gate, on_new_token: Callable[[str], None] | None) -> Router:
    """Returns the routes; `on_new_token` tells commands where to find a new token."""

    @get("/tokens", responses=errors(), summary="List the server's token and the keys of signed-in browsers")
    async def list_tokens(request: Request[Any, Any, Any], services: Services) -> TokenList:
        grant = _grant(request)
        created_at = await asyncio.to_thread(token_created_at, services.settings.data_path)
        server = Token(
            SERVER, "server", "Server token", None, created_at, gate.token_used_at, None, current=grant.key is None
        )
        return TokenList([server, *(_shown(key, grant) for key in services.page_keys.list())])

    @post(
        "/tokens/rotate",
        status_code=200,
        responses=errors(413),
        summary="Replace the server's token; needs the token itself",
    )
    async def rotate_token(
        request: Request[Any, Any, Any], services: Services, caller: Caller, data: JSONBody[Rotation | None] = None
    ) -> NewServerToken:
        grant = _grant(request)
        # A repeated request cannot get its first answer: the token that it sends is no longer valid.
        with_key(caller, data.idempotency_key if data is not None else None)
        if grant.key is not None:
            raise Denied(
                "needs_server_token", "Only the server's own token can be exchanged for a new one: bough token rotate"
            )
        token = await asyncio.to_thread(new_token, services.settings.data_path)
        gate.replace_token(token)
        if on_new_token is not None:
            on_new_token(token)
        ended = services.page_keys.list() if data is not None and data.revoke_pages else []
        return NewServerToken(token, [_shown(await services.page_keys.revoke(key.id), grant) for key in ended])

    @delete(
        "/tokens/{token_id:str}", status_code=200, responses=errors(404, 409), summary="Revoke the key of a browser"
    )
    async def revoke_token(request: Request[Any, Any, Any], services: Services, token_id: Id) -> Token:
        if token_id == SERVER:
            raise Conflict("server_token", "The server's token cannot be revoked, only replaced: bough token rotate")
        return _shown(await services.page_keys.revoke(token_id), _grant(request))

    # Part of the page's sign-in, not of the API for programs.
    @post("/sign-in", include_in_schema=False)
    async def redeem_ticket(request: Request[Any, Any, Any], services: Services, data: JSONBody[Ticket]) -> NewPageKey:
        scope = request.scope
        name = browser_name(request.headers.get("user-agent", ""))
        key, secret = await services.page_keys.redeem(data.ticket, origin_text(scope), name, gate.used_key(scope))
        return NewPageKey(key.id, secret, key.expires_at)

    api = Router("/api", route_handlers=[list_tokens, rotate_token, revoke_token], tags=["tokens"])
    return Router("/", route_handlers=[api, redeem_ticket])


def browser_name(user_agent: str) -> str:
    """Describes a browser, such as "Firefox on Linux"; it is what the browser claims to be."""
    browser = next((name for part, name in BROWSERS if re.search(rf"\b{part}", user_agent)), "Browser")
    system = next((name for part, name in SYSTEMS if part in user_agent), None)
    return browser if system is None else f"{browser} on {system}"


def _grant(request: Request[Any, Any, Any]) -> Grant:
    return request.scope["state"]["grant"]


def _shown(key: PageKey, grant: Grant) -> Token:
    current = grant.key is not None and grant.key.id == key.id
    return Token(key.id, "page", key.name, key.origin, key.created_at, key.last_used_at, key.expires_at, current)
