"""Tells which mode counts in a session now: that of its running turn, else the session's own (P2)."""

from __future__ import annotations

from bough.core.store.sql import TASKS
from bough.model.session import RANK, PermissionMode, Session
from bough.storage.backend import Tx


async def turn_mode(tx: Tx, session: Session) -> PermissionMode:
    """Returns the mode of the running turn. A change of the session's mode counts from the next prompt on, unless a
    person applies it at once."""
    mode: PermissionMode | None = await tx.value(TASKS.running_mode, session_id=session.id)
    return mode or session.permission_mode


async def lowest_mode(tx: Tx, session: Session) -> PermissionMode:
    """Returns the lower of the running turn's mode and the session's. It limits what an agent may hand on to other
    sessions, which outlives the turn: otherwise it could undo a lowering that counts from its next prompt on."""
    running = await turn_mode(tx, session)
    return min(running, session.permission_mode, key=RANK.__getitem__)
