"""Asks an agent for the conversations that it holds, and has it replay one. The agent is started for this, in its
sandbox, works for no session, and is ended afterwards."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator

from bough.agents.acp.answers import Capabilities, ListedConversation
from bough.agents.acp.wire import SessionUpdate
from bough.agents.catalog import CatalogEntry
from bough.agents.catalog.prepare import PreparedStart
from bough.agents.handshake import Handshake, Steps
from bough.agents.link import Link
from bough.core.conversations.turns_from_replay import TurnCollector
from bough.core.live_agents.agent_pool import AgentPool
from bough.core.live_agents.failures import FailureDetector
from bough.core.live_agents.start import repository_trust
from bough.core.live_agents.start.conversation import FETCH_TIME, corrected
from bough.core.store.transactions import Store
from bough.errors import AgentFailed, Conflict
from bough.model.message import raw
from bough.model.session import Caller, Session, SessionMetadata
from bough.model.values.ids import new_id
from bough.model.values.times import now
from bough.settings import Settings

AT_ONCE = 2
"""The most agents that are read at the same time."""
MOST_PAGES = 40
MOST_LISTED = 2000
"""The most conversations of one agent that are listed."""
LATE_UPDATES = 0.5
"""Seconds for the rest of a conversation: one agent sends it after its answer."""


class _Reading(Handshake):
    """A handshake that passes on what the agent replays."""

    def __init__(self, link: Link) -> None:
        super().__init__(link, Steps(), lambda _update: False)
        self._link = link
        self.collector: TurnCollector | None = None

    def on_updates(self, updates: list[SessionUpdate], last: int) -> None:
        if self.collector is not None:
            for update in updates:
                self.collector.add(update)
        self._link.confirm(last)


class AgentReader:
    """Reads the conversations of agents."""

    def __init__(self, store: Store, settings: Settings, agents: AgentPool) -> None:
        self._store = store
        self._settings = settings
        self._agents = agents
        self._gate = asyncio.Semaphore(AT_ONCE)

    async def list(self, entry: CatalogEntry, folder: str | None) -> list[ListedConversation]:
        """Returns the conversations that an agent lists, of one folder or of all. Raises `Conflict` if it does not."""
        place = reading_session(entry, str(self._settings.root_path))
        async with self._opened(place, entry, {}) as (reading, can, _):
            if not can.list:
                raise Conflict("conversations_unlisted", f"{entry.title} does not list its conversations.")
            listed: list[ListedConversation] = []
            cursor: str | None = None
            for _ in range(MOST_PAGES):
                page = await reading.client.list_sessions(folder, cursor)
                listed += page.sessions
                cursor = page.next_cursor
                if cursor is None or not page.sessions or len(listed) >= MOST_LISTED:
                    break
            return listed[:MOST_LISTED]

    async def load(
        self, entry: CatalogEntry, place: Session, conversation_id: str, env: dict[str, str], limit: int
    ) -> TurnCollector:
        """Returns the turns of a conversation as its agent replays them. Raises `Conflict` if the agent cannot."""
        await repository_trust.check(self._store, entry, place)
        async with self._opened(place, entry, env) as (reading, can, prepared):
            if not can.load:
                raise Conflict("conversation_untold", f"{entry.title} does not replay conversations.")
            reading.collector = TurnCollector(conversation_id, limit)
            await reading.client.load_session(
                conversation_id, place.cwd, meta=prepared.meta or None, timeout=self._settings.session_timeout
            )
            if not reading.collector.turns:
                await asyncio.sleep(LATE_UPDATES)
            return reading.collector

    @contextlib.asynccontextmanager
    async def _opened(
        self, place: Session, entry: CatalogEntry, env: dict[str, str]
    ) -> AsyncGenerator[tuple[_Reading, Capabilities, PreparedStart]]:
        """Starts an agent and agrees on the protocol with it."""
        async with self._gate, self._agents.started_beside(place, entry, env) as (link, prepared):
            reading = _Reading(link)
            running = asyncio.create_task(reading.connection.run(), name=f"reading {entry.name}")
            try:
                with FailureDetector(entry).explained():
                    patience = self._settings.initialize_timeout + (FETCH_TIME if prepared.fetched else 0)
                    about = await reading.initialize(patience)
                    yield reading, corrected(entry, about.capabilities), prepared
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
