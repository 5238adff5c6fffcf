"""Routes for the home view and the tour repo."""

from __future__ import annotations

from typing import Annotated

from litestar import Response, Router, delete, get, post
from litestar.params import JSONBody, QueryParameter

from bough.api.http.requests import Caller, OptionalKey, Services, answered, errors, with_key
from bough.core.overview.home import FURTHEST, day_began
from bough.core.overview.tour import Tour, TourRemoved
from bough.model.views.home import Home


@get("/home", responses=errors(), summary="Get what needs attention, what is running, the trees, and usage")
async def get_home(
    services: Services,
    tz: Annotated[
        int,
        QueryParameter(
            ge=-FURTHEST,
            le=FURTHEST,
            description="Minutes that the local time is ahead of UTC; decides when today began.",
        ),
    ] = 0,
) -> Response[Home]:
    midnight = day_began(tz)
    return await answered(services, ("home", midnight), lambda: services.homes.get(midnight))


@post(
    "/tour",
    responses=errors(409, 413),
    summary="Create the tour repo, or return the existing one",
)
async def make_tour(services: Services, caller: Caller, data: JSONBody[OptionalKey | None] = None) -> Tour:
    return await services.tours.make(with_key(caller, data.idempotency_key if data else None))


@delete("/tour", status_code=200, responses=errors(409), summary="Delete the tour repo with its sessions")
async def remove_tour(services: Services, caller: Caller) -> TourRemoved:
    return await services.tours.remove(caller)


router = Router("/api", route_handlers=[get_home, make_tour, remove_tour], tags=["home"])
