"""Finds the MCP server that a tool belongs to, by the agent's vocabulary in the catalog."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from bough.agents.catalog.tool_vocabulary import McpVocabulary
from bough.core.policy.decide import OWN_SERVER
from bough.core.policy.tool_use.json_values import Json, as_dict, field_at


class McpTool(NamedTuple):
    """The MCP server that a tool belongs to and its name there. `unclear` if it belongs to one that cannot be told."""

    server: str | None
    name: str
    unclear: bool = False


def mcp_tool(vocabulary: McpVocabulary, body: Json, name: str, title: str, servers: Sequence[str]) -> McpTool:
    """Finds the MCP server of a tool.

    Bough's own server is recognized only by fields that the agent's program fills, never by a title, which may hold
    another server's name or anything that a model made up.
    """
    meta, arguments = as_dict(body.get("meta")), as_dict(body.get("args"))
    server: Any = field_at(meta, vocabulary.server_meta) if vocabulary.server_meta else None
    if isinstance(server, str) and server:
        before, after = _around_tool(vocabulary.name, server)
        return McpTool(server, name.removeprefix(before).removesuffix(after))
    if any(field_at(meta, mark) for mark in vocabulary.marks):
        server, tool = arguments.get("server"), arguments.get("tool")
        if isinstance(server, str) and isinstance(tool, str):
            return McpTool(server, tool)
        return McpTool(None, name, unclear=True)
    prefix = vocabulary.name.partition("{")[0]
    if not prefix:
        by_name = _of_known_server(vocabulary.name, name, (*servers, OWN_SERVER))
    elif name.startswith(prefix):
        others = [server for server in servers if server != OWN_SERVER]
        by_name = _split(vocabulary.name, name) or _of_known_server(vocabulary.name, name, others)
        by_name = by_name or McpTool(None, name, unclear=True)
    else:
        by_name = None
    if by_name is not None:
        unproven = by_name.server == OWN_SERVER and bool(vocabulary.server_meta)
        return McpTool(None, name, unclear=True) if unproven else by_name
    by_title = _titled(vocabulary, body, title, servers)
    if by_title is None:
        return McpTool(None, name)
    return McpTool(None, by_title.name, unclear=True) if by_title.server == OWN_SERVER else by_title


def _titled(vocabulary: McpVocabulary, body: Json, title: str, servers: Sequence[str]) -> McpTool | None:
    """Finds server and tool in a title, only for servers that the session has."""
    if not vocabulary.title or body.get("kind") not in (None, "other"):
        return None
    shown = str(body.get("firstTitle") or title) if vocabulary.first_title else title
    return _of_known_server(vocabulary.title, shown, (*servers, OWN_SERVER))


def _of_known_server(form: str, text: str, servers: Iterable[str]) -> McpTool | None:
    """Reads a text of this form as a tool of one of the servers; None if it is none's or several servers'."""
    tools: list[McpTool] = []
    for server in servers:
        before, after = _around_tool(form, server)
        if text.startswith(before) and text.endswith(after) and len(text) > len(before) + len(after):
            tools.append(McpTool(server, text[len(before) : len(text) - len(after)]))
    return tools[0] if len(tools) == 1 else None


def _around_tool(form: str, server: str) -> tuple[str, str]:
    before, _, after = form.partition("{tool}")
    return before.replace("{server}", server), after.replace("{server}", server)


def _split(form: str, name: str) -> McpTool | None:
    """Splits a name of this form into server and tool; None if that can be done in more than one way."""
    prefix, _, rest = form.partition("{")
    first_is_server, _, rest = rest.partition("}")
    separator, _, rest = rest.partition("{")
    suffix = rest.partition("}")[2]
    first, _, second = name.removeprefix(prefix).removesuffix(suffix).partition(separator)
    whole = separator not in second and all(part and part == part.strip(separator) for part in (first, second))
    if not whole or not name.endswith(suffix):
        return None
    return McpTool(first, second) if first_is_server == "server" else McpTool(second, first)
