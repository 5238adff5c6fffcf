"""Starts the runs of schedules, each once: a prompt is queued in the same transaction that ends the start, and a new
session is created under a key of the run, so that a repeat after a kill finds it."""

from __future__ import annotations

import asyncio
from typing import Any
from weakref import WeakValueDictionary

import msgspec
import structlog

from bough.core.schedules import times
from bough.core.schedules.show import emit
from bough.core.sessions.requests import NewSession
from bough.core.sessions.tasks import Tasks
from bough.core.sessions.with_worktree import WorktreeSessions
from bough.core.store import records
from bough.core.store.sql import SCHEDULES, TASKS, USERS
from bough.core.store.transactions import Change, Store
from bough.core.store.until_available import until_available
from bough.errors import BoughError, Busy, Denied, Unavailable
from bough.model.access.user import OWNER, User
from bough.model.schedule import RunStatus, RunTrigger, Schedule, ScheduleRun
from bough.model.session import Caller
from bough.model.task import TERMINAL, Task
from bough.model.values.ids import new_id
from bough.model.values.times import now, seconds_between
from bough.storage.backend import Tx

log = structlog.get_logger("bough.schedules")

# The history of a schedule has its newest runs.
MOST_RUNS = 200
# How long, in seconds, a run is retried that a limit on sessions or prompts refuses.
BUSY_WITHIN = 600.0
# The number of failures in a row after which a schedule is paused.
MOST_FAILURES = 5
STILL_OPEN = "The previous run is still going."
PAUSED = "The schedule was paused before this run started."


class _Author(msgspec.Struct):
    """The author of a schedule, who answers for its runs, as its row names them."""

    kind: str
    id: str | None = None
    user: str | None = None
    user_id: str | None = msgspec.field(default=None, name="userId")


class ScheduleRuns:
    """Adds runs and starts them."""

    def __init__(self, store: Store, tasks: Tasks, worktree_sessions: WorktreeSessions) -> None:
        self._store = store
        self._tasks = tasks
        self._worktree_sessions = worktree_sessions
        # By schedule; a lock goes when nobody holds it.
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def add(
        self, change: Change, schedule: Schedule, slot: str, trigger: RunTrigger, missed: int
    ) -> ScheduleRun | None:
        """Adds a run for one time, in a transaction; returns None if that time was used already."""
        fields: dict[str, Any] = {"schedule_id": schedule.id, "slot": slot, "trigger": trigger, "missed": missed}
        run = await change.tx.one(SCHEDULES.add_run, ScheduleRun, id=new_id(), now=change.now, **fields)
        if run is not None:
            await change.tx.run(SCHEDULES.prune_runs, schedule_id=schedule.id, keep=MOST_RUNS)
            await emit(change, "schedule.patched", schedule)
        return run

    async def starting(self) -> list[ScheduleRun]:
        """Returns the runs that were added and not started yet, also by an earlier server."""
        return await self._store.read(lambda tx: tx.all(SCHEDULES.starting, ScheduleRun))

    async def start(self, run: ScheduleRun) -> ScheduleRun:
        """Starts a run and returns it as it is then. Safe to repeat: it acts once. The runs of one schedule start one
        after the other, so that the next one sees whether the last one is over."""
        async with self._locks.setdefault(run.schedule_id, asyncio.Lock()):
            return await self._start_alone(run)

    async def _start_alone(self, run: ScheduleRun) -> ScheduleRun:
        try:
            return await self._start(run)
        except Unavailable:
            # The run stays, and the clock tries it again.
            raise
        except Busy as error:
            if seconds_between(run.created_at, now()) < BUSY_WITHIN:
                return await self._delay(run, error.message)
            return await self._fail(run, error.message)
        except BoughError as error:
            return await self._fail(run, error.message)
        except Exception as error:
            log.exception("schedule_run_broke", schedule=run.schedule_id, run=run.id)
            return await self._fail(run, f"Unexpected error: {type(error).__name__}.")

    async def _start(self, run: ScheduleRun) -> ScheduleRun:
        async def work(tx: Tx) -> tuple[Schedule, Caller, bool, bool] | None:
            fresh = await tx.one(SCHEDULES.get_run, ScheduleRun, id=run.id)
            schedule = await tx.one(SCHEDULES.get, Schedule, id=run.schedule_id)
            if fresh is None or fresh.status != "starting" or schedule is None:
                return None
            # The session of a run that no limit delayed may exist already, if its start was not stored.
            untouched = schedule.session_id is not None or fresh.reason is not None
            held = schedule.paused and untouched and run.trigger == "clock"
            return schedule, await _caller(tx, schedule), await _is_open(tx, schedule), held

        read = await self._store.read(work)
        if read is None:
            return await self._current(run)
        schedule, caller, is_open, held = read
        if held:
            return await self._end(run, "skipped", PAUSED)
        if is_open and schedule.overlap == "skip" and run.trigger == "clock":
            return await self._end(run, "skipped", STILL_OPEN)
        prompt = times.filled(schedule.prompt, run.slot, schedule.timezone, run.number)
        if schedule.session_id is not None:
            return await self._prompt(run, caller, schedule.session_id, prompt)
        return await self._open(run, caller, schedule, prompt)

    async def _prompt(self, run: ScheduleRun, caller: Caller, session_id: str, prompt: str) -> ScheduleRun:
        """Queues the prompt and ends the start in one transaction."""
        escaped = await self._tasks.escaped(session_id)

        async def work(change: Change) -> ScheduleRun:
            session = await records.session(change.tx, session_id)
            fresh = await change.tx.one(SCHEDULES.get_run, ScheduleRun, id=run.id)
            if fresh is None or fresh.status != "starting":
                return fresh or run
            session, _ = await self._tasks.open(change, caller, session, escaped, resume=True, make_room=False)
            task = await self._tasks.queue(change, caller, session, prompt, by_clock=True)
            return await _end(change, run, "started", None, session.id, task.id)

        return await self._store.write(work)

    async def _open(self, run: ScheduleRun, caller: Caller, schedule: Schedule, prompt: str) -> ScheduleRun:
        """Creates the run's session. Its key makes a repeat find the session instead of creating another."""
        assert schedule.template is not None
        new = msgspec.json.decode(schedule.template, type=NewSession)

        def fill(text: str) -> str:
            return times.filled(text, run.slot, schedule.timezone, run.number)

        if new.worktree is not None:
            tree = new.worktree
            path = fill(tree.path) if tree.path is not None else None
            filled = msgspec.structs.replace(tree, branch=fill(tree.branch), path=path)
            new = msgspec.structs.replace(new, worktree=filled)
        new = msgspec.structs.replace(new, title=fill(new.title or schedule.title), initial_prompt=prompt)
        keyed = msgspec.structs.replace(caller, idempotency_key=f"schedule:{run.id}")
        opened = await self._worktree_sessions.create(keyed, new)
        return await self._end(run, "started", None, opened.session.id, opened.task_id)

    async def _end(
        self,
        run: ScheduleRun,
        status: RunStatus,
        reason: str | None,
        session_id: str | None = None,
        task_id: str | None = None,
    ) -> ScheduleRun:
        return await until_available(
            lambda: self._store.write(lambda change: _end(change, run, status, reason, session_id, task_id)),
            "the start of a schedule's run",
            run=run.id,
        )

    async def skip(self, change: Change, run: ScheduleRun, reason: str) -> ScheduleRun:
        """Leaves a run out, in the transaction that adds it: a kill in between would have it start."""
        return await _end(change, run, "skipped", reason, None, None)

    async def _fail(self, run: ScheduleRun, reason: str) -> ScheduleRun:
        log.warning("schedule_run_failed", schedule=run.schedule_id, run=run.id, reason=reason)
        return await self._end(run, "failed", reason)

    async def _delay(self, run: ScheduleRun, reason: str) -> ScheduleRun:
        async def work(change: Change) -> ScheduleRun:
            delayed = await change.tx.one(SCHEDULES.delay_run, ScheduleRun, id=run.id, reason=reason)
            schedule = await change.tx.one(SCHEDULES.get, Schedule, id=run.schedule_id)
            if delayed is not None and schedule is not None and run.reason != reason:
                await emit(change, "schedule.patched", schedule)
            return delayed or run

        return await self._store.write(work)

    async def _current(self, run: ScheduleRun) -> ScheduleRun:
        return await self._store.read(lambda tx: tx.one(SCHEDULES.get_run, ScheduleRun, id=run.id)) or run


async def _end(
    change: Change, run: ScheduleRun, status: RunStatus, reason: str | None, session_id: str | None, task_id: str | None
) -> ScheduleRun:
    """Stores how a start ended, and pauses a schedule that only fails."""
    fields = {"status": status, "reason": reason, "session_id": session_id, "task_id": task_id}
    ended = await change.tx.one(SCHEDULES.end_run, ScheduleRun, id=run.id, **fields)
    schedule = await change.tx.one(SCHEDULES.get, Schedule, id=run.schedule_id)
    if ended is None or schedule is None:
        return await change.tx.one(SCHEDULES.get_run, ScheduleRun, id=run.id) or run
    columns: dict[str, Any] = {"failures": schedule.failures + 1 if status == "failed" else 0}
    if status == "failed" and columns["failures"] >= MOST_FAILURES and not schedule.paused:
        columns |= {"paused": True, "pause_reason": f"{MOST_FAILURES} runs in a row failed. The last reason: {reason}"}
    if status != "skipped":
        query = SCHEDULES.patch.setting(columns)
        schedule = await change.tx.one(query, Schedule, id=schedule.id, now=change.now, **columns) or schedule
    await emit(change, "schedule.patched", schedule)
    return ended


async def _is_open(tx: Tx, schedule: Schedule) -> bool:
    """Tells whether the turn of the newest run is not over."""
    task_id = await tx.value(SCHEDULES.last_task, schedule_id=schedule.id)
    task = await tx.one(TASKS.get, Task, id=task_id) if task_id is not None else None
    return task is not None and task.status not in TERMINAL


async def _caller(tx: Tx, schedule: Schedule) -> Caller:
    """Returns who the run counts as: its author with the role of today. For a schedule that a person allowed an agent
    to add, it is Bough itself, with the agent's session as the author of the prompt, which stays an agent's text."""
    author = msgspec.json.decode(schedule.created_by, type=_Author)
    if author.kind != "person":
        return Caller("system", author.id, door="server")
    if author.user_id is None:
        return Caller(door="server")
    user = await tx.one(USERS.get, User, id=author.user_id)
    if user is None:
        raise Denied(
            "schedule_author_gone",
            f"The user {author.user or OWNER}, who added this schedule, was removed. Add the schedule again.",
        )
    caller = Caller(user_id=user.id, user_name=user.name, role=user.role, door="server")
    caller.require("operator", "run a schedule")
    return caller
