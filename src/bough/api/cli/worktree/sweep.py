"""Sweeps worktrees that are merged and in which nobody works."""

from __future__ import annotations

from typing import Annotated

import typer

from bough.api.cli.framework import output
from bough.api.cli.framework.base import CommandContext
from bough.api.cli.framework.client import SETUP_WITHIN, Json
from bough.api.cli.framework.completion import names
from bough.api.cli.framework.formats import brief, short
from bough.api.cli.framework.terminal_safety import clean
from bough.api.cli.repos.repo import find_repo
from bough.api.cli.worktree.finish import DryRun


def sweep(
    ctx: CommandContext,
    repo: Annotated[
        str | None,
        typer.Option(
            "--repo", "-r", metavar="PATH|NAME|ID", autocompletion=names("repo"), help="Only worktrees of this repo."
        ),
    ] = None,
    dry_run: DryRun = False,
) -> None:
    """Clean up all worktrees that are merged, without active sessions or uncommitted files; they can be recovered."""
    body: Json = {"dryRun": dry_run}
    if repo is not None:
        body["repoId"] = find_repo(ctx.client, repo)
    ctx.show(ctx.client.post("/api/worktrees/sweep", body, within=SETUP_WITHIN), _print)


def _print(swept: Json) -> None:
    words = {"removed": "removed", "removable": "would go", "kept": "kept"}
    for item in swept["worktrees"]:
        reason = f": {item['reason']}" if item["reason"] else ""
        output.line(
            clean(f"{words[item['outcome']]:<9} {short(item['worktreeId'])}  {brief(item['name'], 40)}{reason}")
        )
    if not swept["worktrees"]:
        output.line("No worktrees.", "dim")
    if swept["dryRun"]:
        output.note("Nothing was changed (--dry-run).")
