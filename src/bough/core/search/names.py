"""Finds a session, worktree, repo or race as people name it: by its id or a part of it, a title or name, a branch, the
name of its repo, a folder, or `@last` (R5).

A name must be unique among all that it can mean. An agent may choose the title of its session, and must not be able to
take the place of another one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from typing import Any, Literal

import msgspec

from bough.core.store.session_secrets import redactors_of
from bough.core.store.short_ids import Table, find_id
from bough.core.store.sql import NAMES, RACES
from bough.core.store.transactions import Store
from bough.errors import Conflict, Invalid, NotFound
from bough.model.session import Caller
from bough.model.trees.race import RaceRow
from bough.model.values import ids
from bough.storage.backend import Tx
from bough.storage.queries import Query

Kind = Literal["session", "worktree", "repo", "race"]

LAST = "@last"
# So many candidates are listed in an error.
LISTED = 8
LONGEST_NAME = 500
# So much of a candidate's name is quoted in an error: a race is known by its prompt.
LONGEST_QUOTED = 80
HOW = {
    "session": "Use an id or at least 8 characters of it, a title, a branch, a repo's name, a folder or @last.",
    "worktree": "Use an id or at least 8 characters of it, a name, a branch, a repo's name, a folder or @last.",
    "repo": "Use an id or at least 8 characters of it, a name, a folder or @last.",
    "race": "Use an id or at least 8 characters of it, its title or prompt, the title of its session, or @last.",
}
TABLES: dict[Kind, Table] = {"session": "sessions", "worktree": "worktrees", "repo": "repos", "race": "races"}


class NamedRecord(msgspec.Struct, rename="camel"):
    """A record as people know it: its id, its title or name (a race's prompt), and its folder."""

    kind: Kind
    id: str
    name: str
    folder: str


class _Row(msgspec.Struct):
    id: str
    name: str
    folder: str
    is_active: bool
    is_root: bool


class _Queries(msgspec.Struct):
    """The queries of one kind of record."""

    last: Query
    by_name: Query | None = None
    in_folders: Query | None = None
    below: Query | None = None


QUERIES: dict[Kind, _Queries] = {
    "session": _Queries(NAMES.last_session, NAMES.sessions_by_name, NAMES.sessions_in, NAMES.sessions_below),
    "worktree": _Queries(NAMES.last_worktree, NAMES.worktrees_by_name, NAMES.worktrees_in),
    "repo": _Queries(NAMES.last_repo, NAMES.repos_by_name, NAMES.repos_in),
    "race": _Queries(NAMES.last_race, NAMES.races_by_name),
}


class NamedRecords:
    """Finds records by what people call them."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def find(
        self, caller: Caller, kind: Kind, name: str | None, folder: str | None = None, *, removed: bool = False
    ) -> NamedRecord:
        """Returns the one record with a name or in a folder. Raises `NotFound`, or `Conflict` with the candidates, also
        if the name and the folder mean different records. A folder that comes with a name must be the record's own: it
        is only a second reading of the word, which must not mean whatever is around it. `removed` looks among removed
        worktrees."""
        if (name is None or not name.strip()) and folder is None:
            raise Invalid("bad_name", "Name something: an id, a name, a folder or @last.")
        if len(name or "") > LONGEST_NAME:
            raise Invalid("bad_name", f"A name has at most {LONGEST_NAME} characters.")
        if folder is not None and not PurePath(folder).is_absolute():
            raise Invalid("bad_name", "A folder is an absolute path.")

        async def work(tx: Tx) -> NamedRecord:
            rows = await _rows(tx, caller, kind, name, folder, removed)
            if not rows:
                raise _missing(kind, name or folder or "")
            if kind == "race":
                rows = [msgspec.structs.replace(row, name=await _shown_prompt(tx, row)) for row in rows]
            if len(rows) > 1:
                raise _ambiguous(kind, name or folder or "", rows)
            (row,) = rows
            return NamedRecord(kind, row.id, row.name, row.folder)

        return await self._store.read(work)


async def _rows(
    tx: Tx, caller: Caller, kind: Kind, name: str | None, folder: str | None, removed: bool
) -> Sequence[_Row]:
    """Returns the records that a name or a folder may mean."""
    queries = QUERIES[kind]
    filters: dict[str, Any] = {"removed": removed} if kind == "worktree" else {}
    named: Sequence[_Row] = []
    if name == LAST:
        of_person = {"user_name": caller.user_name or ""} if kind == "session" else {}
        return await tx.all(queries.last, _Row, **filters, **of_person)
    if name is not None:
        if (full_id := await _by_id(tx, kind, name)) is not None:
            return [_Row(full_id, "", "", is_active=True, is_root=True)]
        named = await _by_name(tx, kind, name, filters)
    if folder is None or queries.in_folders is None:
        return named
    inside = await _by_folder(tx, queries, PurePath(folder), filters, exactly=name is not None)
    if not named or not inside or {row.id for row in named} <= {row.id for row in inside}:
        return named or inside
    # The person may mean the folder, whatever another session is called.
    return list({row.id: row for row in (*named, *inside)}.values())


async def _by_id(tx: Tx, kind: Kind, text: str) -> str | None:
    try:
        ids.checked_short(text, kind)
        return await find_id(tx, TABLES[kind], text)
    except (Invalid, NotFound):
        return None


async def _shown_prompt(tx: Tx, row: _Row) -> str:
    """Returns a race's prompt without the secret values of its sessions."""
    race = await tx.one(RACES.get, RaceRow, id=row.id)
    racers = await tx.all(RACES.racers_of, tuple[str, str], race_ids=(row.id,))
    sessions = [session_id for _, session_id in racers] + ([race.session_id] if race is not None else [])
    shown = row.name
    for redactor in (await redactors_of(tx, sessions)).values():
        shown = redactor.text(shown)
    return shown


async def _by_name(tx: Tx, kind: Kind, name: str, filters: dict[str, Any]) -> Sequence[_Row]:
    query = QUERIES[kind].by_name
    if query is None:
        return []
    if kind != "session":
        return await tx.all(query, _Row, name=name, limit=LISTED + 1, **filters)
    rows = await tx.all(query, _Row, name=name, limit=LISTED + 1, archived=False)
    return rows or await tx.all(query, _Row, name=name, limit=LISTED + 1, archived=True)


async def _by_folder(
    tx: Tx, queries: _Queries, folder: PurePath, filters: dict[str, Any], *, exactly: bool
) -> Sequence[_Row]:
    """Returns the records of the folder and, unless it is meant `exactly`, of the nearest one above it, else those
    below it. Of several sessions, the active ones and those that are no branches of others come first."""
    assert queries.in_folders is not None
    folders = (str(folder),) if exactly else tuple(str(path) for path in (folder, *folder.parents))
    rows = await tx.all(queries.in_folders, _Row, folders=folders, **filters)
    nearest = max((row.folder for row in rows), key=len, default=None)
    rows = [row for row in rows if row.folder == nearest]
    if not rows and queries.below is not None and not exactly:
        rows = await tx.all(queries.below, _Row, folder=f"{str(folder).rstrip('/')}/")
    for narrower in ([row for row in rows if row.is_active], [row for row in rows if row.is_active and row.is_root]):
        if len(narrower) == 1:
            return narrower
    return rows


def _missing(kind: Kind, text: str) -> NotFound:
    sentence = f"There is no {kind} {text!r}. {HOW[kind]}"
    return {
        "session": NotFound("session_not_found", sentence),
        "worktree": NotFound("worktree_not_found", sentence),
        "repo": NotFound("repo_not_found", sentence),
        "race": NotFound("race_not_found", sentence),
    }[kind]


def _ambiguous(kind: Kind, text: str, rows: Sequence[_Row]) -> Conflict:
    listed = [f"{row.id} ({row.name[:LONGEST_QUOTED] or 'no title'}, {row.folder})" for row in rows[:LISTED]]
    more = ", and more" if len(rows) > LISTED else ""
    return Conflict(
        "ambiguous_name",
        f"{text!r} may mean several {kind}s: {'; '.join(listed)}{more}. Use an id.",
        candidates=[{"id": row.id, "name": row.name, "folder": row.folder} for row in rows[:LISTED]],
    )
