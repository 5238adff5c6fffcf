"""Declares the arguments that name a worktree."""

from __future__ import annotations

from typing import Annotated

import typer

from bough.api.cli.framework.completion import names
from bough.api.cli.framework.selectors import WORKTREE, Selects

WorktreeId = Annotated[
    str,
    WORKTREE,
    typer.Argument(
        metavar="WORKTREE",
        help="Worktree: its id or 8 characters of it, its name, branch or folder, or @last.",
        autocompletion=names("worktree"),
    ),
]
# For commands that are hard to undo.
ExactWorktreeId = Annotated[
    str,
    Selects("worktree", last=False),
    typer.Argument(
        metavar="WORKTREE",
        help="Worktree: its id or 8 characters of it, its name, branch or folder.",
        autocompletion=names("worktree", last=False),
    ),
]
RemovedId = Annotated[
    str,
    Selects("worktree", removed=True),
    typer.Argument(
        metavar="WORKTREE",
        help="Worktree: its id or 8 characters of it, its name, branch or folder, or @last.",
        autocompletion=names("worktree", removed=True),
    ),
]
