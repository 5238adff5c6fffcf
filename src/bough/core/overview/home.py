"""Reads the start page at once: what needs a person, what runs and is queued, the latest trees, and what was used
(O4)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from bough.core.overview.session_rows import read_sessions
from bough.core.store.sql import COUNTS, HOME
from bough.core.store.transactions import Store
from bough.errors import Invalid
from bough.model.values.times import quarter, written
from bough.model.views.home import (
    Counts,
    Home,
    HomeApproval,
    HomeSession,
    HomeTree,
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
    sessions = await read_sessions(tx, [*failed, *review, *running, *queued, *trees])

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
