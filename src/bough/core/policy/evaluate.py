"""Judging: a session's mode, the rules and what reaches it of remembered choices, brought to bear on a use of a tool.
What they come to is `policy`; acting on the verdict is `questions` and `approvals`."""

from __future__ import annotations

from typing import Any

import msgspec

from bough.core.policy import decide, tool_use
from bough.core.policy.decide import Verdict
from bough.core.store.sql import CHOICES, MCP, RULES
from bough.core.transcripts.fold import Fold
from bough.model.approval import Approval
from bough.model.repo import McpServer
from bough.model.rule import Choice, Rule
from bough.model.session import Session
from bough.model.tool import ToolUse
from bough.storage.backend import Tx


async def servers_of(tx: Tx, session: Session) -> list[str]:
    """The names of the MCP servers that a session was given."""
    ids = msgspec.json.decode(session.mcp_server_ids, type=list[str])
    return [server.name for server in await tx.all(MCP.some, McpServer, ids=ids)]


async def use_again(tx: Tx, session: Session, approval: Approval) -> ToolUse:
    """What a question that is written down was about."""
    told: dict[str, Any] = msgspec.json.decode(approval.tool_call)
    body = Fold().tool(told).body
    if "firstTitle" in told:
        body["firstTitle"] = told["firstTitle"]
    use = tool_use.read(session.agent, session.cwd, body, await servers_of(tx, session))
    # What the catalog knows of the agent is not looked up again: whether this changes its mode was written down then,
    # and what was asked about is not taken to stay in a sandbox.
    kind = "switch_mode" if approval.tool_kind == "switch_mode" else use.kind
    return msgspec.structs.replace(use, kind=kind, sandboxed=True)


async def judge(tx: Tx, session: Session, use: ToolUse) -> Verdict:
    """What becomes of a use in a session now."""
    if (verdict := aside(session, use)) is not None:
        return verdict
    rules = await tx.all(RULES.all, Rule)
    choices = await tx.all(
        CHOICES.matching, Choice, key=use.key, agent=use.agent, session_id=session.id, cwd=session.cwd
    )
    return decide.decide(session.permission_mode, use, rules, choices)


def aside(session: Session, use: ToolUse) -> Verdict | None:
    """What holds for questions aside, before anything that rules and choices say."""
    if session.kind == "btw" and use.kind == "switch_mode":
        return Verdict("deny", "mode", None, "A question aside reads only: it does not leave mode plan.")
    return None
