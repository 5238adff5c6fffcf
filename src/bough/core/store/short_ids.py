"""Finds a record by its id, or by a unique prefix or suffix of it (R5)."""

from __future__ import annotations

from typing import Literal, TypeVar

import msgspec

from bough.core.store.sql import COMMON
from bough.errors import Conflict, NotFound
from bough.model.values import ids
from bough.storage.backend import Tx
from bough.storage.queries import Query

T = TypeVar("T", bound=msgspec.Struct)


Table = Literal[
    "repos",
    "worktrees",
    "boards",
    "mcp_servers",
    "presets",
    "sessions",
    "tasks",
    "messages",
    "approvals",
    "rules",
    "choices",
    "checkpoints",
    "files",
    "races",
    "review_comments",
    "schedules",
    "terminals",
    "runs",
    "clones",
]
NOUNS: dict[Table, str] = {
    "repos": "repo",
    "worktrees": "worktree",
    "boards": "board",
    "mcp_servers": "MCP server",
    "presets": "preset",
    "sessions": "session",
    "tasks": "task",
    "messages": "message",
    "approvals": "approval",
    "rules": "rule",
    "choices": "choice",
    "checkpoints": "checkpoint",
    "files": "file",
    "races": "race",
    "review_comments": "comment",
    "schedules": "schedule",
    "terminals": "terminal",
    "runs": "run",
    "clones": "clone",
}


class _Id(msgspec.Struct):
    id: str


async def find_id(tx: Tx, table: Table, text: str) -> str:
    """Returns the full id that `text` refers to. Raises `NotFound`, or `Conflict` with the candidates."""
    short = ids.checked_short(text, NOUNS[table])
    low, high = ids.prefix_range(short)
    rows = await tx.all(COMMON.by_prefix.with_(table=table), _Id, low=low, high=high)
    if not ids.is_full(short):
        rows += await tx.all(COMMON.by_suffix.with_(table=table), _Id, tail=short[-8:], pattern=f"%{short}")
    candidates = sorted({row.id for row in rows})
    if not candidates:
        raise missing(table, text)
    if len(candidates) > 1:
        raise Conflict(
            "ambiguous_id",
            f"{text!r} matches {len(candidates)} records: {', '.join(candidates)}. Use more of the id.",
            candidates=candidates,
        )
    return candidates[0]


async def whole_id(tx: Tx, table: Table, text: str) -> str:
    """Returns the full id. An id that is already complete is returned unchecked."""
    short = ids.checked_short(text, NOUNS[table])
    return short if ids.is_full(short) else await find_id(tx, table, short)


async def find(tx: Tx, table: Table, text: str, query: Query, kind: type[T]) -> T:
    """Returns the record that `text` refers to, or raises `NotFound`."""
    record = await tx.one(query, kind, id=await whole_id(tx, table, text))
    if record is None:
        raise missing(table, text)
    return record


def missing(table: Table, text: str) -> NotFound:
    return NotFound(f"{table.removesuffix('s')}_not_found", f"There is no {NOUNS[table]} {text!r}.")
