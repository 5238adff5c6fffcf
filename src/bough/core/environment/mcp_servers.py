"""MCP servers that people make known for their sessions (R1). Secret values are kept in a table that no list
reads."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from bough.agents.acp import types as acp
from bough.core.environment.masks import is_address, masked, masked_url, unmasked
from bough.core.environment.variables import checked_env
from bough.core.store import records as rows
from bough.core.store.paging import Page
from bough.core.store.short_ids import find
from bough.core.store.sql import MCP
from bough.core.store.transactions import Change, Store
from bough.errors import Conflict, Invalid
from bough.model.ids import new_id
from bough.model.message import raw
from bough.model.repo import McpServer, Transport
from bough.model.session import Caller, Session
from bough.storage.backend import Tx

# The name under which agents see Bough's own tools; nobody else may take it.
RESERVED = "bough"
NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
# RFC 9110: a header's name is a token, and its value one line.
HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
BREAKS = re.compile(r"[\0\r\n]")


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


class McpServerPatch(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Changes to an MCP server; what is left out stays, and so does a value that is sent back as it was shown."""

    name: str | msgspec.UnsetType = msgspec.UNSET
    command: str | msgspec.UnsetType = msgspec.UNSET
    args: list[str] | msgspec.UnsetType = msgspec.UNSET
    env: dict[str, str] | msgspec.UnsetType = msgspec.UNSET
    url: str | msgspec.UnsetType = msgspec.UNSET
    headers: dict[str, str] | msgspec.UnsetType = msgspec.UNSET
    enabled: bool | msgspec.UnsetType = msgspec.UNSET


class McpServers:
    """Keeps the MCP servers that sessions may be given."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def add(self, caller: Caller, new: NewMcpServer) -> McpServer:
        _check(new)

        async def work(change: Change) -> McpServer:
            shown = _shown(new)
            server = await change.tx.one(
                MCP.add, McpServer, id=new_id(), transport=new.transport, now=change.now, **shown
            )
            if server is None:
                raise _taken(new.name)
            await change.tx.run(MCP.add_private, id=server.id, **_private(new))
            change.emit("mcp_server.created", server)
            return server

        return await self._store.write_once(
            caller, "mcp_servers.add", msgspec.structs.replace(new, idempotency_key=None), McpServer, work
        )

    async def get(self, server_id: str) -> McpServer:
        return await self._store.read(lambda tx: find(tx, "mcp_servers", server_id, MCP.get, McpServer))

    async def alike(self, new: NewMcpServer) -> McpServer | None:
        """The server that is known by the same name and reached in just the same way."""

        async def work(tx: Tx) -> McpServer | None:
            shown = await tx.one(MCP.named, McpServer, name=new.name)
            if shown is None or shown.transport != new.transport:
                return None
            (known,) = await tx.all(MCP.private, McpServer, ids=[shown.id])
            return shown if _opened(known) == msgspec.structs.replace(new, idempotency_key=None) else None

        return await self._store.read(work)

    async def unused(self, new: NewMcpServer) -> McpServer | None:
        """The server that is known by the same name and reached in the same way, if no session has it."""

        async def work(tx: Tx) -> McpServer | None:
            found = await tx.one(MCP.named, McpServer, name=new.name)
            if found is None or found.transport != new.transport:
                return None
            return None if await tx.all(MCP.users, Session, pattern=f"%{found.id}%") else found

        return await self._store.read(work)

    async def list(self, limit: int, offset: int) -> Page[McpServer]:
        async def work(tx: Tx) -> Page[McpServer]:
            rows = await tx.all(MCP.page, McpServer, limit=limit, offset=offset)
            return Page(rows, await tx.value(MCP.count) or 0, limit, offset)

        return await self._store.read(work)

    async def patch(self, server_id: str, patch: McpServerPatch) -> McpServer:
        """Changes a server, checked like a new one; its transport stays."""
        changes = {name: value for name, value in msgspec.structs.asdict(patch).items() if value is not msgspec.UNSET}
        if not changes:
            raise Invalid("nothing_to_change", "Name at least one field to change.")

        async def work(change: Change) -> McpServer:
            shown = await find(change.tx, "mcp_servers", server_id, MCP.get, McpServer)
            (known,) = await change.tx.all(MCP.private, McpServer, ids=[shown.id])
            before = _opened(known)
            wanted = msgspec.structs.replace(before, **changes)
            wanted.env = unmasked(wanted.env, before.env)
            wanted.headers = unmasked(wanted.headers, before.headers)
            if wanted.url == shown.url:
                wanted.url = before.url
            _check(wanted)
            other = await change.tx.one(MCP.named, McpServer, name=wanted.name)
            if other is not None and other.id != shown.id:
                raise _taken(wanted.name)
            server = await change.tx.one(MCP.change, McpServer, id=shown.id, now=change.now, **_shown(wanted))
            assert server is not None
            await change.tx.run(MCP.change_private, id=shown.id, **_private(wanted))
            change.emit("mcp_server.patched", server)
            return server

        return await self._store.write(work)

    async def remove(self, server_id: str) -> McpServer:
        """Forgets a server, and takes it from the sessions that were given it."""

        async def work(change: Change) -> McpServer:
            server = await find(change.tx, "mcp_servers", server_id, MCP.get, McpServer)
            for session in await change.tx.all(MCP.users, Session, pattern=f"%{server.id}%"):
                left = [one for one in msgspec.json.decode(session.mcp_server_ids, type=list[str]) if one != server.id]
                await rows.update_session(change, session.id, mcp_server_ids=raw(left))
            await change.tx.run(MCP.remove, id=server.id)
            change.emit("mcp_server.removed", server)
            return server

        return await self._store.write(work)


async def for_agent(
    tx: Tx, ids: list[str], *, stdio: bool = True, http: bool, sse: bool
) -> tuple[list[acp.McpServer], list[tuple[str, str]]]:
    """The servers as an agent is handed them, and names and transports of those that it cannot reach (C1)."""
    servers: list[acp.McpServer] = []
    left_out: list[tuple[str, str]] = []
    for server in await tx.all(MCP.private, McpServer, ids=ids):
        if not server.enabled:
            continue
        if server.transport == "stdio" and stdio:
            args = msgspec.json.decode(server.args, type=list[str])
            servers.append(
                acp.StdioServer(name=server.name, command=server.command or "", args=args, env=_pairs(server.env))
            )
        elif server.transport == "http" and http:
            servers.append(acp.HttpServer(name=server.name, url=server.url or "", headers=_pairs(server.headers)))
        elif server.transport == "sse" and sse:
            servers.append(acp.SseServer(name=server.name, url=server.url or "", headers=_pairs(server.headers)))
        else:
            left_out.append((server.name, server.transport))
    return servers, left_out


def _pairs(values: msgspec.Raw) -> list[acp.NameValue]:
    decoded = msgspec.json.decode(values, type=dict[str, str])
    return [acp.NameValue(name=name, value=value) for name, value in decoded.items()]


def _opened(known: McpServer) -> NewMcpServer:
    """A stored server, secrets and all, as it would be asked for."""
    return NewMcpServer(
        name=known.name,
        transport=known.transport,
        command=known.command,
        args=msgspec.json.decode(known.args, type=list[str]),
        env=msgspec.json.decode(known.env, type=dict[str, str]),
        url=known.url,
        headers=msgspec.json.decode(known.headers, type=dict[str, str]),
        enabled=known.enabled,
    )


def _shown(new: NewMcpServer) -> dict[str, Any]:
    """The columns that everybody sees."""
    return {
        "name": new.name,
        "command": new.command,
        "args": raw(new.args),
        "env": raw(masked(new.env)),
        "url": None if new.url is None else masked_url(new.url),
        "headers": raw(masked(new.headers)),
        "enabled": new.enabled,
    }


def _private(new: NewMcpServer) -> dict[str, Any]:
    return {"env": raw(new.env), "url": new.url, "headers": raw(new.headers)}


def _taken(name: str) -> Conflict:
    return Conflict("name_taken", f"There is an MCP server named {name!r} already.")


def _check(new: NewMcpServer) -> None:
    if not NAME.fullmatch(new.name):
        raise Invalid("bad_name", "The name of an MCP server has 1 to 64 letters, digits, `_` and `-`: agents use it.")
    # Agents tell tools of `bough` by names that begin with it.
    if new.name.lower() == RESERVED or new.name.lower().startswith((f"{RESERVED}_", f"{RESERVED}-")):
        raise Invalid("name_reserved", f"{RESERVED!r}, and names that begin so, are kept for Bough's own tools.")
    if new.transport == "stdio":
        if not new.command or not new.command.startswith("/"):
            raise Invalid("bad_mcp_server", "A stdio server needs `command`, an absolute path.")
    elif not new.url or not is_address(new.url):
        raise Invalid("bad_mcp_server", f"An {new.transport} server needs `url`, beginning with http:// or https://.")
    checked_env(new.env)
    # Values are secret: whatever is wrong with one, only its name is told.
    for name, value in new.headers.items():
        if not HEADER_NAME.fullmatch(name):
            raise Invalid("bad_mcp_server", f"{name!r} is not a name for an HTTP header.")
        if BREAKS.search(value):
            raise Invalid("bad_mcp_server", f"The value of the HTTP header {name!r} is not one line.")
    if any("\0" in arg for arg in new.args):
        raise Invalid("bad_mcp_server", "An argument cannot contain a NUL character.")
