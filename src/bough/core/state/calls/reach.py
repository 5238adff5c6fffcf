"""Decides which sessions a session's agent reaches with Bough's own tools, for reading."""

from __future__ import annotations

import msgspec

from bough.core.policy import decide
from bough.core.policy.decide import OWN_SERVER
from bough.core.store import records
from bough.core.store.sql import CALLS, RULES
from bough.errors import Denied
from bough.model.rule import Rule
from bough.model.session import Session
from bough.model.tool import ToolUse
from bough.storage.backend import Tx


class _Root(msgspec.Struct):
    id: str


async def reach(tx: Tx, session: Session) -> tuple[str, ...]:
    """Returns the roots of the trees that a session reaches: its own, and those that were created from there."""
    return tuple(row.id for row in await tx.all(CALLS.reach, _Root, root=session.root_session_id))


async def reaches(tx: Tx, session: Session, target: Session) -> bool:
    if target.root_session_id == session.root_session_id:
        return True
    return target.root_session_id in await reach(tx, session)


async def readable(tx: Tx, session: Session, tool: str, target: Session) -> None:
    """Raises `Denied` if the caller does not reach the session and no rule opens it."""
    if not await reaches(tx, session, target) and not await opened(tx, session, tool):
        raise Denied(
            "session_out_of_reach",
            f"Session {target.id} belongs to another tree. You can reach the sessions of your own tree and those "
            f"you opened; a person can open the others to you with a rule that allows the tool {OWN_SERVER}/{tool}.",
        )


async def check_read(tx: Tx, session_id: str, tool: str) -> None:
    """Raises `Denied` if a rule denies a tool that only reads; reading never asks."""
    rules = await tx.all(RULES.all, Rule)
    if not any(rule.effect == "deny" for rule in rules):
        return
    rule, sure = decide.first(rules, call_as_use(await records.session(tx, session_id), tool, ""))
    if rule is not None and sure and rule.effect == "deny":
        raise Denied("call_denied", f"{decide.named(rule)} denies this.")


async def opened(tx: Tx, session: Session, tool: str) -> bool:
    """Tells whether a rule lets a session use a tool beyond its own reach."""
    rule, sure = decide.first(await tx.all(RULES.all, Rule), call_as_use(session, tool, ""))
    return rule is not None and sure and rule.effect == "allow"


def call_as_use(session: Session, tool: str, key: str) -> ToolUse:
    """Returns a call of one of our own tools as the policy sees it."""
    return ToolUse(agent=session.agent, cwd=session.cwd, kind="mcp", name=tool, server=OWN_SERVER, key=key)
