"""Requests about forks, children and side questions."""

from __future__ import annotations

from typing import Literal

import msgspec

from bough.core.transcripts.files import NewFiles
from bough.model.session import ApprovalTimeout, CallbackConfig, Headless, PermissionMode


class NewBranchWorktree(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """A worktree to create for a branch: its git branch, its path, and whether ignored files are copied."""

    branch: str | None = None
    path: str | None = None
    ignored: bool = False


class NewBranch(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """A fork, child or side question to create; omitted fields are inherited (L3)."""

    prompt: str | None = None
    # Files that are attached to the prompt.
    files: NewFiles = msgspec.UNSET
    title: str | None = None
    description: str | None = None
    # A preset, by name or id. Whatever the request says itself counts before it, and it before what is inherited.
    preset: str | None = None
    agent: str | None = None
    permission_mode: PermissionMode | None = None
    model: str | None = None
    effort: str | None = None
    # A fork begins after this task; by default after the last finished one.
    task_id: str | None = None
    worktree: Literal["same", "new"] | NewBranchWorktree = "same"
    # A child works in this worktree of the repo instead.
    worktree_id: str | None = None
    mcp_server_ids: list[str] | None = None
    env: dict[str, str] | None = None
    callback: CallbackConfig | None = None
    headless: Headless | None = None
    approval_timeout: ApprovalTimeout | None = None
    idempotency_key: str | None = None
