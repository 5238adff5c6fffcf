"""Words that several tools share: how a session or a text is named in a question to a person, and what arguments of one
kind are described as. The questions themselves are each tool's part."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from bough.model.session import Session

LONGEST_QUOTE = 60

Id = Annotated[str, Meta(description="Id or unique prefix.")]
Agent = Annotated[str | None, Meta(description="claude-code, codex, gemini, opencode …; inherited if left out.")]


def named(session: Session) -> str:
    return repr(session.title) if session.title else session.id


def quote(text: str) -> str:
    """The beginning of a text, on one line."""
    line = " ".join(text.split())
    return repr(line if len(line) <= LONGEST_QUOTE else line[: LONGEST_QUOTE - 1] + "…")
