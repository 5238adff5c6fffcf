"""Routes for the checks and review threads of worktrees' pull requests."""

from __future__ import annotations

import msgspec
from litestar import Router, get, patch, post
from litestar.params import JSONBody

from bough.api.http.requests import Caller, Id, OptionalKey, Services, errors, with_key
from bough.core.finish.checks.rows import PullRequestChecks
from bough.core.finish.checks.service import ChecksPatch, SendChecksBody, SentChecks


class ChecksList(msgspec.Struct, rename="camel"):
    """The pull requests of all worktrees, as they were last read: how many checks and threads there are, but not the
    checks and threads themselves."""

    requests: list[PullRequestChecks]


@get("/worktrees/checks", responses=errors(), summary="List the pull requests of worktrees with their checks")
async def list_checks(services: Services) -> ChecksList:
    return ChecksList(await services.checks.list())


@get(
    "/worktrees/{worktree_id:str}/checks",
    responses=errors(404, 409),
    summary="Get the checks and review threads of a worktree's pull request",
)
async def get_checks(services: Services, worktree_id: Id) -> PullRequestChecks | None:
    """Null if no pull request is known. Contacts nobody."""
    return await services.checks.get(worktree_id)


@post(
    "/worktrees/{worktree_id:str}/checks/refresh",
    status_code=200,
    responses=errors(404, 409, 413, 429),
    summary="Ask the server about a worktree's pull request",
)
async def refresh_checks(
    services: Services, caller: Caller, worktree_id: Id, data: JSONBody[OptionalKey | None] = None
) -> PullRequestChecks | None:
    """Null if there is no open pull request, or nobody can tell."""
    return await services.checks.refresh(worktree_id)


@post(
    "/worktrees/{worktree_id:str}/checks/send",
    status_code=200,
    responses=errors(404, 409, 413, 429),
    summary="Send new failed checks and review threads to a session as one prompt",
)
async def send_checks(
    services: Services, caller: Caller, worktree_id: Id, data: JSONBody[SendChecksBody | None] = None
) -> SentChecks:
    body = data or SendChecksBody()
    return await services.checks.send(with_key(caller, body.idempotency_key), worktree_id, body)


@patch(
    "/worktrees/{worktree_id:str}/checks",
    responses=errors(404, 409, 413),
    summary="Set whether failures of a pull request are sent automatically",
)
async def patch_checks(
    services: Services, caller: Caller, worktree_id: Id, data: JSONBody[ChecksPatch]
) -> PullRequestChecks:
    return await services.checks.set_rule(caller, worktree_id, data)


router = Router(
    "/api", route_handlers=[list_checks, get_checks, refresh_checks, send_checks, patch_checks], tags=["worktrees"]
)
