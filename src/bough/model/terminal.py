"""Defines terminals: a person's own shells in folders that Bough knows."""

from __future__ import annotations

import msgspec


class Terminal(msgspec.Struct, rename="camel"):
    """A row of `terminals`: a shell that runs. The row goes with it."""

    id: str
    # The worktree with which it ends; null in a repo's own folder.
    worktree_id: str | None
    folder: str
    # Who opened it.
    opened_by: str
    created_at: str
