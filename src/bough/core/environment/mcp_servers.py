"""Manages the MCP servers that people register for their sessions (R1). Secret values are in a table that no list
reads."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from bough.agents.acp import types as acp
from bough.core.environment import mcp_check
from bough.core.environment.mask_shown_values import is_address, masked, masked_url, unmasked
from bough.core.environment.mcp_check import McpCheck
from bough.core.environment.variables import checked_env
from bough.core.store import records
from bough.core.store.paging import Page, read_page
from bough.core.store.patches import changed_fields
from bough.core.store.session_secrets import remember_secrets
from bough.core.store.short_ids import find
from bough.core.store.sql import MCP, PRESETS
from bough.core.store.transactions import Change, Store
from bough.errors import Conflict, Invalid
from bough.model.agents.preset import Preset
from bough.model.message import raw
from bough.model.repo import McpServer, Transport
from bough.model.session import Caller, Session
from bough.model.values.ids import new_id
from bough.storage.backend import Tx

# Agents see Bough's own tools under this name, so no other server may use it.
RESERVED = "bough"
NAME = re.compile(r"[A-Za-z0-9_-]{1,64}(@[A-Za-z0-9_-]{1,32})?")
# RFC 9110: a header name is a token, and its value is one line.
HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
BREAKS = re.compile(r"[\0\r\n]")


class NewMcpServer(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Describes an MCP server to register: a command or a URL."""

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
    """Changes to an MCP server. Omitted fields and values sent back masked stay as they are."""

    name: str | msgspec.UnsetType = msgspec.UNSET
    command: str | msgspec.UnsetType = msgspec.UNSET
    args: list[str] | msgspec.UnsetType = msgspec.UNSET
    env: dict[str, str] | msgspec.UnsetType = msgspec.UNSET
    url: str | msgspec.UnsetType = msgspec.UNSET
    headers: dict[str, str] | msgspec.UnsetType = msgspec.UNSET
    enabled: bool | msgspec.UnsetType = msgspec.UNSET


class McpServers:
    """Stores the MCP servers that sessions can use."""

    def __init__(self, store: Store, added_env: Sequence[str] = ()) -> None:
        """Takes the names of the server's variables that agents inherit besides the usual ones."""
        self._store = store
        self._added_env = added_env

    async def add(self, caller: Caller, new: NewMcpServer) -> McpServer:
        caller.require("admin", "add MCP servers")
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
            change.audit(caller, "mcp_server.added", subject_id=server.id, name=server.name)
            return server

        return await self._store.write_once(
            caller, "mcp_servers.add", msgspec.structs.replace(new, idempotency_key=None), McpServer, work
        )

    async def get(self, server_id: str) -> McpServer:
        return await self._store.read(lambda tx: find(tx, "mcp_servers", server_id, MCP.get, McpServer))

    async def alike(self, new: NewMcpServer) -> McpServer | None:
        """Returns the registered server with the same name and configuration, if any."""

        async def work(tx: Tx) -> McpServer | None:
            shown = await tx.one(MCP.named, McpServer, name=new.name)
            if shown is None or shown.transport != new.transport:
                return None
            (server,) = await tx.all(MCP.private, McpServer, ids=[shown.id])
            return shown if _opened(server) == msgspec.structs.replace(new, idempotency_key=None) else None

        return await self._store.read(work)

    async def unused(self, new: NewMcpServer) -> McpServer | None:
        """Returns the registered server with the same name and configuration if no session uses it."""

        async def work(tx: Tx) -> McpServer | None:
            server = await tx.one(MCP.named, McpServer, name=new.name)
            if server is None or server.transport != new.transport:
                return None
            return None if await tx.all(MCP.users, Session, pattern=f"%{server.id}%") else server

        return await self._store.read(work)

    async def check(self, caller: Caller, server_id: str) -> McpCheck:
        """Connects to a server, also one that is disabled, and reports what it offers or why it does not work."""
        stored = await self._store.stored_answer(caller, "mcp_servers.check", server_id, McpCheck)
        if stored is not None:
            return stored

        async def read(tx: Tx) -> acp.McpServer:
            shown = await find(tx, "mcp_servers", server_id, MCP.get, McpServer)
            (server,) = await tx.all(MCP.private, McpServer, ids=[shown.id])
            return _connectable(server)

        outcome = await mcp_check.check(await self._store.read(read), self._added_env)
        if caller.idempotency_key is None:
            return outcome

        async def keep(_change: Change) -> McpCheck:
            return outcome

        return await self._store.write_once(caller, "mcp_servers.check", server_id, McpCheck, keep)

    async def list(self, limit: int, offset: int) -> Page[McpServer]:
        return await self._store.read(lambda tx: read_page(tx, MCP.page, MCP.count, McpServer, limit, offset))

    async def patch(self, caller: Caller, server_id: str, patch: McpServerPatch) -> McpServer:
        """Changes a server and validates it like a new one. The transport cannot change."""
        caller.require("admin", "change MCP servers")
        changes = changed_fields(patch)

        async def work(change: Change) -> McpServer:
            shown = await find(change.tx, "mcp_servers", server_id, MCP.get, McpServer)
            (server,) = await change.tx.all(MCP.private, McpServer, ids=[shown.id])
            before = _opened(server)
            merged = msgspec.structs.replace(before, **changes)
            merged.env = unmasked(merged.env, before.env)
            merged.headers = unmasked(merged.headers, before.headers)
            if merged.url == shown.url:
                merged.url = before.url
            _check(merged)
            other = await change.tx.one(MCP.named, McpServer, name=merged.name)
            if other is not None and other.id != shown.id:
                raise _taken(merged.name)
            for session in await change.tx.all(MCP.users, Session, pattern=f"%{shown.id}%"):
                await remember_secrets(change.tx, session.id)
            server = await change.tx.one(MCP.change, McpServer, id=shown.id, now=change.now, **_shown(merged))
            assert server is not None
            await change.tx.run(MCP.change_private, id=shown.id, **_private(merged))
            change.emit("mcp_server.patched", server)
            change.audit(caller, "mcp_server.changed", subject_id=server.id, name=server.name, changed=sorted(changes))
            return server

        return await self._store.write(work)

    async def remove(self, caller: Caller, server_id: str) -> McpServer:
        """Deletes a server and removes it from all sessions and presets."""
        caller.require("admin", "remove MCP servers")

        async def work(change: Change) -> McpServer:
            server = await find(change.tx, "mcp_servers", server_id, MCP.get, McpServer)
            for session in await change.tx.all(MCP.users, Session, pattern=f"%{server.id}%"):
                await remember_secrets(change.tx, session.id)
                remaining = _without(session.mcp_server_ids, server.id)
                await records.update_session(change, session.id, mcp_server_ids=raw(remaining))
            for preset in await change.tx.all(PRESETS.with_server, Preset, pattern=f"%{server.id}%"):
                remaining = _without(preset.mcp_server_ids, server.id)
                query = PRESETS.patch.with_(set="mcp_server_ids = :mcp_server_ids")
                await change.tx.run(query, id=preset.id, now=change.now, mcp_server_ids=raw(remaining))
                change.emit("preset.patched", msgspec.structs.replace(preset, mcp_server_ids=raw(remaining)))
            await change.tx.run(MCP.remove, id=server.id)
            change.emit("mcp_server.removed", server)
            change.audit(caller, "mcp_server.removed", subject_id=server.id, name=server.name)
            return server

        return await self._store.write(work)


async def for_agent(
    tx: Tx, ids: list[str], *, stdio: bool = True, http: bool, sse: bool
) -> tuple[list[acp.McpServer], list[tuple[str, str]]]:
    """Returns the servers in the form that the agent takes, and the name and transport of each one it cannot reach
    (C1)."""
    servers: list[acp.McpServer] = []
    left_out: list[tuple[str, str]] = []
    names: set[str] = set()
    for server in await tx.all(MCP.private, McpServer, ids=ids):
        if not server.enabled:
            continue
        name = _free_name(names, agent_name(server.name))
        names.add(name)
        if {"stdio": stdio, "http": http, "sse": sse}[server.transport]:
            servers.append(msgspec.structs.replace(_connectable(server), name=name))
        else:
            left_out.append((name, server.transport))
    return servers, left_out


def _without(server_ids: msgspec.Raw, removed: str) -> list[str]:
    return [server_id for server_id in msgspec.json.decode(server_ids, type=list[str]) if server_id != removed]


def agent_name(name: str) -> str:
    """Returns the name that agents see: without the part that tells servers of one name apart."""
    return name.partition("@")[0]


def _free_name(taken: set[str], name: str) -> str:
    """Returns the name, with a number if another server of the session has it."""
    candidates = (name if number == 1 else f"{name}-{number}" for number in range(1, len(taken) + 2))
    return next(candidate for candidate in candidates if candidate not in taken)


def _connectable(server: McpServer) -> acp.McpServer:
    """Returns a stored server, with its secrets, in the form that agents take."""
    if server.transport == "stdio":
        args = msgspec.json.decode(server.args, type=list[str])
        return acp.StdioServer(name=server.name, command=server.command or "", args=args, env=_pairs(server.env))
    kind = acp.HttpServer if server.transport == "http" else acp.SseServer
    return kind(name=server.name, url=server.url or "", headers=_pairs(server.headers))


def _pairs(values: msgspec.Raw) -> list[acp.NameValue]:
    decoded = msgspec.json.decode(values, type=dict[str, str])
    return [acp.NameValue(name=name, value=value) for name, value in decoded.items()]


def _opened(server: McpServer) -> NewMcpServer:
    """Returns a stored server, with its secrets, as a request to register it."""
    return NewMcpServer(
        name=server.name,
        transport=server.transport,
        command=server.command,
        args=msgspec.json.decode(server.args, type=list[str]),
        env=msgspec.json.decode(server.env, type=dict[str, str]),
        url=server.url,
        headers=msgspec.json.decode(server.headers, type=dict[str, str]),
        enabled=server.enabled,
    )


def _shown(new: NewMcpServer) -> dict[str, Any]:
    """Returns the columns that everybody may see."""
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
    return Conflict("name_taken", f"An MCP server named {name!r} already exists.")


def _check(new: NewMcpServer) -> None:
    if not NAME.fullmatch(new.name):
        raise Invalid(
            "bad_name",
            "An MCP server's name must be 1 to 64 letters, digits, `_` or `-`, because agents use it. Agents do not "
            "see an `@` and 1 to 32 such characters after it.",
        )
    # Agents recognize the tools of `bough` by names with that prefix.
    seen = agent_name(new.name).lower()
    if seen == RESERVED or seen.startswith((f"{RESERVED}_", f"{RESERVED}-")):
        raise Invalid("name_reserved", f"{RESERVED!r} and names that start with it are reserved for Bough's own tools.")
    if new.transport == "stdio":
        if not new.command or not new.command.startswith("/"):
            raise Invalid("bad_mcp_server", "A stdio server needs `command`, an absolute path.")
    elif not new.url or not is_address(new.url):
        raise Invalid("bad_mcp_server", f"An {new.transport} server needs `url`, beginning with http:// or https://.")
    checked_env(new.env)
    # Values are secret: an error names the variable or header, never its value.
    for name, value in new.headers.items():
        if not HEADER_NAME.fullmatch(name):
            raise Invalid("bad_mcp_server", f"{name!r} is not a valid HTTP header name.")
        if BREAKS.search(value):
            raise Invalid("bad_mcp_server", f"The value of the HTTP header {name!r} must be a single line.")
    if any("\0" in arg for arg in new.args):
        raise Invalid("bad_mcp_server", "An argument cannot contain a NUL character.")
