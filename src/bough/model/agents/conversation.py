"""Defines the conversations that agents hold themselves, inside or outside of Bough."""

from __future__ import annotations

import msgspec

from bough.model.session import Session


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
