"""What callers say about sessions: the one to open, changes to one, which ones a list shows; and the checks that need
no database. Acting on it is `sessions`."""

from __future__ import annotations

import msgspec

from bough.core.transcripts.files import NewFiles
from bough.core.worktrees.records import SessionWorktree
from bough.errors import Invalid
from bough.model.session import CallbackConfig, Headless, PermissionMode, Session

LONGEST_TITLE = 500
LONGEST_DESCRIPTION = 20_000
LONGEST_CHOICE = 200


class NewSession(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """What a caller says about the session to open (L3)."""

    repo_id: str | None = None
    worktree_id: str | None = None
    worktree: SessionWorktree | None = None
    # Where to work inside the repository or worktree, if not at its top.
    folder: str | None = None
    agent: str | None = None
    title: str = ""
    description: str = ""
    permission_mode: PermissionMode | None = None
    model: str | None = None
    effort: str | None = None
    env: dict[str, str] = {}
    mcp_server_ids: list[str] = []
    context_files: list[str] = []
    callback: CallbackConfig = msgspec.field(default_factory=CallbackConfig)
    headless: Headless | None = None
    initial_prompt: str | None = None
    # What goes with the initial prompt.
    files: NewFiles = msgspec.UNSET
    idempotency_key: str | None = None


class SessionPatch(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Changes to a session; what is left out stays, settings take effect at the next prompt."""

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


class Opened(msgspec.Struct):
    """A new session, and the task of its initial prompt if it had one."""

    session: Session
    task_id: str | None


class SessionFilter(msgspec.Struct):
    """Which sessions a list shows."""

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
    """Texts that people read are not endless."""
    if len(title) > LONGEST_TITLE:
        raise Invalid("title_too_long", f"A title has at most {LONGEST_TITLE} characters.")
    if len(description) > LONGEST_DESCRIPTION:
        raise Invalid("description_too_long", f"A description has at most {LONGEST_DESCRIPTION} characters.")


def check_choice(name: str, value: str | msgspec.UnsetType | None) -> None:
    """A model or an effort is named as the agent names it; leaving it to the agent is null, not an empty text."""
    if isinstance(value, str) and not (value.strip() and len(value) <= LONGEST_CHOICE):
        raise Invalid(
            "bad_choice",
            f"{name} has between 1 and {LONGEST_CHOICE} characters; leave it out (or null) to have the agent's own.",
        )
