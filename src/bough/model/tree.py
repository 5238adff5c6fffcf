"""Trees: how sessions hang together, what children report, and what a tree may use (B1–B5, Q3). Making branches is
`bough.core.branching`."""

from __future__ import annotations

from typing import Literal

import msgspec

CallbackState = Literal["queued", "delivered", "held"]


class Callback(msgspec.Struct, rename="camel"):
    """A row of `callbacks`: one report of a child, and how it travels to its parent."""

    id: str
    child_session_id: str
    child_task_id: str
    parent_session_id: str
    parent_task_id: str | None
    state: CallbackState
    # Why it is held.
    reason: str | None
    text: str
    created_at: str
    updated_at: str


class Aside(msgspec.Struct, rename="camel"):
    """A row of `asides`: what an agent is told before its next prompt, beside that."""

    id: str
    session_id: str
    from_session_id: str | None
    text: str
    told_task_id: str | None
    created_at: str


class Budget(msgspec.Struct, rename="camel"):
    """A row of `trees`: what all sessions of a tree may use together, counted from when it was set."""

    root_session_id: str
    max_tokens: int | None
    max_cost: float | None
    max_turns: int | None
    max_minutes: float | None
    base_tokens: int
    base_cost: float
    base_turns: int
    base_seconds: float
    attended_at: str
    created_at: str
    updated_at: str


class Used(msgspec.Struct, rename="camel"):
    """What a tree has used so far."""

    sessions: int
    turns: int
    tokens: int
    cost: float
    seconds: float
