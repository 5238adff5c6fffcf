"""Gathers the settings that an agent reads only when it starts, with a fingerprint that shows whether they changed."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from bough.agents.catalog.entry import CatalogEntry, ModeSettings
from bough.agents.network.hosts import is_endpoint
from bough.core.environment import mcp_servers
from bough.core.live_agents.agent_settings import wanted_mode
from bough.core.live_agents.start import confinement
from bough.core.policy.allowed_hosts import allowed_hosts
from bough.core.policy.network_reach import untrusted_variables
from bough.core.policy.sandbox_choice import wanted_sandbox
from bough.core.store.sql import SESSIONS
from bough.model.session import Session, directories_of
from bough.settings import Settings
from bough.storage.backend import Tx


class PrivateColumns(msgspec.Struct):
    """The private part of a session, which no client is shown."""

    env: msgspec.Raw
    agent_session_id: str | None
    # Of the session's preset.
    instructions: str = ""


async def start_settings(
    tx: Tx, entry: CatalogEntry, session: Session, settings: Settings, address: str | None
) -> tuple[PrivateColumns, ModeSettings, str]:
    """Returns the private part of a session, the settings of its mode, and a fingerprint of the settings that an agent
    reads only when it starts."""
    private = await tx.one(SESSIONS.private, PrivateColumns, id=session.id)
    assert private is not None
    ids = msgspec.json.decode(session.mcp_server_ids, type=list[str])
    servers, _ = await mcp_servers.for_agent(tx, ids, http=True, sse=True)
    mode = await wanted_mode(tx, entry, session)
    sandbox, profile = await wanted_sandbox(tx, session, settings)
    inputs: list[Any] = [session.cwd, msgspec.json.decode(private.env), servers, sandbox]
    if directories := directories_of(session):
        inputs.append(directories)
    if sandbox != "off":
        inputs.append(confinement.reads_only(entry, session))
    if sandbox != "off" and profile == "strict":
        hosts = await allowed_hosts(tx, entry, session, settings)
        # Only an endpoint needs a port of the box; the list of names can change while the agent runs.
        inputs += [profile, [host for host in hosts if is_endpoint(host)]]
        if untrusted := await untrusted_variables(tx, session.id):
            inputs.append(sorted(untrusted))
    if address is not None:
        inputs.append(address)
    if mode.start:
        inputs.append(entry.start[mode.start])
    if settings.agent_env_names:
        inputs.append(settings.agent_env_names)
    return private, mode, hashlib.sha256(msgspec.json.encode(inputs, order="sorted")).hexdigest()
