"""Registers the MCP servers that an editor passes along as `NAME@EDITOR`; agents see `NAME`, as the editor gave it."""

from __future__ import annotations

import re
import shutil
from typing import Any

import msgspec

from bough.api.acp.protocol.wire import EditorMcpServer
from bough.core.environment.mcp_servers import RESERVED, McpServerPatch, NewMcpServer
from bough.core.services import Services
from bough.errors import Conflict, Denied, Invalid
from bough.model.repo import McpServer, Transport
from bough.model.session import Caller, Session

NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]+")
NUMBER = re.compile(r"-\d+$")
LONGEST_NAME = 48
LONGEST_EDITOR = 24
# Stands for editors that do not give their name.
UNNAMED = "editor"
# Most differing servers with one name; editors' addresses and secrets change with every start.
MOST_ALIKE = 200


def editor_name(client_info: dict[str, Any] | None) -> str:
    """Returns the part of registered names that stands for an editor, from what it says about itself."""
    name = (client_info or {}).get("name")
    known = NOT_IN_NAMES.sub("-", name).strip("-")[:LONGEST_EDITOR] if isinstance(name, str) else ""
    return NUMBER.sub("", known) or UNNAMED


async def ids(services: Services, caller: Caller, editor: str, servers: list[EditorMcpServer]) -> list[str]:
    """Returns the ids of an editor's servers, in its order."""
    return [(await _known(services, caller, editor, _new(server))).id for server in servers]


async def replaced(
    services: Services, caller: Caller, editor: str, session: Session, servers: list[EditorMcpServer]
) -> list[str] | None:
    """Returns a session's server ids with the editor's instead of those that it gave before, or None if nothing
    changes. The editor's server also replaces another one of the same name. An editor that gives neither its name nor
    servers may be another one than before, so everything stays."""
    if not servers and editor == UNNAMED:
        return None
    known = msgspec.json.decode(session.mcp_server_ids, type=list[str])
    editor_ids = await ids(services, caller, editor, servers)
    names = {_name(server.name) for server in servers}
    remaining: list[str] = []
    for server_id in known:
        name, _, owner = (await services.mcp_servers.get(server_id)).name.partition("@")
        is_own = NUMBER.sub("", owner) == editor
        if server_id in editor_ids or not (is_own or names & {name, NUMBER.sub("", name)}):
            remaining.append(server_id)
    updated = [*remaining, *(server_id for server_id in editor_ids if server_id not in remaining)]
    return updated if updated != known else None


async def _known(services: Services, caller: Caller, editor: str, new: NewMcpServer) -> McpServer:
    """Returns the registered server. A differing server of the same name and editor gets a number; a numbered one that
    no session uses anymore is reused. Servers run commands, so that only an admin's editor can add or change them."""
    for number in range(1, MOST_ALIKE):
        owner = editor if number == 1 else f"{editor}-{number}"
        candidate = msgspec.structs.replace(new, name=f"{new.name}@{owner}")
        same = await services.mcp_servers.alike(candidate)
        if same is not None:
            return same
        if not caller.may("admin"):
            # Another number may be alike.
            continue
        unused = await services.mcp_servers.unused(candidate) if number > 1 else None
        if unused is not None:
            patch = McpServerPatch(
                command=new.command if new.command is not None else msgspec.UNSET,
                url=new.url if new.url is not None else msgspec.UNSET,
                args=new.args,
                env=new.env,
                headers=new.headers,
            )
            return await services.mcp_servers.patch(caller, unused.id, patch)
        try:
            return await services.mcp_servers.add(caller, candidate)
        except Conflict:
            continue
    if not caller.may("admin"):
        registered = await services.mcp_servers.alike(new)
        if registered is not None:
            return registered
        raise Denied(
            "role_too_low",
            f"Only an admin can add the MCP server {new.name!r}. Remove it from your editor, or ask an admin "
            "to register it exactly as it is there.",
            needed="admin",
            role=caller.role,
        )
    raise Conflict("name_taken", f"There are too many MCP servers named {new.name!r}. Remove some: bough mcp list")


def _new(server: EditorMcpServer) -> NewMcpServer:
    if server.type not in ("stdio", "http", "sse"):
        raise Invalid(
            "bad_mcp_server",
            f"MCP server {server.name!r}: transport {server.type!r} is not supported; use stdio, http or sse.",
        )
    transport: Transport = server.type
    return NewMcpServer(
        name=_name(server.name),
        transport=transport,
        # Editors may give a command without its path.
        command=shutil.which(server.command) or server.command or None,
        args=server.args,
        env={pair.name: pair.value for pair in server.env},
        url=server.url or None,
        headers={pair.name: pair.value for pair in server.headers},
    )


def _name(text: str) -> str:
    """Returns a similar name that agents can use."""
    name = NOT_IN_NAMES.sub("-", text).strip("-")[:LONGEST_NAME] or "server"
    return f"editor-{name}" if name.lower().startswith(RESERVED) else name
