"""Defines a session: one conversation with one agent in one folder (R2), its two-part status (T1) and permission modes
(P1)."""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args

import msgspec

from bough.errors import Denied, Invalid
from bough.model.access.user import OWNER, Role, includes
from bough.model.agents.sandbox import Confinement, Sandbox, SandboxProfile

Status = Literal["active", "completed", "cancelled", "error"]
Activity = Literal["not_started", "idle", "running", "waiting_permission"]
Kind = Literal["root", "fork", "subsession", "btw"]
PermissionMode = Literal[
    "default", "acceptEdits", "bypassPermissions", "plan", "ask", "auto", "on-failure", "allow-all"
]
# What is wrong with a running turn: its agent does nothing, or repeats the same tool calls.
Stuck = Literal["stalled", "looping"]
Who = Literal["person", "session", "system"]
# The interface through which a caller came; `server` is Bough itself, `machine` a command that works on the database.
Door = Literal["rest", "page", "mcp", "acp", "machine", "server"]
# The answer to an approval that nobody decides (P4).
Headless = Literal["wait", "deny", "allow"]
# Minutes that an approval waits for a person, at most a year.
ApprovalTimeout = Annotated[float, msgspec.Meta(gt=0, le=525_600)]
# How the agent of a fork came to know the conversation: it copied its own, or was told the transcript.
ForkHistory = Literal["native", "replay"]

STATUSES: tuple[Status, ...] = get_args(Status)
ACTIVITIES: tuple[Activity, ...] = get_args(Activity)
MODES: tuple[PermissionMode, ...] = get_args(PermissionMode)

# How much each mode grants (P1): a mapped or inherited mode never ranks higher than the requested one.
RANK: dict[PermissionMode, int] = {
    "plan": 0,
    "default": 1,
    "ask": 1,
    "acceptEdits": 2,
    "auto": 3,
    "on-failure": 3,
    "bypassPermissions": 4,
    "allow-all": 4,
}

# Allowed status moves. `error` is final unless a person set it by hand (T2).
MOVES: dict[Status, frozenset[Status]] = {
    "active": frozenset({"completed", "cancelled", "error"}),
    "completed": frozenset({"active", "cancelled"}),
    "cancelled": frozenset({"active"}),
    "error": frozenset({"active"}),
}


class StatusFilter(msgspec.Struct, frozen=True):
    """Selects sessions with one of these statuses, and active ones with one of these activities."""

    statuses: tuple[Status, ...]
    activities: tuple[Activity, ...]


def parse_state_filter(text: str) -> StatusFilter:
    """Parses `a,b` from a query string, statuses or what an active session does; `idle` includes `not_started`."""
    words = [part.strip() for part in text.split(",") if part.strip()]
    unknown = [word for word in words if word not in STATUSES and word not in ACTIVITIES]
    if unknown or not words:
        known = ", ".join((*STATUSES, *ACTIVITIES))
        raise Invalid("bad_status", f"Unknown status {', '.join(unknown) or text!r}. Use one of: {known}.")
    chosen = {*words, "not_started"} if "idle" in words else {*words}
    return StatusFilter(
        tuple(status for status in STATUSES if status in chosen),
        tuple(activity for activity in ACTIVITIES if activity in chosen),
    )


def parse_statuses(text: str | None) -> tuple[Status, ...]:
    """Parses `a,b` from a query string; an empty string means all."""
    if not text:
        return STATUSES
    statuses = [part.strip() for part in text.split(",") if part.strip()]
    unknown = [part for part in statuses if part not in STATUSES]
    if unknown or not statuses:
        raise Invalid(
            "bad_status", f"Unknown status {', '.join(unknown) or text!r}. Use one of: {', '.join(STATUSES)}."
        )
    return tuple(status for status in STATUSES if status in statuses)


class CallbackConfig(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Sets what a child reports to its parent at the end of each task (Q3)."""

    enabled: bool = True
    include_last_message: bool = True
    include_original_prompt: bool = False
    extra_instructions: str | None = None


class RacePosition(msgspec.Struct, frozen=True):
    """The race that a session runs in, and its number there."""

    race_id: str = msgspec.field(name="id")
    race_number: int = msgspec.field(name="number")


class SessionMetadata(msgspec.Struct, rename="camel", omit_defaults=True, frozen=True):
    """Columns of `sessions` that are published together, as the object `metadata`; empty ones are left out."""

    # Why the session ended.
    end_reason: str | None = msgspec.field(default=None, name="reason")
    # The status that the session gets when its work is over.
    ending: Literal["completed", "failed"] | None = None
    # Why Bough paused the queue; None if a person paused it or it is not paused.
    pause_reason: str | None = None
    # How a fork's agent learned the conversation: by a copy of its own, or from the transcript.
    fork_history: ForkHistory | None = msgspec.field(default=None, name="fork")
    # Context files that the agent has been given links to, and notices that people have been shown once.
    linked_files: msgspec.Raw | None = msgspec.field(default=None, name="linked")
    told_notices: msgspec.Raw | None = msgspec.field(default=None, name="told")
    # `agent` if the agent chose the title, which it may then change.
    title_from: Literal["agent"] | None = None
    # What the agent reports about itself: its mode, the options that can be set, its slash commands.
    agent_mode: str | None = None
    config_options: msgspec.Raw | None = None
    commands: msgspec.Raw | None = None
    race: RacePosition | None = None

    @property
    def offered_options(self) -> Any:
        """The decoded options that the agent reported."""
        return msgspec.json.decode(self.config_options) if self.config_options is not None else None

    @property
    def offered_commands(self) -> Any:
        """The decoded slash commands that the agent reported."""
        return msgspec.json.decode(self.commands) if self.commands is not None else None

    @property
    def linked_paths(self) -> list[str]:
        return msgspec.json.decode(self.linked_files, type=list[str]) if self.linked_files is not None else []

    @property
    def told_texts(self) -> list[str]:
        return msgspec.json.decode(self.told_notices, type=list[str]) if self.told_notices is not None else []


class Session(msgspec.Struct, rename="camel"):
    """A row of `sessions` as everyone sees it. Secrets are in a separate table."""

    id: str
    repo_id: str
    worktree_id: str | None
    cwd: str
    agent: str
    title: str
    description: str
    status: Status
    activity: Activity
    permission_mode: PermissionMode
    allowed_tools: msgspec.Raw
    model: str | None
    effort: str | None
    mcp_server_ids: msgspec.Raw
    env: msgspec.Raw
    context_files: msgspec.Raw
    callback: msgspec.Raw
    kind: Kind
    parent_session_id: str | None
    forked_from_session_id: str | None
    root_session_id: str
    branch_task_id: str | None
    created_by: msgspec.Raw
    git_state: msgspec.Raw
    message_count: int
    queue_paused: bool
    archived: bool
    metadata: SessionMetadata
    context: msgspec.Raw | None
    cost: msgspec.Raw | None
    created_at: str
    updated_at: str
    active_at: str
    ended_at: str | None
    # The answer to an approval that nobody decides; null uses the server's setting.
    headless: Headless | None
    depth: int
    turns: int
    tokens: int
    seconds: float
    spent: float
    # When a person last looked at it.
    seen_at: str | None = None
    # Whether its agent runs in the sandbox; null uses the repo's or the server's setting.
    sandbox: Sandbox | None = None
    # The profile of its sandbox; null uses the repo's or the server's setting.
    sandbox_profile: SandboxProfile | None = None
    # How its agent was confined at its last start, and the reason if it was not.
    confinement: Confinement | None = None
    unconfined_reason: str | None = None
    # Minutes that an approval waits before `headless` answers it; null uses the server's setting.
    approval_timeout: float | None = None
    # Whether a turn that a usage or rate limit ended is parked and continued; null uses the server's setting.
    resume_after_limit: bool | None = None
    # Whether the running turn is stalled or looping, and since when.
    stuck: Stuck | None = None
    stuck_since: str | None = None
    # The preset that it was created from, and its name at that time.
    preset_id: str | None = None
    preset: str | None = None
    # Folders beside its own in which its agent works, too.
    additional_directories: msgspec.Raw = msgspec.field(default_factory=lambda: msgspec.Raw(b"[]"))


def directories_of(session: Session) -> list[str]:
    """Returns the folders beside its own in which a session's agent works."""
    return msgspec.json.decode(session.additional_directories, type=list[str])


class Caller(msgspec.Struct, frozen=True):
    """The caller: a person or script with the server's or a user's token, or a session with its own."""

    kind: Who = "person"
    # The calling session; None for people.
    id: str | None = None
    idempotency_key: str | None = None
    # Whether a person allowed exactly this although it exceeds the caller's rights.
    granted: bool = False
    # The named user; None for the owner of the server.
    user_id: str | None = None
    user_name: str | None = None
    # What the person may do. Sessions have rights of their own, which do not depend on it.
    role: Role = "admin"
    # The user's token or page key that the caller came with.
    token_id: str | None = None
    door: Door = "rest"

    @property
    def person(self) -> str | None:
        """The name of the calling person; None for sessions and Bough itself."""
        return (self.user_name or OWNER) if self.kind == "person" else None

    @property
    def own_id(self) -> str:
        """Tells callers of one kind apart: the id of a session or named user, empty for the owner."""
        return self.id or self.user_id or ""

    def record(self) -> dict[str, str | None]:
        """Returns the caller as records name it (`createdBy`, `decidedBy`); only named users have a name there."""
        return {"kind": self.kind, "id": self.id, **({"user": self.user_name} if self.user_name else {})}

    def may(self, role: Role) -> bool:
        """Returns whether the caller has a role. Sessions have none; other rules decide about them."""
        return self.kind != "person" or includes(self.role, role)

    def require(self, role: Role, action: str) -> None:
        """Raises `Denied` unless the caller has a role. `action` completes "to …"."""
        if not self.may(role):
            raise Denied(
                "role_too_low",
                f"You need the role {role} to {action}; yours is {self.role}. Ask an admin of this server.",
                needed=role,
                role=self.role,
            )
