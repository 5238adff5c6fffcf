"""`bough export`: writes a session as JSON or Markdown."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from bough.api.cli.framework import output
from bough.api.cli.framework.base import CommandContext, command
from bough.api.cli.framework.client import path
from bough.api.cli.framework.terminal_safety import clean
from bough.api.cli.session.prompt import SessionId
from bough.errors import Invalid


def add_to(root: typer.Typer) -> None:
    command(root, "export")(export)


def export(
    ctx: CommandContext,
    session: SessionId,
    form: Annotated[Literal["json", "markdown"], typer.Option("--format", help="Output format.")] = "markdown",
    file: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write to this file instead of standard output."),
    ] = None,
) -> None:
    """Export a session: everything as JSON, or the conversation as Markdown."""
    chosen = "json" if ctx.json else form
    answer = ctx.client.get(path("sessions", session, "export"), format=chosen)
    if file is None:
        write = output.raw if chosen == "json" else output.text
        write(answer.raw.rstrip(b"\n"))
        return
    target = Path(file).expanduser()
    try:
        target.write_bytes(answer.raw)
    except OSError as error:
        raise Invalid("bad_file", f"Cannot write {target}: {error.strerror}.") from error
    output.note(f"Written to {clean(str(target))}.")
