"""Repositories, worktrees, boards and MCP servers as records (R1). Git itself is `bough.git`."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

RepoKind = Literal["git", "plain"]
Transport = Literal["stdio", "http", "sse"]
# `making` is never shown: whoever asked for it has no answer yet. `recovering` is said of one that is still removed.
WorktreeStatus = Literal["making", "setting_up", "ready", "removing", "recovering"]


class Repo(msgspec.Struct, rename="camel"):
    """A folder that sessions work in: a git repository, or a plain folder."""

    id: str
    name: str
    path: str
    kind: RepoKind
    default_branch: str | None
    created_at: str
    updated_at: str
    # What is done in each new worktree: a command and its arguments; ignored files to copy there before, as globs.
    setup: msgspec.Raw
    copy_ignored: msgspec.Raw
    # Where the card of its own folder lies; without a board on the default one.
    board_id: str | None = None
    x: float | None = None
    y: float | None = None


class Worktree(msgspec.Struct, rename="camel"):
    """One working copy of a repository, and where its card lies on a board."""

    id: str
    repo_id: str
    name: str
    path: str
    branch: str | None
    base_ref: str | None
    base_sha: str | None
    made_by_bough: bool
    notes: str
    board_id: str | None
    x: float | None
    y: float | None
    created_at: str
    updated_at: str
    removed_at: str | None
    # Where the files of a worktree that was removed by force are kept.
    recovery_ref: str | None
    status: WorktreeStatus
    # Whether Bough made the branch too.
    branch_made: bool
    # What of its setup did not work, and the end of what that printed.
    setup_error: str | None
    setup_output: str | None


class WorktreeState(msgspec.Struct, rename="camel"):
    """Where a worktree stands now. Ahead and behind are counted `against` its upstream, or else its base; a `missing`
    one has no folder any more."""

    branch: str | None = None
    sha: str | None = None
    dirty: bool = False
    changed: int = 0
    untracked: int = 0
    ahead: int | None = None
    behind: int | None = None
    against: str | None = None
    locked: str | None = None
    missing: bool = False


class Board(msgspec.Struct, rename="camel"):
    """A surface on which worktree cards are placed; one is the default."""

    id: str
    name: str
    is_default: bool
    created_at: str
    updated_at: str


class McpServer(msgspec.Struct, rename="camel"):
    """A tool server that sessions may be given. Values of `env` and `headers`, and in `url` the login and the values of
    the query, are kept apart and shown as `***`; `args` are no place for secrets."""

    id: str
    name: str
    transport: Transport
    command: str | None
    args: msgspec.Raw
    env: msgspec.Raw
    url: str | None
    headers: msgspec.Raw
    enabled: bool
    created_at: str
    updated_at: str


class GitState(msgspec.Struct, rename="camel"):
    """Where a working copy stood at one moment."""

    branch: str | None = None
    sha: str | None = None
    dirty: bool = False


Json = dict[str, Any]
