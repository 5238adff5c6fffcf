"""Reads sessions as lists show them: the start page, the sidebar, usage by tree."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from bough.core.store.session_secrets import redactors_of
from bough.core.store.sql import HOME
from bough.model.session import Activity, Kind, Status
from bough.model.task import TaskStatus
from bough.model.values.redaction import Redactor
from bough.model.views.home import HomeSession, LastTask
from bough.storage.backend import Tx

TITLE = 120


class _Row(msgspec.Struct):
    """A session with its last task, as the query returns it."""

    id: str
    title: str
    agent: str
    status: Status
    activity: Activity
    kind: Kind
    repo_id: str
    repo_name: str
    worktree_id: str | None
    branch: str | None
    root_session_id: str
    parent_session_id: str | None
    unread: bool
    queue_paused: bool
    archived: bool
    queued: int
    asking: int
    first_prompt: str
    task_id: str | None
    task_status: TaskStatus | None
    task_prompt: str | None
    task_started_at: str | None
    task_ended_at: str | None
    task_error: msgspec.Raw | None
    updated_at: str
    active_at: str
    tokens: int
    cost: float


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
    return HomeSession(
        id=row.id,
        title=row.title or first_line(redactor.beginning(row.first_prompt)),
        agent=row.agent,
        status=row.status,
        activity=row.activity,
        kind=row.kind,
        repo_id=row.repo_id,
        repo_name=row.repo_name,
        worktree_id=row.worktree_id,
        branch=row.branch,
        root_session_id=row.root_session_id,
        parent_session_id=row.parent_session_id,
        unread=row.unread,
        queue_paused=row.queue_paused,
        archived=row.archived,
        queued=row.queued,
        asking=row.asking,
        last_task=last,
        updated_at=row.updated_at,
        active_at=row.active_at,
        tokens=row.tokens,
        cost=row.cost,
    )


def first_line(prompt: str) -> str:
    """Returns the first line of a prompt, as the title of a session without one."""
    line = next((line.strip() for line in prompt.splitlines() if line.strip()), "")
    return line if len(line) <= TITLE else line[: TITLE - 1] + "…"
