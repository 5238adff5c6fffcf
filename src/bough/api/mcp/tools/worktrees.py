"""Tools for worktrees, repos, boards and MCP servers. Only people can remove worktrees."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta

from bough.api.mcp.tools import results
from bough.api.mcp.tools.base import ChangingParams, Params, Tool, ToolContext
from bough.api.mcp.tools.read import Limit, Offset
from bough.api.mcp.tools.results import Listed, RepoResult, WorktreeResult
from bough.api.mcp.tools.shared_wording import Id
from bough.core.worktrees.records import NewWorktree, WorktreePatch
from bough.errors import Invalid
from bough.model.call import Claim


class PageParams(Params):
    limit: Limit = 50
    offset: Offset = 0


class WorktreesParams(PageParams):
    repo_id: str | None = None


class WorktreeOnly(Params):
    worktree_id: Id


class CreateWorktree(ChangingParams):
    repo_id: Id
    branch: Annotated[str, Meta(description="Created if it does not exist.")]
    path: Annotated[str | None, Meta(description="Default .worktrees/<branch>.")] = None
    base: Annotated[str | None, Meta(description="Base of a new branch.")] = None


class UpdateWorktree(ChangingParams):
    worktree_id: Id
    board_id: str | None = None
    x: float | None = None
    y: float | None = None
    notes: str | None = None


async def _worktrees(ctx: ToolContext, params: WorktreesParams) -> Listed[WorktreeResult]:
    page = await ctx.services.worktrees.list(params.repo_id, False, params.limit, params.offset)
    return Listed([results.worktree(row) for row in page.rows], page.total, page.limit, page.offset)


async def _worktree(ctx: ToolContext, params: WorktreeOnly) -> WorktreeResult:
    row, state, uses = await ctx.services.worktrees.detail(params.worktree_id)
    return results.worktree(row, state, [use.id for use in uses])


async def _create_claim(ctx: ToolContext, params: CreateWorktree) -> Claim:
    repo = await ctx.services.repos.get(params.repo_id)
    path = params.path or f".worktrees/{params.branch}"
    title = f"Create worktree {path} of {repo.name} on branch {params.branch!r}?"
    return Claim(title=title, repo=repo.id, sets_up=True)


async def _create(ctx: ToolContext, params: CreateWorktree) -> WorktreeResult:
    request = NewWorktree(repo_id=params.repo_id, branch=params.branch, path=params.path, base=params.base)
    return results.worktree(await ctx.services.worktrees.create(ctx.caller, request))


async def _update_claim(ctx: ToolContext, params: UpdateWorktree) -> Claim:
    worktree = await ctx.services.worktrees.get(params.worktree_id)
    names = [name for name in ("board_id", "x", "y", "notes") if getattr(params, name) is not None]
    if not names:
        raise Invalid("nothing_to_change", "Pass at least one of boardId, x, y, notes.")
    changed = ", ".join("board" if name == "board_id" else name for name in names)
    return Claim(title=f"Change worktree {worktree.name!r}: {changed}?", repo=worktree.repo_id)


async def _update(ctx: ToolContext, params: UpdateWorktree) -> WorktreeResult:
    changes = {name: value for name in ("board_id", "x", "y", "notes") if (value := getattr(params, name)) is not None}
    return results.worktree(await ctx.services.worktrees.patch(params.worktree_id, WorktreePatch(**changes)))


async def _repos(ctx: ToolContext, params: PageParams) -> Listed[RepoResult]:
    page = await ctx.services.repos.list(params.limit, params.offset)
    return Listed([results.repo(row) for row in page.rows], page.total, page.limit, page.offset)


async def _boards(ctx: ToolContext, params: PageParams) -> Listed[Any]:
    page = await ctx.services.boards.list(params.limit, params.offset)
    rows = [{"board_id": row.id, "name": row.name, "is_default": row.is_default} for row in page.rows]
    return Listed(rows, page.total, page.limit, page.offset)


async def _mcp_servers(ctx: ToolContext, params: PageParams) -> Listed[Any]:
    page = await ctx.services.mcp_servers.list(params.limit, params.offset)
    rows = [
        {"mcp_server_id": row.id, "name": row.name, "transport": row.transport, "enabled": row.enabled}
        for row in page.rows
    ]
    return Listed(rows, page.total, page.limit, page.offset)


WORKTREES = results.listing("worktree_id", "repo_id", "name", "path")
REPOS = results.listing("repo_id", "name", "path")
BOARDS = results.listing("board_id", "name")
SERVERS = results.listing("mcp_server_id", "name")

TOOLS: tuple[Tool[Any], ...] = (
    Tool("agor_worktrees_list", "List worktrees.", WorktreesParams, WORKTREES, _worktrees),
    Tool(
        "agor_worktrees_get",
        "Read a worktree: its branch, changes and sessions.",
        WorktreeOnly,
        results.WORKTREE,
        _worktree,
        only_rows=False,
    ),
    Tool(
        "agor_worktrees_create",
        "Create a worktree on a branch, to work separately from others.",
        CreateWorktree,
        results.WORKTREE,
        _create,
        _create_claim,
        "change",
    ),
    Tool(
        "agor_worktrees_update",
        "Change a worktree's notes or its position on a board.",
        UpdateWorktree,
        results.WORKTREE,
        _update,
        _update_claim,
        "change",
        repeatable=True,
    ),
    Tool("agor_repos_list", "List repos.", PageParams, REPOS, _repos),
    Tool("agor_boards_list", "List boards.", PageParams, BOARDS, _boards),
    Tool("agor_mcp_servers_list", "List the MCP servers that sessions can use.", PageParams, SERVERS, _mcp_servers),
)
