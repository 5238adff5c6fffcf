"""The tool that lists agents with what they offer."""

from __future__ import annotations

from typing import Any

import msgspec

from bough.agents.catalog.find_program import install_hint
from bough.api.mcp.tools import results
from bough.api.mcp.tools.base import Tool, ToolContext
from bough.api.mcp.tools.results import Listed
from bough.api.mcp.tools.worktrees import PageParams

MOST_VALUES = 60
MOST_COMMANDS = 40


class AgentsParams(PageParams):
    agentic_tool: str | None = None


class AgentResult(msgspec.Struct):
    """An agent. Empty lists mean that it offers none, or that it was not asked yet (`known`)."""

    agentic_tool: str
    title: str
    installed: bool
    install: str
    known: bool
    models: list[str]
    efforts: list[str]
    modes: list[str]
    commands: list[str]
    error: str | None


async def _list(ctx: ToolContext, params: AgentsParams) -> Listed[AgentResult]:
    services = ctx.services
    names = services.catalog.names() if params.agentic_tool is None else [params.agentic_tool]
    rows: list[AgentResult] = []
    for name in names[params.offset : params.offset + params.limit]:
        entry = services.catalog.get(name)
        offer = await services.agent_offers.get(name)
        missing = offer.error is not None and offer.error.code == "agent_missing"
        rows.append(
            AgentResult(
                name,
                entry.title,
                not missing,
                install_hint(entry) if missing else "",
                offer.source is not None,
                [value.value for value in offer.models[:MOST_VALUES]],
                [value.value for value in offer.efforts[:MOST_VALUES]],
                [mode.id for mode in offer.modes[:MOST_VALUES]],
                [command.name for command in offer.commands[:MOST_COMMANDS]] if params.agentic_tool else [],
                offer.error.message if offer.error is not None and not missing else None,
            )
        )
    return Listed(rows, len(names), params.limit, params.offset)


TOOLS: tuple[Tool[Any], ...] = (
    Tool(
        "agor_agents_list",
        "List agents with the models, efforts and modes that they offer; commands too if you name one agent.",
        AgentsParams,
        results.listing("agentic_tool", "known"),
        _list,
        only_rows=False,
    ),
)
