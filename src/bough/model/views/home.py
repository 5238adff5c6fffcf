"""Defines the start page: what needs a person, what is running, the latest trees and usage (O4)."""

from __future__ import annotations

import msgspec

from bough.model.approval import Approval
from bough.model.session import Activity, Kind, Status
from bough.model.task import TaskStatus


class LastTask(msgspec.Struct, rename="camel"):
    """A session's latest turn; `prompt` is the beginning of its prompt."""

    id: str
    status: TaskStatus
    prompt: str
    started_at: str | None
    ended_at: str | None
    error: msgspec.Raw | None


class SessionSummary(msgspec.Struct, rename="camel"):
    """The fields of a session that lists show as the database has them."""

    id: str
    title: str
    agent: str
    status: Status
    activity: Activity
    kind: Kind
    repo_id: str
    repo_name: str
    worktree_id: str | None
    branch: str | None
    root_session_id: str
    parent_session_id: str | None
    unread: bool
    queue_paused: bool
    archived: bool
    # Queued prompts and open approvals.
    queued: int
    asking: int
    updated_at: str
    active_at: str
    tokens: int
    cost: float


class HomeSession(SessionSummary, kw_only=True):
    """A session in a list. Without a title, the first line of its first prompt stands in."""

    last_task: LastTask | None


class HomeApproval(Approval, kw_only=True):
    """An open approval and its session."""

    session_title: str
    root_session_id: str
    agent: str
    repo_id: str
    cwd: str


class HomeTree(msgspec.Struct, rename="camel"):
    """A tree by its root, with the number of sessions that are running, waiting for approval, queued or unread."""

    session: HomeSession
    sessions: int
    running: int
    asking: int
    queued: int
    unread: int
    tokens: int
    cost: float
    active_at: str


class NeedsAttention(msgspec.Struct, rename="camel"):
    """The things that need a person: approvals, failures, and finished work that nobody has looked at."""

    approvals: list[HomeApproval]
    failed: list[HomeSession]
    review: list[HomeSession]


class TurnUsage(msgspec.Struct, rename="camel"):
    """The usage of turns."""

    turns: int
    tokens: int
    cost: float


class Totals(msgspec.Struct, rename="camel"):
    """Usage today, in the last seven days including today, and in total."""

    today: TurnUsage
    week: TurnUsage
    all: TurnUsage


class Counts(msgspec.Struct, rename="camel"):
    """The number of each, even where a list is cut."""

    approvals: int
    failed: int
    review: int
    running: int
    queued: int


class Home(msgspec.Struct, rename="camel"):
    """The whole start page."""

    needs: NeedsAttention
    running: list[HomeSession]
    queued: list[HomeSession]
    trees: list[HomeTree]
    totals: Totals
    counts: Counts


class SidebarSession(HomeSession, kw_only=True):
    """A session in the sidebar, and whether the caller has pinned it."""

    pinned: bool


class Sidebar(msgspec.Struct, rename="camel"):
    """The sessions that are live or that the caller has pinned: pinned ones first, then by last activity. `more` counts
    the live ones that are left out."""

    sessions: list[SidebarSession]
    more: int
