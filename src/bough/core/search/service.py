"""Searches all transcripts and titles for words, best matches first (A2)."""

from __future__ import annotations

import asyncio
from typing import Any, cast, get_args

import msgspec

from bough.core.search.index import Index
from bough.core.search.message_text import searchable
from bough.core.search.query import ParsedQuery, parse, to_sql
from bough.core.search.snippets import Snippets
from bough.core.store.paging import DEFAULT_LIMIT, checked_limit, checked_offset
from bough.core.store.short_ids import Table, find_id
from bough.core.store.sql import SEARCH
from bough.core.store.transactions import Store
from bough.core.transcripts.read import checked_moment
from bough.errors import Invalid
from bough.model.message import Role
from bough.model.session import parse_statuses
from bough.storage.backend import Tx
from bough.storage.queries import Query

# At most so many matches are ranked and counted, the newest ones.
MOST = 10_000
LARGEST_LIMIT = 100
LONGEST_QUERY = 1_000
ROLES: tuple[Role, ...] = get_args(Role)


class SearchFilter(msgspec.Struct):
    """Filters of a search. Ids may be short; `role`, `type` and `status` may be comma-separated lists."""

    session_id: str | None = None
    root_id: str | None = None
    repo_id: str | None = None
    worktree_id: str | None = None
    agent: str | None = None
    role: str | None = None
    type: str | None = None
    status: str | None = None
    archived: bool | None = None
    since: str | None = None
    until: str | None = None
    # The roots of the trees to search; None means all.
    roots: tuple[str, ...] | None = None


class Hit(msgspec.Struct, rename="camel", kw_only=True):
    """A matching message or, without `messageId`, a session's title and description. `marks` are ranges of code points
    in `snippet`, end exclusive; scores are only comparable within one answer."""

    message_id: str | None
    session_id: str
    task_id: str | None
    position: int | None
    role: Role | None
    type: str
    snippet: str
    marks: list[tuple[int, int]]
    score: float
    created_at: str
    session_title: str
    agent: str
    repo_id: str
    worktree_id: str | None
    root_session_id: str


class SearchResults(msgspec.Struct, rename="camel"):
    """A page of hits. `totalCapped` tells that there may be more than `total`, `indexing` that some texts are not in
    the index yet."""

    results: list[Hit]
    total: int
    total_capped: bool
    limit: int
    offset: int
    indexing: bool


class _Ranked(msgspec.Struct):
    id: int
    score: float
    total: int


class _Row(msgspec.Struct):
    id: int
    message_id: str | None
    session_id: str
    type: str
    created_at: str
    task_id: str | None
    position: int | None
    role: Role | None
    content: msgspec.Raw | None
    session_title: str
    description: str
    agent: str
    repo_id: str
    worktree_id: str | None
    root_session_id: str


class Search:
    """Finds messages and sessions by their words."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.index = Index(store)

    async def find(
        self, text: str, filters: SearchFilter | None = None, limit: int = DEFAULT_LIMIT, offset: int = 0
    ) -> SearchResults:
        """Returns a page of the entries that contain all words of `text`, including the latest ones."""
        checked_limit(limit, LARGEST_LIMIT)
        checked_offset(offset)
        conditions = _Conditions(filters or SearchFilter())
        parsed = parse(text)
        whole = await self.index.catch_up()

        async def work(tx: Tx) -> tuple[list[_Ranked], dict[int, _Row], int]:
            await conditions.complete(tx)
            if not parsed.required:
                return [], {}, 0
            query, params = self._query(parsed, conditions)
            ranked = await tx.all(query, _Ranked, limit=limit, offset=offset, **params)
            total = ranked[0].total if ranked else 0
            if not ranked and offset:
                first = await tx.one(query, _Ranked, limit=1, offset=0, **params)
                total = first.total if first is not None else 0
            ids = [row.id for row in ranked]
            rows = await tx.all(SEARCH.hits, _Row, ids=ids) if ids else []
            return ranked, {row.id: row for row in rows}, total

        ranked, rows, total = await self._store.read(work, long=True)
        hits = await asyncio.to_thread(_hits, parsed, ranked, rows) if ranked else []
        return SearchResults(hits, total, total >= MOST, limit, offset, not whole)

    def _query(self, parsed: ParsedQuery, conditions: _Conditions) -> tuple[Query, dict[str, Any]]:
        dialect = self._store.db.dialect
        sql = to_sql(parsed, dialect, conditions.session_id)
        # PostgreSQL normalizes by the logarithm of the length if told so; SQLite's rank is normalized.
        rank = "score" if dialect == "sqlite" else "ts_rank(score, CAST(CAST(:query AS TEXT) AS TSQUERY), 1)"
        query = SEARCH.find.with_(
            rank=rank,
            score=sql.score,
            match=sql.match,
            joins="JOIN sessions s ON s.id = e.session_id" if conditions.of_session else "",
            where="".join(f" AND {condition}" for condition in conditions.where),
        )
        return query, {"most": MOST, **sql.params, **conditions.params}


class _Conditions:
    """A filter as SQL conditions."""

    def __init__(self, filters: SearchFilter) -> None:
        self.where: list[str] = []
        self.params: dict[str, Any] = {}
        self.session_id = filters.session_id
        self._ids: list[tuple[str, Table, str]] = []
        self._add_about_session(filters)
        if filters.role:
            self._among("e.role", "roles", _roles(filters.role))
        if filters.type:
            self._among("e.type", "types", _listed(filters.type))
        if filters.since is not None:
            self._add("e.created_at >= :since", since=checked_moment(filters.since))
        if filters.until is not None:
            self._add("e.created_at < :until", until=checked_moment(filters.until))

    @property
    def of_session(self) -> bool:
        return any(" s." in f" {condition}" for condition in self.where)

    def _add_about_session(self, filters: SearchFilter) -> None:
        if filters.root_id is not None:
            self._id("s.root_session_id", "sessions", filters.root_id)
        if filters.roots is not None:
            self._among("s.root_session_id", "roots", filters.roots)
        if filters.repo_id is not None:
            self._id("s.repo_id", "repos", filters.repo_id)
        if filters.worktree_id is not None:
            self._id("s.worktree_id", "worktrees", filters.worktree_id)
        if filters.agent is not None:
            self._add("s.agent = :agent", agent=filters.agent)
        if filters.status:
            self._among("s.status", "statuses", parse_statuses(filters.status))
        if filters.archived is not None:
            self._add("s.archived = :archived", archived=filters.archived)

    async def complete(self, tx: Tx) -> None:
        """Resolves the short ids of the filter."""
        if self.session_id is not None:
            self.session_id = await find_id(tx, "sessions", self.session_id)
        for name, table, text in self._ids:
            self.params[name] = await find_id(tx, table, text)

    def _id(self, column: str, table: Table, text: str) -> None:
        name = f"id_{len(self._ids)}"
        self._ids.append((name, table, text))
        self.where.append(f"{column} = :{name}")

    def _among(self, column: str, name: str, values: tuple[str, ...]) -> None:
        self._add(f"{column} IN :{name}", **{name: values})

    def _add(self, condition: str, **params: Any) -> None:
        self.where.append(condition)
        self.params |= params


def _listed(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())[:20]


def _roles(text: str) -> tuple[str, ...]:
    roles = _listed(text)
    unknown = [role for role in roles if role not in ROLES]
    if unknown or not roles:
        raise Invalid("bad_role", f"Unknown role {', '.join(unknown) or text!r}. Use one of: {', '.join(ROLES)}.")
    return roles


def _hits(parsed: ParsedQuery, ranked: list[_Ranked], rows: dict[int, _Row]) -> list[Hit]:
    snippets = Snippets(parsed)
    hits: list[Hit] = []
    for entry in ranked:
        row = rows[entry.id]
        title = "\n".join(part for part in (row.session_title, row.description) if part)
        shown = snippets.make(searchable(row.content)[1] if row.content is not None else title)
        copied = {name: getattr(row, name) for name in _COPIED}
        hits.append(Hit(snippet=shown.text, marks=shown.marks, score=entry.score, **cast("Any", copied)))
    return hits


_COPIED = tuple(name for name in Hit.__struct_fields__ if name in _Row.__struct_fields__)
