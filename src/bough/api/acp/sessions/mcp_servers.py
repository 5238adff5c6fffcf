"""The MCP servers that an editor hands over, made known to Bough under names that agents can use. Handing them on to
agents is the services' part."""

from __future__ import annotations

import re
import shutil

import msgspec

from bough.api.acp.protocol.wire import Server
from bough.core.environment.mcp_servers import RESERVED, McpServerPatch, NewMcpServer
from bough.core.services import Services
from bough.errors import Conflict, Invalid
from bough.model.repo import McpServer, Transport
from bough.model.session import Caller, Session

NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]+")
NUMBER = re.compile(r"-\d+$")
LONGEST_NAME = 48
# Servers of one name that differ, all in use: addresses and secrets of editors change with each of their starts.
MOST_ALIKE = 200


async def ids(services: Services, caller: Caller, wanted: list[Server]) -> list[str]:
    """The ids of an editor's servers, in its order."""
    return [(await _known(services, caller, _new(one))).id for one in wanted]


async def added(services: Services, caller: Caller, session: Session, wanted: list[Server]) -> list[str] | None:
    """A session's servers with an editor's added, or nothing if that changes nothing. Under one name a session has one
    server: what the editor handed over last time may not even be there any more."""
    known = msgspec.json.decode(session.mcp_server_ids, type=list[str])
    given = await ids(services, caller, wanted)
    names = {_name(one.name) for one in wanted}
    kept: list[str] = []
    for one in known:
        name = (await services.mcp_servers.get(one)).name
        if one in given or not names & {name, NUMBER.sub("", name)}:
            kept.append(one)
    now = [*kept, *(one for one in given if one not in kept)]
    return now if now != known else None


async def _known(services: Services, caller: Caller, new: NewMcpServer) -> McpServer:
    """The server as Bough knows it. One of another sort under the same name gets a number; one with a number that no
    session has any more is taken over."""
    for number in range(1, MOST_ALIKE):
        named = new if number == 1 else msgspec.structs.replace(new, name=f"{new.name}-{number}")
        same = await services.mcp_servers.alike(named)
        if same is not None:
            return same
        left = await services.mcp_servers.unused(named) if number > 1 else None
        if left is not None:
            patch = McpServerPatch(
                command=new.command if new.command is not None else msgspec.UNSET,
                url=new.url if new.url is not None else msgspec.UNSET,
                args=new.args,
                env=new.env,
                headers=new.headers,
            )
            return await services.mcp_servers.patch(left.id, patch)
        try:
            return await services.mcp_servers.add(caller, named)
        except Conflict:
            continue
    raise Conflict("name_taken", f"There are too many MCP servers named like {new.name!r}.")


def _new(one: Server) -> NewMcpServer:
    if one.type not in ("stdio", "http", "sse"):
        raise Invalid("bad_mcp_server", f"MCP server {one.name!r}: Bough knows no transport {one.type!r}.")
    transport: Transport = one.type
    return NewMcpServer(
        name=_name(one.name),
        transport=transport,
        # Editors name commands as people do.
        command=shutil.which(one.command) or one.command or None,
        args=one.args,
        env={pair.name: pair.value for pair in one.env},
        url=one.url or None,
        headers={pair.name: pair.value for pair in one.headers},
    )


def _name(given: str) -> str:
    """A name that agents can use, as like the given one as can be."""
    name = NOT_IN_NAMES.sub("-", given).strip("-")[:LONGEST_NAME] or "server"
    return f"editor-{name}" if name.lower().startswith(RESERVED) else name
