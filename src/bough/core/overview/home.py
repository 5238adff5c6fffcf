"""The start page in one read: what needs a person, what runs and waits, the trees that were active last, what was used
(O4). Marks of what was seen are `seeing`."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from bough.core.store.sql import COUNTS, HOME
from bough.core.store.transactions import Store
from bough.errors import Invalid
from bough.model.home import (
    Counts,
    Home,
    HomeApproval,
    HomeSession,
    HomeTree,
    LastTask,
    Needs,
    Spent,
    Totals,
)
from bough.model.session import Activity, Kind, Status
from bough.model.task import TaskStatus
from bough.model.times import quarter, written
from bough.storage.backend import Tx
from bough.storage.queries import Query

# What a list holds at most; how many there are is told besides.
MOST = 50
MOST_TREES = 20
# Trees are found by their sessions, so many at a time: large trees take more than one look.
LOOK = 400
LOOKS = 10
WEEK = 7
# No time zone is further away.
FURTHEST = 15 * 60
TITLE = 120


class _Row(msgspec.Struct):
    """A session with its last task, as the query gives it."""

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


class Homes:
    """Reads the start page."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def get(self, midnight: str) -> Home:
        """All of it, for a person whose day began at `midnight`."""
        return await self._store.read(lambda tx: _read(tx, midnight), long=True)


def day_began(offset: int) -> str:
    """When the day began for people who are `offset` minutes ahead of UTC."""
    if not -FURTHEST <= offset <= FURTHEST:
        raise Invalid("bad_tz", f"tz is how many minutes a clock is ahead of UTC, between -{FURTHEST} and {FURTHEST}.")
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
    found = {row.id: _session(row) for row in await tx.all(HOME.sessions, _Row, ids=list(shown))} if shown else {}

    def some(ids: list[str]) -> list[HomeSession]:
        return [found[one] for one in ids if one in found]

    return Home(
        needs=Needs(await tx.all(HOME.asked, HomeApproval, limit=MOST), some(failed), some(review)),
        running=some(running),
        queued=some(queued),
        trees=[_tree(found[root], *about) for root, about in trees.items() if root in found],
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
    return [one for (one,) in await tx.all(query, tuple[str], limit=MOST)]


async def _trees(tx: Tx) -> dict[str, tuple[_Tree, _AtWork | None]]:
    """The roots of the trees that were active last, in that order, with how each stands."""
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
    known = {one.root_session_id: one for one in await tx.all(HOME.trees, _Tree, roots=list(roots))}
    work = {one.root_session_id: one for one in await tx.all(HOME.trees_at_work, _AtWork, roots=list(roots))}
    return {root: (known[root], work.get(root)) for root in roots if root in known}


async def _totals(tx: Tx, midnight: str) -> Totals:
    week = written(datetime.fromisoformat(midnight) - timedelta(days=WEEK - 1))
    sums: list[Spent] = []
    for since in (quarter(midnight), quarter(week), ""):
        spent = await tx.one(HOME.spent, Spent, since=since)
        assert spent is not None
        sums.append(spent)
    return Totals(*sums)


def _session(row: _Row) -> HomeSession:
    last = None
    if row.task_id is not None and row.task_status is not None:
        last = LastTask(
            row.task_id,
            row.task_status,
            row.task_prompt or "",
            row.task_started_at,
            row.task_ended_at,
            row.task_error,
        )
    return HomeSession(
        id=row.id,
        title=row.title or first_line(row.first_prompt),
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
    """What stands for a session that has no title."""
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
