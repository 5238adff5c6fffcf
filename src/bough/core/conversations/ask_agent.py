"""Asks an agent for the conversations that it holds, and has it replay one. The agent is started for this, in its
sandbox, works for no session, and is ended afterwards."""

from __future__ import annotations

import asyncio

from bough.agents.acp.answers import ListedConversation
from bough.agents.acp.wire import SessionUpdate
from bough.agents.catalog import CatalogEntry
from bough.agents.handshake import Handshake, Steps
from bough.agents.link import Link
from bough.core.conversations.turns_from_replay import TurnCollector
from bough.core.live_agents.agent_pool import AgentPool
from bough.core.live_agents.beside import opened_beside, reading_session
from bough.core.live_agents.start import repository_trust
from bough.core.store.transactions import Store
from bough.errors import Conflict
from bough.model.session import Session
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
        beside = opened_beside(self._agents, self._settings, place, entry, {}, _Reading)
        async with self._gate, beside as (reading, can, _):
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
        beside = opened_beside(self._agents, self._settings, place, entry, env, _Reading)
        async with self._gate, beside as (reading, can, prepared):
            if not can.load:
                raise Conflict("conversation_untold", f"{entry.title} does not replay conversations.")
            reading.collector = TurnCollector(conversation_id, limit)
            await reading.client.load_session(
                conversation_id, place.cwd, meta=prepared.meta or None, timeout=self._settings.session_timeout
            )
            if not reading.collector.turns:
                await asyncio.sleep(LATE_UPDATES)
            return reading.collector
