"""Removes and recovers worktrees."""

from __future__ import annotations

from typing import Annotated

import typer

from bough.api.cli.framework import output
from bough.api.cli.framework.base import CommandContext
from bough.api.cli.framework.client import SETUP_WITHIN, Json, Refused, parts, path
from bough.api.cli.framework.formats import short
from bough.api.cli.framework.terminal_safety import clean
from bough.api.cli.worktree.create import print_created
from bough.api.cli.worktree.find import ExactWorktreeId, RemovedId


def remove(
    ctx: CommandContext,
    worktree: ExactWorktreeId,
    force: Annotated[
        bool, typer.Option("--force", help="Remove it even if it contains work, which can be recovered.")
    ] = False,
    delete_branch: Annotated[
        bool, typer.Option("--delete-branch", help="Also delete its branch, if Bough created it and nothing is lost.")
    ] = False,
) -> None:
    """Remove a worktree and its folder; an adopted one is only forgotten, unless forced."""
    branch = "delete" if delete_branch else "keep"
    try:
        answer = ctx.client.delete(path("worktrees", worktree), force=force, branch=branch)
    except Refused as error:
        print_losses(error)
        raise
    ctx.show(answer, print_removed)


def print_losses(error: Refused) -> None:
    """Prints the files and commits that block a worktree's removal."""
    for file in parts(error.details, "files"):
        output.note(f"  {file['state']:<18}  {file['path']}")
    for commit in parts(error.details, "commits"):
        output.note(f"  {commit['sha'][:12]:<18}  {commit['subject']}")


def print_removed(removed: Json) -> None:
    if removed["forgotten"]:
        output.line(f"Worktree {short(removed['id'])} is forgotten; {clean(removed['path'])} is unchanged.")
        return
    output.line(f"Worktree {short(removed['id'])} is removed{', its branch too' if removed['branchDeleted'] else ''}.")
    if removed["recover"]:
        output.note(f"Its contents are saved. Recover them: bough worktree recover {short(removed['id'])}")


def recover(ctx: CommandContext, worktree: RemovedId) -> None:
    """Recover a removed worktree in its old place, with its uncommitted files."""
    ctx.show(ctx.client.post(path("worktrees", worktree, "recover"), within=SETUP_WITHIN), print_created)
