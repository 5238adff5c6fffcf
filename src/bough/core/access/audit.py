"""Lists the audit trail. Most entries are added by the transactions that they tell about, and nothing changes them."""

from __future__ import annotations

from typing import Any

import msgspec

from bough.core.store.paging import Page
from bough.core.store.sql import AUDIT
from bough.core.store.transactions import Change, Store
from bough.errors import Invalid
from bough.model.access.audit import AUDIT_ACTIONS, AuditAction, AuditEntry
from bough.model.session import Caller
from bough.model.values import times
from bough.storage.backend import Tx


class AuditFilter(msgspec.Struct, frozen=True):
    """Filters a list of entries. `action` may be the first part of actions, such as `session`."""

    user: str | None = None
    action: str | None = None
    session_id: str | None = None
    since: str | None = None
    until: str | None = None


class Audit:
    """Adds to the audit trail and lists it."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def add(self, caller: Caller, action: AuditAction, **details: Any) -> None:
        """Adds an entry about something that no other transaction stores."""

        async def work(change: Change) -> None:
            change.audit(caller, action, **details)

        await self._store.write(work)

    async def list(self, filters: AuditFilter, limit: int, offset: int, after: int | None = None) -> Page[AuditEntry]:
        """Returns a page of entries: newest first, or with `after` those after a number, oldest first."""
        where, params = _conditions(filters)

        async def work(tx: Tx) -> Page[AuditEntry]:
            query = AUDIT.newest if after is None else AUDIT.after
            start: dict[str, Any] = {} if after is None else {"after": after}
            rows = await tx.all(query.with_(where=where), AuditEntry, limit=limit, offset=offset, **(params | start))
            # Whoever reads forward asks often, and stops at a page that is not full.
            if after is not None:
                return Page(rows, offset + len(rows), limit, offset)
            count: Any = await tx.value(AUDIT.count.with_(where=where), **params)
            return Page(rows, count or 0, limit, offset)

        return await self._store.read(work)


def _conditions(filters: AuditFilter) -> tuple[str, dict[str, Any]]:
    where: list[str] = []
    params: dict[str, Any] = {}
    if filters.user is not None:
        where.append("user_name = :user_name")
        params["user_name"] = filters.user
    if filters.session_id is not None:
        where.append("(session_id = :session_id OR caller_session_id = :session_id)")
        params["session_id"] = filters.session_id
    if filters.action is not None:
        actions = [name for name in AUDIT_ACTIONS if filters.action in (name, name.partition(".")[0])]
        if not actions:
            raise Invalid(
                "unknown_action", f"There is no action {filters.action[:64]!r}; known are {', '.join(AUDIT_ACTIONS)}."
            )
        where.append("action IN :actions")
        params["actions"] = actions
    for name, moment, sign in (("since", filters.since, ">="), ("until", filters.until, "<")):
        if moment is not None:
            where.append(f"at {sign} :{name}")
            params[name] = times.written(times.parse(moment))
    return " AND ".join(where) or "TRUE", params


async def prune(store: Store, before: str) -> int:
    """Removes the entries before a time and records that; returns their number. Only `bough db` calls it, on the
    machine of the database and without a server: no door can shorten the trail."""
    moment = times.written(times.parse(before))

    async def work(change: Change) -> int:
        last: Any = await change.tx.value(AUDIT.last_before, before=moment)
        if last is None:
            return 0
        await change.tx.run(AUDIT.let_prune, number=last)
        count = await change.tx.run(AUDIT.prune, number=last)
        change.audit(Caller(door="machine"), "audit.pruned", before=moment, count=count, last=last)
        return count

    return await store.write(work)
