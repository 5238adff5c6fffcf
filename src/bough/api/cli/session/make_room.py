"""The option that makes room at the limit on sessions, and the notice about the session that was completed."""

from __future__ import annotations

from typing import Annotated

import typer

from bough.api.cli.framework import output
from bough.api.cli.framework.client import Json
from bough.api.cli.framework.formats import ago, brief, short

MakeRoom = Annotated[
    bool,
    typer.Option(
        "--make-room/--no-make-room",
        help="At the limit on sessions, complete the one that has been idle longest, or fail.",
    ),
]


def note_made_room(answer: Json) -> None:
    """Names the session that was completed to make room for another, if there was one, and how to continue with it."""
    ended: Json | None = answer.get("madeRoom")
    if ended is None:
        return
    short_id, title = short(ended["id"]), brief(ended["title"], 40)
    name = f"{short_id} ({title})" if title else short_id
    output.note(f"To make room, completed session {name}, last active {ago(ended['idleSince'])}.")
    output.note(f"To continue with it: bough session prompt {short_id} --resume TEXT")
