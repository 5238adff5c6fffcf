"""Completes sessions that were idle for long (T4) and suspends agents with nothing to do. The maintenance of `turns`
calls it."""

from __future__ import annotations

import asyncio
import time

import structlog

from bough.core.live_agents.agent import Agent
from bough.core.live_agents.agent_pool import AgentPool
from bough.core.state import session_lifecycle
from bough.core.state.end_reasons import IDLE
from bough.core.store import records
from bough.core.store.sql import SESSIONS
from bough.core.store.transactions import Change, Store
from bough.errors import BoughError
from bough.model.session import Session
from bough.model.values.times import before
from bough.settings import Settings
from bough.storage.backend import Tx

log = structlog.get_logger("bough.upkeep")

# How many sessions are completed at a time.
BATCH = 50


class Idle:
    """Ends what has been idle for longer than the settings allow."""

    def __init__(self, store: Store, settings: Settings, agents: AgentPool) -> None:
        self._store = store
        self._settings = settings
        self._agents = agents
        self._suspending: dict[str, asyncio.Task[None]] = {}

    async def complete_sessions(self) -> None:
        """Completes sessions that have been idle for longer than `idle_timeout`."""
        deadline = before(self._settings.idle_timeout * 60)

        async def find(tx: Tx) -> list[Session]:
            return await tx.all(SESSIONS.idle, Session, before=deadline, limit=BATCH)

        for idle in await self._store.read(find):
            if await self._store.write(lambda change, idle=idle: self._complete(change, idle, deadline)):
                agent = self._agents.get(idle.id)
                if agent is not None:
                    self._start_suspending(agent, farewell=True)

    async def _complete(self, change: Change, idle: Session, deadline: str) -> bool:
        """Completes a session unless it has become active since it was found."""
        still_idle = await change.tx.all(SESSIONS.idle, Session, before=deadline, limit=BATCH)
        if idle.id not in {session.id for session in still_idle}:
            return False
        session = await records.session(change.tx, idle.id)
        await session_lifecycle.end(change, session, "completed", IDLE)
        return True

    async def suspend_agents(self) -> None:
        """Suspends agents that died, whose session has ended, or that have been idle for longer than `sleep_after` and
        can be resumed."""
        limit = time.monotonic() - self._settings.sleep_after
        idle = [agent.session_id for agent in self._agents if not agent.busy]
        if not idle:
            return
        ended = {row[0] for row in await self._store.read(lambda tx: tx.all(SESSIONS.ended, tuple[str], ids=idle))}
        for agent in self._agents:
            if agent.busy or agent.session_id in self._suspending:
                continue
            # Whoever ended the session may have failed before the agent was told.
            has_ended = agent.session_id in ended
            if agent.down or has_ended or (agent.entry.resume and agent.idle_since < limit):
                reason = "dead" if agent.down else "ended" if has_ended else "idle"
                log.info("agent_suspended", session=agent.session_id, reason=reason)
                self._start_suspending(agent)

    def _start_suspending(self, agent: Agent, *, farewell: bool = False) -> None:
        """Suspends an agent in its own task: one that does not end in time must not stop the clock of the others."""
        task = asyncio.create_task(self._suspend(agent, farewell), name=f"suspend idle {agent.session_id}")
        self._suspending[agent.session_id] = task
        task.add_done_callback(lambda _done: self._suspending.pop(agent.session_id, None))

    async def close(self) -> None:
        """Stops waiting for agents that are being suspended."""
        tasks = list(self._suspending.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def _suspend(self, agent: Agent, farewell: bool) -> None:
        if farewell:
            await agent.farewell()
        try:
            await self._agents.suspend(agent)
        except BoughError as error:
            log.warning("agent_not_suspended", session=agent.session_id, error=error.message)
