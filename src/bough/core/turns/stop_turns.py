"""Stops turns: asks the agent, and ends its process if the turn does not end in time."""

from __future__ import annotations

import asyncio
from collections import Counter

import structlog

from bough.core.live_agents.agent_pool import AgentPool
from bough.core.store import records
from bough.core.store.transactions import CHANNEL_EVENTS, Store
from bough.core.store.until_available import until_available
from bough.errors import AgentFailed
from bough.model.task import Task
from bough.settings import Settings

log = structlog.get_logger("bough.runner")


class TurnStops:
    """Stops running turns, and counts the stops that are under way."""

    def __init__(self, store: Store, settings: Settings, agents: AgentPool) -> None:
        self._store = store
        self._settings = settings
        self._agents = agents
        # How many stops of each task are under way.
        self.cancelling: Counter[str] = Counter()

    async def cancel(self, session_id: str, task: Task) -> None:
        """Stops the turn of a task: asks the agent, and ends its process if the turn does not end in time."""
        agent = self._agents.get(session_id)
        if agent is None or not agent.busy:
            return
        self.cancelling[task.id] += 1
        try:
            async with asyncio.timeout(self._settings.stop_timeout):
                await agent.cancel(f"{task.id}:{task.attempt}")
                await self.ended(task.id)
        except (TimeoutError, AgentFailed):
            log.warning("agent_ignored_cancel", session=session_id, task=task.id)
            await agent.end()
        finally:
            self.cancelling[task.id] -= 1
            self.cancelling += Counter()  # forgets those that have ended

    async def ended(self, task_id: str) -> None:
        """Waits until a task has ended."""
        read = self._store.read
        changed = asyncio.Event()
        forget = self._store.db.listen(CHANNEL_EVENTS, lambda _payload: changed.set())
        try:
            while True:
                task = await until_available(lambda: read(lambda tx: records.task(tx, task_id)), "a turn")
                if task.ended_at is not None:
                    return
                await changed.wait()
                changed.clear()
        finally:
            forget()
