"""Lists all tools in a fixed order, so that the list is byte for byte the same at every start."""

from __future__ import annotations

from typing import Any

from bough.api.mcp.tools import agents, basic, create_update_stop, finish, presets, read, runs, schedules, worktrees
from bough.api.mcp.tools.base import Tool

TOOLS: tuple[Tool[Any], ...] = (
    *create_update_stop.TOOLS,
    *read.TOOLS,
    *worktrees.TOOLS,
    *finish.TOOLS,
    *runs.TOOLS,
    *schedules.TOOLS,
    *presets.TOOLS,
    *agents.TOOLS,
    *basic.TOOLS,
)
