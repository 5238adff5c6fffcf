"""What the start page of a person shows: what needs them, what runs, which trees there are, what it all has used (O4).
Reading it is `bough.core.overview.home`."""

from __future__ import annotations

import msgspec

from bough.model.approval import Approval
from bough.model.session import Activity, Kind, Status
from bough.model.task import TaskStatus


class LastTask(msgspec.Struct, rename="camel"):
    """The turn of a session that was started last; `prompt` is how its prompt begins."""

    id: str
    status: TaskStatus
    prompt: str
    started_at: str | None
    ended_at: str | None
    error: msgspec.Raw | None


class HomeSession(msgspec.Struct, rename="camel"):
    """A session in a list; without a title of its own the first line of its first prompt stands for it."""

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
    # Prompts that wait, and open questions.
    queued: int
    asking: int
    last_task: LastTask | None
    updated_at: str
    active_at: str
    tokens: int
    cost: float


class HomeApproval(Approval, kw_only=True):
    """An open question, and where it comes from."""

    session_title: str
    root_session_id: str
    agent: str
    repo_id: str
    cwd: str


class HomeTree(msgspec.Struct, rename="camel"):
    """A tree by its root, and how many of its sessions are at work, ask, have prompts that wait, are unread."""

    session: HomeSession
    sessions: int
    running: int
    asking: int
    queued: int
    unread: int
    tokens: int
    cost: float
    active_at: str


class Needs(msgspec.Struct, rename="camel"):
    """What waits for a person: questions, what did not get through, what has come to an end and was not looked at."""

    approvals: list[HomeApproval]
    failed: list[HomeSession]
    review: list[HomeSession]


class Spent(msgspec.Struct, rename="camel"):
    """What turns have used."""

    turns: int
    tokens: int
    cost: float


class Totals(msgspec.Struct, rename="camel"):
    """What was used since the day began, in the last seven days with this one, and ever."""

    today: Spent
    week: Spent
    all: Spent


class Counts(msgspec.Struct, rename="camel"):
    """How many there are of each, also where a list is cut."""

    approvals: int
    failed: int
    review: int
    running: int
    queued: int


class Home(msgspec.Struct, rename="camel"):
    """The whole start page."""

    needs: Needs
    running: list[HomeSession]
    queued: list[HomeSession]
    trees: list[HomeTree]
    totals: Totals
    counts: Counts
