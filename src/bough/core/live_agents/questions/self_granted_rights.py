"""Takes back rights that an agent gave itself in the middle of a turn, by changing its mode or a pinned option (P2). An
agent that does not give them up is ended."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from bough.agents.catalog import CatalogEntry
from bough.core.live_agents.agent import Agent
from bough.core.live_agents.agent_settings import SettingChange, is_strict
from bough.core.policy.turn_mode import turn_mode
from bough.core.store import records
from bough.core.store.transactions import Change, Store
from bough.core.store.until_available import until_available
from bough.errors import AgentFailed
from bough.model.message import notice
from bough.model.session import Session
from bough.storage.backend import Tx

log = structlog.get_logger("bough.questions")


class SelfGrantedRights:
    """Reverts changes that agents made to their own rights."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._ends: set[asyncio.Task[None]] = set()

    async def revert(self, agent: Agent, move: SettingChange) -> None:
        """Reverts a mode or option that an agent changed by itself, unless the turn's mode allows it."""

        async def work(tx: Tx) -> bool:
            session = await records.session(tx, agent.session_id)
            return await _may_move(tx, agent.entry, session, move)

        if await until_available(lambda: self._store.read(work), "a change of an agent's rights"):
            return
        log.warning("mode_reverted", session=agent.session_id, agent=agent.entry.name, mode=move.value)
        text = f"{agent.entry.title} {move} by itself and was reset, because nobody had allowed it."
        failed = None
        try:
            await agent.revert(move)
        except AgentFailed as error:
            failed = error
            text = (
                f"{agent.entry.title} {move} by itself, which nobody had allowed, and could not be reset: it is "
                f"ended. {error.message}"
            )

        task_id = agent.task_id

        async def add_notice(change: Change) -> None:
            await records.add_message(change, agent.session_id, task_id, "system", notice(text))

        async def tell() -> None:
            await until_available(lambda: self._store.write(add_notice), "a notice")

        if failed is None:
            await tell()
            return
        # Not in this task, which is one of those that end with the agent. The agent ends first: while the database is
        # away it must not work on with the rights that it took.
        end = asyncio.create_task(self._end(agent, tell), name=f"end {agent.session_id}")
        self._ends.add(end)
        end.add_done_callback(self._ended)

    async def _end(self, agent: Agent, tell: Callable[[], Awaitable[None]]) -> None:
        try:
            await agent.end()
        finally:
            await tell()

    def _ended(self, end: asyncio.Task[None]) -> None:
        self._ends.discard(end)
        if not end.cancelled() and (error := end.exception()) is not None:
            log.warning("agent_not_ended", error=str(error))


async def _may_move(tx: Tx, entry: CatalogEntry, session: Session, move: SettingChange) -> bool:
    """Tells whether an agent may keep a setting that it changed by itself: a mode that grants no more than the
    turn's, but never a pinned option."""
    if move.option is not None:
        return False
    return entry.may_be_in(str(move.value), await turn_mode(tx, session), await is_strict(tx, entry.name))
