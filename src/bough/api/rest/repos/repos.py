"""Routes for repos: register, list, show, change and forget."""

from __future__ import annotations

from typing import Annotated

import msgspec
from litestar import Router, delete, get, patch, post
from litestar.params import JSONBody, QueryParameter

from bough.api.http.requests import LIMIT, Caller, Id, Limit, Offset, Services, errors, with_key
from bough.core.worktrees.config.service import ConfigDecision, ConfigReport
from bough.core.worktrees.git_permissions import GitPermissionsPatch, GitReport
from bough.core.worktrees.repos import RepoPatch
from bough.model.repo import Repo


class NewRepo(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """A folder to register; for a folder inside a git repository, its top folder is registered."""

    path: str
    name: str | None = None
    idempotency_key: str | None = None


class RepoList(msgspec.Struct, rename="camel"):
    repos: list[Repo]
    total: int
    limit: int
    offset: int


@post("/repos", responses=errors(409, 413), summary="Register a git repository or a plain folder")
async def add_repo(services: Services, caller: Caller, data: JSONBody[NewRepo]) -> Repo:
    keyed = with_key(caller, data.idempotency_key)
    return await services.repos.add(keyed, data.path, data.name)


@get("/repos", responses=errors(), summary="List repos")
async def list_repos(services: Services, limit: Limit = LIMIT, offset: Offset = 0) -> RepoList:
    page = await services.repos.list(limit, offset)
    return RepoList(page.rows, page.total, page.limit, page.offset)


@get("/repos/{repo_id:str}", responses=errors(404, 409), summary="Get a repo")
async def get_repo(services: Services, repo_id: Id) -> Repo:
    return await services.repos.get(repo_id)


@patch(
    "/repos/{repo_id:str}",
    responses=errors(404, 409, 413),
    summary="Change a repo's name, the setup of its new worktrees, or its sandbox",
)
async def patch_repo(services: Services, caller: Caller, repo_id: Id, data: JSONBody[RepoPatch]) -> Repo:
    return await services.repos.patch(caller, repo_id, data)


@get(
    "/repos/{repo_id:str}/git",
    responses=errors(404, 409),
    summary="Show what a repo would run through git, and what people allowed of it",
)
async def get_git_permissions(services: Services, repo_id: Id) -> GitReport:
    return await services.git_permissions.report(repo_id)


@patch(
    "/repos/{repo_id:str}/git",
    responses=errors(404, 409, 413),
    summary="Allow or forbid what a repo runs through git (people only)",
)
async def patch_git_permissions(
    services: Services, caller: Caller, repo_id: Id, data: JSONBody[GitPermissionsPatch]
) -> GitReport:
    return await services.git_permissions.patch(caller, repo_id, data)


@get(
    "/repos/{repo_id:str}/config",
    responses=errors(404, 409),
    summary="Show what a repo's own files say about its worktrees, and what people decided about it",
)
async def get_repo_config(
    services: Services,
    repo_id: Id,
    worktree_id: Annotated[
        str | None, QueryParameter(name="worktreeId", description="Read the files of this worktree.")
    ] = None,
) -> ConfigReport:
    return await services.repo_configs.report(repo_id, worktree_id)


@patch(
    "/repos/{repo_id:str}/config",
    responses=errors(404, 409, 413),
    summary="Allow or forbid what a repo's own files would run and copy (people only)",
)
async def patch_repo_config(
    services: Services, caller: Caller, repo_id: Id, data: JSONBody[ConfigDecision]
) -> ConfigReport:
    return await services.repo_configs.decide(caller, repo_id, data)


@delete("/repos/{repo_id:str}", status_code=200, responses=errors(404, 409), summary="Forget a repo")
async def remove_repo(services: Services, caller: Caller, repo_id: Id) -> Repo:
    return await services.repos.remove(caller, repo_id)


router = Router(
    "/api",
    route_handlers=[
        *(add_repo, list_repos, get_repo, patch_repo, remove_repo),
        *(get_git_permissions, patch_git_permissions, get_repo_config, patch_repo_config),
    ],
    tags=["repos"],
)
