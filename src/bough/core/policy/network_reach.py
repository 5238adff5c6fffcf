"""Compares the hosts that strictly confined sessions reach, so that no agent reaches more of them through another
session."""

from __future__ import annotations

import os

import msgspec

from bough.agents.acp.types import HttpServer, SseServer
from bough.agents.catalog.entry import CatalogEntry
from bough.agents.network.hosts import HostList
from bough.agents.sandbox.own_network import service_patterns
from bough.core.environment import mcp_servers
from bough.core.policy.allowed_hosts import allowed_hosts
from bough.core.store.sql import SESSIONS
from bough.model.session import Session
from bough.settings import Settings
from bough.storage.backend import Tx


async def reached_hosts(
    tx: Tx,
    entry: CatalogEntry,
    session: Session,
    settings: Settings,
    env: dict[str, str],
    *,
    anywhere: bool = False,
) -> list[str]:
    """Returns the patterns of all hosts that a strictly confined session reaches with its variables and MCP servers;
    `anywhere` if its folder is not known yet."""
    ids = msgspec.json.decode(session.mcp_server_ids, type=list[str])
    servers, _ = await mcp_servers.for_agent(tx, ids, http=True, sse=True)
    urls = [server.url for server in servers if isinstance(server, HttpServer | SseServer)]
    visible = {name: value for name, value in os.environ.items() if name not in entry.hide}
    urls += entry.sandbox.model_urls(visible | entry.env | env)
    return [*await allowed_hosts(tx, entry, session, settings, anywhere=anywhere), *service_patterns(urls)]


def beyond(own: list[str], others: list[str]) -> list[str]:
    """Returns the patterns that allow more than one's own."""
    reached = HostList(own)
    return [pattern for pattern in dict.fromkeys(others) if not reached.covers(pattern)]


async def session_env(tx: Tx, session_id: str) -> dict[str, str]:
    """Returns the variables of a session."""
    return msgspec.json.decode(await tx.value(SESSIONS.env, id=session_id) or b"{}")


async def untrusted_variables(tx: Tx, session_id: str) -> frozenset[str]:
    """Returns the variables of a session that open no hosts, because a person who is no admin has set them."""
    if await tx.value(SESSIONS.env_trusted, id=session_id):
        return frozenset()
    return frozenset(await session_env(tx, session_id))


async def host_env(tx: Tx, session_id: str) -> dict[str, str]:
    """Returns the variables of a session for `reached_hosts`: those that open no hosts are empty."""
    untrusted = await untrusted_variables(tx, session_id)
    return {name: "" if name in untrusted else value for name, value in (await session_env(tx, session_id)).items()}
