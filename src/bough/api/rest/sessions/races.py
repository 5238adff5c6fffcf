"""Routes for races: start, list, show, compare, and keep one racer."""

from __future__ import annotations

from typing import Annotated

import msgspec
from litestar import Router, get, post
from litestar.params import JSONBody, QueryParameter

from bough.api.http.requests import LIMIT, Caller, Id, Limit, Offset, Services, errors, with_key
from bough.core.trees.race.keep import KeepBody
from bough.core.trees.race.rules import KeptRacer
from bough.core.trees.race.start import NewRace, RaceStarted
from bough.core.trees.race.status import Race, RaceBrief
from bough.git.working_copy.diff import Diff

Full = Annotated[bool, QueryParameter(description="Include each racer's changes, truncated if they are too large.")]
Of = Annotated[str, QueryParameter(name="session", description="The racer's session.")]
Only = Annotated[
    str | None, QueryParameter(name="path", description="Only this file or folder, relative to the repo's top folder.")
]


class RaceList(msgspec.Struct, rename="camel"):
    races: list[RaceBrief]
    total: int
    limit: int
    offset: int


@post(
    "/sessions/{session_id:str}/race",
    responses=errors(403, 404, 409, 413, 429),
    summary="Start a race: send one prompt to several forks, each in its own worktree",
)
async def start_race(services: Services, caller: Caller, session_id: Id, data: JSONBody[NewRace]) -> RaceStarted:
    return await services.races.start(with_key(caller, data.idempotency_key), session_id, data)


@get("/sessions/{session_id:str}/races", responses=errors(404, 409), summary="List the races of a tree, newest first")
async def list_races(services: Services, session_id: Id, limit: Limit = LIMIT, offset: Offset = 0) -> RaceList:
    page = await services.race_statuses.list(session_id, limit, offset)
    return RaceList(page.rows, page.total, page.limit, page.offset)


@get("/races", responses=errors(), summary="List the races of all trees, newest first")
async def list_all_races(services: Services, limit: Limit = LIMIT, offset: Offset = 0) -> RaceList:
    page = await services.race_statuses.list_all(limit, offset)
    return RaceList(page.rows, page.total, page.limit, page.offset)


@get("/races/{race_id:str}", responses=errors(404, 409), summary="Get a race and the state of its racers")
async def get_race(services: Services, race_id: Id, full: Full = False) -> Race:
    return await services.race_statuses.get(race_id, full=full)


@get("/races/{race_id:str}/diff", responses=errors(404, 409), summary="Get a racer's file changes")
async def diff_race(services: Services, race_id: Id, session: Of, only: Only = None) -> Diff:
    return await services.race_statuses.diff(race_id, session, only)


@post(
    "/races/{race_id:str}/keep",
    status_code=200,
    responses=errors(404, 409, 413, 429),
    summary="Keep one racer and archive the others",
)
async def keep_racer(services: Services, caller: Caller, race_id: Id, data: JSONBody[KeepBody]) -> KeptRacer:
    return await services.race_results.keep(with_key(caller, data.idempotency_key), race_id, data)


router = Router(
    "/api", route_handlers=[start_race, list_all_races, list_races, get_race, diff_race, keep_racer], tags=["races"]
)
