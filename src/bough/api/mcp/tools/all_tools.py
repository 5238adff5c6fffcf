"""All tools, in the order in which they are listed: byte for byte the same at every start."""

from __future__ import annotations

from typing import Any

from bough.api.mcp.tools import read, session, simple, worktrees
from bough.api.mcp.tools.base import Tool

TOOLS: tuple[Tool[Any], ...] = (
    *session.TOOLS,
    *read.TOOLS,
    *worktrees.TOOLS,
    *simple.TOOLS,
)
