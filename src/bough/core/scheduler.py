"""Places: which session may run its next turn (T5). Decided from rows at every wake-up, so nothing is lost with the
process; running it is `runner`."""

from __future__ import annotations

import asyncio

import msgspec
import structlog

from bough.core.rows import TASKS
from bough.core.runner import Runner
from bough.core.store import CHANNEL_WORK, Store
from bough.settings import Settings
from bough.storage.backend import Tx

log = structlog.get_logger("bough.scheduler")

# Wake-ups are advice; this scan finds what one was lost for.
SCAN_EVERY = 5.0


class Runnable(msgspec.Struct):
    """A session whose queue could move, since when its head waits, and how busy its tree is."""

    session_id: str
    root_session_id: str
    created_at: str
    under_way: int


class Scheduler:
    """Starts turns while there are places."""

    def __init__(self, store: Store, settings: Settings, runner: Runner) -> None:
        self._store = store
        self._settings = settings
        self._runner = runner
        self._wake = asyncio.Event()
        self._turns: dict[str, asyncio.Task[None]] = {}
        self._resting: dict[str, asyncio.Task[None]] = {}

    def poke(self) -> None:
        """A place may have become free."""
        self._wake.set()

    def running(self, session_id: str) -> bool:
        return session_id in self._turns

    async def run(self) -> None:
        """Schedules until cancelled; turns under way are cancelled with it, and found again from their rows."""
        forget = self._store.db.listen(CHANNEL_WORK, lambda _payload: self._wake.set())
        self._wake.set()
        try:
            while True:
                try:
                    async with asyncio.timeout(SCAN_EVERY):
                        await self._wake.wait()
                except TimeoutError:
                    pass
                self._wake.clear()
                await self._pass()
        finally:
            forget()
            await self._cancel_turns()

    async def _cancel_turns(self) -> None:
        under_way = [*self._turns.values(), *self._resting.values()]
        for task in under_way:
            task.cancel()
        if under_way:
            await asyncio.wait(under_way)

    async def _pass(self) -> None:
        waiting = await self._store.read(self._runnable)
        started: dict[str, int] = {}
        candidates = {one.session_id: one for one in waiting if one.session_id not in self._turns}
        while candidates:
            # Fair across trees: the tree with the fewest turns under way first, then whoever waits longest.
            best = min(
                candidates.values(),
                key=lambda one: (
                    one.under_way + started.get(one.root_session_id, 0),
                    one.created_at,
                    one.session_id,
                ),
            )
            if not self._has_place(best.session_id):
                self._make_room(candidates)
                return
            del candidates[best.session_id]
            started[best.root_session_id] = started.get(best.root_session_id, 0) + 1
            self._start(best.session_id)

    async def _runnable(self, tx: Tx) -> list[Runnable]:
        return await tx.all(TASKS.runnable, Runnable)

    def _taken(self) -> int:
        """Places in use: living processes that have not lent theirs, and turns whose process is not up yet."""
        lives = self._runner.lives
        holding = sum(1 for live in lives.values() if not live.lent)
        return holding + sum(1 for session_id in self._turns if session_id not in lives)

    def _has_place(self, session_id: str) -> bool:
        return session_id in self._runner.lives or self._taken() < self._settings.max_agents

    def _make_room(self, wanted: dict[str, Runnable]) -> None:
        """Puts the agent that has been idle longest to sleep, if it can be woken again."""
        idle = [
            live
            for live in self._runner.lives.values()
            if not live.busy
            and live.entry.resume
            and live.session_id not in wanted
            and live.session_id not in self._resting
        ]
        if not idle or self._resting:
            return
        live = min(idle, key=lambda one: one.idle_since)
        log.info("agent_put_to_sleep", session=live.session_id, reason="room")
        task = asyncio.create_task(self._runner.rest(live.session_id))
        self._resting[live.session_id] = task
        task.add_done_callback(lambda _done: (self._resting.pop(live.session_id, None), self._wake.set()))

    def _start(self, session_id: str) -> None:
        task = asyncio.create_task(self._runner.turn(session_id), name=f"turn {session_id}")
        self._turns[session_id] = task
        task.add_done_callback(lambda done: self._done(session_id, done))

    def _done(self, session_id: str, task: asyncio.Task[None]) -> None:
        self._turns.pop(session_id, None)
        self._wake.set()
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("turn_broke", session=session_id, error=repr(error), exc_info=error)
