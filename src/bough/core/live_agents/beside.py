"""Starts an agent that works for no session, as a session's agent would be started, and agrees on the protocol with it:
to read the conversations that it holds, or to ask what it offers."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable
from typing import TypeVar

from bough.agents.acp.answers import Capabilities
from bough.agents.catalog import CatalogEntry
from bough.agents.catalog.prepare import PreparedStart
from bough.agents.handshake import Handshake
from bough.agents.link import Link
from bough.core.live_agents.agent_pool import AgentPool
from bough.core.live_agents.failures import FailureDetector
from bough.core.live_agents.start.conversation import FETCH_TIME, corrected
from bough.errors import AgentFailed
from bough.model.message import raw
from bough.model.session import Caller, Session, SessionMetadata
from bough.model.values.ids import new_id
from bough.model.values.times import now
from bough.settings import Settings

H = TypeVar("H", bound=Handshake)


@contextlib.asynccontextmanager
async def opened_beside(
    agents: AgentPool,
    settings: Settings,
    place: Session,
    entry: CatalogEntry,
    env: dict[str, str],
    listener: Callable[[Link], H],
) -> AsyncGenerator[tuple[H, Capabilities, PreparedStart]]:
    """Starts an agent and agrees on the protocol with it; `listener` builds the handshake that hears its updates."""
    async with agents.started_beside(place, entry, env) as (link, prepared):
        handshake = listener(link)
        running = asyncio.create_task(handshake.connection.run(), name=f"beside {entry.name}")
        try:
            with FailureDetector(entry).explained():
                patience = settings.initialize_timeout + (FETCH_TIME if prepared.fetched else 0)
                about = await handshake.initialize(patience)
                yield handshake, corrected(entry, about.capabilities), prepared
        finally:
            running.cancel()
            with contextlib.suppress(AgentFailed, asyncio.CancelledError):
                await running


def reading_session(entry: CatalogEntry, cwd: str) -> Session:
    """Returns a session that is stored nowhere: an agent that is started for it can only read, like that of a side
    question."""
    moment = now()
    own_id = new_id()
    return Session(
        id=own_id,
        repo_id="",
        worktree_id=None,
        cwd=cwd,
        agent=entry.name,
        title="",
        description="",
        status="active",
        activity="not_started",
        permission_mode="plan",
        allowed_tools=raw([]),
        model=None,
        effort=None,
        mcp_server_ids=raw([]),
        env=raw({}),
        context_files=raw([]),
        callback=raw({}),
        kind="btw",
        parent_session_id=None,
        forked_from_session_id=None,
        root_session_id=own_id,
        branch_task_id=None,
        created_by=raw(Caller().record()),
        git_state=raw({}),
        message_count=0,
        queue_paused=False,
        archived=False,
        metadata=SessionMetadata(),
        context=None,
        cost=None,
        created_at=moment,
        updated_at=moment,
        active_at=moment,
        ended_at=None,
        headless=None,
        depth=0,
        turns=0,
        tokens=0,
        seconds=0.0,
        spent=0.0,
    )
