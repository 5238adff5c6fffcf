"""Starts the runs that are due, and those that an earlier server left."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

import structlog

from bough.core.schedules import times
from bough.core.schedules.schedule_runs import ScheduleRuns
from bough.core.store.sql import SCHEDULES
from bough.core.store.transactions import Change, Store
from bough.model.schedule import Schedule, ScheduleRun
from bough.model.values.times import now, seconds_between, seconds_until

log = structlog.get_logger("bough.schedules")

# Seconds between two looks at most, because the machine's clock can jump and machines sleep.
LONGEST_SLEEP = 15.0
SHORTEST_SLEEP = 0.05
# A time that passed longer ago than this, in seconds, was missed.
LATE = 300.0
MISSED = "No server ran at that time."


class ScheduleClock:
    """Looks at all schedules whenever one is due or has changed."""

    def __init__(
        self, store: Store, runs: ScheduleRuns, changed: asyncio.Event, clock: Callable[[], str] = now
    ) -> None:
        self._store = store
        self._runs = runs
        self._changed = changed
        self._clock = clock
        # The runs that are being started, by their ids.
        self._under_way: dict[str, asyncio.Task[None]] = {}

    async def run(self) -> None:
        """Runs until cancelled."""
        try:
            while True:
                self._changed.clear()
                pause = LONGEST_SLEEP
                try:
                    pause = await self.look()
                except Exception as error:
                    log.warning("schedules_not_run", error=str(error))
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._changed.wait(), pause)
        finally:
            await self._stop()

    async def look(self) -> float:
        """Starts what is due, and returns the seconds until the next look."""
        broken: set[str] = set()
        for schedule in await self._store.read(lambda tx: tx.all(SCHEDULES.active, Schedule)):
            try:
                await self._take(schedule)
            except Exception as error:
                broken.add(schedule.id)
                log.warning("schedule_not_taken", schedule=schedule.id, error=repr(error))
        for run in await self._runs.starting():
            if run.id not in self._under_way:
                start = asyncio.create_task(self._start(run), name=f"schedule run {run.id}")
                self._under_way[run.id] = start
                start.add_done_callback(lambda _, run_id=run.id: self._under_way.pop(run_id))
        if self._under_way:
            # A new worktree may take long, and must not make the other schedules late.
            await asyncio.wait(self._under_way.values(), timeout=LONGEST_SLEEP)
        nexts = await self._store.read(lambda tx: tx.all(SCHEDULES.active, Schedule))
        # One that could not be taken is still due, and must not keep the clock busy.
        dues = [schedule.next_at for schedule in nexts if schedule.next_at and schedule.id not in broken]
        due = min(map(seconds_until, dues), default=LONGEST_SLEEP)
        return min(max(due, SHORTEST_SLEEP), LONGEST_SLEEP)

    async def _stop(self) -> None:
        """Leaves the runs that are being started to the next server."""
        starts = list(self._under_way.values())
        for start in starts:
            start.cancel()
        if starts:
            await asyncio.wait(starts)

    async def _start(self, run: ScheduleRun) -> None:
        """Starts one run; what goes wrong with it must not stop the others."""
        try:
            await self._runs.start(run)
        except Exception as error:
            log.warning("schedule_run_waits", run=run.id, error=str(error))

    async def _take(self, schedule: Schedule) -> None:
        """Adds a run if a schedule is due, and stores its next time in the same transaction."""
        moment, due = self._clock(), schedule.next_at
        assert due is not None
        if due > moment and not self._jumped(schedule, moment):
            return
        following = times.next_time(schedule.cron, schedule.timezone, moment) if schedule.cron is not None else None
        newest, missed = due, 0
        if schedule.cron is not None and due <= moment:
            newest, missed = times.newest_time(schedule.cron, schedule.timezone, due, moment)
        too_late = schedule.missed == "skip" and seconds_between(newest, moment) > LATE

        async def work(change: Change) -> None:
            fresh = await change.tx.one(SCHEDULES.get, Schedule, id=schedule.id)
            if fresh is None or fresh.paused or fresh.next_at != due or fresh.updated_at != schedule.updated_at:
                # It was changed meanwhile; the next look sees that.
                return
            query = SCHEDULES.patch.with_(set="next_at = :next_at")
            fresh = await change.tx.one(query, Schedule, id=fresh.id, now=change.now, next_at=following)
            if fresh is None or due > moment:
                return
            run = await self._runs.add(change, fresh, newest, "clock", missed)
            if run is not None and too_late:
                await self._runs.skip(change, run, MISSED)

        await self._store.write(work)

    def _jumped(self, schedule: Schedule, moment: str) -> bool:
        """Tells whether a schedule has an earlier time than the stored one: the machine's clock was set back."""
        if schedule.cron is None or schedule.next_at is None:
            return False
        earlier = times.next_time(schedule.cron, schedule.timezone, moment)
        return earlier is not None and earlier < schedule.next_at
