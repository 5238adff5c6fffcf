"""Routes that finish the work in a worktree, from commit to cleanup. Each previews with `dryRun`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, Any, TypeVar

from litestar import Router, get, post
from litestar.handlers import HTTPRouteHandler
from litestar.params import JSONBody, QueryParameter

from bough.api.http.requests import Caller, Id, Services, errors, with_key
from bough.core.finish.requests import (
    CleanupBody,
    CommitBody,
    FinishBody,
    Finished,
    MergeBody,
    PullRequestBody,
    PushBody,
    UndoMergeBody,
    UpdateBody,
)
from bough.core.finish.state import FinishState
from bough.core.finish.surveys.overlap_survey import OverlapList
from bough.core.finish.surveys.progress_survey import ProgressList
from bough.core.services import Services as _Services
from bough.errors import Conflict
from bough.model.session import Caller as _Caller

Body = TypeVar("Body", bound=FinishBody)

# The longest that a request waits for a survey.
LONGEST_WAIT = 10.0
Wait = Annotated[
    float, QueryParameter(ge=0, le=LONGEST_WAIT, description="Seconds to wait for a survey that is under way.")
]
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
async def list_overlaps(services: Services, wait: Wait = 0) -> OverlapList:
    return OverlapList(*await services.overlaps.latest(wait))


@get(
    "/worktrees/progress",
    responses=errors(),
    summary="List how many files each worktree changed, and whether its work is merged",
)
async def list_progress(services: Services, wait: Wait = 0) -> ProgressList:
    return ProgressList(*await services.progress.latest(wait))


def _operation(
    name: str,
    path: str,
    body_type: type[Body],
    summary: str,
    method: Callable[[_Services], Callable[[_Caller, str, Body], Awaitable[Finished]]],
) -> HTTPRouteHandler:
    """Returns the route of one operation, whose body is optional like each of its fields."""

    async def handler(services: Any, caller: Any, worktree_id: str, data: Any = None) -> Finished:
        body = data or body_type()
        return await method(services)(with_key(caller, body.idempotency_key), worktree_id, body)

    handler.__name__ = name
    # Litestar reads the types of a request from here.
    optional: Any = JSONBody[body_type | None]
    handler.__annotations__ |= {"services": Services, "caller": Caller, "worktree_id": Id, "data": optional}
    handler.__annotations__["return"] = Finished
    return post(f"/worktrees/{{worktree_id:str}}/{path}", status_code=200, responses=FAILS, summary=summary)(handler)


OPERATIONS = [
    _operation(
        "commit",
        "commit",
        CommitBody,
        "Commit files of a worktree",
        lambda services: services.finishing.commit,
    ),
    _operation(
        "update",
        "update",
        UpdateBody,
        "Update a worktree's branch from its base",
        lambda services: services.finishing.update,
    ),
    _operation(
        "merge",
        "merge",
        MergeBody,
        "Merge a worktree's branch into its base",
        lambda services: services.finishing.merge,
    ),
    _operation(
        "undo_merge",
        "merge/undo",
        UndoMergeBody,
        "Undo the last merge of a worktree",
        lambda services: services.finishing.undo_merge,
    ),
    _operation(
        "push",
        "push",
        PushBody,
        "Push a worktree's branch",
        lambda services: services.finishing.push,
    ),
    _operation(
        "pull_request",
        "pull-request",
        PullRequestBody,
        "Open or update the pull request of a worktree's branch",
        lambda services: services.finishing.pull_request,
    ),
    _operation(
        "clean_up",
        "cleanup",
        CleanupBody,
        "End a worktree's sessions, remove it and delete its merged branch",
        lambda services: services.cleanups.clean_up,
    ),
]

router = Router(
    "/api",
    route_handlers=[get_finish, list_overlaps, list_progress, *OPERATIONS],
    tags=["worktrees"],
)
