"""The tool that lists presets, and what the tools that use one say about it to people."""

from __future__ import annotations

from typing import Any

import msgspec

from bough.api.mcp.tools import results
from bough.api.mcp.tools.base import Tool, ToolContext
from bough.api.mcp.tools.results import Listed
from bough.api.mcp.tools.worktrees import PageParams
from bough.core.sessions.from_preset import PresetSession
from bough.core.sessions.requests import NewSession
from bough.core.trees.from_preset import PresetBranch
from bough.core.trees.requests import NewBranch
from bough.model.agents.preset import ChosenPreset, Preset
from bough.model.call import Claim


class PresetResult(msgspec.Struct):
    name: str
    description: str
    agentic_tool: str
    model: str | None
    effort: str | None
    permission_mode: str | None
    mcp_server_ids: list[str]
    # The names of its variables.
    variables: list[str]


def chosen_of(new: NewSession | NewBranch) -> ChosenPreset | None:
    """Returns the preset whose fields were filled in."""
    return new.chosen if isinstance(new, PresetSession | PresetBranch) else None


def with_preset(claim: Claim, new: NewSession | NewBranch) -> Claim:
    """Returns the claim with what the preset of a new session gives it besides mode and MCP servers."""
    preset = chosen_of(new)
    if preset is None:
        return claim
    title = f"{claim.title.removesuffix('?')}, from preset {preset.name}?"
    servers = tuple(new.mcp_server_ids or ())
    expected = {**claim.expected, "preset": preset.version}
    return msgspec.structs.replace(
        claim, title=title, servers=servers, variables=tuple(sorted(preset.env)), expected=expected
    )


def expected_preset(ctx: ToolContext) -> str | None:
    """Returns the version of the preset with which the call was allowed."""
    return ctx.expected.get("preset")


def _result(preset: Preset) -> PresetResult:
    return PresetResult(
        preset.name,
        preset.description,
        preset.agent,
        preset.model,
        preset.effort,
        preset.permission_mode,
        msgspec.json.decode(preset.mcp_server_ids, type=list[str]),
        sorted(msgspec.json.decode(preset.env, type=dict[str, str])),
    )


async def _list(ctx: ToolContext, params: PageParams) -> Listed[PresetResult]:
    page = await ctx.services.presets.list(params.limit, params.offset)
    return Listed([_result(row) for row in page.rows], page.total, page.limit, page.offset)


TOOLS: tuple[Tool[Any], ...] = (
    Tool(
        "agor_presets_list",
        "List presets: settings that new sessions can start from.",
        PageParams,
        results.listing("name", "agentic_tool"),
        _list,
    ),
)
