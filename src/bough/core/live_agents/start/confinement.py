"""Decides whether an agent starts in the sandbox, and builds its box for one session (`bough.agents.sandbox`)."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from bough.agents.acp.types import HttpServer, SseServer
from bough.agents.catalog.entry import CatalogEntry
from bough.agents.catalog.prepare import PreparedStart
from bough.agents.sandbox.box_paths import BoxRequest, box_env, gather
from bough.agents.sandbox.bwrap_arguments import arguments, limited
from bough.agents.sandbox.detect import SandboxProbe
from bough.agents.sandbox.own_files import OwnFiles
from bough.agents.sandbox.own_network import OwnNetwork, plan
from bough.core.environment import mcp_servers
from bough.core.policy.allowed_hosts import allowed_hosts
from bough.core.policy.network_reach import untrusted_variables
from bough.core.policy.sandbox_choice import SandboxChoice, wanted_sandbox
from bough.core.store import records
from bough.core.store.sql import WORKTREES
from bough.core.store.transactions import Change, Store
from bough.core.worktrees.command_box import box_limits
from bough.errors import AgentFailed
from bough.model.agents.sandbox import Confinement
from bough.model.session import Session, directories_of
from bough.search_path import find_own_program
from bough.settings import Settings
from bough.storage.backend import Tx

# By whether the box has a network of its own, and whether everything in it is read-only.
CONFINEMENTS: dict[tuple[bool, bool], Confinement] = {
    (False, False): "workspace",
    (False, True): "read-only",
    (True, False): "strict",
    (True, True): "strict-read-only",
}


class ConfinedStart(msgspec.Struct, frozen=True):
    """The words before an agent's command, its environment, what people are told about its confinement, and the start
    of its proxy if its box has a network of its own."""

    box: list[str]
    env: dict[str, str]
    confinement: Confinement
    reason: str | None = None
    network: dict[str, Any] | None = None
    # The address of Bough's own tools for the agent.
    tools: str | None = None


class BoxInputs(msgspec.Struct, frozen=True):
    """Everything that the database says about a session's box: the choice, the folders of all worktrees, the allowed
    hosts, the addresses of the session's MCP servers, and the variables that open no hosts."""

    choice: SandboxChoice
    worktrees: list[str]
    hosts: list[str]
    servers: list[str]
    untrusted: frozenset[str]


class Confiner:
    """Builds the boxes of agents."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self._store = store
        self._settings = settings
        self.probe = SandboxProbe()

    async def confine(
        self, session: Session, entry: CatalogEntry, prepared: PreparedStart, tools: str | None = None
    ) -> ConfinedStart:
        """Returns how to start an agent; `tools` is the address of Bough's own tools. Raises `AgentFailed`
        (`sandbox_unavailable`) if it must be confined and cannot be."""
        inputs = await self._store.read(lambda tx: self._read(tx, session, entry))
        sandbox, profile = inputs.choice
        if sandbox == "off":
            return _unconfined(prepared, "The sandbox is switched off.", tools)
        available = await asyncio.to_thread(self.probe.find)
        network = _network(entry, prepared, inputs, tools) if profile == "strict" else None
        lacks_network = network is not None and bool(available.network_reason)
        if sandbox == "required" and (available.program is None or lacks_network):
            reason = available.reason if available.program is None else available.network_reason
            raise AgentFailed(
                "sandbox_unavailable",
                f"{entry.title} was not started, because its sandbox is required and does not work here. {reason}",
            )
        if available.program is None:
            return _unconfined(prepared, available.reason, tools)
        start = await asyncio.to_thread(
            self._build,
            available.program,
            session,
            entry,
            prepared,
            inputs.worktrees,
            None if lacks_network else network,
        )
        if network is None:
            return msgspec.structs.replace(start, tools=tools)
        if lacks_network:
            return msgspec.structs.replace(start, tools=tools, reason=available.network_reason)
        return start

    async def _read(self, tx: Tx, session: Session, entry: CatalogEntry) -> BoxInputs:
        rows = await tx.all(WORKTREES.paths, tuple[str])
        ids = msgspec.json.decode(session.mcp_server_ids, type=list[str])
        servers, _ = await mcp_servers.for_agent(tx, ids, http=True, sse=True)
        choice = await wanted_sandbox(tx, session, self._settings)
        strict = choice.profile == "strict"
        return BoxInputs(
            choice=choice,
            worktrees=[path for (path,) in rows],
            hosts=await allowed_hosts(tx, entry, session, self._settings) if strict else [],
            servers=[server.url for server in servers if isinstance(server, HttpServer | SseServer)],
            untrusted=await untrusted_variables(tx, session.id) if strict else frozenset(),
        )

    def _build(
        self,
        program: str,
        session: Session,
        entry: CatalogEntry,
        prepared: PreparedStart,
        worktrees: list[str],
        network: OwnNetwork | None,
    ) -> ConfinedStart:
        settings = self._settings
        readable, inside, env = prepared.readable, list[str](), box_env(prepared.env, settings.data_path)
        if network is not None:
            readable, inside = [*readable, *network.readable], network.words
            env = entry.sandbox.strict_env | env | network.env
        box = gather(
            BoxRequest(
                cwd=session.cwd,
                directories=directories_of(session),
                read_only=reads_only(entry, session),
                data=settings.data_path,
                env=prepared.env,
                command=prepared.command,
                own=own_files(prepared),
                readable=readable,
                nests=entry.quirks.sandboxed,
                worktrees=worktrees,
                extra_readable=settings.sandbox_read_paths,
                extra_writable=settings.sandbox_write_paths,
                own_network=network is not None,
            )
        )
        limits = limited(find_own_program("prlimit"), box_limits(settings))
        words = [*arguments(program, box), "--", *limits, *inside]
        confinement = CONFINEMENTS[network is not None, reads_only(entry, session)]
        if network is None:
            return ConfinedStart(words, env, confinement)
        return ConfinedStart(words, env, confinement, network=network.start, tools=network.tools)


def own_files(prepared: PreparedStart) -> OwnFiles:
    """Returns the agent's own files, as its box treats them."""
    return OwnFiles(
        write=prepared.state,
        closed=prepared.closed_state,
        copy=prepared.copied_state,
        private=prepared.private_state,
        protect=prepared.protected_state,
    )


def reads_only(entry: CatalogEntry, session: Session) -> bool:
    """Returns whether everything but the agent's own state is read-only in the session's box."""
    return session.kind == "btw" or (session.permission_mode == "plan" and not entry.sandbox.plans_continue)


def is_strict_box(session: Session) -> bool:
    """Returns whether a session's agent has been started in a box with a network of its own."""
    return session.confinement in ("strict", "strict-read-only")


async def note(change: Change, session_id: str, start: ConfinedStart) -> None:
    """Stores how a session's agent is confined, if that has changed."""
    session = await records.session(change.tx, session_id)
    if (session.confinement, session.unconfined_reason) != (start.confinement, start.reason):
        await records.update_session(change, session.id, confinement=start.confinement, unconfined_reason=start.reason)


def _network(entry: CatalogEntry, prepared: PreparedStart, inputs: BoxInputs, tools: str | None) -> OwnNetwork:
    """Plans the network of a strict box."""
    env = {name: value for name, value in prepared.env.items() if name not in inputs.untrusted}
    return plan(inputs.hosts, [*entry.sandbox.model_urls(env), *inputs.servers], tools)


def _unconfined(prepared: PreparedStart, reason: str, tools: str | None) -> ConfinedStart:
    return ConfinedStart([], prepared.env, "unconfined", reason, tools=tools)
