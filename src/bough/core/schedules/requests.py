"""Requests about schedules, and the checks that need no database."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from bough.core.schedules import times
from bough.core.sessions.requests import LONGEST_TITLE, NewSession
from bough.errors import Invalid
from bough.model.schedule import MissedPolicy, OverlapPolicy, Schedule, ScheduleRun

# What a run gives itself, and what holds secrets: a schedule is shown to everybody who may read.
NOT_IN_TEMPLATE = ("initialPrompt", "idempotencyKey", "env", "files")


class NewSchedule(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """A schedule to add.

    - `cron` (five fields, in `timezone`) or `at` (one time).
    - `sessionId`, or `session`: the new session of each run, as `POST /api/sessions` takes it, without a prompt and
      variables. `{date}`, `{time}` and `{number}` are filled in its title and branch, and in the prompt.
    - `missed`: `run` makes up once for times that passed while no server ran, `skip` does not.
    - `overlap`: `skip` leaves a time out while the previous run is still going, `run` does not."""

    prompt: str
    cron: str | None = None
    at: str | None = None
    timezone: str = "UTC"
    session_id: str | None = None
    session: NewSession | None = None
    title: str = ""
    missed: MissedPolicy = "run"
    overlap: OverlapPolicy = "skip"
    paused: bool = False
    idempotency_key: str | None = None


class SchedulePatch(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Changes to a schedule; omitted fields stay. Whoever changes what it does answers for its runs."""

    prompt: str | msgspec.UnsetType = msgspec.UNSET
    cron: str | msgspec.UnsetType = msgspec.UNSET
    at: str | msgspec.UnsetType = msgspec.UNSET
    timezone: str | msgspec.UnsetType = msgspec.UNSET
    session: NewSession | msgspec.UnsetType = msgspec.UNSET
    title: str | msgspec.UnsetType = msgspec.UNSET
    missed: MissedPolicy | msgspec.UnsetType = msgspec.UNSET
    overlap: OverlapPolicy | msgspec.UnsetType = msgspec.UNSET
    paused: bool | msgspec.UnsetType = msgspec.UNSET


class ShownSchedule(Schedule):
    """A schedule with its times in words, the next few of them, its newest run, and the name of its preset; `problem`
    says what is missing for the next run."""

    times: str = ""
    upcoming: list[str] = msgspec.field(default_factory=list[str])
    last_run: ScheduleRun | None = None
    preset: str | None = None
    problem: str | None = None


class RunBody(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    idempotency_key: Annotated[str | None, Meta(description="A repeated key starts one run.")] = None


class Timing(msgspec.Struct, frozen=True):
    """When a schedule is due."""

    cron: str | None
    at: str | None
    timezone: str

    def next_after(self, moment: str) -> str | None:
        """Returns the next time. A single time that has passed since it was checked is due at once."""
        return times.next_time(self.cron, self.timezone, moment) if self.cron is not None else self.at


def checked_timing(cron: str | None, at: str | None, timezone: str, moment: str) -> Timing:
    """Returns when a schedule is due; raises `Invalid` if its times are malformed or have passed."""
    times.checked_zone(timezone)
    if (cron is None) == (at is None):
        raise Invalid("bad_schedule", "Give either `cron`, for repeated runs, or `at`, for a single one.")
    if cron is not None:
        return Timing(times.checked_cron(cron), None, timezone)
    assert at is not None
    once = times.one_time(at, timezone)
    if once <= moment:
        raise Invalid("time_passed", f"{at} has passed. Give a time in the future.")
    return Timing(None, once, timezone)


def checked_title(title: str) -> str:
    if len(title) > LONGEST_TITLE:
        raise Invalid("title_too_long", f"A title has at most {LONGEST_TITLE} characters.")
    return title.strip()


def checked_template(session: NewSession) -> NewSession:
    """Returns the new session of each run; raises `Invalid` for fields that a schedule must not hold."""
    refused = [
        name
        for name, value in zip(
            NOT_IN_TEMPLATE,
            (session.initial_prompt, session.idempotency_key, session.env, session.files),
            strict=True,
        )
        if value not in (None, {}, msgspec.UNSET)
    ]
    if refused:
        raise Invalid(
            "bad_schedule",
            f"The session of a schedule takes no {', '.join(refused)}. The prompt is a field of the schedule itself.",
        )
    if session.repo_id is None and session.worktree_id is None:
        raise Invalid("repo_missing", "Say where the sessions work: send `session.repoId` or `session.worktreeId`.")
    if session.worktree is not None:
        branch, path = times.distinct(session.worktree.branch), session.worktree.path
        path = times.distinct(path) if path is not None else None
        worktree = msgspec.structs.replace(session.worktree, branch=branch, path=path)
        session = msgspec.structs.replace(session, worktree=worktree)
    return session
