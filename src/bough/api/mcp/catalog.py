"""All tools, in the order in which they are listed: byte for byte the same at every start."""

from __future__ import annotations

from typing import Any

from bough.api.mcp import place_tools, plain_tools, reading_tools, session_tools
from bough.api.mcp.tool import Tool

TOOLS: tuple[Tool[Any], ...] = (
    *session_tools.TOOLS,
    *reading_tools.TOOLS,
    *place_tools.TOOLS,
    *plain_tools.TOOLS,
)
