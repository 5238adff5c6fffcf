"""Holds the words that several tools share: descriptions of common arguments, and how approvals name a session or quote
a text."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from bough.agents.catalog import usual_agents
from bough.errors import Invalid
from bough.model.session import Session
from bough.model.task import When

LONGEST_QUOTE = 60
STOP_TOOL = "agor_sessions_stop"
"""Its rules count for every tool that stops a turn."""

Id = Annotated[str, Meta(description="Id or prefix.")]
Agent = Annotated[str | None, Meta(description=f"{usual_agents()} …; inherited by default.")]

PresetName = Annotated[str | None, Meta(description="A preset; other arguments count before it.")]


WHEN_WORDS: dict[When, str] = {
    "next": "",
    "now": ", into its running turn",
    "after_stop": ", after stopping its turn",
}
"""How a question to a person says when a prompt is sent."""


def check_when(caller_id: str | None, session_id: str, when: When) -> None:
    """Raises `Invalid` if a session would stop the turn in which it calls."""
    if when == "after_stop" and session_id == caller_id:
        raise Invalid("bad_arguments", "You cannot stop your own turn to prompt yourself. End your turn instead.")


def named(session: Session) -> str:
    """Returns a session's quoted title, or its id if it has none."""
    return repr(session.title) if session.title else session.id


def quote(text: str) -> str:
    """Returns the beginning of a text on one line, in quotes."""
    line = " ".join(text.split())
    return repr(line if len(line) <= LONGEST_QUOTE else line[: LONGEST_QUOTE - 1] + "…")
