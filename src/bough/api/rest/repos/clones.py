"""Routes for clones: start, list, show and cancel."""

from __future__ import annotations

import msgspec
from litestar import Router, get, post
from litestar.params import JSONBody

from bough.api.http.requests import Caller, Id, OptionalKey, Services, errors, with_key
from bough.core.new_repos.requests import NewClone
from bough.model.repo import Clone


class CloneList(msgspec.Struct):
    clones: list[Clone]


@post(
    "/clones",
    responses=errors(409, 413, 429),
    summary="Clone a repository into the workspace root and register it (people only); returns while it is under way",
)
async def start_clone(services: Services, caller: Caller, data: JSONBody[NewClone]) -> Clone:
    return await services.clones.start(with_key(caller, data.idempotency_key), data)


@get("/clones", responses=errors(), summary="List the clones under way and the last that ended, newest first")
async def list_clones(services: Services) -> CloneList:
    return CloneList(await services.clones.list())


@get("/clones/{clone_id:str}", responses=errors(404, 409), summary="Get a clone")
async def get_clone(services: Services, clone_id: Id) -> Clone:
    return await services.clones.get(clone_id)


@post(
    "/clones/{clone_id:str}/cancel",
    status_code=200,
    responses=errors(404, 409, 413),
    summary="Cancel a clone and remove what has arrived",
)
async def cancel_clone(
    services: Services, caller: Caller, clone_id: Id, data: JSONBody[OptionalKey | None] = None
) -> Clone:
    return await services.clones.cancel(with_key(caller, data.idempotency_key if data else None), clone_id)


router = Router("/api", route_handlers=[start_clone, list_clones, get_clone, cancel_clone], tags=["repos"])
