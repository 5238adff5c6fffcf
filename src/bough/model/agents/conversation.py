"""Defines the conversations that agents hold themselves, inside or outside of Bough."""

from __future__ import annotations

import re

import msgspec

from bough.model.session import Session

LONGEST_ID = 200
_PLAIN_ID = re.compile(rf"[A-Za-z0-9_][A-Za-z0-9_.:@+=~-]{{0,{LONGEST_ID - 1}}}")


def is_plain_id(text: str) -> bool:
    """Tells whether a text can be the id of a conversation. Agents choose these, and people's programs get them as an
    argument, so one that would be an option or a path is none."""
    return _PLAIN_ID.fullmatch(text) is not None


class Conversation(msgspec.Struct, rename="camel"):
    """A conversation that an agent holds. `sessionId` is the session that already holds it; `refusal` says why it
    cannot be imported as it is."""

    agent: str
    id: str
    folder: str
    title: str
    updated_at: str | None
    session_id: str | None = None
    refusal: str | None = None


class UnreadAgent(msgspec.Struct, rename="camel"):
    """An agent whose conversations could not be listed, and why."""

    agent: str
    reason: str


class ConversationList(msgspec.Struct, rename="camel"):
    """Conversations of the installed agents, newest first, and the agents that could not be asked."""

    conversations: list[Conversation]
    unread: list[UnreadAgent]
    total: int
    limit: int
    offset: int


class ImportedSession(msgspec.Struct, rename="camel"):
    """The session that now holds a conversation, how many turns it has, and what a person should know about it."""

    session: Session
    turns: int
    warnings: list[str]


class CaughtUp(msgspec.Struct, rename="camel"):
    """A session, and how many turns it has gained that took place outside of Bough."""

    session: Session
    turns: int


class TerminalCommand(msgspec.Struct, rename="camel"):
    """The command that continues a session in its agent's own terminal program: as a line for a shell, and in parts."""

    command: str
    words: list[str]
    env: dict[str, str]
    cwd: str
