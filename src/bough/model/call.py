"""A call of one of Bough's own tools by a session's agent or by a script (5c). What tools there are is
`bough.api.mcp`; how a call takes its course is `bough.core.tool_calls.service`."""

from __future__ import annotations

from typing import Literal

import msgspec

from bough.model.session import PermissionMode

CallState = Literal["asked", "acting", "done", "failed", "denied"]


class Call(msgspec.Struct, rename="camel"):
    """A row of `calls`: who wants what done in which turn, what became of it, and whether the caller knows."""

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


class Claim(msgspec.Struct, kw_only=True, frozen=True):
    """What a call would do: in a sentence for people, and in what it needs rights for (5d, 5e)."""

    title: str
    # The session that is prompted, changed, stopped or branched.
    target: str | None = None
    # Whether that session's own agent does the work, with all that it may.
    commands: bool = False
    # Whether what is made takes over the environment and the MCP servers of that session.
    inherits: bool = False
    # The rights of what is made, or that something is changed to, and the agent that has them.
    mode: PermissionMode | None = None
    agent: str | None = None
    # MCP servers that what is made is given.
    servers: tuple[str, ...] = ()
    # Whether a worktree is made, in which the repository's own command is run.
    sets_up: bool = False
    # The repository in which something is made or changed.
    repo: str | None = None
