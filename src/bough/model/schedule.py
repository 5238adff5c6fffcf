"""Defines schedules: prompts that are sent by the clock, and their runs."""

from __future__ import annotations

from typing import Literal, get_args

import msgspec

# Whether a time that passed while no server ran is made up for, once.
MissedPolicy = Literal["run", "skip"]
# Whether a run starts while the turn of the previous run is not over.
OverlapPolicy = Literal["run", "skip"]
RunTrigger = Literal["clock", "person"]
# `starting` until the prompt is queued; a run that is `skipped` or `failed` queued none.
RunStatus = Literal["starting", "started", "skipped", "failed"]

MISSED_POLICIES: tuple[MissedPolicy, ...] = get_args(MissedPolicy)
OVERLAP_POLICIES: tuple[OverlapPolicy, ...] = get_args(OverlapPolicy)


class Schedule(msgspec.Struct, rename="camel"):
    """A row of `schedules`. It has either `cron` or `at`, and either `sessionId` or `template`."""

    id: str
    title: str
    prompt: str
    # Minute, hour, day of month, month, day of week, in `timezone`.
    cron: str | None
    at: str | None
    timezone: str
    # The session that gets the prompt.
    session_id: str | None
    # The new session of each run, as `POST /api/sessions` takes it.
    template: msgspec.Raw | None
    missed: MissedPolicy
    overlap: OverlapPolicy
    paused: bool
    pause_reason: str | None
    failures: int
    created_by: msgspec.Raw
    next_at: str | None
    created_at: str
    updated_at: str


class ScheduleRun(msgspec.Struct, rename="camel"):
    """A row of `schedule_runs`: one time of a schedule, and what came of it."""

    id: str
    schedule_id: str
    # The time that was due, or the time at which somebody asked for the run.
    slot: str
    trigger: RunTrigger
    status: RunStatus
    # Why it was skipped, failed or has to wait.
    reason: str | None
    # How many earlier times passed unused.
    missed: int
    session_id: str | None
    task_id: str | None
    created_at: str
    # 1 for the schedule's first run; the history has only the newest.
    number: int
