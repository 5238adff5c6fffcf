"""Looks up the rules and choices that apply to a session and decides about a tool use with `decide`."""

from __future__ import annotations

from typing import Any

import msgspec

from bough.agents.catalog import Catalog
from bough.core.policy import decide
from bough.core.policy.decide import Verdict
from bough.core.policy.tool_use import read as tool_use
from bough.core.policy.turn_mode import turn_mode
from bough.core.store.sql import CHOICES, MCP, RULES, WORKTREES
from bough.core.transcripts.fold import Fold
from bough.model.approval import Approval
from bough.model.repo import McpServer
from bough.model.rule import Choice, Rule
from bough.model.session import Session
from bough.model.tool import ToolUse
from bough.model.values.visible import original_call
from bough.storage.backend import Tx


async def servers_of(tx: Tx, session: Session) -> list[str]:
    """Returns the names of the MCP servers that a session was given."""
    ids = msgspec.json.decode(session.mcp_server_ids, type=list[str])
    return [server.name for server in await tx.all(MCP.some, McpServer, ids=ids)]


async def worktrees(tx: Tx) -> list[str]:
    """Returns the folders of all worktrees; those of other sessions are protected."""
    return [path for (path,) in await tx.all(WORKTREES.paths, tuple[str])]


async def read_again(tx: Tx, catalog: Catalog, session: Session, approval: Approval) -> ToolUse:
    """Reads the tool use that a stored approval asks about."""
    tool_call: dict[str, Any] = original_call(msgspec.json.decode(approval.tool_call))
    body = Fold().tool(tool_call).body
    if "firstTitle" in tool_call:
        body["firstTitle"] = tool_call["firstTitle"]
    servers, folders = await servers_of(tx, session), await worktrees(tx)
    use = tool_use.read(catalog, session.agent, session.cwd, body, servers, folders)
    # The agent's file may have changed since: a change of mode stays one, and nothing is taken to stay in a sandbox.
    kind = "switch_mode" if approval.tool_kind == "switch_mode" else use.kind
    return msgspec.structs.replace(use, kind=kind, sandboxed=True)


def is_masked(approval: Approval) -> bool:
    """Returns whether a secret value is masked in the stored tool call: what it does cannot be read again, so only
    a person may allow it."""
    return bool(msgspec.json.decode(approval.tool_call).get("masked"))


async def judge(tx: Tx, session: Session, use: ToolUse) -> Verdict:
    """Decides about a tool use in a session, by the rules and choices that apply now and the mode of its turn."""
    if (verdict := side_question(session, use)) is not None:
        return verdict
    rules = await tx.all(RULES.all, Rule)
    choices = await tx.all(
        CHOICES.matching, Choice, key=use.key, agent=use.agent, session_id=session.id, cwd=session.cwd
    )
    return decide.decide(await turn_mode(tx, session), use, rules, choices)


def side_question(session: Session, use: ToolUse) -> Verdict | None:
    """Denies what a side question may never do, regardless of rules and choices."""
    if session.kind == "btw" and use.kind == "switch_mode":
        return Verdict("deny", "mode", None, "A side question only reads; it cannot leave mode plan.")
    return None
