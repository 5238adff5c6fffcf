"""Reads sessions as lists show them: the start page, the sidebar, usage by tree."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from bough.core.store.session_secrets import redactors_of
from bough.core.store.sql import HOME
from bough.model.task import TaskStatus
from bough.model.values.redaction import Redactor
from bough.model.views.home import HomeSession, LastTask, SessionSummary
from bough.storage.backend import Tx

TITLE = 120


class _Row(SessionSummary, kw_only=True):
    """A session with its last task, as the query returns it."""

    first_prompt: str
    task_id: str | None
    task_status: TaskStatus | None
    task_prompt: str | None
    task_started_at: str | None
    task_ended_at: str | None
    task_error: msgspec.Raw | None


async def read_sessions(tx: Tx, session_ids: Iterable[str]) -> dict[str, HomeSession]:
    """Returns sessions by id, without those that are gone."""
    listed_ids = list(dict.fromkeys(session_ids))
    rows = await tx.all(HOME.sessions, _Row, ids=listed_ids) if listed_ids else []
    redactors = await redactors_of(tx, listed_ids)
    return {row.id: _session(row, redactors[row.id]) for row in rows}


def _session(row: _Row, redactor: Redactor) -> HomeSession:
    last = None
    if row.task_id is not None and row.task_status is not None:
        last = LastTask(
            row.task_id,
            row.task_status,
            redactor.beginning(row.task_prompt or ""),
            row.task_started_at,
            row.task_ended_at,
            row.task_error,
        )
    summary: dict[str, Any] = {name: getattr(row, name) for name in SessionSummary.__struct_fields__}
    summary["title"] = row.title or first_line(redactor.beginning(row.first_prompt))
    return HomeSession(**summary, last_task=last)


def first_line(prompt: str) -> str:
    """Returns the first line of a prompt, as the title of a session without one."""
    line = next((line.strip() for line in prompt.splitlines() if line.strip()), "")
    return line if len(line) <= TITLE else line[: TITLE - 1] + "…"
