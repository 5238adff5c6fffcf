"""Defines trees: how sessions are related, what children report, and budgets (B1–B5, Q3)."""

from __future__ import annotations

from typing import Literal

import msgspec

from bough.model.session import Activity, Kind, PermissionMode, Status, Stuck, Who

CallbackState = Literal["queued", "delivered", "held"]


class Callback(msgspec.Struct, rename="camel"):
    """A row of `callbacks`: one report of a child on its way to the parent."""

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


class AgentNote(msgspec.Struct, rename="camel"):
    """A row of `asides`: a note that an agent receives with its next prompt."""

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

    @property
    def id(self) -> str:
        """The root session's id identifies a tree."""
        return self.root_session_id


class TreeUsage(msgspec.Struct, rename="camel"):
    """A tree's usage so far."""

    sessions: int
    turns: int
    tokens: int
    cost: float
    seconds: float


class Node(msgspec.Struct, rename="camel"):
    """One session in the drawing of its tree."""

    id: str
    kind: Kind
    parent_session_id: str | None
    forked_from_session_id: str | None
    branch_task_id: str | None
    depth: int
    agent: str
    title: str
    status: Status
    activity: Activity
    stuck: Stuck | None
    permission_mode: PermissionMode
    archived: bool
    queue_paused: bool
    worktree_id: str | None
    cwd: str
    message_count: int
    turns: int
    tokens: int
    cost: float
    seconds: float
    # The beginning of its first prompt.
    first_prompt: str
    # Queued prompts, open approvals, and reports that could not be delivered.
    queued: int
    asking: int
    held: int
    # Whether a turn ended since a person looked and whether the last one failed; who created it; whether an agent
    # caused its newest turn.
    unread: bool
    failed: bool
    created_by: Who
    prompted_by_agent: bool
    created_at: str
    updated_at: str
    ended_at: str | None


class Tree(msgspec.Struct, rename="camel"):
    """A whole tree: its sessions in creation order, their usage and their budget."""

    root_session_id: str
    sessions: list[Node]
    used: TreeUsage
    budget: Budget | None
    # How many sessions are running, waiting for approval, or have queued prompts.
    running: int
    asking: int
    queued: int
