"""Requests about sessions (create, change, list), and the checks that need no database."""

from __future__ import annotations

import msgspec

from bough.core.state.limits.session_limit import MadeRoom
from bough.core.transcripts.files import NewFiles
from bough.core.worktrees.records import SessionWorktree
from bough.errors import Invalid
from bough.model.agents.sandbox import Sandbox, SandboxProfile
from bough.model.session import ApprovalTimeout, CallbackConfig, Headless, PermissionMode, Session
from bough.model.task import Task

LONGEST_TITLE = 500
LONGEST_DESCRIPTION = 20_000
LONGEST_CHOICE = 200


class NewSession(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """A session to create (L3)."""

    repo_id: str | None = None
    worktree_id: str | None = None
    worktree: SessionWorktree | None = None
    # The folder inside the repo or worktree; its top by default.
    folder: str | None = None
    # Further folders in which the agent works, absolute and inside the workspace root.
    additional_directories: list[str] = []
    # A preset, by name or id. Whatever the request says itself counts before it.
    preset: str | None = None
    agent: str | None = None
    title: str = ""
    description: str = ""
    permission_mode: PermissionMode | None = None
    model: str | None = None
    effort: str | None = None
    env: dict[str, str] = {}
    # Null uses the preset's; no servers without one.
    mcp_server_ids: list[str] | None = None
    context_files: list[str] = []
    callback: CallbackConfig = msgspec.field(default_factory=CallbackConfig)
    headless: Headless | None = None
    # Minutes that approvals wait before `headless` answers them; null uses the server's setting.
    approval_timeout: ApprovalTimeout | None = None
    # Whether a turn that a usage or rate limit ended is parked and continued; null uses the server's setting.
    resume_after_limit: bool | None = None
    sandbox: Sandbox | None = None
    sandbox_profile: SandboxProfile | None = None
    initial_prompt: str | None = None
    # Files that are attached to the initial prompt.
    files: NewFiles = msgspec.UNSET
    # A person's confirmation that the session may work in a folder that contains Bough's data folder or belongs to git.
    confirm_folder: bool = False
    # At the limit on sessions: complete the root that has been idle longest, resumably, instead of refusing (T5).
    make_room: bool = False
    idempotency_key: str | None = None


class SessionPatch(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Changes to a session; omitted fields stay, and settings take effect with the next prompt."""

    title: str | msgspec.UnsetType = msgspec.UNSET
    description: str | msgspec.UnsetType = msgspec.UNSET
    permission_mode: PermissionMode | msgspec.UnsetType = msgspec.UNSET
    model: str | msgspec.UnsetType | None = msgspec.UNSET
    effort: str | msgspec.UnsetType | None = msgspec.UNSET
    env: dict[str, str] | msgspec.UnsetType = msgspec.UNSET
    mcp_server_ids: list[str] | msgspec.UnsetType = msgspec.UNSET
    context_files: list[str] | msgspec.UnsetType = msgspec.UNSET
    callback: CallbackConfig | msgspec.UnsetType = msgspec.UNSET
    queue_paused: bool | msgspec.UnsetType = msgspec.UNSET
    headless: Headless | msgspec.UnsetType | None = msgspec.UNSET
    approval_timeout: ApprovalTimeout | msgspec.UnsetType | None = msgspec.UNSET
    resume_after_limit: bool | msgspec.UnsetType | None = msgspec.UNSET
    sandbox: Sandbox | msgspec.UnsetType | None = msgspec.UNSET
    sandbox_profile: SandboxProfile | msgspec.UnsetType | None = msgspec.UNSET


class OpenedSession(msgspec.Struct):
    """A new session, and the task of its initial prompt if it had one."""

    session: Session
    task_id: str | None
    # What the person who created it should know about its folder.
    warnings: list[str] = []
    # The session that was completed to make room for it.
    made_room: MadeRoom | None = None


class ResumedSession(Session):
    """A resumed session, and the session that was completed to make room for it."""

    made_room: MadeRoom | None = None


class PromptedTask(Task):
    """A queued prompt, and the session that was completed to make room for the one that it reopened."""

    made_room: MadeRoom | None = None


class SessionFilter(msgspec.Struct):
    """Filters of a list of sessions."""

    repo_id: str | None = None
    worktree_id: str | None = None
    status: str | None = None
    archived: bool | None = None
    root_id: str | None = None
    parent_id: str | None = None
    # Only sessions of these trees.
    roots: tuple[str, ...] | None = None
    activity: str | None = None
    cwd: str | None = None


def check_texts(title: str, description: str) -> None:
    """Raises `Invalid` if a title or description is too long."""
    if len(title) > LONGEST_TITLE:
        raise Invalid("title_too_long", f"A title has at most {LONGEST_TITLE} characters.")
    if len(description) > LONGEST_DESCRIPTION:
        raise Invalid("description_too_long", f"A description has at most {LONGEST_DESCRIPTION} characters.")


def check_choice(name: str, value: str | msgspec.UnsetType | None) -> None:
    """Raises `Invalid` for an empty or too long model or effort; null stands for the agent's default."""
    if isinstance(value, str) and not (value.strip() and len(value) <= LONGEST_CHOICE):
        raise Invalid(
            "bad_choice",
            f"{name} must have 1 to {LONGEST_CHOICE} characters; omit it, or send null, for the agent's default.",
        )
