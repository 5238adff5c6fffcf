"""Holds the words that several tools share: descriptions of common arguments, and how approvals name a session or quote
a text."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from bough.agents.catalog import usual_agents
from bough.model.session import Session

LONGEST_QUOTE = 60

Id = Annotated[str, Meta(description="Id or prefix.")]
Agent = Annotated[str | None, Meta(description=f"{usual_agents()} …; inherited by default.")]


def named(session: Session) -> str:
    """Returns a session's quoted title, or its id if it has none."""
    return repr(session.title) if session.title else session.id


def quote(text: str) -> str:
    """Returns the beginning of a text on one line, in quotes."""
    line = " ".join(text.split())
    return repr(line if len(line) <= LONGEST_QUOTE else line[: LONGEST_QUOTE - 1] + "…")
