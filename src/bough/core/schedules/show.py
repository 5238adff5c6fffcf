"""Shows schedules to people: with their times in words, and without secret values."""

from __future__ import annotations

import msgspec

from bough.core.schedules import times
from bough.core.schedules.requests import ShownSchedule
from bough.core.sessions.requests import NewSession
from bough.core.store.session_secrets import redactor_of
from bough.core.store.sql import PRESETS, SCHEDULES
from bough.core.store.transactions import Change
from bough.model.agents.preset import Preset
from bough.model.event import EventType
from bough.model.schedule import Schedule, ScheduleRun
from bough.model.values.times import now
from bough.storage.backend import Tx

UPCOMING = 3
TIMES_UNREADABLE = "Its times cannot be computed. Change them, or remove the schedule."
PRESET_GONE = "Its preset was removed. Choose another, or add the schedule again."


async def show(tx: Tx, schedule: Schedule) -> ShownSchedule:
    """Returns a schedule as people see it, without the secret values of its session."""
    fields = {name: getattr(schedule, name) for name in Schedule.__struct_fields__}
    if schedule.session_id is not None:
        redactor = await redactor_of(tx, schedule.session_id)
        fields |= {name: redactor.text(fields[name]) for name in ("title", "prompt")}
    last = await tx.all(SCHEDULES.runs, ScheduleRun, schedule_id=schedule.id, limit=1, offset=0)
    preset, problem = await _preset(tx, schedule)
    try:
        words, after = _times(schedule)
    except times.UNREADABLE:
        # Whoever lists it must be able to change or remove it.
        words, after, problem = f"{schedule.cron} ({schedule.timezone})", [], TIMES_UNREADABLE
    return ShownSchedule(
        **fields,
        times=words,
        upcoming=after,
        last_run=last[0] if last else None,
        preset=preset,
        problem=problem,
    )


def _times(schedule: Schedule) -> tuple[str, list[str]]:
    """Returns the times of a schedule in words, and the next ones."""
    if schedule.cron is None:
        return "Once", [schedule.next_at] if schedule.next_at is not None else []
    words = f"{times.explained(schedule.cron)} ({schedule.timezone})"
    return words, times.upcoming(schedule.cron, schedule.timezone, now(), UPCOMING)


async def _preset(tx: Tx, schedule: Schedule) -> tuple[str | None, str | None]:
    """Returns the name of a schedule's preset, and what is wrong with it."""
    if schedule.template is None:
        return None, None
    session = msgspec.json.decode(schedule.template, type=NewSession)
    if session.preset is None:
        return None, None
    preset = await tx.one(PRESETS.get, Preset, id=session.preset)
    return (preset.name, None) if preset is not None else (None, PRESET_GONE)


async def emit(change: Change, kind: EventType, schedule: Schedule) -> ShownSchedule:
    shown = await show(change.tx, schedule)
    change.emit(kind, shown)
    return shown
