"""Holds the argument and the closing line that the commands about approvals share."""

from __future__ import annotations

from typing import Annotated

import typer

from bough.api.cli.framework import output
from bough.api.cli.framework.client import Json
from bough.api.cli.framework.completion import ids
from bough.api.cli.framework.formats import brief, short

ApprovalId = Annotated[
    str,
    typer.Argument(
        metavar="APPROVAL",
        help="Approval id, or 8 characters of it.",
        autocompletion=ids("approvals", "title", status="pending"),
    ),
]


def print_decided(approval: Json, reach: str = "") -> None:
    """Prints what became of an approval."""
    always = f" from now on {reach}".rstrip() if approval["decision"] == "allow_always" else ""
    output.line(f"{short(approval['id'])} is {approval['status']}{always}: {brief(approval['title'])}")


def how_to_answer(approval: Json) -> str:
    """Returns the command that answers an approval."""
    verb = "answer" if approval["toolKind"] == "question" else "allow"
    return f"bough approval {verb} {short(approval['id'])}"
