"""Notices turns that are stuck: their agents do nothing, or repeat the same tool calls (T7). Marks them for people, and
nudges or stops them if the settings say so. The runner calls `during` for each turn."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Awaitable, Callable

import structlog

from bough.core.live_agents.agent import Agent
from bough.core.state import session_lifecycle, steering
from bough.core.state.calls import tool_call
from bough.core.state.enqueue import enqueue
from bough.core.store import records
from bough.core.store.sql import APPROVALS, MESSAGES, TASKS
from bough.core.store.transactions import Change, Store
from bough.model import message
from bough.model.session import Session, Stuck
from bough.model.task import Task
from bough.model.values.times import before, seconds_until
from bough.settings import Settings
from bough.storage.backend import Tx

log = structlog.get_logger("bough.turns")

# Seconds between two looks at a turn: a tenth of the shortest time that matters, within these bounds.
SHORTEST_LOOK = 0.05
LONGEST_LOOK = 15.0
# An agent works if it uses more than this share of a processor; programs that only wait use less.
BUSY_SHARE = 0.01
# The kernel counts processor time in steps of this many seconds or less.
TICK = 0.011

STALLED_NUDGE = (
    "This message is from Bough, not from a person: your turn has had no output and used no processor time for "
    "{minutes:g} minutes. If you wait for something that does not come, continue without it, or end your turn and say "
    "what is missing."
)
LOOPING_NUDGE = (
    "This message is from Bough, not from a person: you have repeated the same tool call with the same arguments at "
    "least {times} times. Try another way, or end your turn and say what is missing."
)
STOPPED_STALLED = "The turn was stalled, with no output and no processor time since {since} UTC, so Bough stops it."
STOPPED_LOOPING = "The turn has repeated the same tool call at least {times} times, so Bough stops it."


class TurnWatch:
    """Watches one turn."""

    def __init__(
        self, store: Store, settings: Settings, agent: Agent, task: Task, stop: Callable[[Task], None], *, resumed: bool
    ) -> None:
        """`stop` ends a turn whose row says that it stops. A resumed turn was started by an earlier server."""
        self._store = store
        self._settings = settings
        self._agent = agent
        self._task = task
        self._stop = stop
        self._resumed = resumed
        # The last sign of life, and the processor time at the first look after it, with the time of that look.
        self._alive_at = time.monotonic()
        self._used: tuple[float, float] | None = None

    @property
    def _pause(self) -> float:
        settings = self._settings
        minutes = [minutes for minutes in (settings.stall_after, settings.stop_stuck) if minutes]
        return min(max(min(minutes, default=LONGEST_LOOK) * 6, SHORTEST_LOOK), LONGEST_LOOK)

    async def run(self) -> None:
        """Watches until cancelled. A failure is logged, and the next look tries again."""
        while True:
            await asyncio.sleep(self._pause)
            try:
                if self._resumed:
                    await self._continue_clock()
                await self._look()
            except Exception as error:
                log.warning("turn_not_watched", session=self._agent.session_id, error=repr(error))

    async def _continue_clock(self) -> None:
        """Sets the clock of a turn that an earlier server watched back to what its agent said last."""
        newest: str | None = await self._store.read(lambda tx: tx.value(MESSAGES.newest_of_task, task_id=self._task.id))
        if newest is not None:
            self._alive_at = time.monotonic() - max(0.0, -seconds_until(newest))
        self._resumed = False

    async def _look(self) -> None:
        """Compares the turn with its mark."""
        now = time.monotonic()
        if self._agent.lent:
            self._lives(now)
            return
        if self._agent.heard_at > self._alive_at:
            self._lives(self._agent.heard_at)
        known = self._used is not None
        if now - self._alive_at >= self._pause:
            used = await self._agent.cpu_seconds()
            if self._used is None:
                self._used = (used, now)
            elif abs(used - self._used[0]) > (now - self._used[1]) * BUSY_SHARE + TICK:
                self._lives(now)
        quiet = now - self._alive_at
        stall_after, loop_after = self._settings.stall_after * 60, self._settings.loop_after
        stuck: Stuck | None = None
        if stall_after and known and quiet >= stall_after:
            stuck = "stalled"
        elif loop_after and self._agent.recorder.calls.loops(loop_after):
            stuck = "looping"
        await self._apply(stuck, quiet)

    def _lives(self, moment: float) -> None:
        self._alive_at, self._used = moment, None

    async def _apply(self, stuck: Stuck | None, quiet: float) -> None:
        session = await self._store.read(lambda tx: records.session(tx, self._agent.session_id))
        if session.stuck != stuck:
            await self._store.write(lambda change: self._mark(change, stuck, quiet))
        elif stuck is not None and self._is_due(session) and await self._store.write(self._end):
            log.warning("stuck_turn_stopped", session=session.id, task=self._task.id, stuck=stuck)
            self._stop(self._task)

    def _is_due(self, session: Session) -> bool:
        minutes = self._settings.stop_stuck
        return bool(minutes) and session.stuck_since is not None and -seconds_until(session.stuck_since) >= minutes * 60

    async def _mark(self, change: Change, stuck: Stuck | None, quiet: float) -> None:
        session = await self._running(change.tx)
        if session is None or (stuck is not None and await self._waits_for_person(change.tx)):
            self._lives(time.monotonic())
            return
        since = None if stuck is None else before(quiet) if stuck == "stalled" else change.now
        await records.update_session(change, session.id, stuck=stuck, stuck_since=since)
        if stuck is None:
            return
        log.warning("turn_stuck", session=session.id, task=self._task.id, stuck=stuck)
        nudged = await change.tx.value(TASKS.nudges, turn_id=self._task.id)
        if self._settings.nudge_stuck and not nudged and self._agent.entry.steering.method:
            await self._nudge(change, session, stuck)

    async def _nudge(self, change: Change, session: Session, stuck: Stuck) -> None:
        words = STALLED_NUDGE if stuck == "stalled" else LOOPING_NUDGE
        text = words.format(minutes=self._settings.stall_after, times=self._settings.loop_after)
        task = await enqueue(change, session, text, source="schedule", from_session=None)
        await records.update_task(change, task.id, nudge=True)
        await steering.begin(change, task, self._task)

    async def _end(self, change: Change) -> bool:
        """Records that the turn is being stopped, and why; returns False if it no longer runs."""
        session = await self._running(change.tx)
        if session is None or session.stuck is None or await self._waits_for_person(change.tx):
            return False
        await records.move_task(change, self._task.id, "stopping")
        await session_lifecycle.withdraw_approvals(change, self._task.id)
        await tool_call.withdraw(change, session.id, "The turn in which this was wanted was stopped.")
        words = STOPPED_STALLED if session.stuck == "stalled" else STOPPED_LOOPING
        since = str(session.stuck_since)[:16].replace("T", " ")
        text = words.format(since=since, times=self._settings.loop_after)
        await records.add_message(change, session.id, self._task.id, "system", message.notice(text))
        await records.update_session(change, session.id, queue_paused=True, pause_reason=text)
        return True

    async def _running(self, tx: Tx) -> Session | None:
        """Returns the session if this attempt of the turn runs and waits for nobody."""
        task = await records.task(tx, self._task.id)
        if task.attempt != self._task.attempt or task.status != "running":
            return None
        session = await records.session(tx, task.session_id)
        return session if session.activity == "running" else None

    async def _waits_for_person(self, tx: Tx) -> bool:
        return bool(await tx.value(APPROVALS.pending_of_session, session_id=self._agent.session_id))


class StuckTurns:
    """Watches the running turns of this server."""

    def __init__(self, store: Store, settings: Settings, cancel: Callable[[str, Task], Awaitable[None]]) -> None:
        """`cancel` stops the turn of a session, and ends an agent that does not stop."""
        self._store = store
        self._settings = settings
        self._cancel = cancel
        # Turns that are being stopped.
        self._stopping: set[asyncio.Future[None]] = set()

    @contextlib.asynccontextmanager
    async def during(self, agent: Agent, task: Task, *, resumed: bool) -> AsyncGenerator[None]:
        """Watches a turn while it runs."""
        watch = TurnWatch(self._store, self._settings, agent, task, self._stop, resumed=resumed)
        watching = asyncio.create_task(watch.run(), name=f"watch {task.id}")
        try:
            yield
        finally:
            watching.cancel()
            await asyncio.wait((watching,))

    def _stop(self, task: Task) -> None:
        stopping = asyncio.ensure_future(self._cancel(task.session_id, task))
        self._stopping.add(stopping)
        stopping.add_done_callback(self._stopped)

    def _stopped(self, stopping: asyncio.Future[None]) -> None:
        self._stopping.discard(stopping)
        if not stopping.cancelled() and (error := stopping.exception()) is not None:
            log.warning("turn_not_stopped", error=str(error))
