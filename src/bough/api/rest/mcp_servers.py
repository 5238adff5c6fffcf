"""Routes for MCP servers: add, list, show, change, test and forget."""

from __future__ import annotations

import msgspec
from litestar import Router, delete, get, patch, post
from litestar.params import JSONBody

from bough.api.http.requests import LIMIT, Caller, Id, Limit, Offset, OptionalKey, Services, errors, whole_id, with_key
from bough.core.environment.mcp_check import McpCheck
from bough.core.environment.mcp_servers import McpServerPatch, NewMcpServer
from bough.model.repo import McpServer


class McpServerList(msgspec.Struct, rename="camel"):
    mcp_servers: list[McpServer]
    total: int
    limit: int
    offset: int


@post("/mcp-servers", responses=errors(409, 413), summary="Add an MCP server")
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
async def patch_mcp_server(
    services: Services, caller: Caller, server_id: Id, data: JSONBody[McpServerPatch]
) -> McpServer:
    return await services.mcp_servers.patch(caller, server_id, data)


@post(
    "/mcp-servers/{server_id:str}/test",
    status_code=200,
    responses=errors(404, 409, 413),
    summary="Connect to an MCP server and list its tools",
)
async def test_mcp_server(
    services: Services, caller: Caller, server_id: Id, data: JSONBody[OptionalKey | None] = None
) -> McpCheck:
    key = data.idempotency_key if data is not None else None
    return await services.mcp_servers.check(with_key(caller, key), await whole_id(services, "mcp_servers", server_id))


@delete("/mcp-servers/{server_id:str}", status_code=200, responses=errors(404, 409), summary="Forget an MCP server")
async def remove_mcp_server(services: Services, caller: Caller, server_id: Id) -> McpServer:
    return await services.mcp_servers.remove(caller, server_id)


router = Router(
    "/api",
    route_handlers=[
        add_mcp_server,
        list_mcp_servers,
        get_mcp_server,
        patch_mcp_server,
        test_mcp_server,
        remove_mcp_server,
    ],
    tags=["mcp-servers"],
)
