"""The tool that lists agents with what they offer."""

from __future__ import annotations

from typing import Any

import msgspec

from bough.agents.catalog.find_program import install_hint
from bough.api.mcp.tools.base import Params, Tool, ToolContext

MOST_VALUES = 60
MOST_COMMANDS = 40


class AgentsParams(Params):
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


class AgentsResult(msgspec.Struct):
    agents: list[AgentResult]


async def _list(ctx: ToolContext, params: AgentsParams) -> AgentsResult:
    services = ctx.services
    names = services.catalog.names() if params.agentic_tool is None else [params.agentic_tool]
    results: list[AgentResult] = []
    for name in names:
        entry = services.catalog.get(name)
        offer = await services.agent_offers.get(name)
        missing = offer.error is not None and offer.error.code == "agent_missing"
        results.append(
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
    return AgentsResult(results)


TOOLS: tuple[Tool[Any], ...] = (
    Tool(
        "agor_agents_list",
        "List agents with the models, efforts and modes that they offer; commands too if you name one agent.",
        AgentsParams,
        AgentsResult,
        _list,
        only_rows=False,
    ),
)
