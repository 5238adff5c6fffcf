"""Declares the arguments that name a worktree, and finds its id."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bough.api.cli.framework.client import Client
from bough.api.cli.framework.completion import ids
from bough.api.cli.repos.repo import PAGE, folder
from bough.errors import NotFound

WorktreeId = Annotated[
    str,
    typer.Argument(
        metavar="WORKTREE",
        help="Worktree id, 8 characters of it, or its folder.",
        autocompletion=ids("worktrees", "name"),
    ),
]
RemovedId = Annotated[
    str,
    typer.Argument(
        metavar="WORKTREE",
        help="Worktree id, or 8 characters of it.",
        autocompletion=ids("worktrees", "name", removed=True),
    ),
]


def find_worktree(client: Client, text: str) -> str:
    """Returns the id for an id or a folder; a folder inside a worktree means that worktree."""
    path_given = folder(text)
    if path_given is None:
        return text
    known: dict[Path, str] = {}
    while True:
        page = client.get("/api/worktrees", limit=PAGE, offset=len(known)).value
        known |= {Path(row["path"]): row["id"] for row in page["worktrees"]}
        if len(known) >= page["total"] or not page["worktrees"]:
            break
    real = path_given.resolve()
    for candidate in (real, *real.parents):
        if candidate in known:
            return known[candidate]
    raise NotFound(
        "worktree_not_found", f"{path_given} is not in a worktree that Bough knows. See: bough worktree list"
    )
