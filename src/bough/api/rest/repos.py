"""Routes for repositories, boards and MCP servers."""

from __future__ import annotations

import msgspec
from litestar import Router, delete, get, patch, post
from litestar.params import JSONBody

from bough.api.http.requests import LIMIT, Caller, Id, Limit, Offset, Services, errors, with_key
from bough.core.environment.mcp_servers import McpServerPatch, NewMcpServer
from bough.core.worktrees.repos import RepoPatch
from bough.model.repo import Board, McpServer, Repo


class NewRepo(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """A folder to make known; inside a working copy, its top is meant."""

    path: str
    name: str | None = None
    idempotency_key: str | None = None


class Rename(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    name: str


class NewBoard(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    name: str
    idempotency_key: str | None = None


class RepoList(msgspec.Struct, rename="camel"):
    repos: list[Repo]
    total: int
    limit: int
    offset: int


class BoardList(msgspec.Struct, rename="camel"):
    boards: list[Board]
    total: int
    limit: int
    offset: int


class McpServerList(msgspec.Struct, rename="camel"):
    mcp_servers: list[McpServer]
    total: int
    limit: int
    offset: int


@post("/repos", responses=errors(409, 413), summary="Register a repository or a plain folder")
async def add_repo(services: Services, caller: Caller, data: JSONBody[NewRepo]) -> Repo:
    keyed = with_key(caller, data.idempotency_key)
    return await services.repos.add(keyed, data.path, data.name)


@get("/repos", responses=errors(), summary="List repositories")
async def list_repos(services: Services, limit: Limit = LIMIT, offset: Offset = 0) -> RepoList:
    page = await services.repos.list(limit, offset)
    return RepoList(page.rows, page.total, page.limit, page.offset)


@get("/repos/{repo_id:str}", responses=errors(404, 409), summary="Get a repository")
async def get_repo(services: Services, repo_id: Id) -> Repo:
    return await services.repos.get(repo_id)


@patch(
    "/repos/{repo_id:str}",
    responses=errors(404, 409, 413),
    summary="Rename a repository, or say what is done in its new worktrees",
)
async def patch_repo(services: Services, caller: Caller, repo_id: Id, data: JSONBody[RepoPatch]) -> Repo:
    return await services.repos.patch(caller, repo_id, data)


@delete("/repos/{repo_id:str}", status_code=200, responses=errors(404, 409), summary="Forget a repository")
async def remove_repo(services: Services, repo_id: Id) -> Repo:
    return await services.repos.remove(repo_id)


@post("/boards", responses=errors(409, 413), summary="Make a board")
async def add_board(services: Services, caller: Caller, data: JSONBody[NewBoard]) -> Board:
    return await services.boards.add(with_key(caller, data.idempotency_key), data.name)


@get("/boards", responses=errors(), summary="List boards")
async def list_boards(services: Services, limit: Limit = LIMIT, offset: Offset = 0) -> BoardList:
    page = await services.boards.list(limit, offset)
    return BoardList(page.rows, page.total, page.limit, page.offset)


@get("/boards/{board_id:str}", responses=errors(404, 409), summary="Get a board")
async def get_board(services: Services, board_id: Id) -> Board:
    return await services.boards.get(board_id)


@patch("/boards/{board_id:str}", responses=errors(404, 409, 413), summary="Rename a board")
async def rename_board(services: Services, board_id: Id, data: JSONBody[Rename]) -> Board:
    return await services.boards.rename(board_id, data.name)


@delete("/boards/{board_id:str}", status_code=200, responses=errors(404, 409), summary="Remove a board")
async def remove_board(services: Services, board_id: Id) -> Board:
    return await services.boards.remove(board_id)


@post("/mcp-servers", responses=errors(409, 413), summary="Make an MCP server known")
async def add_mcp_server(services: Services, caller: Caller, data: JSONBody[NewMcpServer]) -> McpServer:
    return await services.mcp_servers.add(with_key(caller, data.idempotency_key), data)


@get("/mcp-servers", responses=errors(), summary="List MCP servers")
async def list_mcp_servers(services: Services, limit: Limit = LIMIT, offset: Offset = 0) -> McpServerList:
    page = await services.mcp_servers.list(limit, offset)
    return McpServerList(page.rows, page.total, page.limit, page.offset)


@get("/mcp-servers/{server_id:str}", responses=errors(404, 409), summary="Get an MCP server")
async def get_mcp_server(services: Services, server_id: Id) -> McpServer:
    return await services.mcp_servers.get(server_id)


@patch("/mcp-servers/{server_id:str}", responses=errors(404, 409, 413), summary="Change an MCP server")
async def patch_mcp_server(services: Services, server_id: Id, data: JSONBody[McpServerPatch]) -> McpServer:
    return await services.mcp_servers.patch(server_id, data)


@delete("/mcp-servers/{server_id:str}", status_code=200, responses=errors(404, 409), summary="Forget an MCP server")
async def remove_mcp_server(services: Services, server_id: Id) -> McpServer:
    return await services.mcp_servers.remove(server_id)


repos = Router(
    "/api",
    route_handlers=[add_repo, list_repos, get_repo, patch_repo, remove_repo],
    tags=["repos"],
)
boards = Router(
    "/api",
    route_handlers=[add_board, list_boards, get_board, rename_board, remove_board],
    tags=["boards"],
)
mcp_servers = Router(
    "/api",
    route_handlers=[add_mcp_server, list_mcp_servers, get_mcp_server, patch_mcp_server, remove_mcp_server],
    tags=["mcp-servers"],
)
