"""Lists sessions by page: applies the filters of a request, and counts what they match."""

from __future__ import annotations

from typing import Any

from bough.core.sessions.requests import SessionFilter
from bough.core.store.paging import Page
from bough.core.store.short_ids import find_id
from bough.core.store.sql import EVENTS, SESSIONS
from bough.core.store.transactions import Store
from bough.model.session import Session, parse_state_filter
from bough.storage.backend import Tx

# How many totals of filtered lists are cached: about as many as clients use at once.
TOTALS_KEPT = 64


class SessionPages:
    """Reads pages of sessions and remembers how many sessions each filter matched."""

    def __init__(self, store: Store) -> None:
        self._store = store
        # Totals of filtered lists, with the cursor of the newest event at that time.
        self._totals: dict[str, tuple[Any, int]] = {}

    async def list(self, filters: SessionFilter, limit: int, offset: int) -> Page[Any]:
        """Returns a page of sessions, newest first, as structs or as their JSON."""
        states = parse_state_filter(filters.status) if filters.status else None

        async def work(tx: Tx) -> Page[Any]:
            where: list[str] = []
            params: dict[str, Any] = {}
            if filters.repo_id is not None:
                where.append("repo_id = :repo_id")
                params["repo_id"] = await find_id(tx, "repos", filters.repo_id)
            if filters.worktree_id is not None:
                where.append("worktree_id = :worktree_id")
                params["worktree_id"] = await find_id(tx, "worktrees", filters.worktree_id)
            if filters.root_id is not None:
                where.append("root_session_id = :root_id")
                params["root_id"] = await find_id(tx, "sessions", filters.root_id)
            if filters.parent_id is not None:
                where.append("parent_session_id = :parent_id")
                params["parent_id"] = await find_id(tx, "sessions", filters.parent_id)
            if filters.roots is not None:
                where.append("root_session_id IN :roots")
                params["roots"] = filters.roots
            if filters.cwd is not None:
                where.append("cwd = :cwd")
                params["cwd"] = filters.cwd
            if filters.activity is not None:
                where.append("activity IN :activities")
                params["activities"] = ("idle", "not_started") if filters.activity == "idle" else (filters.activity,)
            if states is not None and states.activities:
                where.append("(status IN :statuses OR (status = 'active' AND activity IN :doing))")
                params |= {"statuses": states.statuses or ("",), "doing": states.activities}
            elif states is not None:
                where.append("status IN :statuses")
                params["statuses"] = states.statuses
            if filters.archived is not None:
                where.append("archived = :archived")
                params["archived"] = filters.archived
            text = " AND ".join(where) or "TRUE"
            query = SESSIONS.page.with_(where=text)
            page = await tx.all(query, Session, limit=limit, offset=offset, **params)
            return Page(page, await self._total(tx, text, params), limit, offset)

        return await self._store.read(work)

    async def _total(self, tx: Tx, where: str, params: dict[str, Any]) -> int:
        """Counts the sessions of a filter; cached until the next event, since counting is slower than the page."""
        key = f"{where} {params}"
        cursor = await tx.value(EVENTS.newest)
        known = self._totals.get(key)
        if known is not None and known[0] == cursor:
            return known[1]
        total = await tx.value(SESSIONS.count.with_(where=where), **params) or 0
        if len(self._totals) >= TOTALS_KEPT:
            self._totals.clear()
        self._totals[key] = (cursor, total)
        return total
