"""Routes for races: one prompt to several branches, how they stand, what each has changed, and keeping one (B6)."""

from __future__ import annotations

from typing import Annotated

import msgspec
from litestar import Router, get, post
from litestar.params import JSONBody, QueryParameter

from bough.api.http.requests import LIMIT, Caller, Id, Limit, Offset, Services, errors, with_key
from bough.core.trees.race.keep import KeepBody
from bough.core.trees.race.rules import Kept
from bough.core.trees.race.start import NewRace, RaceBegun
from bough.core.trees.race.status import Race, RaceBrief
from bough.git.working_copy_diff import Diff

Full = Annotated[bool, QueryParameter(description="With what each has changed, cut where it is too much together.")]
Of = Annotated[str, QueryParameter(name="session", description="Of this contender.")]
Only = Annotated[
    str | None, QueryParameter(name="path", description="Only this file or folder, relative to the top of the folder.")
]


class RaceList(msgspec.Struct, rename="camel"):
    races: list[RaceBrief]
    total: int
    limit: int
    offset: int


@post(
    "/sessions/{session_id:str}/race",
    responses=errors(403, 404, 409, 413, 429),
    summary="Send one prompt to several branches, each in a worktree of its own",
)
async def start_race(services: Services, caller: Caller, session_id: Id, data: JSONBody[NewRace]) -> RaceBegun:
    return await services.races.start(with_key(caller, data.idempotency_key), session_id, data)


@get("/sessions/{session_id:str}/races", responses=errors(404, 409), summary="List the races of a tree, newest first")
async def list_races(services: Services, session_id: Id, limit: Limit = LIMIT, offset: Offset = 0) -> RaceList:
    page = await services.race_statuses.list(session_id, limit, offset)
    return RaceList(page.rows, page.total, page.limit, page.offset)


@get("/races/{race_id:str}", responses=errors(404, 409), summary="Get a race, and how its contenders stand")
async def get_race(services: Services, race_id: Id, full: Full = False) -> Race:
    return await services.race_statuses.get(race_id, full=full)


@get("/races/{race_id:str}/diff", responses=errors(404, 409), summary="What a contender has changed in the files")
async def diff_race(services: Services, race_id: Id, session: Of, only: Only = None) -> Diff:
    return await services.race_statuses.diff(race_id, session, only)


@post(
    "/races/{race_id:str}/keep",
    status_code=200,
    responses=errors(404, 409, 413, 429),
    summary="Keep one contender, and put the others away",
)
async def keep_one(services: Services, caller: Caller, race_id: Id, data: JSONBody[KeepBody]) -> Kept:
    return await services.race_results.keep(with_key(caller, data.idempotency_key), race_id, data)


router = Router("/api", route_handlers=[start_race, list_races, get_race, diff_race, keep_one], tags=["races"])
