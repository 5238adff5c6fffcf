"""A checkpoint: the files of a folder at one moment, as a record (W4). The files themselves are in git."""

from __future__ import annotations

from typing import Literal

import msgspec

Moment = Literal["before", "after", "restore", "fork"]


class Checkpoint(msgspec.Struct, rename="camel"):
    """A row of `checkpoints`. Without `sha` nothing was kept, and `note` says why; `ref` is what holds the commit in
    the repository."""

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
