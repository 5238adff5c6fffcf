"""Repairs turns that nobody runs: those that the last server left without an agent, and those whose task broke in this
one. `recovery` and `scheduler` find them."""

from __future__ import annotations

import structlog

from bough.core.approvals import kinds
from bough.core.live_agents.agent_pool import AgentPool
from bough.core.state import steering
from bough.core.store import records
from bough.core.store.transactions import Change, Store
from bough.core.store.until_available import until_available
from bough.errors import AgentFailed
from bough.model.task import IN_FLIGHT, Task
from bough.settings import Settings

log = structlog.get_logger("bough.runner")

GONE = AgentFailed("agent_gone", "The agent was gone when the server came back.")
NOBODY = AgentFailed("turn_lost", "The server lost track of this turn.")


class LostTurns:
    """Gives lost turns an end or their next attempt, however long the database is away."""

    def __init__(self, store: Store, settings: Settings, agents: AgentPool) -> None:
        self._store = store
        self._settings = settings
        self._agents = agents

    async def repair(self, task: Task, error: AgentFailed = GONE) -> None:
        """Repairs a turn without an agent: one that was being stopped has stopped, one that was not sent has its next
        attempt, others are interrupted. Does nothing if it has ended."""

        async def work(change: Change) -> None:
            current = await records.task(change.tx, task.id)
            if current.status == "dispatching" and current.attempt == task.attempt:
                # Its prompt was never sent, so there is nothing to tell.
                await records.move_task(change, task.id, "interrupted")
                await steering.turn_over(change, current)
                await records.update_session(change, task.session_id, activity="idle")
                change.wake()
            else:
                await kinds.INTERRUPTED.interrupt(change, task, error, self._settings.on_interrupt)

        await until_available(lambda: self._store.write(work), "a lost turn", task=task.id)

    async def take_over(self, task: Task) -> None:
        """Repairs a turn of this server that no task runs anymore, for example because the reply to its claim was lost
        or its end could not be stored."""
        read = self._store.read
        current = await until_available(lambda: read(lambda tx: records.task(tx, task.id)), "a lost turn", task=task.id)
        if current.attempt != task.attempt or current.status not in IN_FLIGHT:
            return
        log.error("turn_without_owner", session=task.session_id, task=task.id, status=current.status)
        agent = self._agents.get(task.session_id)
        if agent is not None:
            agent.busy = False
            if current.status != "dispatching":
                # It was sent the prompt, and whatever it does is not recorded anymore.
                await self._agents.suspend(agent)
        await self.repair(current, NOBODY)
