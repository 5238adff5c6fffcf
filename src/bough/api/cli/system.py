"""`bough agents` and `bough export`: what can be started here, and a session to take away."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from bough.api.cli import out
from bough.api.cli.base import Here, command
from bough.api.cli.client import Json, path
from bough.api.cli.prompting import SessionId
from bough.api.cli.words import brief, clean
from bough.errors import Invalid


def add_to(root: typer.Typer) -> None:
    command(root, "agents")(agents)
    command(root, "export")(export)


def agents(here: Here) -> None:
    """List the agents that sessions can have, and how to install those that are missing."""

    def render(answer: Any) -> None:
        rows: list[Json] = answer["agents"]
        out.table(
            ("NAME", "TITLE", "INSTALLED", "DEFAULT", "HOW TO INSTALL"),
            [
                (
                    row["name"],
                    brief(row["title"], 40),
                    "yes" if row["installed"] else "no",
                    "yes" if row["isDefault"] else "",
                    "" if row["installed"] else brief(row["install"], 200),
                )
                for row in rows
            ],
            flexible="HOW TO INSTALL",
            empty="No agent.",
        )

    here.show(here.client.get("/api/agents"), render)


def export(
    here: Here,
    session: SessionId,
    form: Annotated[Literal["json", "markdown"], typer.Option("--format", help="How to write it.")] = "markdown",
    file: Annotated[str | None, typer.Option("--output", "-o", metavar="FILE", help="Write it there.")] = None,
) -> None:
    """Take a session away: everything as JSON, or the conversation as Markdown."""
    chosen = "json" if here.json else form
    answer = here.client.get(path("sessions", session, "export"), format=chosen)
    if file is None:
        write = out.raw if chosen == "json" else out.text
        write(answer.raw.rstrip(b"\n"))
        return
    target = Path(file).expanduser()
    try:
        target.write_bytes(answer.raw)
    except OSError as error:
        raise Invalid("bad_file", f"{target} cannot be written: {error.strerror}.") from error
    out.note(f"Written to {clean(str(target))}.")
