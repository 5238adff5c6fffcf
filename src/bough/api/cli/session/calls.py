"""`bough session calls`: lists an agent's calls of Bough's own tools and their outcomes."""

from __future__ import annotations

from typing import Any

import typer

from bough.api.cli.framework import output
from bough.api.cli.framework.base import CommandContext, command
from bough.api.cli.framework.client import Json, part, path
from bough.api.cli.framework.formats import ago, brief, short, short_forms
from bough.api.cli.repos.repo import Limit, Offset
from bough.api.cli.session.manage import app
from bough.api.cli.session.prompt import SessionId


def add_to(_root: typer.Typer) -> None:
    """Does nothing: this command belongs to `bough session`."""


@command(app, "calls")
def calls(ctx: CommandContext, session: SessionId, limit: Limit = 20, offset: Offset = 0) -> None:
    """List the changes that a session's agent made with Bough's tools, newest first."""
    answer = ctx.client.get(path("sessions", session, "calls"), limit=limit, offset=offset)

    def render(page: Any) -> None:
        rows: list[Json] = page["calls"]
        forms = short_forms([row["id"] for row in rows])
        output.table(
            ("ID", "TOOL", "STATE", "APPROVAL", "CALLED", "WHAT"),
            [
                (
                    forms[row["id"]],
                    brief(row["tool"], 40),
                    row["state"],
                    short(row["approvalId"]) if row["approvalId"] else "",
                    ago(row["createdAt"]),
                    _describe(row),
                )
                for row in rows
            ],
            flexible="WHAT",
            empty="No calls.",
        )
        output.more(page, len(rows))

    ctx.show(answer, render)


def _describe(row: Json) -> str:
    """Describes what the call should do, and the error if it failed or was denied."""
    error = part(row, "outcome").get("message", "") if row["state"] in ("failed", "denied") else ""
    return brief(f"{row['title']} {error}".strip(), 400)
