"""Routes for people: who calls, and the users that share this server."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from litestar import Request, Router, delete, get, patch, post
from litestar.params import JSONBody, PathParameter

from bough.api.http.auth import Grant
from bough.api.http.requests import Caller, Services, errors, with_key
from bough.core.access.users import NewUser, UserPatch
from bough.core.services import Services as AllServices
from bough.model.access.user import OWNER, Role, User

UserName = Annotated[str, PathParameter(description="The user's name.")]


class Me(msgspec.Struct, rename="camel"):
    """The person who calls, and what this token or browser may do."""

    name: str
    role: Role
    # Null for the owner.
    user_id: str | None
    # The user's token or the page key that was used; null for the server's token.
    token_id: str | None


class UserInfo(msgspec.Struct, rename="camel"):
    """A person who may use this server. The owner is always the first and has no record of its own."""

    id: str
    name: str
    role: Role
    # Tokens that are valid now, besides the server's.
    tokens: int
    created_at: str | None


class UserList(msgspec.Struct):
    users: list[UserInfo]


@get("/me", responses=errors(), summary="Show who you are and what you may do")
async def get_me(request: Request[Any, Any, Any]) -> Me:
    grant: Grant = request.scope["state"]["grant"]
    caller = grant.caller
    return Me(caller.person or OWNER, caller.role, caller.user_id, caller.token_id)


@get("/users", responses=errors(), summary="List the people who may use this server")
async def list_users(services: Services) -> UserList:
    owned = [token for token in services.user_tokens.list() if token.user_id is None]
    owner = UserInfo(OWNER, OWNER, "admin", len(owned), None)
    users = sorted(services.user_tokens.users.values(), key=lambda user: user.name)
    return UserList([owner, *(_shown(services, user) for user in users)])


@post("/users", responses=errors(409, 413), summary="Add a user")
async def add_user(services: Services, caller: Caller, data: JSONBody[NewUser]) -> UserInfo:
    return _shown(services, await services.users.add(with_key(caller, data.idempotency_key), data))


@patch("/users/{name:str}", responses=errors(404, 409, 413), summary="Give a user another role")
async def patch_user(services: Services, caller: Caller, name: UserName, data: JSONBody[UserPatch]) -> UserInfo:
    return _shown(services, await services.users.set_role(caller, name, data.role))


@delete(
    "/users/{name:str}",
    status_code=200,
    responses=errors(404, 409),
    summary="Remove a user with all tokens and browsers",
)
async def remove_user(services: Services, caller: Caller, name: UserName) -> UserInfo:
    removed = await services.users.remove(caller, name)
    return UserInfo(removed.id, removed.name, removed.role, 0, removed.created_at)


def _shown(services: AllServices, user: User) -> UserInfo:
    return UserInfo(user.id, user.name, user.role, len(services.user_tokens.list(user.id)), user.created_at)


router = Router("/api", route_handlers=[get_me, list_users, add_user, patch_user, remove_user], tags=["users"])
