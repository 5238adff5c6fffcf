"""Recovers what the last server left behind, before anything else runs. Bough is crash-only: every start takes this
way."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import structlog

from bough.agents.launcher import Launcher
from bough.core.live_agents.keepers import Keeper
from bough.core.state.turn import Claimed, TurnOutcome, finish
from bough.core.store import records
from bough.core.store.sql import KEEPERS, TASKS
from bough.core.store.transactions import Change, Store
from bough.core.store.until_available import until_available
from bough.core.turns.lost_turns import GONE
from bough.core.turns.runner import Runner
from bough.core.turns.scheduler import Scheduler
from bough.core.worktrees.session_folders import remove_forged_link
from bough.errors import BoughError, Unavailable
from bough.model.task import Task
from bough.storage.backend import Tx

log = structlog.get_logger("bough.recovery")

# How many keepers are contacted at once; each call waits for a few milliseconds.
AT_ONCE = 16


async def keepers_and_turns(tx: Tx) -> tuple[list[Keeper], list[Task]]:
    """Returns all keepers that are stored, and the tasks under way."""
    return await tx.all(KEEPERS.all, Keeper), await tx.all(TASKS.under_way, Task)


class Recovery:
    """Attaches to agents that are still running, continues their turns, and repairs the rows of lost turns."""

    def __init__(self, store: Store, launcher: Launcher, runner: Runner, scheduler: Scheduler) -> None:
        self._store = store
        self._launcher = launcher
        self._runner = runner
        self._scheduler = scheduler
        self._turns: list[tuple[str, Coroutine[Any, Any, None]]] = []

    async def run(self) -> None:
        """Repairs everything, then hands the turns that continue to the scheduler."""
        keepers, under_way = await self._store.read(keepers_and_turns)
        tasks = {task.session_id: task for task in under_way}
        gate = asyncio.Semaphore(AT_ONCE)

        async def attach(keeper: Keeper) -> None:
            async with gate:
                try:
                    await self._attach(keeper, tasks.get(keeper.session_id))
                except Exception as error:
                    _refuse_without_database(error)
                    # One agent that cannot be attached to does not keep the server from starting.
                    log.warning("agent_not_found_again", session=keeper.session_id, error=str(error))
                    await self._end_keeper(keeper.id)

        await asyncio.gather(*(attach(keeper) for keeper in keepers))
        continued = {session_id for session_id, _ in self._turns}
        cut_off = [task for task in under_way if task.session_id not in continued]
        for task in cut_off:
            await self._repair_turn(task)
        await until_available(lambda: self._store.write(_wake), "recovery")
        await self._end_unknown_keepers({keeper.id for keeper in keepers})
        for session_id, turn in self._turns:
            self._scheduler.adopt(session_id, turn)
        if keepers or cut_off:
            log.info("recovered", keepers=len(keepers), turns=len(self._turns), cut_off=len(cut_off))

    async def _attach(self, keeper: Keeper, task: Task | None) -> None:
        """Attaches to one agent; it continues its turn if it has one."""
        if not keeper.ready:
            await self._end_keeper(keeper.id)
            return
        read = self._store.read
        session = await until_available(lambda: read(lambda tx: records.session(tx, keeper.session_id)), "recovery")
        agent = await self._runner.agents.attach(keeper, session, self._runner.permissions)
        if task is not None and task.sent_attempt == task.attempt and task.status != "dispatching":
            # From now on it is left running if this server stops.
            agent.busy = True
            self._turns.append((session.id, self._runner.resume_turn(agent, Claimed(task, session))))
            return
        agent.listen()
        # A dead agent closes its line at once; the next prompt starts another.
        await asyncio.sleep(0)
        if agent.down or session.status != "active":
            await self._runner.agents.suspend(agent)

    async def _end_keeper(self, keeper_id: str) -> None:
        try:
            await self._runner.agents.end_keeper(keeper_id)
        except (BoughError, OSError) as error:
            log.warning("keeper_not_ended", keeper=keeper_id, error=str(error))

    async def _end_unknown_keepers(self, known: set[str]) -> None:
        """Ends keepers that this database does not know."""
        for name in self._launcher.names():
            if name not in known:
                log.warning("unknown_keeper_ended", keeper=name)
                await self._end_keeper(name)

    async def _repair_turn(self, task: Task) -> None:
        """Repairs one turn; a failure keeps neither the others nor the server from starting."""
        try:
            read = self._store.read
            session = await until_available(lambda: read(lambda tx: records.session(tx, task.session_id)), "recovery")
            await remove_forged_link(session)
            await self._runner.lost_turns.repair(task)
        except Exception as error:
            _refuse_without_database(error)
            log.exception("turn_not_repaired", session=task.session_id, task=task.id)
            # Without its transcript, which may be what failed.
            failed = TurnOutcome("failed", error=GONE)
            try:
                await self._store.write(lambda change: finish(change, task, failed, 0, None))
            except Exception:
                log.exception("turn_not_ended", session=task.session_id, task=task.id)


def _refuse_without_database(error: Exception) -> None:
    """Raises the error if the server cannot start because its database fails: no agent or turn is to blame."""
    if isinstance(error, Unavailable) and error.is_final:
        raise error


async def _wake(change: Change) -> None:
    change.wake()
