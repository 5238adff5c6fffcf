"""The reasons for which sessions end, and reopening a session that was only ended because it was idle."""

from __future__ import annotations

from bough.core.store import records
from bough.core.store.transactions import Change
from bough.model.session import Session

# Set by hand through a tool or a person; such an error is not fatal and can be resumed (T2).
MARKED_FAILED = "marked_failed"
# Ended by the idle timeout (T4).
IDLE = "idle_timeout"
# Completed while idle, to make room for another session (T5).
MADE_ROOM = "made_room"
# Its conversation took place outside of Bough, and nobody has continued it here yet.
IMPORTED = "imported"
# Nobody decided that the work is over, so that a report reopens the session (Q3).
ENDED_WHILE_IDLE = (IDLE, MADE_ROOM)


def reason(session: Session) -> str | None:
    return session.metadata.end_reason


async def reopen_unasked(change: Change, session: Session) -> Session:
    """Reopens a session that was only ended because it was idle. A report from its tree is never refused (T5)."""
    return await records.update_session(
        change,
        session.id,
        status="active",
        activity="idle",
        ended_at=None,
        active_at=change.now,
        end_reason=None,
    )
