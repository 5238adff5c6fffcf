"""A use of a tool as Bough's policy sees it, whichever agent wants it (P3). Reading one out of an agent's own words is
`bough.core.policy.tool_use`; deciding about it is `bough.core.policy.decide`."""

from __future__ import annotations

from typing import Literal

import msgspec

ToolKind = Literal[
    "read", "search", "edit", "delete", "move", "execute", "fetch", "think", "switch_mode", "mcp", "other"
]


class ToolUse(msgspec.Struct, rename="camel", kw_only=True, frozen=True):
    """What an agent wants to do. Paths are absolute and resolved; `cwd` bounds what belongs to the session."""

    agent: str
    cwd: str
    # The kinds of ACP, and `mcp` for a tool of an MCP server.
    kind: ToolKind = "other"
    # The tool as the agent calls it: `Bash`, `write_file`, and for MCP the tool's own name without its server.
    name: str = ""
    # The MCP server that the tool belongs to.
    server: str | None = None
    # The whole command line of an `execute`.
    command: str | None = None
    # Every file that it names; empty if it does not say.
    paths: tuple[str, ...] = ()
    # The same files as the agent named them, where that leads through symbolic links.
    named: tuple[str, ...] = ()
    # Those of the paths that are folders, where the use is to delete or to move: all that is in them goes along.
    folders: tuple[str, ...] = ()
    # Those of the paths that grant rights later if they are written: settings of git or of an agent.
    protected: tuple[str, ...] = ()
    # Whether it names more files than are looked at.
    many: bool = False
    # Whether the agent keeps to a sandbox in every mode, so that what it asks about may be to leave it.
    sandboxed: bool = False
    # Whether it may belong to an MCP server that the agent does not tell.
    unsure_server: bool = False
    title: str = ""
    # By what exactly this use is known again when a person says *always*.
    key: str = ""
