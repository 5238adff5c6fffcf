"""Reads what turns have used, by day, agent, repository or tree (O4)."""

from __future__ import annotations

from datetime import date, datetime, timedelta

from bough.core.overview.session_rows import read_sessions
from bough.core.store.sql import USAGE
from bough.core.store.transactions import Store
from bough.errors import Invalid
from bough.model.values.times import parse, quarter, written
from bough.model.views.home import TurnUsage
from bough.model.views.usage import Grouping, UsageGroup, UsageReport
from bough.storage.backend import Tx

# Days are summed up from quarter hours: at most some 35,000 rows.
MOST_DAYS = 366
MOST_GROUPS = 50
DEFAULT_DAYS = 14
COLUMNS: dict[Grouping, str] = {"agent": "agent", "repo": "repo_id", "tree": "root_session_id"}


class _Quarter(TurnUsage, kw_only=True):
    quarter: str


class _Group(TurnUsage, kw_only=True):
    id: str


class UsageReports:
    """Reads usage."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def get(self, by: Grouping, since: str, midnight: str, offset: int) -> UsageReport:
        """Returns usage since a time by groups; days begin at the hour of `midnight`, which is that of today, where
        clocks are `offset` minutes ahead of UTC."""
        return await self._store.read(lambda tx: _read(tx, by, since, midnight, offset), long=True)


def first_midnight(midnight: str, since: str | None, offset: int) -> str:
    """Returns the beginning of the first day of a report: a day such as `2026-11-01` or a number of days such as `30d`,
    counted with today. `midnight` is when today began, where clocks are `offset` minutes ahead of UTC."""
    today = parse(midnight)
    asked = (since or f"{DEFAULT_DAYS}d").strip()
    if asked.endswith("d") and asked[:-1].isascii() and asked[:-1].isdigit() and len(asked) < 6:
        days = int(asked[:-1])
    else:
        days = (_local_day(today, offset) - _day(asked)).days + 1
    if not 1 <= days <= MOST_DAYS:
        raise Invalid("bad_since", f"A report covers between 1 and {MOST_DAYS} days up to today, not {days}.")
    return written(today - timedelta(days=days - 1))


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise Invalid(
            "bad_since", f"{text[:40]!r} is neither a day such as 2026-11-01 nor a number of days such as 30d."
        ) from None


def _local_day(midnight: datetime, offset: int) -> date:
    return (midnight + timedelta(minutes=offset)).date()


async def _read(tx: Tx, by: Grouping, since: str, midnight: str, offset: int) -> UsageReport:
    total = await tx.one(USAGE.total, TurnUsage, since=quarter(since))
    assert total is not None
    if by == "day":
        groups = _days(await tx.all(USAGE.quarters, _Quarter, since=quarter(since)), since, midnight, offset)
    else:
        query = USAGE.groups.with_(column=COLUMNS[by])
        rows = await tx.all(query, _Group, since=quarter(since), limit=MOST_GROUPS)
        names = await _names(tx, by, [row.id for row in rows])
        groups = [
            UsageGroup(id=row.id, name=names.get(row.id, ""), turns=row.turns, tokens=row.tokens, cost=row.cost)
            for row in rows
        ]
    rest = TurnUsage(
        total.turns - sum(group.turns for group in groups),
        total.tokens - sum(group.tokens for group in groups),
        max(total.cost - sum(group.cost for group in groups), 0.0) if by != "day" else 0.0,
    )
    return UsageReport(by=by, since=since, groups=groups, rest=rest, total=total)


def _days(rows: list[_Quarter], since: str, midnight: str, offset: int) -> list[UsageGroup]:
    """Returns a group for every day from `since` to today."""
    first = parse(since)
    count = round((parse(midnight) - first) / timedelta(days=1)) + 1
    days = [
        UsageGroup(id=day, name=day, turns=0, tokens=0, cost=0.0)
        for day in (_local_day(first + timedelta(days=number), offset).isoformat() for number in range(count))
    ]
    for row in rows:
        # A clock that was set back may have left turns after today.
        day = days[min(max((parse(f"{row.quarter}:00Z") - first) // timedelta(days=1), 0), count - 1)]
        day.turns += row.turns
        day.tokens += row.tokens
        day.cost += row.cost
    return days


async def _names(tx: Tx, by: Grouping, group_ids: list[str]) -> dict[str, str]:
    if by == "agent" or not group_ids:
        return {group_id: group_id for group_id in group_ids}
    if by == "repo":
        return dict(await tx.all(USAGE.repo_names, tuple[str, str], ids=group_ids))
    sessions = await read_sessions(tx, group_ids)
    return {session.id: session.title or "Untitled session" for session in sessions.values()}
