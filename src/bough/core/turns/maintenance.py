"""Does what is due by the clock: lets `idle` complete sessions and suspend agents, expires approvals, and deletes
expired events and idempotency keys."""

from __future__ import annotations

import asyncio

import structlog

from bough.core.approvals.expiry import Expiry
from bough.core.live_agents.agent_pool import AgentPool
from bough.core.live_agents.idle import Idle
from bough.core.store.sql import CALLS, EVENTS, KEYS
from bough.core.store.transactions import Change, Store
from bough.core.worktrees.for_branch import STORED_MARKS
from bough.model.values.times import before
from bough.settings import Settings
from bough.storage.backend import Tx

log = structlog.get_logger("bough.upkeep")

# Clocks are checked ten times per shortest time-out, within these bounds in seconds.
SHORTEST_LOOK = 0.05
LONGEST_LOOK = 30.0


class Maintenance:
    """Checks the clocks periodically."""

    def __init__(self, store: Store, settings: Settings, agents: AgentPool) -> None:
        self._store = store
        self._settings = settings
        self._idle = Idle(store, settings, agents)
        self._expiry = Expiry(store, agents.catalog)

    async def run(self) -> None:
        """Runs until cancelled."""
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._watch(), name="clocks")
                group.create_task(self._expiry.run(), name="expiry")
        finally:
            await self._idle.close()

    async def _watch(self) -> None:
        """Checks the clocks; a failure is logged, and the next check tries again."""
        shortest = min(self._settings.idle_timeout * 60, self._settings.sleep_after)
        pause = min(max(shortest / 10, SHORTEST_LOOK), LONGEST_LOOK)
        while True:
            try:
                await self.run_once()
            except Exception:
                log.exception("upkeep_failed")
            await asyncio.sleep(pause)

    async def run_once(self) -> None:
        await self._idle.complete_sessions()
        await self._idle.suspend_agents()
        await self._delete_expired()

    async def _delete_expired(self) -> None:
        newest: int = await self._store.read(self._newest) or 0
        deadline = before(self._settings.keep_answers)

        async def work(change: Change) -> None:
            await change.tx.run(EVENTS.prune, cursor=newest - self._settings.keep_events)
            await change.tx.run(KEYS.prune, before=deadline, kept_scope=STORED_MARKS)
            await change.tx.run(CALLS.prune, before=deadline)

        await self._store.write(work)

    async def _newest(self, tx: Tx) -> int | None:
        return await tx.value(EVENTS.newest)
