"""Events (A3): what happened, in past tense. State changes are rows with a cursor; streaming deltas have none and are
never stored."""

from __future__ import annotations

from typing import Literal, get_args

import msgspec

EventType = Literal[
    "repo.created",
    "repo.patched",
    "repo.removed",
    "worktree.created",
    "worktree.patched",
    "worktree.removed",
    "board.created",
    "board.patched",
    "board.removed",
    "mcp_server.created",
    "mcp_server.patched",
    "mcp_server.removed",
    "session.created",
    "session.patched",
    "session.removed",
    "task.created",
    "task.patched",
    "task.removed",
    "message.created",
    "message.patched",
    "message.removed",
    "approval.created",
    "approval.patched",
    "tree.patched",
    "callback.created",
    "callback.patched",
    "rule.created",
    "rule.patched",
    "rule.removed",
    "choice.created",
    "choice.removed",
]

# What a subscriber is sent besides rows: text as it grows, the text so far on joining, where it stands, what it missed.
LiveType = Literal["message.delta", "message.snapshot", "stream.ready", "stream.gap"]

EVENT_TYPES: tuple[EventType, ...] = get_args(EventType)
LIVE_TYPES: tuple[LiveType, ...] = get_args(LiveType)


class Event(msgspec.Struct, rename="camel"):
    """A row of `events`: `data` is the record as it stood when it changed."""

    cursor: int
    type: EventType
    session_id: str | None
    object_id: str
    data: msgspec.Raw
    created_at: str


class Delta(msgspec.Struct, rename="camel"):
    """Text added to a message that is being streamed, at `offset` characters; what a client has already, it skips."""

    type: LiveType
    session_id: str
    message_id: str
    offset: int
    text: str
