"""MCP servers that people make known for their sessions (R1). Secret values are kept in a table that no list
reads."""

from __future__ import annotations

import msgspec

from bough.agents.acp import types as acp
from bough.core.lookup import find
from bough.core.page import Page
from bough.core.repos import checked_name
from bough.core.store import Change, Store
from bough.errors import Conflict, Invalid
from bough.model.ids import new_id
from bough.model.message import raw
from bough.model.repo import McpServer, Transport
from bough.model.session import Caller
from bough.storage import queries
from bough.storage.backend import Tx

MCP = queries.load("mcp_servers")
# The name under which agents see Bough's own tools; nobody else may take it.
RESERVED = "bough"


class NewMcpServer(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """What is needed to reach an MCP server: a command, or an address."""

    name: str
    transport: Transport
    command: str | None = None
    args: list[str] = []
    env: dict[str, str] = {}
    url: str | None = None
    headers: dict[str, str] = {}
    enabled: bool = True
    idempotency_key: str | None = None


def masked(values: dict[str, str]) -> dict[str, str]:
    """The same names, with nothing to read."""
    return dict.fromkeys(values, "***")


class McpServers:
    """Keeps the MCP servers that sessions may be given."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def add(self, caller: Caller, new: NewMcpServer) -> McpServer:
        name = checked_name(new.name)
        _check(new, name)

        async def work(change: Change) -> McpServer:
            server = await change.tx.one(
                MCP.add,
                McpServer,
                id=new_id(),
                name=name,
                transport=new.transport,
                command=new.command,
                args=raw(new.args),
                env=raw(masked(new.env)),
                url=new.url,
                headers=raw(masked(new.headers)),
                enabled=new.enabled,
                now=change.now,
            )
            if server is None:
                raise Conflict("name_taken", f"There is an MCP server named {name!r} already.")
            await change.tx.run(MCP.add_private, id=server.id, env=raw(new.env), headers=raw(new.headers))
            change.emit("mcp_server.created", server)
            return server

        return await self._store.write_once(
            caller, "mcp_servers.add", msgspec.structs.replace(new, idempotency_key=None), McpServer, work
        )

    async def get(self, server_id: str) -> McpServer:
        return await self._store.read(lambda tx: find(tx, "mcp_servers", server_id, MCP.get, McpServer))

    async def list(self, limit: int, offset: int) -> Page[McpServer]:
        async def work(tx: Tx) -> Page[McpServer]:
            rows = await tx.all(MCP.page, McpServer, limit=limit, offset=offset)
            return Page(rows, await tx.value(MCP.count) or 0, limit, offset)

        return await self._store.read(work)

    async def enable(self, server_id: str, enabled: bool) -> McpServer:
        async def work(change: Change) -> McpServer:
            known = await find(change.tx, "mcp_servers", server_id, MCP.get, McpServer)
            server = await change.tx.one(MCP.enable, McpServer, id=known.id, enabled=enabled, now=change.now)
            assert server is not None
            change.emit("mcp_server.patched", server)
            return server

        return await self._store.write(work)

    async def remove(self, server_id: str) -> McpServer:
        async def work(change: Change) -> McpServer:
            server = await find(change.tx, "mcp_servers", server_id, MCP.get, McpServer)
            await change.tx.run(MCP.remove, id=server.id)
            change.emit("mcp_server.removed", server)
            return server

        return await self._store.write(work)


async def for_agent(tx: Tx, ids: list[str], *, http: bool, sse: bool) -> tuple[list[acp.McpServer], list[str]]:
    """The servers as an agent is handed them, and the names of those that it cannot reach (C1)."""
    servers: list[acp.McpServer] = []
    left_out: list[str] = []
    for server in await tx.all(MCP.private, McpServer, ids=ids):
        if not server.enabled:
            continue
        if server.transport == "stdio":
            args = msgspec.json.decode(server.args, type=list[str])
            servers.append(
                acp.StdioServer(name=server.name, command=server.command or "", args=args, env=_pairs(server.env))
            )
        elif server.transport == "http" and http:
            servers.append(acp.HttpServer(name=server.name, url=server.url or "", headers=_pairs(server.headers)))
        elif server.transport == "sse" and sse:
            servers.append(acp.SseServer(name=server.name, url=server.url or "", headers=_pairs(server.headers)))
        else:
            left_out.append(server.name)
    return servers, left_out


def _pairs(values: msgspec.Raw) -> list[acp.NameValue]:
    decoded = msgspec.json.decode(values, type=dict[str, str])
    return [acp.NameValue(name=name, value=value) for name, value in decoded.items()]


def _check(new: NewMcpServer, name: str) -> None:
    if name.lower() == RESERVED:
        raise Invalid("name_reserved", f"The name {RESERVED!r} is kept for Bough's own tools.")
    if new.transport == "stdio":
        if not new.command or not new.command.startswith("/"):
            raise Invalid("bad_mcp_server", "A stdio server needs `command`, an absolute path.")
    elif not new.url or not new.url.startswith(("http://", "https://")):
        raise Invalid("bad_mcp_server", f"An {new.transport} server needs `url`, beginning with http:// or https://.")
