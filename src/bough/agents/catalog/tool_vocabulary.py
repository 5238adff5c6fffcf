"""Defines the words in which an agent describes its tool uses, and how these show that a tool is of an MCP server."""

from __future__ import annotations

from typing import Annotated

import msgspec

from bough.model.tool import ToolKind

ToolForm = Annotated[str, msgspec.Meta(pattern=r"^([^{}]*\{(server|tool)\}[^{}]+\{(server|tool)\}[^{}]*)?$")]
"""A text that names a server and a tool, with something between them: `{server}_{tool}`."""


class McpVocabulary(msgspec.Struct, rename="kebab", forbid_unknown_fields=True, kw_only=True):
    """Describes how an agent's messages show that a tool belongs to an MCP server. The field of `_meta` is tried first,
    then the marks, the name and the title."""

    # Whether every tool of an MCP server is recognized by what follows; otherwise an unnamed tool may be one.
    recognized: bool = False
    # The field of `_meta` that names the server, as `path.to.field`.
    server_meta: str = ""
    # Fields of `_meta` that mark such a use; its arguments `server` and `tool` then say which.
    marks: list[str] = []
    # The form of the tool's name. Bough's own server counts only if the agent has no `server_meta` to prove it.
    name: ToolForm = "mcp__{server}__{tool}"
    # The form of the title, for agents that give nothing better. It never stands for Bough's own server.
    title: ToolForm = ""
    # Whether that form is the one of the first title, which the agent replaces later.
    first_title: bool = False


class ToolVocabulary(msgspec.Struct, rename="kebab", forbid_unknown_fields=True, kw_only=True):
    """The words in which an agent describes its tool uses, where they are not the usual ones. Bough's policy reads them
    in `bough.core.policy.tool_use.read`."""

    # Fields of `_meta` that hold the tool's name, as `path.to.field`; the first that is set counts.
    name_meta: list[str] = msgspec.field(default_factory=lambda: ["toolName"])
    # Where nothing names the tool, its name is what comes before this mark in the id of the tool call.
    name_ends_id_at: str = ""
    # Kinds by the tool's name, for tools whose kind the agent does not say or gets wrong.
    kinds: dict[str, ToolKind] = {}
    # Tools that only write the agent's own list of steps, each with the argument that holds the list. They need no
    # approval, and the list becomes the transcript's plan.
    plans: dict[str, str] = {}
    # Arguments that hold a command line, files, or a patch, beside the usual ones.
    command_arguments: list[str] = []
    path_arguments: list[str] = []
    patch_arguments: list[str] = []
    # Whether the title of a command is its command line, unless it ends in an ellipsis.
    command_in_title: bool = False
    # Whether its patches put git's `a/` and `b/` before absolute paths: `a/etc/hosts` is `/etc/hosts`.
    absolute_patch_paths: bool = False
    mcp: McpVocabulary = msgspec.field(default_factory=McpVocabulary)
