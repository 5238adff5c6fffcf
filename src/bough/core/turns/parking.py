"""Parks turns that a limit ended, and keeps the scheduler from starting turns on accounts whose limit is in force."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeVar

import structlog

from bough.agents.catalog import Catalog
from bough.agents.catalog.entry import CatalogEntry
from bough.agents.errors import AgentLimited
from bough.core.approvals import kinds
from bough.core.state import agent_limits, park, steering
from bough.core.store import records
from bough.core.store.sql import LIMITS
from bough.core.store.transactions import Change
from bough.errors import Invalid
from bough.model.approval import AGENT_LIMIT_KIND
from bough.model.limit import AgentLimit
from bough.model.task import Task
from bough.model.values.times import now, seconds_until
from bough.settings import Settings
from bough.storage.backend import Tx

log = structlog.get_logger("bough.turns")


class WaitingSession(Protocol):
    """A session whose turn could start."""

    session_id: str
    agent: str


W = TypeVar("W", bound=WaitingSession)


async def park_turn(
    change: Change,
    task: Task,
    error: AgentLimited,
    entry: CatalogEntry,
    settings: Settings,
    steered: Mapping[str, bool] | None,
) -> AgentLimit | None:
    """Parks a turn, and asks a person once all tries are used up. `steered` says which prompts that were put into the
    turn its agent took. Returns None if the turn has ended instead."""
    limit = await park.park(change, task, error, entry, settings)
    if limit is not None:
        await steering.turn_over(change, task, steered)
    if limit is not None and limit.resumes_at is None and not await _is_asked(change.tx, limit):
        await kinds.AGENT_LIMIT.ask(change, task, park.sentence(entry, limit), limit, settings)
    return limit


async def _is_asked(tx: Tx, limit: AgentLimit) -> bool:
    count = await tx.value(LIMITS.asked, kind=AGENT_LIMIT_KIND, agent=limit.agent, account=limit.account)
    return bool(count)


class ParkedAccounts:
    """Tells which waiting sessions may proceed, by the clocks in the rows."""

    def __init__(self, catalog: Catalog, settings: Settings) -> None:
        self._catalog = catalog
        self._settings = settings
        # Seconds until the next clock is due; None if there is none.
        self.next_due: float | None = None

    async def admitted(self, tx: Tx, waiting: Sequence[W]) -> list[W]:
        """Returns the sessions without those whose account has a limit in force. Nobody is held for a person's answer
        if no person is asked any more."""
        limits = await tx.all(LIMITS.all, AgentLimit)
        moment = now()
        in_force: set[tuple[str, str]] = set()
        for limit in limits:
            waits = limit.resumes_at > moment if limit.resumes_at is not None else await _is_asked(tx, limit)
            if waits:
                in_force.add((limit.agent, limit.account))
        dues = [seconds_until(limit.resumes_at) for limit in limits if limit.resumes_at and limit.resumes_at > moment]
        self.next_due = max(min(dues), 0.0) if dues else None
        return [session for session in waiting if not in_force or not await self._is_parked(tx, session, in_force)]

    async def _is_parked(self, tx: Tx, waiting: WaitingSession, in_force: set[tuple[str, str]]) -> bool:
        if all(agent != waiting.agent for agent, _ in in_force):
            return False
        session = await records.session(tx, waiting.session_id)
        if not agent_limits.resumes(session, self._settings):
            return False
        try:
            entry = self._catalog.get(waiting.agent)
        except Invalid:
            # Its turn says that there is no such agent.
            return False
        return (waiting.agent, await agent_limits.account_of(tx, entry, session)) in in_force
