"""The protocol itself, by the official package: lists the tools, calls them, serves the guide as prompts and resources,
to clients of every revision on one address. Imported only when somebody comes: it is as large as the rest of Bough."""

from __future__ import annotations

from typing import Any

import mcp_types as types
from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.requests import Request

from bough import __version__
from bough.api.mcp.calling import Toolbox
from bough.api.mcp.schemas import input_schema, output_schema
from bough.api.mcp.tool import Tool
from bough.model.session import Caller

INSTRUCTIONS = (
    "Bough runs trees of coding-agent sessions; you are one of them. Delegate with agor_sessions_spawn: the child "
    "works beside you and its report reaches you as a prompt, so go on or end your turn rather than poll. Read the "
    "resource bough://guides/orchestration for patterns."
)
Context = ServerRequestContext[Any, Request]


def build(toolbox: Toolbox, tools: tuple[Tool[Any], ...], max_body: int) -> StreamableHTTPSessionManager:
    """A manager whose `handle_request` answers one request, with no state between them."""
    listed = types.ListToolsResult(tools=[_listed(tool) for tool in tools])

    async def list_tools(_context: Context, _params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return listed

    async def call_tool(context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        state = _state(context)
        caller: Caller = state["caller"]
        answer = await toolbox.call(caller, params.name, params.arguments or {})
        if answer.call_id is not None:
            state["calls"].append(answer.call_id)
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=answer.text)],
            structured_content=answer.value,
            is_error=answer.wrong,
        )

    server: Server[Any] = Server(
        "bough",
        version=__version__,
        title="Bough",
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        cache_hints={"tools/list": CacheHint(ttl_ms=3_600_000, scope="public")},
    )
    # Whole answers, not streams: an agent whose call is cut off hears of it at once, and no call takes a minute.
    return StreamableHTTPSessionManager(server, json_response=True, stateless=True, max_request_body_size=max_body)


def _state(context: Context) -> dict[str, Any]:
    assert context.request is not None
    return context.request.scope["state"]


def _listed(tool: Tool[Any]) -> types.Tool:
    reads = tool.effect == "read"
    return types.Tool(
        name=tool.name,
        description=tool.about,
        input_schema=input_schema(tool),
        output_schema=output_schema(tool),
        annotations=types.ToolAnnotations(
            read_only_hint=reads,
            destructive_hint=tool.effect == "end",
            idempotent_hint=reads or tool.repeatable,
            open_world_hint=False,
        ),
    )
