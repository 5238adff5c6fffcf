"""Defines a tool use as the policy sees it, whichever agent wants it (P3)."""

from __future__ import annotations

from typing import Literal

import msgspec

ToolKind = Literal[
    "read", "search", "edit", "delete", "move", "execute", "fetch", "think", "switch_mode", "mcp", "other"
]


class Protection(msgspec.Struct, frozen=True):
    """A path that a person decides about, whatever the mode allows."""

    path: str
    # For people: "git's own files", "a secret".
    what: str
    # A rule that allows covers the path only if its pattern holds one of these texts, without case.
    spelled: tuple[str, ...] = ()
    # Whether nobody may allow it: Bough's data folder.
    never: bool = False


class ToolUse(msgspec.Struct, rename="camel", kw_only=True, frozen=True):
    """One thing that an agent wants to do. Paths are absolute and resolved; `cwd` is the session's folder."""

    agent: str
    cwd: str
    # The kinds of ACP, and `mcp` for a tool of an MCP server.
    kind: ToolKind = "other"
    # The agent's name of the tool, such as `Bash` or `write_file`; for MCP, the tool's own name without its server.
    name: str = ""
    # The MCP server that the tool belongs to.
    server: str | None = None
    # The whole command line of an `execute`.
    command: str | None = None
    # Every file that it names; empty if it does not say.
    paths: tuple[str, ...] = ()
    # The same files as the agent spelled them, where links are involved.
    named: tuple[str, ...] = ()
    # Paths that are folders, for a delete or move: everything in them goes along.
    folders: tuple[str, ...] = ()
    # Protected paths among them, and among those that the command names.
    protected: tuple[Protection, ...] = ()
    # Whether the command is too long to be read, so that a person is asked.
    unread: bool = False
    # Whether it names more files than are checked.
    many: bool = False
    # Whether the agent stays in a sandbox in every mode, so that a request may be about leaving it.
    sandboxed: bool = False
    # Whether it only writes the agent's own list of steps, by a tool that the catalog names.
    own_plan: bool = False
    # Whether it may belong to an MCP server that the agent does not name.
    unsure_server: bool = False
    title: str = ""
    # Identifies this exact use for an "always" answer.
    key: str = ""
