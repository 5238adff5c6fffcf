"""The tools for where work happens: worktrees, repositories, boards, and the MCP servers that sessions can be given
(5a). Removing worktrees is for people."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta

from bough.api.mcp.tools import results
from bough.api.mcp.tools.base import Changing, Desk, Params, Tool
from bough.api.mcp.tools.phrases import Id
from bough.api.mcp.tools.read import Limit, Offset
from bough.api.mcp.tools.results import Listed, RepoResult, WorktreeResult
from bough.core.worktrees.records import NewWorktree, WorktreePatch
from bough.errors import Invalid
from bough.model.call import Claim


class Page(Params):
    limit: Limit = 50
    offset: Offset = 0


class Worktrees(Page):
    repo_id: str | None = None


class OneWorktree(Params):
    worktree_id: Id


class MakeWorktree(Changing):
    repo_id: Id
    branch: Annotated[str, Meta(description="Made if it does not exist.")]
    path: Annotated[str | None, Meta(description="Default .worktrees/<branch>.")] = None
    base: Annotated[str | None, Meta(description="What a new branch begins at.")] = None


class UpdateWorktree(Changing):
    worktree_id: Id
    board_id: str | None = None
    x: float | None = None
    y: float | None = None
    notes: str | None = None


async def _worktrees(desk: Desk, wanted: Worktrees) -> Listed[WorktreeResult]:
    page = await desk.services.worktrees.list(wanted.repo_id, False, wanted.limit, wanted.offset)
    return Listed([results.worktree(one) for one in page.rows], page.total, page.limit, page.offset)


async def _worktree(desk: Desk, wanted: OneWorktree) -> WorktreeResult:
    row, state, uses = await desk.services.worktrees.look(wanted.worktree_id)
    return results.worktree(row, state, [use.id for use in uses])


async def _make_claim(desk: Desk, wanted: MakeWorktree) -> Claim:
    repo = await desk.services.repos.get(wanted.repo_id)
    place = wanted.path or f".worktrees/{wanted.branch}"
    title = f"Create worktree {place} of {repo.name} on branch {wanted.branch!r}?"
    return Claim(title=title, repo=repo.id, sets_up=True)


async def _make(desk: Desk, wanted: MakeWorktree) -> WorktreeResult:
    made = NewWorktree(repo_id=wanted.repo_id, branch=wanted.branch, path=wanted.path, base=wanted.base)
    return results.worktree(await desk.services.worktrees.create(desk.caller, made))


async def _update_claim(desk: Desk, wanted: UpdateWorktree) -> Claim:
    worktree = await desk.services.worktrees.get(wanted.worktree_id)
    names = [name for name in ("board_id", "x", "y", "notes") if getattr(wanted, name) is not None]
    if not names:
        raise Invalid("nothing_to_change", "Give at least one of boardId, x, y, notes.")
    changed = ", ".join("board" if name == "board_id" else name for name in names)
    return Claim(title=f"Change worktree {worktree.name!r}: {changed}?", repo=worktree.repo_id)


async def _update(desk: Desk, wanted: UpdateWorktree) -> WorktreeResult:
    given = {name: value for name in ("board_id", "x", "y", "notes") if (value := getattr(wanted, name)) is not None}
    return results.worktree(await desk.services.worktrees.patch(wanted.worktree_id, WorktreePatch(**given)))


async def _repos(desk: Desk, wanted: Page) -> Listed[RepoResult]:
    page = await desk.services.repos.list(wanted.limit, wanted.offset)
    return Listed([results.repo(one) for one in page.rows], page.total, page.limit, page.offset)


async def _boards(desk: Desk, wanted: Page) -> Listed[Any]:
    page = await desk.services.boards.list(wanted.limit, wanted.offset)
    rows = [{"board_id": one.id, "name": one.name, "is_default": one.is_default} for one in page.rows]
    return Listed(rows, page.total, page.limit, page.offset)


async def _mcp_servers(desk: Desk, wanted: Page) -> Listed[Any]:
    page = await desk.services.mcp_servers.list(wanted.limit, wanted.offset)
    rows = [
        {"mcp_server_id": one.id, "name": one.name, "transport": one.transport, "enabled": one.enabled}
        for one in page.rows
    ]
    return Listed(rows, page.total, page.limit, page.offset)


WORKTREES = results.listing("worktree_id", "repo_id", "name", "path")
REPOS = results.listing("repo_id", "name", "path")
BOARDS = results.listing("board_id", "name")
SERVERS = results.listing("mcp_server_id", "name")

TOOLS: tuple[Tool[Any], ...] = (
    Tool("agor_worktrees_list", "List worktrees.", Worktrees, WORKTREES, _worktrees),
    Tool(
        "agor_worktrees_get",
        "Read a worktree: branch, changes, and the sessions that work in it.",
        OneWorktree,
        results.WORKTREE,
        _worktree,
        rows_alone=False,
    ),
    Tool(
        "agor_worktrees_create",
        "Make a worktree of a branch, to work apart from others.",
        MakeWorktree,
        results.WORKTREE,
        _make,
        _make_claim,
        "change",
    ),
    Tool(
        "agor_worktrees_update",
        "Change a worktree's notes or its place on a board.",
        UpdateWorktree,
        results.WORKTREE,
        _update,
        _update_claim,
        "change",
        repeatable=True,
    ),
    Tool("agor_repos_list", "List repositories.", Page, REPOS, _repos),
    Tool("agor_boards_list", "List boards.", Page, BOARDS, _boards),
    Tool("agor_mcp_servers_list", "List MCP servers that sessions can be given.", Page, SERVERS, _mcp_servers),
)
