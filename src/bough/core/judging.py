"""Judging: a session's mode, the rules and what reaches it of remembered choices, brought to bear on a use of a tool.
What they come to is `policy`; acting on the verdict is `questions` and `approvals`."""

from __future__ import annotations

from typing import Any

import msgspec

from bough.core import policy, tool_use
from bough.core.folding import Fold
from bough.core.mcp_servers import MCP
from bough.core.policy import Verdict
from bough.model.repo import McpServer
from bough.model.rule import Choice, Rule
from bough.model.session import Session
from bough.model.tool import ToolUse
from bough.storage import queries
from bough.storage.backend import Tx

RULES = queries.load("rules")
CHOICES = queries.load("choices")


async def use_of(tx: Tx, session: Session, body: dict[str, Any]) -> ToolUse:
    """What a session's agent wants to do, from a tool call as it is folded."""
    ids = msgspec.json.decode(session.mcp_server_ids, type=list[str])
    servers = await tx.all(MCP.some, McpServer, ids=ids)
    return tool_use.read(session.agent, session.cwd, body, [server.name for server in servers])


def folded(tool_call: msgspec.Raw) -> dict[str, Any]:
    """A stored tool call as it is folded."""
    return Fold().tool(msgspec.json.decode(tool_call)).body


async def judge(tx: Tx, session: Session, use: ToolUse) -> Verdict:
    """What becomes of a use in a session now."""
    if session.kind == "btw" and use.kind == "switch_mode":
        return Verdict("deny", "mode", None, "A question aside reads only: it does not leave mode plan.")
    rules = await tx.all(RULES.all, Rule)
    choices = await tx.all(
        CHOICES.matching, Choice, key=use.key, agent=use.agent, session_id=session.id, cwd=session.cwd
    )
    return policy.decide(session.permission_mode, use, rules, choices)
