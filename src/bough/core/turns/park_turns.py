"""Parks turns that a limit ended, and keeps the scheduler from starting turns on accounts whose limit is in force."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeVar

import structlog

from bough.agents.catalog import Catalog
from bough.agents.catalog.entry import CatalogEntry
from bough.agents.errors import AgentLimited
from bough.core.approvals import kinds
from bough.core.state import parked_turns
from bough.core.state.limits import agent_limits
from bough.core.store import records
from bough.core.store.sql import LIMITS, TASKS
from bough.core.store.transactions import Change
from bough.errors import Invalid
from bough.model.agents.limit import AgentLimit
from bough.model.approval import AGENT_LIMIT_KIND
from bough.model.session import Session
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
    steered: Mapping[str, bool],
) -> AgentLimit | None:
    """Parks a turn, and asks a person once all tries are used up. Returns None if the turn has ended instead."""
    limit = await parked_turns.park(change, task, error, entry, settings, steered)
    if limit is not None and limit.resumes_at is None and not await _is_asked(change.tx, limit):
        await kinds.AGENT_LIMIT.ask(change, task, parked_turns.sentence(entry, limit), limit, settings)
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
        """Returns the sessions without those whose account has a limit in force. No session is held for an answer that
        no person is asked for anymore, nor by a limit that no parked turn shows to people. A limit that only one tree
        met holds only that tree: its agent may have invented it."""
        limits = await tx.all(LIMITS.all, AgentLimit)
        moment = now()
        # The trees that met each limit.
        in_force: dict[tuple[str, str], set[str]] = {}
        for limit in limits:
            holds = limit.resumes_at > moment if limit.resumes_at is not None else await _is_asked(tx, limit)
            if holds and (origins := await agent_limits.parked_origins(tx, limit.agent, limit.account)):
                in_force[limit.agent, limit.account] = origins
        dues = [seconds_until(limit.resumes_at) for limit in limits if limit.resumes_at and limit.resumes_at > moment]
        self.next_due = max(min(dues), 0.0) if dues else None
        return [session for session in waiting if not in_force or not await self._is_parked(tx, session, in_force)]

    async def try_now(self, change: Change, session: Session) -> None:
        """Lets a session's parked turn or waiting queue be tried at once, with all others of its account."""
        if await agent_limits.try_parked(change, session.id) is not None:
            return
        entry = self._catalog.entry(session.agent)
        if entry is not None and await change.tx.value(TASKS.waiting, session_id=session.id):
            await agent_limits.try_now(change, session.agent, await agent_limits.account_of(change.tx, entry, session))

    async def _is_parked(self, tx: Tx, waiting: WaitingSession, in_force: Mapping[tuple[str, str], set[str]]) -> bool:
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
        origins = in_force.get((waiting.agent, await agent_limits.account_of(tx, entry, session)), set[str]())
        return len(origins) > 1 or (bool(origins) and await agent_limits.origin_of(tx, session) in origins)
