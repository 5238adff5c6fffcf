"""Routes for the home view, the sidebar, usage and the tour repo."""

from __future__ import annotations

from typing import Annotated

from litestar import Response, Router, delete, get, post
from litestar.params import JSONBody, QueryParameter

from bough.api.http.requests import Caller, OptionalKey, Services, answered, errors, with_key
from bough.core.overview.home import FURTHEST, day_began
from bough.core.overview.tour import Tour, TourRemoved
from bough.core.overview.usage import first_midnight
from bough.errors import Invalid
from bough.model.views.home import Home, Sidebar
from bough.model.views.usage import GROUPINGS, UsageReport

TimeZone = Annotated[
    int,
    QueryParameter(
        ge=-FURTHEST,
        le=FURTHEST,
        description="Minutes that the local time is ahead of UTC; decides when today began.",
    ),
]


@get("/home", responses=errors(), summary="Get what needs attention, what is running, the trees, and usage")
async def get_home(services: Services, tz: TimeZone = 0) -> Response[Home]:
    midnight = day_began(tz)
    return await answered(services, ("home", midnight), lambda: services.homes.get(midnight))


@get("/sidebar", responses=errors(), summary="List live and pinned sessions")
async def get_sidebar(services: Services, caller: Caller) -> Response[Sidebar]:
    return await answered(services, ("sidebar", caller.own_id), lambda: services.sidebars.get(caller))


@get("/usage", responses=errors(), summary="Get usage by day, agent, repository or tree")
async def get_usage(
    services: Services,
    by: Annotated[str, QueryParameter(description="`day`, `agent`, `repo` or `tree`.")] = "day",
    since: Annotated[
        str | None,
        QueryParameter(description="The first day, such as `2026-11-01`, or a number of days, such as `30d`."),
    ] = None,
    tz: TimeZone = 0,
) -> Response[UsageReport]:
    grouping = GROUPINGS.get(by)
    if grouping is None:
        raise Invalid("bad_grouping", f"Usage cannot be grouped by {by[:40]!r}. Use one of: {', '.join(GROUPINGS)}.")
    midnight = day_began(tz)
    begun = first_midnight(midnight, since, tz)
    return await answered(
        services, ("usage", grouping, begun, midnight, tz), lambda: services.usage.get(grouping, begun, midnight, tz)
    )


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


router = Router("/api", route_handlers=[get_home, get_sidebar, get_usage, make_tour, remove_tour], tags=["home"])
