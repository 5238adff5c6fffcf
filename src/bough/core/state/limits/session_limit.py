"""Limits how many root sessions are active (T5): refuses one more at the limit, or completes the session that has been
idle longest to make room."""

from __future__ import annotations

import msgspec

from bough.core.state import session_lifecycle
from bough.core.state.end_reasons import MADE_ROOM
from bough.core.store.sql import COMMON, SESSIONS
from bough.core.store.transactions import Change
from bough.errors import Busy
from bough.model.session import Caller, Session
from bough.settings import Settings


class MadeRoom(msgspec.Struct, rename="camel"):
    """A session that was completed to make room for another; it can be resumed."""

    id: str
    title: str
    agent: str
    idle_since: str


async def check_admission(
    change: Change, settings: Settings, caller: Caller, *, make_room: bool | None
) -> Session | None:
    """Raises `Busy` if a root session would be refused now. Otherwise returns the session whose end would make room,
    if the limit is reached. With None, the request cannot ask for room; only people can end other people's
    sessions in this way."""
    return await _check_limit(change, settings, make_room=None if caller.kind == "session" else make_room)


async def admit(change: Change, settings: Settings, caller: Caller, *, make_room: bool | None) -> MadeRoom | None:
    """Admits one more root session, or raises `Busy`. Returns the session that was completed to make room for it."""
    idle = await check_admission(change, settings, caller, make_room=make_room)
    if idle is None:
        return None
    await session_lifecycle.end(change, idle, "completed", MADE_ROOM)
    change.audit(caller, "session.completed", session_id=idle.id, subject_id=idle.id, reason=MADE_ROOM)
    return MadeRoom(idle.id, idle.title, idle.agent, idle.active_at)


async def readmit(
    change: Change, settings: Settings, caller: Caller, session: Session, *, make_room: bool | None
) -> tuple[Session, MadeRoom | None]:
    """Makes an ended session active again, if it may be and the limit on sessions allows it. Also returns the session
    that was completed to make room for it."""
    await session_lifecycle.check_reopening(change, session)
    made_room = await admit(change, settings, caller, make_room=make_room) if session.kind == "root" else None
    return await session_lifecycle.reopen(change, session), made_room


async def _check_limit(change: Change, settings: Settings, *, make_room: bool | None = None) -> Session | None:
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
