"""Defines events (A3), named in the past tense. State changes are rows with a cursor; streaming deltas have none and
are never stored."""

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
    "preset.created",
    "preset.patched",
    "preset.removed",
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
    "schedule.created",
    "schedule.patched",
    "schedule.removed",
    "terminal.created",
    "terminal.removed",
    "run.created",
    "run.patched",
    "run.removed",
    "clone.created",
    "clone.patched",
    "clone.removed",
]

# Frames besides rows: growing text, the text so far on joining, the current cursor, a gap.
LiveType = Literal["message.delta", "message.snapshot", "stream.ready", "stream.gap"]

EVENT_TYPES: tuple[EventType, ...] = get_args(EventType)
LIVE_TYPES: tuple[LiveType, ...] = get_args(LiveType)


class Event(msgspec.Struct, rename="camel"):
    """A row of `events`; `data` is the record after the change."""

    cursor: int
    type: EventType
    session_id: str | None
    object_id: str
    data: msgspec.Raw
    created_at: str


class Delta(msgspec.Struct, rename="camel"):
    """Text added to a streaming message at `offset` characters. A client skips what it already has."""

    type: LiveType
    session_id: str
    message_id: str
    offset: int
    text: str
