"""Routes for worktrees: create, adopt, list, show, compare, change, remove and recover."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from litestar import Router, delete, get, patch, post
from litestar.params import JSONBody, QueryParameter

from bough.api.http.requests import LIMIT, Caller, Id, Limit, Offset, OptionalKey, Services, errors, with_key
from bough.core.worktrees.creation.preview import Preview
from bough.core.worktrees.records import NewWorktree, SessionUse, WorktreePatch
from bough.core.worktrees.removal.preview import Losses
from bough.core.worktrees.removal.recover import how_to_recover
from bough.core.worktrees.removal.remove import Removed
from bough.core.worktrees.service import GitWorktree
from bough.git.working_copy.diff import Diff
from bough.model.repo import Worktree, WorktreeState

Force = Annotated[
    bool,
    QueryParameter(
        description="Remove it even with uncommitted files or unpushed commits, which are saved on a git ref."
    ),
]


class SetupBody(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """With `wait: false` the response does not wait for the setup. A repeated key runs it once."""

    wait: bool = True
    idempotency_key: str | None = None


class WorktreeList(msgspec.Struct, rename="camel"):
    worktrees: list[Worktree]
    total: int
    limit: int
    offset: int


class GitWorktreeList(msgspec.Struct, rename="camel"):
    worktrees: list[GitWorktree]
    total: int
    limit: int
    offset: int


class WorktreeDetail(Worktree, kw_only=True):
    """A worktree with its git status (null once it is removed) and its sessions."""

    git: WorktreeState | None
    sessions: list[SessionUse]


class WorktreeRemoved(Worktree, kw_only=True):
    """A removed worktree. If it was only `forgotten`, its folder is unchanged. `recover` is the command that recovers
    it, and `innerRefs` are the refs that hold the files of git repositories inside it."""

    forgotten: bool
    branch_deleted: bool
    recover: str | None
    inner_refs: list[str]


@post("/worktrees", responses=errors(404, 409, 413, 429), summary="Create or adopt a worktree")
async def add_worktree(services: Services, caller: Caller, data: JSONBody[NewWorktree]) -> Worktree:
    return await services.worktrees.create(with_key(caller, data.idempotency_key), data)


@get("/worktrees", responses=errors(404, 409), summary="List worktrees, newest first")
async def list_worktrees(
    services: Services,
    repo_id: Annotated[str | None, QueryParameter(name="repoId", description="Only worktrees of this repo.")] = None,
    removed: Annotated[bool, QueryParameter(description="List removed worktrees instead.")] = False,
    limit: Limit = LIMIT,
    offset: Offset = 0,
) -> WorktreeList:
    page = await services.worktrees.list(repo_id, removed, limit, offset)
    return WorktreeList(page.rows, page.total, page.limit, page.offset)


@get("/repos/{repo_id:str}/worktrees", responses=errors(404, 409), summary="List the worktrees that git knows")
async def list_found(
    services: Services,
    repo_id: Id,
    known: Annotated[
        bool | None,
        QueryParameter(description="Only worktrees that Bough knows, or only the others, which can be adopted."),
    ] = None,
    limit: Limit = LIMIT,
    offset: Offset = 0,
) -> GitWorktreeList:
    worktrees = await services.worktrees.known_to_git(repo_id, known)
    return GitWorktreeList(worktrees[offset : offset + limit], len(worktrees), limit, offset)


@get(
    "/worktrees/preview",
    responses=errors(404, 409),
    summary="Preview a worktree without creating it",
)
async def preview_worktree(
    services: Services,
    repo_id: Annotated[str, QueryParameter(name="repoId", description="The repo.")],
    branch: Annotated[str, QueryParameter(description="The worktree's branch.")] = "",
    path: Annotated[str | None, QueryParameter(description="Its folder; relative paths start at the repo.")] = None,
    base: Annotated[str | None, QueryParameter(description="Base of a new branch.")] = None,
) -> Preview:
    return await services.worktrees.preview(NewWorktree(repo_id, branch, path, base or None))


@get(
    "/worktrees/{worktree_id:str}/losses",
    responses=errors(404, 409),
    summary="Preview what would be lost with a worktree, and whether its removal would be refused",
)
async def preview_losses(
    services: Services,
    worktree_id: Id,
    session_id: Annotated[
        str | None,
        QueryParameter(
            name="sessionId", description="A session that is deleted along with it and does not block the removal."
        ),
    ] = None,
) -> Losses:
    return await services.worktrees.losses(worktree_id, session_id)


@get("/worktrees/{worktree_id:str}", responses=errors(404, 409), summary="Get a worktree with its git status")
async def get_worktree(services: Services, worktree_id: Id) -> WorktreeDetail:
    row, state, uses = await services.worktrees.detail(worktree_id)
    return WorktreeDetail(*_values(row), git=state, sessions=uses)


@patch(
    "/worktrees/{worktree_id:str}",
    responses=errors(404, 409, 413),
    summary="Change a worktree's name, notes or position",
)
async def patch_worktree(services: Services, worktree_id: Id, data: JSONBody[WorktreePatch]) -> Worktree:
    return await services.worktrees.patch(worktree_id, data)


@get("/worktrees/{worktree_id:str}/diff", responses=errors(404, 409), summary="Get the changes in a worktree")
async def diff_worktree(
    services: Services,
    worktree_id: Id,
    against: Annotated[
        Literal["base", "head"], QueryParameter(description="Compare with its base or with its last commit.")
    ] = "base",
) -> Diff:
    return await services.worktrees.diff(worktree_id, against)


@delete("/worktrees/{worktree_id:str}", status_code=200, responses=errors(404, 409, 429), summary="Remove a worktree")
async def remove_worktree(
    services: Services,
    caller: Caller,
    worktree_id: Id,
    force: Force = False,
    branch: Annotated[
        Literal["keep", "delete"], QueryParameter(description="Keep or delete the branch that Bough created for it.")
    ] = "keep",
) -> WorktreeRemoved:
    return removed_answer(await services.worktrees.remove(caller, worktree_id, force=force, branch=branch))


@post(
    "/worktrees/{worktree_id:str}/setup",
    status_code=200,
    responses=errors(404, 409, 413, 429),
    summary="Repeat the setup of a worktree",
)
async def set_up_worktree(
    services: Services, caller: Caller, worktree_id: Id, data: JSONBody[SetupBody | None] = None
) -> Worktree:
    keyed = with_key(caller, data.idempotency_key if data else None)
    return await services.worktrees.set_up(keyed, worktree_id, wait=data.wait if data else True)


@post(
    "/worktrees/{worktree_id:str}/recover",
    status_code=200,
    responses=errors(404, 409, 413, 429),
    summary="Recover a removed worktree",
)
async def recover_worktree(
    services: Services, caller: Caller, worktree_id: Id, data: JSONBody[OptionalKey | None] = None
) -> Worktree:
    keyed = with_key(caller, data.idempotency_key if data else None)
    return await services.worktrees.recover(keyed, worktree_id)


def removed_answer(removed: Removed) -> WorktreeRemoved:
    """Converts a removed worktree to an answer."""
    return WorktreeRemoved(
        *_values(removed.worktree),
        forgotten=removed.forgotten,
        branch_deleted=removed.branch_deleted,
        recover=how_to_recover(removed.worktree),
        inner_refs=removed.inner_refs,
    )


def _values(row: Worktree) -> tuple[Any, ...]:
    return tuple(getattr(row, name) for name in row.__struct_fields__)


router = Router(
    "/api",
    route_handlers=[
        add_worktree,
        list_worktrees,
        list_found,
        preview_worktree,
        get_worktree,
        preview_losses,
        patch_worktree,
        diff_worktree,
        remove_worktree,
        set_up_worktree,
        recover_worktree,
    ],
    tags=["worktrees"],
)
