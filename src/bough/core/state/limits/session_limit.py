"""Checks the limit on active root sessions (T5), and finds the session whose end would make room for another."""

from __future__ import annotations

from bough.core.store.sql import COMMON, SESSIONS
from bough.core.store.transactions import Change
from bough.errors import Busy
from bough.model.session import Session
from bough.settings import Settings


async def check_limit(change: Change, settings: Settings, *, make_room: bool | None = None) -> Session | None:
    """Returns None below the limit. At the limit with `make_room`, returns the root that has been idle longest; raises
    `Busy` otherwise. With None, room cannot be made. Concurrent callers wait for this transaction."""
    await change.tx.run(COMMON.lock, name="admission")
    active = await change.tx.value(SESSIONS.active_roots) or 0
    limit = settings.max_sessions
    if active < limit:
        return None
    idle = await change.tx.one(SESSIONS.longest_idle_root, Session)
    # Above a limit that was lowered, the end of one session makes no room.
    if idle is not None and make_room and active == limit:
        return idle
    offer = ", or send makeRoom: true to complete the one that has been idle longest" if make_room is False else ""
    raise Busy(
        "too_many_sessions",
        f"{active} sessions are active{'' if idle else ', none of them idle,'} and the limit is {limit}. Complete or "
        f"cancel one, or wait until an idle one times out{offer if idle else ''}. To allow more, start the server with "
        "--max-sessions or AGENT_MAX_SESSIONS.",
        limit=limit,
        active=active,
        retryAfter=60,
    )
