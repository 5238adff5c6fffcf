"""Remembering that a person said *always* to a use of a tool, and how far it reaches (P3). Listing and forgetting is
`choices`; what follows from it is `policy`."""

from __future__ import annotations

from bough.core.store import records
from bough.core.store.sql import CHOICES
from bough.core.store.transactions import Change
from bough.model.approval import Approval
from bough.model.ids import new_id
from bough.model.message import raw
from bough.model.rule import Choice, Scope
from bough.model.session import Session


async def remember(change: Change, approval: Approval, session: Session, scope: Scope) -> Choice | None:
    """Writes a choice down, once; nothing for a question that cannot be known again."""
    if approval.key is None:
        return None
    reached = await change.tx.all(
        CHOICES.matching, Choice, key=approval.key, agent=session.agent, session_id=session.id, cwd=session.cwd
    )
    for known in reached:
        if known.scope == scope:
            return known
    choice = await change.tx.one(
        CHOICES.add,
        Choice,
        id=new_id(),
        scope=scope,
        session_id=session.id if scope == "session" else None,
        cwd=session.cwd if scope == "worktree" else None,
        agent=session.agent,
        tool_kind=approval.tool_kind,
        title=approval.title,
        key=approval.key,
        approval_id=approval.id,
        decided_by=approval.decided_by,
        now=change.now,
    )
    assert choice is not None
    change.emit("choice.created", choice, choice.session_id)
    if scope == "session":
        await show(change, session.id)
    return choice


async def show(change: Change, session_id: str) -> Session:
    """What a session shows as allowed is what is remembered for it."""
    known = await change.tx.all(CHOICES.of_session, Choice, session_id=session_id)
    return await records.update_session(change, session_id, allowed_tools=raw([choice.key for choice in known]))
