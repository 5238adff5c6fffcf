"""`bough usage`: shows what turns have used, by day, agent, repository or tree."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import typer

from bough.api.cli.framework import output
from bough.api.cli.framework.base import CommandContext, command
from bough.api.cli.framework.client import Json
from bough.api.cli.framework.formats import amount, short
from bough.api.cli.framework.terminal_safety import clean

HEADINGS = {"day": "DAY", "agent": "AGENT", "repo": "REPO", "tree": "TREE"}


def add_to(root: typer.Typer) -> None:
    command(root, "usage")(usage)


def usage(
    ctx: CommandContext,
    by: Annotated[str, typer.Option("--by", metavar="day|agent|repo|tree", help="Grouping.")] = "day",
    since: Annotated[
        str, typer.Option("--since", metavar="DAY", help="The first day (2026-11-01), or a number of days (30d).")
    ] = "14d",
) -> None:
    """Show what turns have used: turns, tokens and cost by day, agent, repository or tree."""
    offset = datetime.now().astimezone().utcoffset()
    minutes = int(offset.total_seconds() // 60) if offset is not None else 0
    ctx.show(ctx.client.get("/api/usage", by=by, since=since, tz=minutes), _draw)


def _draw(report: Json) -> None:
    by = report["by"]
    rows = [(_name(by, group), *_numbers(group)) for group in report["groups"]]
    if report["rest"]["turns"] > 0:
        rows.append(("(others)", *_numbers(report["rest"])))
    rows.append(("Total", *_numbers(report["total"])))
    output.table((HEADINGS[by], "TURNS", "TOKENS", "COST"), rows, flexible=HEADINGS[by], empty="")


def _name(by: str, group: Json) -> str:
    if group["name"]:
        return clean(group["name"])
    return f"({'removed tree' if by == 'tree' else 'removed repo'} {short(group['id'])})"


def _numbers(used: Json) -> tuple[str, str, str]:
    return str(used["turns"]), amount(used["tokens"]), f"{used['cost']:.2f}"
