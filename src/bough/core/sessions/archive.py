"""Archiving a session: rows first, then the process behind them, as with every other end. Which sessions may be
archived is `sessions`' part."""

from __future__ import annotations

from bough.core.sessions.service import Sessions
from bough.core.turns.agent_pool import AgentPool
from bough.model.session import Caller, Session


async def archive(sessions: Sessions, agents: AgentPool, caller: Caller, session_id: str, archived: bool) -> Session:
    """Archives a session and ends its agent, or takes it out of the archive again."""
    session = await sessions.archive(caller, session_id, archived)
    agent = agents.get(session.id)
    # It may have been resumed meanwhile, by somebody else or before this call was repeated.
    if agent is not None and (await sessions.get(session.id)).status != "active":
        await agents.suspend(agent)
    return session
