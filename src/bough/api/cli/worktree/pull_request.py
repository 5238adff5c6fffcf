"""Opens or updates the pull request of a worktree's branch, or prints what is needed to do so by hand."""

from __future__ import annotations

import sys
import webbrowser
from typing import Annotated

import typer

from bough.api.cli.framework import output
from bough.api.cli.framework.base import CommandContext
from bough.api.cli.framework.client import Json
from bough.api.cli.worktree.find import WorktreeId
from bough.api.cli.worktree.finish import DryRun, Force, Replaces, send


def pull_request(
    ctx: CommandContext,
    worktree: WorktreeId,
    title: Annotated[
        str | None, typer.Option("--title", "-t", help="Title; proposed from the session by default.")
    ] = None,
    body: Annotated[
        str | None,
        typer.Option("--body", "-b", help="Text, or - for standard input; proposed from the session by default."),
    ] = None,
    draft: Annotated[bool, typer.Option("--draft", help="Open it as a draft.")] = False,
    base: Annotated[str | None, typer.Option("--base", metavar="BRANCH", help="Another base branch.")] = None,
    remote: Annotated[str | None, typer.Option("--remote", metavar="NAME", help="Another remote.")] = None,
    rewrite: Annotated[
        bool, typer.Option("--rewrite", help="Replace commits there, unless somebody else pushed since.")
    ] = False,
    replaces: Replaces = None,
    web: Annotated[bool, typer.Option("--web", help="Open it, or the page to create it on, in a browser.")] = False,
    dry_run: DryRun = False,
    force: Force = False,
) -> int:
    """Push a worktree's branch and open or update its pull request, with your own gh or glab; else get a link."""
    fields: Json = {"title": title, "body": sys.stdin.read() if body == "-" else body, "draft": draft, "base": base}
    fields |= {"remote": remote, "rewrite": rewrite, "replaces": replaces}
    return send(ctx, worktree, "pull-request", fields, dry_run, force, _open if web and not dry_run else None)


def _open(finished: Json) -> None:
    request: Json = finished["pullRequest"] or {}
    address = request.get("url") or request.get("link")
    if not address:
        output.note("There is no page to open: the kind of the remote's server is unknown.")
    elif not webbrowser.open(address):
        output.note("No browser opened it.")
