"""Defines a call of one of Bough's own tools by a session's agent or a script (5c)."""

from __future__ import annotations

from typing import Literal

import msgspec

from bough.model.session import PermissionMode

CallState = Literal["asked", "acting", "done", "failed", "denied"]


class Call(msgspec.Struct, rename="camel"):
    """A row of `calls`: who asked for what in which turn, the outcome, and whether the caller has received it."""

    id: str
    caller: str
    session_id: str | None
    task_id: str | None
    tool: str
    arguments: msgspec.Raw
    fingerprint: str
    key: str | None
    state: CallState
    title: str
    raises: bool
    granted: bool
    approval_id: str | None
    outcome: msgspec.Raw | None
    handed_at: str | None
    answered_at: str | None
    told_task_id: str | None
    created_at: str
    updated_at: str
    # The user's token that a person called with.
    token_id: str | None = None


class Claim(msgspec.Struct, kw_only=True, frozen=True):
    """Describes what a call would do: a sentence for people, and the rights that it needs (5d, 5e)."""

    title: str
    # The session to prompt, change, stop or branch.
    target: str | None = None
    # Whether that session's own agent does the work, with all its rights.
    commands: bool = False
    # Whether the new session takes over that session's environment and MCP servers.
    inherits: bool = False
    # The rights of the new or changed session, and its agent.
    mode: PermissionMode | None = None
    agent: str | None = None
    # MCP servers for the new session.
    servers: tuple[str, ...] = ()
    # Names of variables that a preset gives the new session.
    variables: tuple[str, ...] = ()
    # Whether a worktree is created, in which the repository's setup command runs.
    sets_up: bool = False
    # Why a person decides about this every time, whatever the mode of the caller.
    reason_to_ask: str | None = None
    # What a person is asked about, for example the commit: the call is refused if it differs when it is carried out.
    expected: dict[str, str] = {}
    # The worktree whose branch is changed.
    worktree: str | None = None
    # The repository in which something is created or changed.
    repo: str | None = None
    # Further tools whose work this call does, too: their rules count as well.
    also: tuple[str, ...] = ()
