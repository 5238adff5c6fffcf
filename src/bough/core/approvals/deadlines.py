"""Computes how long an approval waits for a person and what is answered then. `expiry` answers it at its deadline; the
session service calls this when a session's setting for unattended approvals changes."""

from __future__ import annotations

from bough.core.store.sql import APPROVALS
from bough.core.store.transactions import CHANNEL_APPROVALS, Change
from bough.model.approval import HELD_TURN_KINDS, NETWORK_KIND, Approval
from bough.model.session import Session
from bough.model.values.times import after
from bough.settings import Settings


def deadline(session: Session, settings: Settings) -> tuple[str | None, str | None]:
    """Returns until when an approval of a session waits and what is answered then; (None, None) if it waits forever."""
    headless = session.headless or settings.headless
    minutes = session.approval_timeout or settings.approval_timeout
    return (None, None) if headless == "wait" else (after(minutes * 60), headless)


async def reschedule(change: Change, session: Session, settings: Settings) -> None:
    """Gives the open approvals of a session the deadline of its changed settings, counted from now."""
    expires_at, on_expiry = deadline(session, settings)
    rescheduled = await change.tx.all(
        APPROVALS.reschedule,
        Approval,
        session_id=session.id,
        expires_at=expires_at,
        on_expiry=on_expiry,
        # Only a person allows a host.
        denied_kind=NETWORK_KIND,
        denied_on_expiry="deny" if on_expiry else None,
        held_turn_kinds=HELD_TURN_KINDS,
        now=change.now,
    )
    for approval in rescheduled:
        change.approval("approval.patched", approval)
        change.tx.notify(CHANNEL_APPROVALS, approval.id)
