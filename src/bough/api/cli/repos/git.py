"""`bough repo git`: shows what a repo would run through git, and allows or forbids it."""

from __future__ import annotations

from typing import Annotated

import typer

from bough.api.cli.framework import output
from bough.api.cli.framework.base import CommandContext, command
from bough.api.cli.framework.client import Json, path
from bough.api.cli.framework.terminal_safety import clean
from bough.api.cli.repos.repo import RepoId, app, print_undecided

KINDS = ("hooks", "filters", "submodules", "fetch")


def add_to(_root: typer.Typer) -> None:
    """Its command belongs to `bough repo`."""


def complete(incomplete: str) -> list[str]:
    return [kind for kind in KINDS if kind.startswith(incomplete)]


Kinds = list[str] | None


@command(app, "git")
def change_git(
    ctx: CommandContext,
    repo: RepoId,
    allow: Annotated[
        Kinds,
        typer.Option("--allow", metavar="KIND", help=f"Allow {', '.join(KINDS)}; repeatable.", autocompletion=complete),
    ] = None,
    deny: Annotated[
        Kinds,
        typer.Option("--deny", metavar="KIND", help=f"Forbid {', '.join(KINDS)}; repeatable.", autocompletion=complete),
    ] = None,
) -> None:
    """Show what a repo would run through git, or allow and forbid it. By default nothing runs."""
    chosen = dict.fromkeys(allow or [], True) | dict.fromkeys(deny or [], False)
    if unknown := [kind for kind in chosen if kind not in KINDS]:
        raise typer.BadParameter(f"{', '.join(unknown)}: use {', '.join(KINDS)}.")
    if both := [kind for kind in allow or [] if kind in (deny or [])]:
        raise typer.BadParameter(f"{', '.join(both)} cannot be allowed and denied at once.")
    where = path("repos", repo, "git")
    ctx.show(ctx.client.patch(where, chosen) if chosen else ctx.client.get(where), _draw)


def _draw(report: Json) -> None:
    allowed: Json = report["allowed"] or {}
    programs: dict[str, str] = report["programs"]
    contents = {
        "hooks": ", ".join(clean(name) for name in report["hooks"]),
        "filters": "; ".join(f"{clean(name)} = {clean(command)}" for name, command in programs.items()),
        "submodules": "yes" if report["submodules"] else "",
        "fetch": "partial clone" if report["partialClone"] else "",
    }
    output.facts(
        [(kind, f"{'allowed' if allowed.get(kind) else 'off'}  {contents[kind] or '(none)'}") for kind in KINDS]
    )
    if report["changed"]:
        names = ", ".join(clean(name) for name in report["changed"])
        output.note(f"Changed since it was allowed, and therefore off: {names}. Allow filters again to accept it.")
    print_undecided(report)
