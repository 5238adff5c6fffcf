"""Speaks MCP with the official package: lists and calls the tools, and serves the guide as prompts and resources, for
every protocol revision. It is imported in the background, because the package is as large as the rest of Bough."""

from __future__ import annotations

from typing import Any

import mcp_types as types
from mcp.server.caching import CacheableMethod, CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.requests import Request

from bough import __version__
from bough.api.mcp.protocol import guide
from bough.api.mcp.protocol.call_tool import Toolbox
from bough.api.mcp.protocol.schemas import input_schema, output_schema
from bough.api.mcp.tools.base import Tool
from bough.errors import BoughError
from bough.model.session import Caller

INSTRUCTIONS = (
    "Bough runs trees of coding-agent sessions; you are one of them. Delegate with agor_sessions_spawn: the child "
    "works in parallel and its report reaches you as a prompt, so continue or end your turn instead of polling. Read "
    "the resource bough://guides/orchestration for patterns."
)
Context = ServerRequestContext[Any, Request]
Page = types.PaginatedRequestParams

# The same for everybody until the next release.
STEADY = CacheHint(ttl_ms=3_600_000, scope="public")
LISTS: tuple[CacheableMethod, ...] = (
    "server/discover",
    "tools/list",
    "prompts/list",
    "resources/list",
    "resources/templates/list",
    "resources/read",
)
# The error code for a missing resource in revisions before 2026-07-28.
NOT_FOUND_BEFORE = -32002
MARKDOWN = "text/markdown"


def build(toolbox: Toolbox, tools: tuple[Tool[Any], ...], max_body: int) -> StreamableHTTPSessionManager:
    """Returns a manager whose `handle_request` answers one request and keeps no state."""
    listed = types.ListToolsResult(tools=[_listed(tool) for tool in tools])

    async def list_tools(_context: Context, _params: Page | None) -> types.ListToolsResult:
        return listed

    async def call_tool(context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        state = _state(context)
        caller: Caller = state["caller"]
        answer = await toolbox.call(caller, params.name, params.arguments or {}, state["waiter"])
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
        # No argument is repeated in a header; otherwise the package would rebuild the tool list for each call.
        get_tool_input_schema=lambda _name: None,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=_list_resources,
        on_list_resource_templates=_list_templates,
        on_read_resource=_read_resource,
        on_list_prompts=_list_prompts,
        on_get_prompt=_get_prompt,
        cache_hints=dict.fromkeys(LISTS, STEADY),
    )
    # Complete answers instead of streams, so that an agent notices a broken call at once; no call takes a minute.
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


# The guide


async def _list_resources(_context: Context, _params: Page | None) -> types.ListResourcesResult:
    return types.ListResourcesResult(
        resources=[
            types.Resource(
                uri=guide.ADDRESS,
                name="orchestration",
                title=guide.TITLE,
                description=guide.ABOUT,
                mime_type=MARKDOWN,
                size=len(guide.text().encode()),
            )
        ]
    )


async def _list_templates(_context: Context, _params: Page | None) -> types.ListResourceTemplatesResult:
    return types.ListResourceTemplatesResult(resource_templates=[])


async def _read_resource(context: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
    if str(params.uri) != guide.ADDRESS:
        before = context.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS
        code = NOT_FOUND_BEFORE if before else types.INVALID_PARAMS
        raise MCPError(
            code, f"There is no resource {params.uri}. Available: {guide.ADDRESS}.", {"uri": str(params.uri)}
        )
    contents = types.TextResourceContents(uri=guide.ADDRESS, mime_type=MARKDOWN, text=guide.text())
    return types.ReadResourceResult(contents=[contents])


async def _list_prompts(_context: Context, _params: Page | None) -> types.ListPromptsResult:
    return types.ListPromptsResult(
        prompts=[
            types.Prompt(
                name=prompt.name,
                description=prompt.about,
                arguments=[
                    types.PromptArgument(name=argument.name, description=argument.about, required=argument.required)
                    for argument in prompt.arguments
                ],
            )
            for prompt in guide.prompts()
        ]
    )


async def _get_prompt(_context: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
    try:
        prompt = guide.prompt(params.name)
        text = prompt.filled(params.arguments or {})
    except BoughError as error:
        raise MCPError(types.INVALID_PARAMS, error.message) from error
    message = types.PromptMessage(role="user", content=types.TextContent(type="text", text=text))
    return types.GetPromptResult(description=prompt.about, messages=[message])
