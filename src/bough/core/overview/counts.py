"""Counts sessions, tasks, approvals, agents and subscribers for health checks and metrics."""

from __future__ import annotations

import msgspec

from bough.core.events.hub import Hub
from bough.core.store.sql import COUNTS, EVENTS
from bough.core.store.transactions import Store
from bough.core.turns.runner import Runner
from bough.storage.backend import Tx


class _Count(msgspec.Struct):
    state: str
    total: int


async def counts(store: Store, runner: Runner, hub: Hub) -> dict[str, dict[str, float]]:
    """Returns numbers by metric, then by state; the state is empty for a metric without states."""

    async def work(tx: Tx) -> dict[str, dict[str, float]]:
        sessions = await tx.all(COUNTS.sessions, _Count)
        tasks = await tx.all(COUNTS.open_tasks, _Count)
        return {
            "bough_sessions": {row.state: row.total for row in sessions} or {"active": 0},
            "bough_tasks": {row.state: row.total for row in tasks} or {"queued": 0},
            "bough_approvals_pending": {"": await tx.value(COUNTS.pending_approvals) or 0},
            "bough_event_cursor": {"": await tx.value(EVENTS.newest) or 0},
        }

    numbers = await store.read(work)
    agents = list(runner.agents)
    numbers["bough_agents"] = {
        "busy": sum(1 for agent in agents if agent.busy and not agent.lent),
        "waiting": sum(1 for agent in agents if agent.lent),
        "idle": sum(1 for agent in agents if not agent.busy),
    }
    numbers["bough_subscribers"] = {"": hub.subscribers}
    return numbers
