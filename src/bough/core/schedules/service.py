"""Adds, lists, changes, pauses and removes schedules, and starts a run when somebody asks."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from bough.core.policy.sandbox_choice import StoredChoice, sandbox_of_new
from bough.core.presets.find import choose_preset
from bough.core.schedules import times
from bough.core.schedules.requests import (
    NewSchedule,
    SchedulePatch,
    ShownSchedule,
    checked_template,
    checked_timing,
    checked_title,
)
from bough.core.schedules.schedule_runs import ScheduleRuns
from bough.core.schedules.show import emit, show
from bough.core.sessions.from_preset import filled
from bough.core.sessions.requests import NewSession
from bough.core.sessions.service import Sessions
from bough.core.state.enqueue import checked_prompt
from bough.core.store import records
from bough.core.store.idempotency import RecordScope
from bough.core.store.paging import Page
from bough.core.store.patches import changed_fields
from bough.core.store.short_ids import find, find_id
from bough.core.store.sql import SCHEDULES
from bough.core.store.transactions import Change, Store
from bough.core.worktrees.records import session_folder
from bough.errors import Conflict, Invalid
from bough.model.message import raw
from bough.model.schedule import Schedule, ScheduleRun
from bough.model.session import Caller
from bough.model.values.ids import new_id
from bough.model.values.times import now
from bough.settings import Settings
from bough.storage.backend import Tx

MOST_SCHEDULES = 500
ADD = "schedules.add"
# Fields that a patch stores as they are.
STORED_AS_GIVEN = ("missed", "overlap")


class Schedules:
    """Changes the rows of schedules; `clock` starts what is due."""

    def __init__(self, store: Store, settings: Settings, sessions: Sessions, runs: ScheduleRuns) -> None:
        self._store = store
        self._settings = settings
        self._sessions = sessions
        self._runs = runs
        # Set whenever the clock has to look again.
        self.changed = asyncio.Event()

    async def add(self, caller: Caller, new: NewSchedule, *, expected_preset: str | None = None) -> ShownSchedule:
        """Adds a schedule; `expected_preset` is the version of the preset of its sessions that a person has seen."""
        request = msgspec.structs.replace(new, idempotency_key=None)
        stored = await self._store.stored_answer(caller, ADD, request, ShownSchedule)
        if stored is not None:
            # By now, its time may have passed.
            return stored
        timing = checked_timing(new.cron, new.at, new.timezone, now())
        prompt = checked_prompt(new.prompt, self._settings.max_prompt)
        title = checked_title(new.title)
        if (new.session_id is None) == (new.session is None):
            raise Invalid(
                "bad_schedule", "Give either `sessionId`, to prompt one session, or `session`, for a new one per run."
            )
        template = await self._checked(caller, new.session, expected_preset) if new.session is not None else None

        async def work(change: Change) -> ShownSchedule:
            if (await change.tx.value(SCHEDULES.count) or 0) >= MOST_SCHEDULES:
                raise Conflict(
                    "too_many_schedules", f"There are already {MOST_SCHEDULES} schedules. Remove some first."
                )
            session_id = (await records.session(change.tx, new.session_id)).id if new.session_id is not None else None
            schedule = await change.tx.one(
                SCHEDULES.add,
                Schedule,
                id=new_id(),
                title=title or prompt.strip().splitlines()[0][:80],
                prompt=prompt,
                cron=timing.cron,
                at=timing.at,
                timezone=timing.timezone,
                session_id=session_id,
                template=await self._template(change.tx, caller, template) if template is not None else None,
                missed=new.missed,
                overlap=new.overlap,
                paused=new.paused,
                created_by=raw(_author(caller)),
                next_at=timing.next_after(change.now),
                now=change.now,
            )
            assert schedule is not None
            change.audit(caller, "schedule.added", session_id=session_id, subject_id=schedule.id)
            return await emit(change, "schedule.created", schedule)

        shown = await self._store.write_once(caller, ADD, request, ShownSchedule, work)
        self.changed.set()
        return shown

    async def _checked(self, caller: Caller, session: NewSession, expected_preset: str | None = None) -> NewSession:
        checked = checked_template(session)
        self._sessions.check(caller, await self._sessions.filled_in(checked, expected_preset))
        return checked

    async def _template(self, tx: Tx, caller: Caller, session: NewSession) -> str:
        """Returns a template as it is stored: with whole ids, and for an agent's schedule confined as a session that it
        creates now from the same preset. A person's schedule follows its preset."""
        repo, worktree = await session_folder(tx, session.repo_id, session.worktree_id)
        servers = session.mcp_server_ids
        if servers is not None:
            servers = [await find_id(tx, "mcp_servers", server_id) for server_id in servers]
        preset = await choose_preset(tx, session.preset) if session.preset is not None else None
        whole = filled(session, preset) if preset is not None else session
        requested = StoredChoice(whole.sandbox, whole.sandbox_profile)
        choice = await sandbox_of_new(tx, caller, self._settings, repo.id, requested)
        if caller.kind == "person":
            choice = StoredChoice(session.sandbox, session.sandbox_profile)
        stored = msgspec.structs.replace(
            session,
            repo_id=repo.id if session.repo_id is not None else None,
            worktree_id=worktree.id if worktree is not None else None,
            # By its id, so that it can be renamed.
            preset=preset.id if preset is not None else None,
            mcp_server_ids=servers,
            sandbox=choice.sandbox,
            sandbox_profile=choice.profile,
        )
        return msgspec.json.encode(stored).decode()

    async def get(self, schedule_id: str) -> ShownSchedule:
        async def work(tx: Tx) -> ShownSchedule:
            return await show(tx, await find(tx, "schedules", schedule_id, SCHEDULES.get, Schedule))

        return await self._store.read(work)

    async def list(self, session_id: str | None, limit: int, offset: int) -> Page[ShownSchedule]:
        """Lists schedules, those that are due next first; with a session, those that prompt it."""

        async def work(tx: Tx) -> Page[ShownSchedule]:
            query, count, params = SCHEDULES.page, SCHEDULES.count, {}
            if session_id is not None:
                query, count = SCHEDULES.of_session, SCHEDULES.count_of_session
                params = {"session_id": (await records.session(tx, session_id)).id}
            rows = await tx.all(query, Schedule, limit=limit, offset=offset, **params)
            shown = [await show(tx, row) for row in rows]
            return Page(shown, await tx.value(count, **params) or 0, limit, offset)

        return await self._store.read(work)

    async def patch(self, caller: Caller, schedule_id: str, patch: SchedulePatch) -> ShownSchedule:
        """Changes a schedule. The next time is recomputed if its times change or it is resumed."""
        changes = changed_fields(patch)
        if "cron" in changes and "at" in changes:
            raise Invalid("bad_schedule", "Give either `cron`, for repeated runs, or `at`, for a single one.")
        template = await self._checked(caller, patch.session) if patch.session is not msgspec.UNSET else None

        async def work(change: Change) -> ShownSchedule:
            before = await find(change.tx, "schedules", schedule_id, SCHEDULES.get, Schedule)
            columns: dict[str, Any] = {name: changes[name] for name in STORED_AS_GIVEN if name in changes}
            if "title" in changes:
                columns["title"] = checked_title(changes["title"]) or before.title
            if "prompt" in changes:
                columns["prompt"] = checked_prompt(changes["prompt"], self._settings.max_prompt)
            if template is not None:
                if before.session_id is not None:
                    raise Conflict(
                        "schedule_has_session",
                        "This schedule prompts one session, so it takes no template. Add another schedule.",
                    )
                columns["template"] = await self._template(change.tx, caller, template)
            if columns.keys() & {"prompt", "template"}:
                columns["created_by"] = raw(_author(caller))
            columns |= self._timing(before, changes, change.now)
            fresh = await _update(change, before.id, columns) if columns else before
            change.audit(caller, "schedule.changed", session_id=fresh.session_id, subject_id=fresh.id)
            return await emit(change, "schedule.patched", fresh)

        shown = await self._store.write(work)
        self.changed.set()
        return shown

    def _timing(self, before: Schedule, changes: dict[str, Any], moment: str) -> dict[str, Any]:
        """Returns the changed columns about times and pauses."""
        columns: dict[str, Any] = {}
        # What is sent again as it was says nothing new: a single time that has passed is no error then.
        if any(changes[name] != getattr(before, name) for name in ("cron", "at", "timezone") if name in changes):
            cron = changes.get("cron", None if "at" in changes else before.cron)
            at = changes.get("at", None if "cron" in changes else before.at)
            timing = checked_timing(cron, at, changes.get("timezone", before.timezone), moment)
            columns |= {"cron": timing.cron, "at": timing.at, "timezone": timing.timezone}
            columns["next_at"] = timing.next_after(moment)
        if "paused" in changes:
            columns |= {"paused": changes["paused"], "pause_reason": None, "failures": 0}
            if before.paused and not changes["paused"] and before.cron is not None and "next_at" not in columns:
                # What passed during the pause was not missed.
                columns["next_at"] = times.next_time(before.cron, before.timezone, moment)
        return columns

    async def remove(self, caller: Caller, schedule_id: str) -> ShownSchedule:
        """Removes a schedule with the history of its runs. Sessions and prompts that it started stay."""

        async def work(change: Change) -> ShownSchedule:
            schedule = await find(change.tx, "schedules", schedule_id, SCHEDULES.get, Schedule)
            shown = await show(change.tx, schedule)
            await change.tx.run(SCHEDULES.remove, id=schedule.id)
            change.emit("schedule.removed", shown)
            change.audit(caller, "schedule.removed", session_id=schedule.session_id, subject_id=schedule.id)
            return shown

        return await self._store.write(work)

    async def run_now(self, caller: Caller, schedule_id: str) -> ScheduleRun:
        """Starts a run at once, also of a paused schedule; its times stay as they are."""

        async def work(change: Change) -> ScheduleRun:
            schedule = await find(change.tx, "schedules", schedule_id, SCHEDULES.get, Schedule)
            run = await self._runs.add(change, schedule, change.now, "person", 0)
            if run is None:
                raise Conflict("run_exists", "A run of this schedule was started at the same moment.")
            change.audit(caller, "schedule.run", session_id=schedule.session_id, subject_id=schedule.id)
            return run

        scope = RecordScope("schedules.run", "schedules", schedule_id)
        run = await self._store.write_once(caller, scope, None, ScheduleRun, work)
        return await self._runs.start(run)

    async def runs(self, schedule_id: str, limit: int, offset: int) -> Page[ScheduleRun]:
        """Lists the runs of a schedule, newest first."""

        async def work(tx: Tx) -> Page[ScheduleRun]:
            schedule = await find(tx, "schedules", schedule_id, SCHEDULES.get, Schedule)
            rows = await tx.all(SCHEDULES.runs, ScheduleRun, schedule_id=schedule.id, limit=limit, offset=offset)
            total = await tx.value(SCHEDULES.count_runs, schedule_id=schedule.id) or 0
            return Page(rows, total, limit, offset)

        return await self._store.read(work)


async def _update(change: Change, schedule_id: str, columns: dict[str, Any]) -> Schedule:
    query = SCHEDULES.patch.setting(columns)
    fresh = await change.tx.one(query, Schedule, id=schedule_id, now=change.now, **columns)
    assert fresh is not None
    return fresh


def _author(caller: Caller) -> dict[str, str | None]:
    """Returns who answers for the runs: with the id of a named user, whose role is looked up at each run."""
    return caller.record() | ({"userId": caller.user_id} if caller.user_id is not None else {})
