"""Defines the record of a checkpoint: a folder's files at one moment (W4). Git holds the files."""

from __future__ import annotations

from typing import Literal

import msgspec

Moment = Literal["before", "after", "restore", "fork"]


class Checkpoint(msgspec.Struct, rename="camel"):
    """A row of `checkpoints`. Without `sha` no files were stored and `note` says why; `ref` holds the commit in the
    repository."""

    id: str
    repo_id: str
    worktree_id: str | None
    session_id: str | None
    task_id: str | None
    cwd: str
    moment: Moment
    sha: str | None
    tree: str | None
    head: str | None
    branch: str | None
    note: str | None
    ref: str | None
    created_at: str
