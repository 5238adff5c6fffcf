"""Reads the start page at once: what needs a person, what runs and is queued, the latest trees, and what was used
(O4)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from bough.core.store.session_secrets import redactors_of
from bough.core.store.sql import COUNTS, HOME
from bough.core.store.transactions import Store
from bough.errors import Invalid
from bough.model.session import Activity, Kind, Status
from bough.model.task import TaskStatus
from bough.model.values.redaction import Redactor
from bough.model.values.times import quarter, written
from bough.model.views.home import (
    Counts,
    Home,
    HomeApproval,
    HomeSession,
    HomeTree,
    LastTask,
    NeedsAttention,
    Totals,
    TurnUsage,
)
from bough.storage.backend import Tx
from bough.storage.queries import Query

# The most entries of a list; totals are given separately.
MOST = 50
MOST_TREES = 20
# Trees are found by their sessions: pages of so many sessions, and at most so many pages.
LOOK = 400
LOOKS = 10
WEEK = 7
# The largest offset of a time zone, in minutes.
FURTHEST = 15 * 60
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


class _Tree(msgspec.Struct):
    root_session_id: str
    sessions: int
    tokens: int
    cost: float
    active_at: str
    unread: int


class _AtWork(msgspec.Struct):
    root_session_id: str
    running: int
    queued: int
    asking: int


class StartPages:
    """Reads the start page."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def get(self, midnight: str) -> Home:
        """Returns the start page for a person whose day began at `midnight`."""
        return await self._store.read(lambda tx: _read(tx, midnight), long=True)


def day_began(offset: int) -> str:
    """Returns when the day began in a time zone `offset` minutes ahead of UTC."""
    if not -FURTHEST <= offset <= FURTHEST:
        raise Invalid("bad_tz", f"tz must be a clock's minutes ahead of UTC, between -{FURTHEST} and {FURTHEST}.")
    ahead = timedelta(minutes=offset)
    there = datetime.now(UTC) + ahead
    return written(there.replace(hour=0, minute=0, second=0, microsecond=0) - ahead)


async def _read(tx: Tx, midnight: str) -> Home:
    failed = await _ids(tx, HOME.failed)
    review = await _ids(
        tx, HOME.review.with_(columns="u.session_id", rest="ORDER BY u.ended_at DESC, u.session_id DESC LIMIT :limit")
    )
    running = await _ids(tx, HOME.at_work)
    queued = await _ids(tx, HOME.waiting)
    trees = await _trees(tx)
    shown = dict.fromkeys([*failed, *review, *running, *queued, *trees])
    rows = await tx.all(HOME.sessions, _Row, ids=list(shown)) if shown else []
    redactors = await redactors_of(tx, list(shown))
    sessions = {row.id: _session(row, redactors[row.id]) for row in rows}

    def listed(ids: list[str]) -> list[HomeSession]:
        return [sessions[session_id] for session_id in ids if session_id in sessions]

    return Home(
        needs=NeedsAttention(await tx.all(HOME.asked, HomeApproval, limit=MOST), listed(failed), listed(review)),
        running=listed(running),
        queued=listed(queued),
        trees=[_tree(sessions[root], *about) for root, about in trees.items() if root in sessions],
        totals=await _totals(tx, midnight),
        counts=Counts(
            approvals=await tx.value(COUNTS.pending_approvals) or 0,
            failed=await tx.value(HOME.count_failed) or 0,
            review=await tx.value(HOME.review.with_(columns="count(*)", rest="")) or 0,
            running=await tx.value(HOME.count_at_work) or 0,
            queued=await tx.value(HOME.count_waiting) or 0,
        ),
    )


async def _ids(tx: Tx, query: Query) -> list[str]:
    return [session_id for (session_id,) in await tx.all(query, tuple[str], limit=MOST)]


async def _trees(tx: Tx) -> dict[str, tuple[_Tree, _AtWork | None]]:
    """Returns the roots of the trees that were active last, in that order, with totals of each tree."""
    roots: dict[str, None] = {}
    for look in range(LOOKS):
        page: list[Any] = await tx.all(HOME.recent, tuple[str, str], limit=LOOK, offset=look * LOOK)
        for root, _ in page:
            if len(roots) < MOST_TREES:
                roots[root] = None
        if len(page) < LOOK or len(roots) == MOST_TREES:
            break
    if not roots:
        return {}
    totals = {tree.root_session_id: tree for tree in await tx.all(HOME.trees, _Tree, roots=list(roots))}
    work = {tree.root_session_id: tree for tree in await tx.all(HOME.trees_at_work, _AtWork, roots=list(roots))}
    return {root: (totals[root], work.get(root)) for root in roots if root in totals}


async def _totals(tx: Tx, midnight: str) -> Totals:
    week = written(datetime.fromisoformat(midnight) - timedelta(days=WEEK - 1))
    sums: list[TurnUsage] = []
    for since in (quarter(midnight), quarter(week), ""):
        spent = await tx.one(HOME.spent, TurnUsage, since=since)
        assert spent is not None
        sums.append(spent)
    return Totals(*sums)


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


def _tree(root: HomeSession, about: _Tree, work: _AtWork | None) -> HomeTree:
    return HomeTree(
        session=root,
        sessions=about.sessions,
        running=work.running if work else 0,
        asking=work.asking if work else 0,
        queued=work.queued if work else 0,
        unread=about.unread,
        tokens=about.tokens,
        cost=about.cost,
        active_at=about.active_at,
    )
