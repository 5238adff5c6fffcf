"""Why a session has ended, and taking that back where nobody but the clock ended it. Ending sessions is `lifecycle`."""

from __future__ import annotations

from bough.core.store import records
from bough.core.store.transactions import Change
from bough.model.session import Session

# Set by hand through a tool or a person; such an error is not fatal and can be resumed (T2).
MARKED_FAILED = "marked_failed"
# Ended by nobody but the clock (T4).
IDLE = "idle_timeout"


def reason(session: Session) -> str | None:
    return session.metadata.end_reason


async def reopen_unasked(change: Change, session: Session) -> Session:
    """Makes a session active again that only time has ended; what comes from within a tree is never refused (T5)."""
    return await records.update_session(
        change,
        session.id,
        status="active",
        activity="idle",
        ended_at=None,
        active_at=change.now,
        end_reason=None,
    )
