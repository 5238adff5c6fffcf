"""Routes for what a page shows at once: the start page, the cards of a board, what a person has seen, the tour. What is
in them is left to the core."""

from __future__ import annotations

from typing import Annotated

import msgspec
from litestar import Response, Router, delete, get, post
from litestar.params import JSONBody, PathParameter, QueryParameter

from bough.api.http.requests import Caller, Id, Keyed, Limit, Offset, Services, answered, errors, with_key
from bough.core.overview.home import FURTHEST, day_began
from bough.core.overview.tour import Tour, TourRemoved
from bough.core.store.paging import LARGEST_LIMIT
from bough.model.card import Card
from bough.model.home import Home
from bough.model.session import Session


@post(
    "/sessions/{session_id:str}/seen",
    status_code=200,
    responses=errors(404, 409, 413),
    summary="Note that a person has looked at a session",
)
async def see_session(
    services: Services, caller: Caller, session_id: Id, data: JSONBody[Keyed | None] = None
) -> Session:
    return await services.sessions.see(with_key(caller, data.idempotency_key if data else None), session_id)


@get("/home", responses=errors(), summary="What needs a person, what runs, which trees there are, what was used")
async def get_home(
    services: Services,
    tz: Annotated[
        int,
        QueryParameter(
            ge=-FURTHEST,
            le=FURTHEST,
            description="How many minutes clocks are ahead of UTC: when today began.",
        ),
    ] = 0,
) -> Response[Home]:
    midnight = day_began(tz)
    return await answered(services, ("home", midnight), lambda: services.homes.get(midnight))


class CardList(msgspec.Struct, rename="camel"):
    cards: list[Card]
    total: int
    limit: int
    offset: int


@get("/boards/{board_id:str}/cards", responses=errors(404, 409), summary="List what lies on a board, with its sessions")
async def list_cards(
    services: Services,
    board_id: Annotated[str, PathParameter(description="The id of a board, in short or whole, or `default`.")],
    archived: Annotated[
        bool, QueryParameter(description="Also sessions that were put away, and questions aside.")
    ] = False,
    limit: Limit = LARGEST_LIMIT,
    offset: Offset = 0,
) -> Response[CardList]:
    async def made() -> CardList:
        page = await services.cards.list(board_id, limit, offset, archived=archived)
        return CardList(page.rows, page.total, page.limit, page.offset)

    return await answered(services, ("cards", board_id, archived, limit, offset), made)


@post(
    "/tour",
    responses=errors(409, 413),
    summary="Make a small repository to try everything in, or give the one there is",
)
async def make_tour(services: Services, caller: Caller, data: JSONBody[Keyed | None] = None) -> Tour:
    return await services.tours.make(with_key(caller, data.idempotency_key if data else None))


@delete("/tour", status_code=200, responses=errors(409), summary="Take the tour away, with all that was done in it")
async def remove_tour(services: Services, caller: Caller) -> TourRemoved:
    return await services.tours.remove(caller)


router = Router("/api", route_handlers=[see_session, get_home, list_cards, make_tour, remove_tour], tags=["home"])
