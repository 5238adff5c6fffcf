"""Routes for schedules: add, list, show, change, run now, history and remove."""

from __future__ import annotations

from typing import Annotated

import msgspec
from litestar import Router, delete, get, patch, post
from litestar.params import JSONBody, QueryParameter

from bough.api.http.requests import LIMIT, Caller, Id, Limit, Offset, Services, errors, with_key
from bough.core.schedules.requests import NewSchedule, RunBody, SchedulePatch, ShownSchedule
from bough.model.schedule import ScheduleRun

OfSession = Annotated[str | None, QueryParameter(name="sessionId", description="Only schedules of this session.")]


class ScheduleList(msgspec.Struct, rename="camel"):
    schedules: list[ShownSchedule]
    total: int
    limit: int
    offset: int


class ScheduleRunList(msgspec.Struct, rename="camel"):
    runs: list[ScheduleRun]
    total: int
    limit: int
    offset: int


@get("/", responses=errors(404, 409), summary="List schedules, those that are due next first")
async def list_schedules(
    services: Services, session_id: OfSession = None, limit: Limit = LIMIT, offset: Offset = 0
) -> ScheduleList:
    page = await services.schedules.list(session_id, limit, offset)
    return ScheduleList(page.rows, page.total, page.limit, page.offset)


@post("/", responses=errors(404, 409, 413), summary="Add a schedule: a prompt that is sent by the clock")
async def add_schedule(services: Services, caller: Caller, data: JSONBody[NewSchedule]) -> ShownSchedule:
    return await services.schedules.add(with_key(caller, data.idempotency_key), data)


@get("/{schedule_id:str}", responses=errors(404, 409), summary="Get a schedule")
async def get_schedule(services: Services, schedule_id: Id) -> ShownSchedule:
    return await services.schedules.get(schedule_id)


@patch("/{schedule_id:str}", responses=errors(404, 409, 413), summary="Change, pause or resume a schedule")
async def patch_schedule(
    services: Services, caller: Caller, schedule_id: Id, data: JSONBody[SchedulePatch]
) -> ShownSchedule:
    return await services.schedules.patch(caller, schedule_id, data)


@delete("/{schedule_id:str}", status_code=200, responses=errors(404, 409), summary="Remove a schedule")
async def remove_schedule(services: Services, caller: Caller, schedule_id: Id) -> ShownSchedule:
    return await services.schedules.remove(caller, schedule_id)


@post(
    "/{schedule_id:str}/run",
    status_code=200,
    responses=errors(404, 409, 413),
    summary="Start a run of a schedule now",
)
async def run_schedule(services: Services, caller: Caller, schedule_id: Id, data: JSONBody[RunBody]) -> ScheduleRun:
    return await services.schedules.run_now(with_key(caller, data.idempotency_key), schedule_id)


@get("/{schedule_id:str}/runs", responses=errors(404, 409), summary="List the runs of a schedule, newest first")
async def list_schedule_runs(
    services: Services, schedule_id: Id, limit: Limit = LIMIT, offset: Offset = 0
) -> ScheduleRunList:
    page = await services.schedules.runs(schedule_id, limit, offset)
    return ScheduleRunList(page.rows, page.total, page.limit, page.offset)


router = Router(
    "/api/schedules",
    route_handlers=[
        *(list_schedules, add_schedule, get_schedule, patch_schedule, remove_schedule),
        *(run_schedule, list_schedule_runs),
    ],
    tags=["schedules"],
)
