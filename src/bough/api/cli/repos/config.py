"""`bough repo config`: shows what a repo's own files say about its worktrees, and allows or forbids it."""

from __future__ import annotations

from typing import Annotated

import typer

from bough.api.cli.framework import output
from bough.api.cli.framework.base import CommandContext, command
from bough.api.cli.framework.client import Json, path
from bough.api.cli.framework.formats import short
from bough.api.cli.framework.terminal_safety import clean
from bough.api.cli.repos.repo import RepoId, app

CONFIG_FILE, INCLUDE_FILE = ".bough.toml", ".worktreeinclude"


def add_to(_root: typer.Typer) -> None:
    """Its command belongs to `bough repo`."""


@command(app, "config")
def show_config(
    ctx: CommandContext,
    repo: RepoId,
    worktree: Annotated[
        str | None, typer.Option("--worktree", metavar="ID", help="Read the files of this worktree.")
    ] = None,
    decision: Annotated[
        bool | None,
        typer.Option("--allow/--deny", help="Allow or forbid the commands and copies that the files ask for now."),
    ] = None,
) -> None:
    """Show what .bough.toml and .worktreeinclude of a repo say, and allow it. Nothing in them runs before that, and
    Bough asks again after each change."""
    where = path("repos", repo, "config")
    answer = ctx.client.get(where, worktreeId=worktree)
    if decision is not None:
        if answer.value["digest"] is None:
            raise typer.BadParameter("The files ask for no commands and no copies, so there is nothing to decide.")
        body: Json = {"digest": answer.value["digest"], "allowed": decision}
        answer = ctx.client.patch(where, body | ({"worktreeId": worktree} if worktree else {}))
    ctx.show(answer, _draw)


def _draw(report: Json) -> None:
    if not report["files"] and not report["problems"]:
        output.line(f"This repo has no {CONFIG_FILE} and no {INCLUDE_FILE}.")
        return
    run = [f"{item['name']} = {clean(item['command'])}" for item in report["run"]]
    output.facts(
        [
            ("files", ", ".join(report["files"])),
            ("setup", "; ".join(clean(text) for text in report["setup"])),
            ("copied files", ", ".join(clean(text) for text in report["copies"])),
            ("run", "; ".join(run)),
            ("ports", str(report["ports"])),
            ("preset", report["preset"] or ""),
            ("agent", report["agent"] or ""),
            ("mode", report["mode"] or ""),
            ("decision", report["decision"] or "(nothing to decide)"),
        ]
    )
    for problem in report["problems"]:
        line = f", line {problem['line']}" if problem["line"] else ""
        output.note(f"{problem['file']}{line}: {clean(problem['message'])}")
    if report["decision"] == "undecided":
        worktree = f" --worktree {short(report['worktreeId'])}" if report["worktreeId"] else ""
        output.note(
            "Bough does not run or copy any of it. If you trust it: "
            f"bough repo config {short(report['repoId'])}{worktree} --allow"
        )
