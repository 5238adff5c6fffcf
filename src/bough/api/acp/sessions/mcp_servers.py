"""Registers the MCP servers that an editor passes along, under names that agents can use."""

from __future__ import annotations

import re
import shutil

import msgspec

from bough.api.acp.protocol.wire import Server
from bough.core.environment.mcp_servers import RESERVED, McpServerPatch, NewMcpServer
from bough.core.services import Services
from bough.errors import Conflict, Denied, Invalid
from bough.model.repo import McpServer, Transport
from bough.model.session import Caller, Session

NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]+")
NUMBER = re.compile(r"-\d+$")
LONGEST_NAME = 48
# Most differing servers with one name; editors' addresses and secrets change with every start.
MOST_ALIKE = 200


async def ids(services: Services, caller: Caller, servers: list[Server]) -> list[str]:
    """Returns the ids of an editor's servers, in its order."""
    return [(await _known(services, caller, _new(server))).id for server in servers]


async def added(services: Services, caller: Caller, session: Session, servers: list[Server]) -> list[str] | None:
    """Returns a session's server ids with the editor's added, or None if nothing changes. The editor's server replaces
    an earlier one of the same name, which may no longer exist."""
    known = msgspec.json.decode(session.mcp_server_ids, type=list[str])
    editor_ids = await ids(services, caller, servers)
    names = {_name(server.name) for server in servers}
    remaining: list[str] = []
    for server_id in known:
        name = (await services.mcp_servers.get(server_id)).name
        if server_id in editor_ids or not names & {name, NUMBER.sub("", name)}:
            remaining.append(server_id)
    updated = [*remaining, *(server_id for server_id in editor_ids if server_id not in remaining)]
    return updated if updated != known else None


async def _known(services: Services, caller: Caller, new: NewMcpServer) -> McpServer:
    """Returns the registered server. A differing server of the same name gets a number; a numbered server that no
    session uses anymore is reused. Servers run commands, so that only an admin's editor can add or change them."""
    for number in range(1, MOST_ALIKE):
        candidate = new if number == 1 else msgspec.structs.replace(new, name=f"{new.name}-{number}")
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
        raise Denied(
            "role_too_low",
            f"Only an admin can add the MCP server {new.name!r}. Remove it from your editor, or ask an admin "
            "to register it exactly as it is there.",
            needed="admin",
            role=caller.role,
        )
    raise Conflict("name_taken", f"There are too many MCP servers named {new.name!r}. Remove some: bough mcp list")


def _new(server: Server) -> NewMcpServer:
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
