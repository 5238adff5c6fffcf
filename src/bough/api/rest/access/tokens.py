"""Routes for what opens the server: list, add, replace and revoke users' tokens and browsers' keys, replace the
server's token, and exchange a sign-in ticket for a key."""

from __future__ import annotations

import asyncio
import re
from typing import Any, Literal

import msgspec
from litestar import Request, Router, delete, get, post
from litestar.params import JSONBody

from bough.api.http.auth import Grant
from bough.api.http.host_and_origin import origin_text
from bough.api.http.requests import Caller, Id, OptionalKey, Services, errors, with_key
from bough.api.http.server_parts import parts_of
from bough.api.http.server_token import new_token, token_created_at
from bough.core.access.new_tokens import NewToken
from bough.core.services import Services as AllServices
from bough.errors import Conflict, Denied, NotFound
from bough.model.access.page_key import PageKey
from bough.model.access.user import OWNER, Role, UserToken
from bough.model.values import ids

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
    """Something that opens the server: its own token, a user's token, or the key of a signed-in browser."""

    id: str
    kind: Literal["server", "user", "page"]
    name: str
    # The only origin at which a page key is valid; null for tokens.
    origin: str | None
    created_at: str | None
    last_used_at: str | None
    expires_at: str | None
    # Whether this request was authenticated with it.
    current: bool
    # The person whom it stands for, and what it lets that person do now.
    user: str
    role: Role


class TokenList(msgspec.Struct):
    tokens: list[Token]


class NewUserToken(Token, kw_only=True):
    """A user's token with its secret, which is shown only this once."""

    token: str


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


@post("/tokens", responses=errors(409, 413), summary="Create a token for a user; its secret is shown once")
async def add_token(
    request: Request[Any, Any, Any], services: Services, caller: Caller, data: JSONBody[NewToken]
) -> NewUserToken:
    # The answer contains the secret and is not stored, so a repeated request creates another token.
    with_key(caller, data.idempotency_key)
    token, secret = await services.user_tokens.add(caller, data)
    return _with_secret(_shown_token(services, token, _grant(request)), secret)


@post(
    "/tokens/{token_id:str}/rotate",
    status_code=200,
    responses=errors(404, 409, 413),
    summary="Replace the secret of a user's token; the old one and its browsers end",
)
async def rotate_user_token(
    request: Request[Any, Any, Any],
    services: Services,
    caller: Caller,
    token_id: Id,
    data: JSONBody[OptionalKey | None] = None,
) -> NewUserToken:
    grant = _grant(request)
    with_key(caller, data.idempotency_key if data is not None else None)
    if token_id == SERVER:
        raise Conflict("server_token", "Replace the server's token with POST /api/tokens/rotate.")
    row = _find(_visible(services, grant), token_id)
    if row.kind != "user":
        raise Conflict("page_key", "The key of a browser cannot be replaced; open the link again to sign in.")
    token, secret = await services.user_tokens.rotate(caller, row.id)
    return _with_secret(_shown_token(services, token, grant), secret)


@delete(
    "/tokens/{token_id:str}",
    status_code=200,
    responses=errors(404, 409),
    summary="Revoke a user's token or the key of a browser",
)
async def revoke_token(request: Request[Any, Any, Any], services: Services, caller: Caller, token_id: Id) -> Token:
    if token_id == SERVER:
        raise Conflict("server_token", "The server's token cannot be revoked, only replaced: bough token rotate")
    row = _find(_visible(services, _grant(request)), token_id)
    if row.kind == "page":
        await services.user_tokens.revoke_page_key(caller, row.id)
    else:
        await services.user_tokens.revoke(caller, row.id)
    return row


@get("/tokens", responses=errors(), summary="List tokens and the keys of signed-in browsers: all, or your own")
async def list_tokens(request: Request[Any, Any, Any], services: Services) -> TokenList:
    grant = _grant(request)
    server: list[Token] = []
    if grant.caller.may("admin"):
        created_at = await asyncio.to_thread(token_created_at, services.settings.data_path)
        used_at = parts_of(request).gate.token_used_at
        current = grant.by_server_token
        server = [Token(SERVER, "server", "Server token", None, created_at, used_at, None, current, OWNER, "admin")]
    return TokenList([*server, *_visible(services, grant)])


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
    if not grant.by_server_token:
        raise Denied(
            "needs_server_token", "Only the server's own token can be exchanged for a new one: bough token rotate"
        )
    await services.audit.add(caller, "server_token.rotated")
    token = await asyncio.to_thread(new_token, services.settings.data_path)
    parts = parts_of(request)
    parts.gate.replace_token(token)
    parts.on_new_token(token)
    ended = services.page_keys.list() if data is not None and data.revoke_pages else []
    shown = [_shown_key(services, key, grant) for key in ended]
    for key in ended:
        await services.page_keys.revoke(caller, key.id)
    return NewServerToken(token, shown)


# Part of the page's sign-in, not of the API for programs.
@post("/sign-in", include_in_schema=False)
async def redeem_ticket(request: Request[Any, Any, Any], services: Services, data: JSONBody[Ticket]) -> NewPageKey:
    scope, gate = request.scope, parts_of(request).gate
    name = browser_name(request.headers.get("user-agent", ""))
    key, secret = await services.page_keys.redeem(
        data.ticket, origin_text(scope), name, gate.used_key(scope), gate.page_caller
    )
    return NewPageKey(key.id, secret, key.expires_at)


router = Router(
    "/",
    route_handlers=[
        Router(
            "/api",
            route_handlers=[list_tokens, add_token, rotate_token, rotate_user_token, revoke_token],
            tags=["tokens"],
        ),
        redeem_ticket,
    ],
)


def browser_name(user_agent: str) -> str:
    """Describes a browser, such as "Firefox on Linux"; it is what the browser claims to be."""
    browser = next((name for part, name in BROWSERS if re.search(rf"\b{part}", user_agent)), "Browser")
    system = next((name for part, name in SYSTEMS if part in user_agent), None)
    return browser if system is None else f"{browser} on {system}"


def _grant(request: Request[Any, Any, Any]) -> Grant:
    return request.scope["state"]["grant"]


def _visible(services: AllServices, grant: Grant) -> list[Token]:
    """Returns the tokens and page keys that a caller may see and revoke: all for admins, otherwise their own."""
    tokens = services.user_tokens.list()
    keys = services.page_keys.list()
    users = {token.id: token.user_id for token in tokens}
    # The keys of a token that has just ended are deleted soon.
    keys = [key for key in keys if key.token_id is None or key.token_id in users]
    if not grant.caller.may("admin"):
        own = grant.caller.user_id
        tokens = [token for token in tokens if token.user_id == own]
        keys = [key for key in keys if (users[key.token_id] if key.token_id is not None else None) == own]
    return [
        *(_shown_token(services, token, grant) for token in tokens),
        *(_shown_key(services, key, grant) for key in keys),
    ]


def _find(rows: list[Token], text: str) -> Token:
    """Returns the token with an id, which may be shortened."""
    short = ids.checked_short(text, "token")
    matches = [row for row in rows if row.id.startswith(short) or row.id.endswith(short)]
    if not matches:
        raise NotFound("token_not_found", f"There is no token {text!r}. See: bough token list")
    if len(matches) > 1:
        candidates = [row.id for row in matches]
        raise Conflict(
            "ambiguous_id",
            f"{text!r} matches {len(matches)} records: {', '.join(candidates)}. Use more of the id.",
            candidates=candidates,
        )
    return matches[0]


def _shown_token(services: AllServices, token: UserToken, grant: Grant) -> Token:
    user = services.user_tokens.users.get(token.user_id) if token.user_id is not None else None
    return Token(
        id=token.id,
        kind="user",
        name=token.name,
        origin=None,
        created_at=token.created_at,
        last_used_at=token.last_used_at,
        expires_at=token.expires_at,
        current=grant.token_id == token.id,
        user=user.name if user is not None else OWNER,
        role=services.user_tokens.role_of(token),
    )


def _shown_key(services: AllServices, key: PageKey, grant: Grant) -> Token:
    used = services.user_tokens.by_id(key.token_id, "page") if key.token_id is not None else None
    return Token(
        id=key.id,
        kind="page",
        name=key.name,
        origin=key.origin,
        created_at=key.created_at,
        last_used_at=key.last_used_at,
        expires_at=key.expires_at,
        current=grant.key is not None and grant.key.id == key.id,
        user=used.caller.user_name or OWNER if used is not None else OWNER,
        role=used.caller.role if used is not None else "admin",
    )


def _with_secret(token: Token, secret: str) -> NewUserToken:
    return NewUserToken(*msgspec.structs.astuple(token), token=secret)
