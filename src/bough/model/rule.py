"""Defines rules and remembered choices: decisions that people made beforehand about tool uses (P3)."""

from __future__ import annotations

from typing import Literal

import msgspec

from bough.model.tool import ToolKind

Effect = Literal["allow", "ask", "deny"]
Scope = Literal["session", "worktree", "everywhere"]


class Rule(msgspec.Struct, rename="camel"):
    """A row of `rules`. A null field matches everything; the first matching rule by position decides."""

    id: str
    position: int
    effect: Effect
    agent: str | None
    kind: ToolKind | None
    # A glob over the tool's name, or over `SERVER/TOOL` for tools of MCP servers.
    tool: str | None
    # A glob over the whole command line.
    command: str | None
    # A glob over paths, absolute or relative to the session's folder.
    path: str | None
    note: str
    created_by: msgspec.Raw
    created_at: str
    updated_at: str


class Choice(msgspec.Struct, rename="camel"):
    """A row of `choices`: an "always" answer to one exact tool use, with its scope."""

    id: str
    scope: Scope
    session_id: str | None
    # The folder of the worktree, which several sessions may share.
    cwd: str | None
    agent: str
    tool_kind: str
    title: str
    key: str
    approval_id: str | None
    decided_by: msgspec.Raw
    created_at: str
