"""Routes that finish the work in a worktree, from commit to cleanup. Each previews with `dryRun`."""

from __future__ import annotations

from typing import Annotated

from litestar import Router, get, post
from litestar.params import JSONBody, QueryParameter

from bough.api.http.requests import Caller, Id, Services, errors, with_key
from bough.core.finish.overlap_survey import OverlapList
from bough.core.finish.progress_survey import ProgressList
from bough.core.finish.requests import (
    CleanupBody,
    CommitBody,
    Finished,
    MergeBody,
    PullRequestBody,
    PushBody,
    UndoMergeBody,
    UpdateBody,
)
from bough.core.finish.state import FinishState
from bough.errors import Conflict

# The longest that a request waits for a survey.
LONGEST_WAIT = 10.0
FAILS = errors(404, 409, 413, 429)


@get(
    "/worktrees/{worktree_id:str}/finish",
    responses=errors(404, 409),
    summary="Get how far the work in a worktree is from being finished",
)
async def get_finish(services: Services, worktree_id: Id) -> FinishState | None:
    """Null while the worktree is being created or removed, and afterwards."""
    try:
        return await services.finishing.state(worktree_id)
    except Conflict as error:
        if error.code not in ("worktree_busy", "worktree_removed"):
            raise
        return None


@get("/worktrees/overlaps", responses=errors(), summary="List the worktrees that changed the same files")
async def list_overlaps(
    services: Services,
    wait: Annotated[
        float,
        QueryParameter(ge=0, le=LONGEST_WAIT, description="Wait so many seconds for a survey that is under way."),
    ] = 0,
) -> OverlapList:
    return await services.overlaps.read(wait)


@get(
    "/worktrees/progress",
    responses=errors(),
    summary="List how many files each worktree changed, and whether its work is merged",
)
async def list_progress(
    services: Services,
    wait: Annotated[
        float,
        QueryParameter(ge=0, le=LONGEST_WAIT, description="Wait so many seconds for a survey that is under way."),
    ] = 0,
) -> ProgressList:
    return await services.progress.read(wait)


@post("/worktrees/{worktree_id:str}/commit", status_code=200, responses=FAILS, summary="Commit files of a worktree")
async def commit(
    services: Services, caller: Caller, worktree_id: Id, data: JSONBody[CommitBody | None] = None
) -> Finished:
    body = data or CommitBody()
    return await services.finishing.commit(with_key(caller, body.idempotency_key), worktree_id, body)


@post(
    "/worktrees/{worktree_id:str}/update",
    status_code=200,
    responses=FAILS,
    summary="Update a worktree's branch from its base",
)
async def update(
    services: Services, caller: Caller, worktree_id: Id, data: JSONBody[UpdateBody | None] = None
) -> Finished:
    body = data or UpdateBody()
    return await services.finishing.update(with_key(caller, body.idempotency_key), worktree_id, body)


@post(
    "/worktrees/{worktree_id:str}/merge",
    status_code=200,
    responses=FAILS,
    summary="Merge a worktree's branch into its base",
)
async def merge(
    services: Services, caller: Caller, worktree_id: Id, data: JSONBody[MergeBody | None] = None
) -> Finished:
    body = data or MergeBody()
    return await services.finishing.merge(with_key(caller, body.idempotency_key), worktree_id, body)


@post(
    "/worktrees/{worktree_id:str}/merge/undo",
    status_code=200,
    responses=FAILS,
    summary="Undo the last merge of a worktree",
)
async def undo_merge(
    services: Services, caller: Caller, worktree_id: Id, data: JSONBody[UndoMergeBody | None] = None
) -> Finished:
    body = data or UndoMergeBody()
    return await services.finishing.undo_merge(with_key(caller, body.idempotency_key), worktree_id, body)


@post("/worktrees/{worktree_id:str}/push", status_code=200, responses=FAILS, summary="Push a worktree's branch")
async def push(services: Services, caller: Caller, worktree_id: Id, data: JSONBody[PushBody | None] = None) -> Finished:
    body = data or PushBody()
    return await services.finishing.push(with_key(caller, body.idempotency_key), worktree_id, body)


@post(
    "/worktrees/{worktree_id:str}/pull-request",
    status_code=200,
    responses=FAILS,
    summary="Open or update the pull request of a worktree's branch",
)
async def pull_request(
    services: Services, caller: Caller, worktree_id: Id, data: JSONBody[PullRequestBody | None] = None
) -> Finished:
    body = data or PullRequestBody()
    return await services.finishing.pull_request(with_key(caller, body.idempotency_key), worktree_id, body)


@post(
    "/worktrees/{worktree_id:str}/cleanup",
    status_code=200,
    responses=FAILS,
    summary="End a worktree's sessions, remove it and delete its merged branch",
)
async def clean_up(
    services: Services, caller: Caller, worktree_id: Id, data: JSONBody[CleanupBody | None] = None
) -> Finished:
    body = data or CleanupBody()
    return await services.cleanups.clean_up(with_key(caller, body.idempotency_key), worktree_id, body)


router = Router(
    "/api",
    route_handlers=[
        get_finish,
        list_overlaps,
        list_progress,
        commit,
        update,
        merge,
        undo_merge,
        push,
        pull_request,
        clean_up,
    ],
    tags=["worktrees"],
)
