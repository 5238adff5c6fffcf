"""Routes for runs: start a command in a worktree, list, read the log and stop."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from litestar import Request, Router, get, post
from litestar.params import JSONBody, QueryParameter

from bough.api.http.host_and_origin import origin_text
from bough.api.http.requests import Caller, Id, OptionalKey, Services, errors, with_key
from bough.core.runs.command import NewRun
from bough.core.runs.previews import RunPreview
from bough.core.runs.service import RunLog
from bough.model.run import Run


class RunList(msgspec.Struct, rename="camel"):
    runs: list[Run]


@get("/runs", responses=errors(404, 409), summary="List the commands that run in worktrees, and the last that ended")
async def list_runs(
    services: Services,
    worktree_id: Annotated[str | None, QueryParameter(name="worktreeId", description="Only in this worktree.")] = None,
) -> RunList:
    return RunList(await services.runs.list(worktree_id))


@post(
    "/worktrees/{worktree_id:str}/runs",
    responses=errors(404, 409, 413, 429, 502),
    summary="Run a command in a worktree: one that its repository names and a person allowed, or your own",
)
async def start_run(services: Services, caller: Caller, worktree_id: Id, data: JSONBody[NewRun]) -> Run:
    return await services.runs.start(with_key(caller, data.idempotency_key), worktree_id, data)


@get("/runs/{run_id:str}", responses=errors(404, 409), summary="Get a run")
async def get_run(services: Services, run_id: Id) -> Run:
    return await services.runs.get(run_id)


@get("/runs/{run_id:str}/log", responses=errors(404, 409), summary="Read the end of what a run printed")
async def read_log(services: Services, run_id: Id) -> RunLog:
    return await services.runs.log(run_id)


@post(
    "/runs/{run_id:str}/preview",
    status_code=200,
    responses=errors(404, 409, 413),
    summary="Get the address at which a browser on the server's machine previews what a run serves",
)
async def preview_run(
    request: Request[Any, Any, Any],
    services: Services,
    caller: Caller,
    run_id: Id,
    data: JSONBody[OptionalKey | None] = None,
) -> RunPreview:
    keyed = with_key(caller, data.idempotency_key if data else None)
    return await services.previews.open(keyed, run_id, origin_text(request.scope))


@post(
    "/runs/{run_id:str}/stop",
    status_code=200,
    responses=errors(404, 409, 413),
    summary="Stop a run and everything that it started",
)
async def stop_run(services: Services, caller: Caller, run_id: Id, data: JSONBody[OptionalKey | None] = None) -> Run:
    return await services.runs.stop(with_key(caller, data.idempotency_key if data else None), run_id)


router = Router("/api", route_handlers=[list_runs, start_run, get_run, read_log, preview_run, stop_run], tags=["runs"])
