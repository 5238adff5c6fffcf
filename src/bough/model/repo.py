"""Defines repositories, clones, worktrees, boards and MCP servers (R1)."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from bough.model.agents.sandbox import Sandbox, SandboxProfile

RepoKind = Literal["git", "plain"]
Transport = Literal["stdio", "http", "sse"]
CloneState = Literal["cloning", "done", "failed", "cancelled"]
# `placing`: the copy is complete and becomes the folder that was asked for; from here on it cannot be cancelled.
ClonePhase = Literal["connecting", "receiving", "resolving", "checking_out", "placing"]
# `making` is never shown, because its creator has no answer yet. A worktree being recovered is still removed.
WorktreeStatus = Literal["making", "setting_up", "ready", "removing", "recovering"]


class GitPermissions(msgspec.Struct, rename="camel"):
    """The programs that people allow git to run in a repository. `programs` holds the commands of the filters and merge
    drivers as they were allowed, by setting."""

    hooks: bool = False
    filters: bool = False
    submodules: bool = False
    fetch: bool = False
    programs: dict[str, str] = {}


class Repo(msgspec.Struct, rename="camel"):
    """A folder that sessions work in: a git repository or a plain folder."""

    id: str
    name: str
    path: str
    kind: RepoKind
    default_branch: str | None
    created_at: str
    updated_at: str
    # The setup of each new worktree: a command with arguments, and globs of ignored files to copy first.
    setup: msgspec.Raw
    copy_ignored: msgspec.Raw
    # What people allow git to run; null until a person has decided.
    git_permissions: msgspec.Raw | None = None
    # The position of its own folder's card; without a board, on the default one.
    board_id: str | None = None
    x: float | None = None
    y: float | None = None
    # Whether agents run in the sandbox here, unless the session says otherwise; null uses the server's setting.
    sandbox: Sandbox | None = None
    # The profile of the sandbox here, unless the session says otherwise; null uses the server's setting.
    sandbox_profile: SandboxProfile | None = None
    # Hosts that strictly confined agents may reach here, in addition to the server's.
    sandbox_hosts: msgspec.Raw = msgspec.field(default_factory=lambda: msgspec.Raw(b"[]"))


class Clone(msgspec.Struct, rename="camel"):
    """A row of `clones`."""

    id: str
    # Where the repository comes from; never with a password.
    address: str
    # Where it goes. Nothing exists there until the copy is complete.
    path: str
    # The name that the repository gets; null for that of its folder.
    name: str | None
    state: CloneState
    phase: ClonePhase
    # How far the phase is, and the bytes received so far; null while git does not say.
    percent: int | None
    received: int | None
    # Why it failed.
    error: str | None
    # The repository, once it is registered.
    repo_id: str | None
    started_by: str
    created_at: str
    ended_at: str | None


class Worktree(msgspec.Struct, rename="camel"):
    """A working copy of a repository and its card's position on a board."""

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
    # The ref that holds the files of a worktree removed by force.
    recovery_ref: str | None
    status: WorktreeStatus
    # Whether Bough also created the branch.
    branch_made: bool
    # The errors of its setup and the end of its output.
    setup_error: str | None
    setup_output: str | None
    # The commit that the recovery ref pointed to when Bough wrote it.
    recovery_sha: str | None = None
    # The first port of its own block; null until something in it needs one.
    first_port: int | None = None


class WorktreeState(msgspec.Struct, rename="camel"):
    """The current git state of a worktree. Ahead and behind are counted `against` its upstream, or else its base;
    `missing` means that the folder is gone."""

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
    """A surface for worktree cards; one is the default."""

    id: str
    name: str
    is_default: bool
    created_at: str
    updated_at: str


class McpServer(msgspec.Struct, rename="camel"):
    """A tool server for sessions. Secret parts (values of `env` and `headers`, and the login and query values of `url`)
    are stored separately and shown as `***`. Do not put secrets into `args`."""

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
    """The state of a working copy at one moment."""

    branch: str | None = None
    sha: str | None = None
    dirty: bool = False


Json = dict[str, Any]
