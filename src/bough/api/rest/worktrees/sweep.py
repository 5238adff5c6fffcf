"""Routes for the disk use of worktrees, and for sweeping those that nobody needs any longer."""

from __future__ import annotations

from typing import Annotated

from litestar import Router, get, post
from litestar.params import JSONBody, QueryParameter

from bough.api.http.requests import Caller, Services, errors, with_key
from bough.core.finish.cleanup.sweep import SweepBody, Swept
from bough.core.worktrees.disk_use import DiskUse

# The longest that a request waits for a measurement.
LONGEST_WAIT = 10.0


@get("/worktrees/disk", responses=errors(), summary="Get the disk use of worktrees and repos")
async def get_disk_use(
    services: Services,
    wait: Annotated[
        float,
        QueryParameter(ge=0, le=LONGEST_WAIT, description="Seconds to wait for a measurement that is under way."),
    ] = 0,
) -> DiskUse:
    return await services.disk.read(wait)


@post(
    "/worktrees/sweep",
    status_code=200,
    responses=errors(404, 409, 413, 429),
    summary="Clean up the worktrees that are merged and in which nobody works",
)
async def sweep_worktrees(services: Services, caller: Caller, data: JSONBody[SweepBody | None] = None) -> Swept:
    body = data or SweepBody()
    return await services.sweeps.sweep(with_key(caller, body.idempotency_key), body)


router = Router("/api", route_handlers=[get_disk_use, sweep_worktrees], tags=["worktrees"])
