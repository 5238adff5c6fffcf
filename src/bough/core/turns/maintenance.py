"""Does what is due by the clock: completes idle sessions (T4), suspends idle agents, expires approvals, and deletes
expired events and idempotency keys."""

from __future__ import annotations

import asyncio
import time

import structlog

from bough.core.approvals.expiry import Expiry
from bough.core.state import session as lifecycle
from bough.core.state.end_reasons import IDLE
from bough.core.store import records
from bough.core.store.sql import CALLS, EVENTS, KEYS, SESSIONS
from bough.core.store.transactions import Change, Store
from bough.core.turns.agent import Agent
from bough.core.turns.agent_pool import AgentPool
from bough.errors import BoughError
from bough.model.session import Session
from bough.model.times import before
from bough.settings import Settings
from bough.storage.backend import Tx

log = structlog.get_logger("bough.upkeep")

# Clocks are checked ten times per shortest time-out, within these bounds in seconds.
SHORTEST_LOOK = 0.05
LONGEST_LOOK = 30.0
BATCH = 50


class Maintenance:
    """Checks the clocks periodically."""

    def __init__(self, store: Store, settings: Settings, agents: AgentPool) -> None:
        self._store = store
        self._settings = settings
        self._agents = agents
        self._expiry = Expiry(store, agents.catalog)

    async def run(self) -> None:
        """Runs until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._watch(), name="clocks")
            group.create_task(self._expiry.run(), name="expiry")

    async def _watch(self) -> None:
        """Checks the clocks; a failure is logged, and the next check tries again."""
        shortest = min(self._settings.idle_timeout * 60, self._settings.sleep_after)
        pause = min(max(shortest / 10, SHORTEST_LOOK), LONGEST_LOOK)
        while True:
            try:
                await self.look()
            except Exception:
                log.exception("upkeep_failed")
            await asyncio.sleep(pause)

    async def look(self) -> None:
        await self._complete_idle()
        await self._suspend_idle()
        await self._delete_expired()

    async def _complete_idle(self) -> None:
        deadline = before(self._settings.idle_timeout * 60)

        async def find(tx: Tx) -> list[Session]:
            return await tx.all(SESSIONS.idle, Session, before=deadline, limit=BATCH)

        for idle in await self._store.read(find):
            if await self._store.write(lambda change, idle=idle: self._complete(change, idle, deadline)):
                agent = self._agents.get(idle.id)
                if agent is not None:
                    await agent.farewell()
                    await self._suspend(agent)

    async def _complete(self, change: Change, idle: Session, deadline: str) -> bool:
        """Completes a session unless it has become active since it was found."""
        still_idle = await change.tx.all(SESSIONS.idle, Session, before=deadline, limit=BATCH)
        if idle.id not in {session.id for session in still_idle}:
            return False
        session = await records.session(change.tx, idle.id)
        await lifecycle.end(change, session, "completed", IDLE)
        return True

    async def _suspend_idle(self) -> None:
        limit = time.monotonic() - self._settings.sleep_after
        for agent in self._agents:
            if agent.busy:
                continue
            if agent.down or (agent.entry.resume and agent.idle_since < limit):
                log.info("agent_put_to_sleep", session=agent.session_id, reason="dead" if agent.down else "idle")
                await self._suspend(agent)

    async def _suspend(self, agent: Agent) -> None:
        try:
            await self._agents.suspend(agent)
        except BoughError as error:
            log.warning("agent_not_put_to_sleep", session=agent.session_id, error=error.message)

    async def _delete_expired(self) -> None:
        newest: int = await self._store.read(self._newest) or 0
        deadline = before(self._settings.keep_answers)

        async def work(change: Change) -> None:
            await change.tx.run(EVENTS.prune, cursor=newest - self._settings.keep_events)
            await change.tx.run(KEYS.prune, before=deadline)
            await change.tx.run(CALLS.prune, before=deadline)

        await self._store.write(work)

    async def _newest(self, tx: Tx) -> int | None:
        return await tx.value(EVENTS.newest)
