"""`bough session calls`: what a session's agent has called of Bough's own tools, and what became of it (5c). Answering
what it asks for is `approvals`."""

from __future__ import annotations

from typing import Any

import typer

from bough.api.cli.commands.repo import Limit, Offset
from bough.api.cli.framework import output
from bough.api.cli.framework.base import Here, command
from bough.api.cli.framework.client import Json, part, path
from bough.api.cli.framework.formats import ago, brief, short, short_forms
from bough.api.cli.session.manage import app
from bough.api.cli.session.prompt import SessionId


def add_to(_root: typer.Typer) -> None:
    """It stands in `bough session`."""


@command(app, "calls")
def calls(here: Here, session: SessionId, limit: Limit = 20, offset: Offset = 0) -> None:
    """List what a session's agent has called of Bough's tools to change something, newest first."""
    answer = here.client.get(path("sessions", session, "calls"), limit=limit, offset=offset)

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
                    _what(row),
                )
                for row in rows
            ],
            flexible="WHAT",
            empty="Its agent has called nothing.",
        )
        output.more(page, len(rows))

    here.show(answer, render)


def _what(row: Json) -> str:
    """What it was to do, and why that came to nothing if it did."""
    wrong = part(row, "outcome").get("message", "") if row["state"] in ("failed", "denied") else ""
    return brief(f"{row['title']} {wrong}".strip(), 400)
