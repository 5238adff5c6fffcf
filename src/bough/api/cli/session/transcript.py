"""`bough session transcript`: shows how large a session's transcript is, or sets its limit."""

from __future__ import annotations

from typing import Annotated

import typer

from bough.api.cli.framework import output
from bough.api.cli.framework.base import CommandContext, command
from bough.api.cli.framework.client import path
from bough.api.cli.session.manage import app
from bough.api.cli.session.prompt import SessionId
from bough.api.cli.session.sizes import describe_size, parse_size


def add_to(_root: typer.Typer) -> None:
    """Does nothing: this command belongs to `bough session`."""


@command(app, "transcript")
def transcript(
    ctx: CommandContext,
    session: SessionId,
    limit: Annotated[
        str | None,
        typer.Option(
            "--limit", metavar="SIZE", help="Maximum size, such as 512M, or `server` for the server's default."
        ),
    ] = None,
) -> None:
    """Show the size of a session's transcript, or set its limit. A queue that was paused at the limit continues with
    the next prompt or a resume."""
    address = path("sessions", session, "transcript")
    if limit is None:
        answer = ctx.client.get(address)
    else:
        answer = ctx.client.call("PUT", address, body={"limit": None if limit == "server" else parse_size(limit)})
    ctx.show(answer, lambda size: output.line(describe_size(size)))
