"""Decides which session may run its next turn, and gives it a slot (T5). Every decision is made from rows, so that a
restart loses nothing."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import time
from collections.abc import Coroutine, Generator
from typing import Any

import msgspec
import structlog

from bough import open_file_limit
from bough.agents.keeper_client.disk_check import disk_trouble
from bough.core.live_agents.agent import Agent
from bough.core.store.sql import SESSIONS, TASKS
from bough.core.store.transactions import CHANNEL_WORK, Store
from bough.core.turns.runner import Runner
from bough.errors import BoughError
from bough.model.task import Task
from bough.settings import Settings
from bough.storage.backend import Tx

log = structlog.get_logger("bough.scheduler")

# Notifications can be lost; this scan finds the work that they would have announced.
SCAN_EVERY = 5.0
# Seconds until a turn that broke is looked at again.
BROKEN_PAUSE = 1.0
# The number of trees whose last turn is remembered for fairness; more do not wait at once.
MOST_SERVED = 1000


class Runnable(msgspec.Struct):
    """A session with a prompt that could be sent, when that was queued, how many turns its tree runs, and its agent."""

    session_id: str
    root_session_id: str
    created_at: str
    under_way: int
    agent: str = ""


class Scheduler:
    """Starts turns while there are free slots."""

    def __init__(self, store: Store, settings: Settings, runner: Runner) -> None:
        self._store = store
        self._settings = settings
        self._runner = runner
        self._wake = asyncio.Event()
        self._turns: dict[str, asyncio.Task[None]] = {}
        self._suspending: dict[str, asyncio.Task[None]] = {}
        # When each tree was last served, the latest last. A restart forgets it, which costs one turn of fairness.
        self._served: dict[str, int] = {}
        self._counter = itertools.count(1)
        # Whether a turn broke, so that nobody may run it anymore, and when turns under way are next looked at.
        self._broken = True
        self._next_look = 0.0
        # Tasks that were being stopped at the last look, and those that a look stops.
        self._stopping: set[str] = set()
        self._stops: dict[str, asyncio.Task[None]] = {}

    async def run(self) -> None:
        """Schedules until cancelled. Running turns are cancelled with it; the next server finds them in their rows."""
        forget = self._store.db.listen(CHANNEL_WORK, lambda _payload: self._wake.set())
        self._wake.set()
        try:
            while True:
                try:
                    async with asyncio.timeout(min(SCAN_EVERY, self._runner.parked.next_due or SCAN_EVERY)):
                        await self._wake.wait()
                except TimeoutError:
                    pass
                self._wake.clear()
                # Read again below; if that fails, the next scan is not due before its time.
                self._runner.parked.next_due = None
                # A failure of the first does not keep the queues from advancing.
                for step in (self._recover_lost, self._steer, self.start_turns):
                    try:
                        await step()
                    except BoughError as error:
                        log.warning("queues_not_read", error=error.message)
                    except Exception:
                        # Without a scheduler nothing would run until a restart.
                        log.exception("queues_not_read")
        finally:
            forget()
            await self._cancel_turns()

    async def _cancel_turns(self) -> None:
        tasks = [*self._turns.values(), *self._suspending.values(), *self._stops.values()]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def _steer(self) -> None:
        """Wakes the turns that have prompts waiting to be sent into them (Q8)."""
        for (session_id,) in await self._store.read(lambda tx: tx.all(TASKS.to_steer, tuple[str])):
            self._runner.steering.wake(session_id)

    async def start_turns(self) -> None:
        """Starts every turn that there is a slot for now."""
        waiting = await self._store.read(self._runnable)
        running = {session.root_session_id: session.under_way for session in waiting}
        candidates = [session for session in waiting if session.session_id not in self._turns]
        if candidates and not open_file_limit.enough_for_a_turn():
            # The prompts stay queued; the next scan tries again.
            log.warning("too_few_descriptors", waiting=len(candidates))
            return
        trouble = await asyncio.to_thread(disk_trouble, self._settings.data_path) if candidates else None
        if trouble is not None:
            log.warning("data_folder_unwritable", waiting=len(candidates), error=str(trouble))
            return
        candidates = [session for session in candidates if session.session_id not in self._turns]
        while candidates:
            # Fair across trees: fewest running turns first, then the tree that was served longest ago.
            best = min(
                candidates,
                key=lambda session: (
                    running[session.root_session_id],
                    self._served.get(session.root_session_id, 0),
                    session.created_at,
                    session.session_id,
                ),
            )
            candidates.remove(best)
            if self._has_slot(best.session_id):
                running[best.root_session_id] += 1
                self._note_served(best.root_session_id)
                self.adopt(best.session_id, self._runner.turn(best.session_id))
            else:
                await self._free_slot(best)

    def _note_served(self, root_session_id: str) -> None:
        """Remembers when a tree was served; the trees that were served longest ago are forgotten."""
        self._served.pop(root_session_id, None)
        self._served[root_session_id] = next(self._counter)
        while len(self._served) > MOST_SERVED:
            del self._served[next(iter(self._served))]

    async def _recover_lost(self) -> None:
        """Gives every turn of this server that is under way and has no task an owner, which repairs it. Nothing else
        could: the reply to a claim may have been lost, or a turn may have broken in a way that nobody thought of."""
        if not self._broken and time.monotonic() < self._next_look:
            return
        # More may break while this reads.
        self._broken = False
        try:
            under_way = await self._store.read(lambda tx: tx.all(TASKS.under_way, Task))
        except BaseException:
            self._broken = True
            raise
        self._next_look = time.monotonic() + SCAN_EVERY
        for task in under_way:
            if task.session_id not in self._turns:
                self.adopt(task.session_id, self._runner.lost_turns.take_over(task))
        self._enforce_stops([task for task in under_way if task.status == "stopping"])

    def _enforce_stops(self, tasks: list[Task]) -> None:
        """Stops turns whose rows say so, but whose agents nobody told: the request failed after its commit."""
        for task in tasks:
            agent = self._runner.agents.get(task.session_id)
            if agent is None or not agent.busy:
                # One that still starts is not sent the prompt of a task that is being stopped.
                continue
            if task.id in self._stopping and task.id not in self._stops and not self._runner.stops.cancelling[task.id]:
                log.warning("stop_taken_over", session=task.session_id, task=task.id)
                stop = asyncio.create_task(self._runner.stops.cancel(task.session_id, task), name=f"stop {task.id}")
                self._stops[task.id] = stop
                stop.add_done_callback(lambda done, task_id=task.id: self._stopped(task_id, done))
        self._stopping = {task.id for task in tasks}

    def _stopped(self, task_id: str, stop: asyncio.Task[None]) -> None:
        del self._stops[task_id]
        if not stop.cancelled() and (error := stop.exception()) is not None:
            log.warning("turn_not_stopped", task=task_id, error=repr(error))

    async def _runnable(self, tx: Tx) -> list[Runnable]:
        return await self._runner.parked.admitted(tx, await tx.all(TASKS.runnable, Runnable))

    @contextlib.contextmanager
    def lending(self, session_id: str) -> Generator[None]:
        """Lends the slot of a session to others while its turn only waits (T5)."""
        agent = self._runner.agents.get(session_id)
        if agent is None:
            yield
            return
        agent.begin_wait()
        self._wake.set()
        try:
            yield
        finally:
            agent.end_wait()

    def _slots_in_use(self) -> int:
        """Counts agents that have not lent their slot, agents that are being suspended, and turns whose agent has not
        started yet."""
        agents = self._runner.agents
        holding = sum(1 for agent in agents if not agent.lent and (agent.busy or not agent.down))
        ending = sum(1 for session_id in self._suspending if session_id not in agents)
        return holding + ending + sum(1 for session_id in self._turns if session_id not in agents)

    def _has_slot(self, session_id: str) -> bool:
        if session_id in self._suspending:
            return False
        return session_id in self._runner.agents or self._slots_in_use() < self._settings.max_agents

    async def _free_slot(self, waiting: Runnable) -> None:
        """Suspends the agent that has been idle longest, one at a time.

        Agents that can resume their conversation come first. One that would have to be told the transcript again makes
        room only for its own tree: its idle clock stands still while that tree has work, so that the work would wait
        forever.
        """
        if self._suspending:
            return
        candidates = [agent for agent in self._idle() if agent.entry.resume]
        if not candidates:
            root_id = waiting.root_session_id
            tree = await self._store.read(lambda tx: tx.all(SESSIONS.ids_of_tree, tuple[str], root=root_id))
            known = {session_id for (session_id,) in tree}
            candidates = [agent for agent in self._idle() if agent.session_id in known]
        if not candidates:
            return
        agent = min(candidates, key=lambda agent: agent.idle_since)
        log.info("agent_suspended", session=agent.session_id, reason="room")
        task = asyncio.create_task(self._runner.agents.suspend(agent))
        self._suspending[agent.session_id] = task
        task.add_done_callback(lambda done: self._suspended(agent.session_id, done))

    def _idle(self) -> list[Agent]:
        return [agent for agent in self._runner.agents if not agent.busy and agent.session_id not in self._turns]

    def _suspended(self, session_id: str, task: asyncio.Task[None]) -> None:
        del self._suspending[session_id]
        self._wake.set()
        if not task.cancelled() and (error := task.exception()) is not None:
            log.warning("agent_not_suspended", session=session_id, error=repr(error))

    def adopt(self, session_id: str, turn: Coroutine[Any, Any, None]) -> None:
        """Runs a turn as a task of the scheduler."""
        task = asyncio.create_task(turn, name=f"turn {session_id}")
        self._turns[session_id] = task
        task.add_done_callback(lambda done: self._done(session_id, done))

    def _done(self, session_id: str, task: asyncio.Task[None]) -> None:
        self._turns.pop(session_id, None)
        error = None if task.cancelled() else task.exception()
        if error is None and not task.cancelled():
            self._wake.set()
            return
        self._broken = True
        if error is not None:
            log.error("turn_broke", session=session_id, error=repr(error), exc_info=error)
        # Not at once: whatever broke it may break the next one too.
        asyncio.get_running_loop().call_later(BROKEN_PAUSE, self._wake.set)
