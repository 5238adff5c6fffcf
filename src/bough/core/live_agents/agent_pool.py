"""Keeps the agents of this server: starts them, attaches to those that outlived the last server, and suspends them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Iterator
from contextlib import AbstractAsyncContextManager
from typing import Any

import msgspec
import structlog

from bough.agents.acp.types import HttpServer, NameValue
from bough.agents.catalog import Catalog
from bough.agents.catalog.entry import CatalogEntry, ModeSettings
from bough.agents.catalog.node_version import node_advice
from bough.agents.catalog.prepare import PreparedStart, prepare
from bough.agents.errors import AgentGone, AgentTimeout
from bough.agents.launcher import Launcher
from bough.agents.link import Link
from bough.agents.process.start_limit import StartLimit
from bough.agents.wait_shielded import shielded
from bough.core.environment import mcp_servers
from bough.core.events.hub import Hub
from bough.core.live_agents.agent import Agent, OpenedConversation
from bough.core.live_agents.agent_settings import KnownSettings, is_strict
from bough.core.live_agents.keepers import Keeper, known_options, store_ready
from bough.core.live_agents.permission_handler import PermissionHandler
from bough.core.live_agents.prompt_files import PromptCapabilities
from bough.core.live_agents.start import agent_tokens, confinement, repository_trust
from bough.core.live_agents.start.confinement import Confiner, is_strict_box, reads_only
from bough.core.live_agents.start.context import SessionContext
from bough.core.live_agents.start.start_settings import PrivateColumns, start_settings
from bough.core.policy.allowed_hosts import allowed_hosts
from bough.core.policy.turn_mode import turn_mode
from bough.core.store import records
from bough.core.store.session_secrets import redactor_of, secrets_of
from bough.core.store.sql import KEEPERS
from bough.core.store.transactions import Change, Store
from bough.core.store.until_available import until_available
from bough.core.transcripts.recorder import Recorder
from bough.core.worktrees.ports import PortBlocks
from bough.errors import AgentFailed
from bough.model.message import raw
from bough.model.session import PermissionMode, Session
from bough.model.values import own_tokens
from bough.model.values.ids import new_id
from bough.model.values.redaction import Redactor, redactor_for
from bough.settings import Settings
from bough.storage.backend import Tx

log = structlog.get_logger("bough.agents")


class AgentPool:
    """Holds the running agents by session; a session has at most one."""

    def __init__(
        self, store: Store, hub: Hub, settings: Settings, catalog: Catalog, launcher: Launcher, ports: PortBlocks
    ) -> None:
        self._store = store
        self._hub = hub
        self._settings = settings
        self.catalog = catalog
        self._launcher = launcher
        self._ports = ports
        self.confiner = Confiner(store, settings)
        self._agents: dict[str, Agent] = {}
        self._suspensions: dict[Agent, asyncio.Task[None]] = {}
        self._starting: dict[str, asyncio.Lock] = {}
        self._starts = StartLimit()
        # The address of Bough's own tools, if the server offers them.
        self.address: str | None = None

    def get(self, session_id: str) -> Agent | None:
        return self._agents.get(session_id)

    def __contains__(self, session_id: str) -> bool:
        return session_id in self._agents

    def __iter__(self) -> Iterator[Agent]:
        return iter(list(self._agents.values()))

    def __len__(self) -> int:
        return len(self._agents)

    async def wake(self, session: Session, handler: PermissionHandler) -> Agent:
        """Returns the agent of a session; starts one, or restarts it if its start settings have changed."""
        agent = self._agents.get(session.id)
        entry = self.catalog.get(session.agent)
        private, mode, made_of = await self._store.read(
            lambda tx: start_settings(tx, entry, session, self._settings, self.address)
        )
        if agent is not None and (agent.down or agent.ending or agent.made_of != made_of):
            await self.suspend(agent)
            agent = None
        if agent is None:
            await repository_trust.check(self._store, entry, session)
            agent = await self._start(session, entry, private, mode, made_of, handler)
        elif is_strict_box(session):
            # People may have allowed hosts since, or taken them back.
            agent.hosts.reset(await self._store.read(lambda tx: allowed_hosts(tx, entry, session, self._settings)))
        agent.want(mode)
        agent.busy = True
        return agent

    async def current_session(self, agent: Agent) -> Session | None:
        """Returns the session of an agent as it is now; None if the settings that the agent was started with have
        changed, so that it must be restarted."""

        async def work(tx: Tx) -> tuple[Session, ModeSettings, str]:
            session = await records.session(tx, agent.session_id)
            _, mode, made_of = await start_settings(tx, agent.entry, session, self._settings, self.address)
            return session, mode, made_of

        session, mode, made_of = await self._store.read(work)
        if made_of != agent.made_of:
            return None
        agent.want(mode)
        return session

    async def apply_mode(self, session: Session, before: PermissionMode) -> bool:
        """Sets a working agent to its session's mode in the middle of a turn. Returns False if it does not take it: it
        refuses, does not answer, or has to be started for that mode."""
        entry = self.catalog.get(session.agent)
        strict = await self._store.read(lambda tx: is_strict(tx, entry.name))
        mode = entry.mode(session.permission_mode, strict)
        agent = self._agents.get(session.id)
        if agent is None or agent.down or agent.ending:
            # Whatever continues the turn reads its mode first.
            return True
        earlier = msgspec.structs.replace(session, permission_mode=before)
        if mode.start != entry.mode(before, strict).start or reads_only(entry, session) != reads_only(entry, earlier):
            return False
        try:
            await agent.apply_mode(mode)
        except (AgentFailed, TimeoutError) as error:
            log.warning("mode_not_applied", session=session.id, agent=entry.name, mode=mode.mode, error=str(error))
            return False
        return True

    async def _start(
        self,
        session: Session,
        entry: CatalogEntry,
        private: PrivateColumns,
        mode: ModeSettings,
        made_of: str,
        handler: PermissionHandler,
    ) -> Agent:
        env = await self._ports.variables_of(session.worktree_id) | msgspec.json.decode(
            private.env, type=dict[str, str]
        )
        settings = self._settings
        prepared = await asyncio.to_thread(
            prepare, entry, settings.data_path, session.cwd, mode, env, settings.agent_env_names
        )
        confined = await self.confiner.confine(session, entry, prepared, self.address)
        await self._clear(session)
        keeper_id = new_id()
        token = agent_tokens.mint(session.id)

        async def announce(change: Change) -> Redactor:
            secrets = await secrets_of(change.tx, session.id)
            await change.tx.run(
                KEEPERS.add,
                id=keeper_id,
                session_id=session.id,
                made_of=made_of,
                token_hash=own_tokens.hashed(token),
                secrets=raw(secrets),
                now=change.now,
            )
            await confinement.note(change, session.id, confined)
            return redactor_for(frozenset(secrets))

        redactor = await self._store.write(announce)
        # The time limits of a start begin after these waits.
        async with self._alone(entry), self._starts.starting():
            try:
                link = await self._launcher.start(
                    keeper_id,
                    prepared.command,
                    cwd=session.cwd,
                    env=confined.env,
                    box=confined.box,
                    network=confined.network,
                )
            except BaseException:
                await self.end_keeper(keeper_id)
                raise
            recorder = Recorder(
                self._store, self._hub, session.id, keeper_id, entry.tools, redactor, limit=settings.max_transcript
            )
            agent = Agent(session.id, keeper_id, made_of, entry, recorder, link, handler)
            agent.busy = True
            self._agents[session.id] = agent
            try:
                started = msgspec.structs.replace(session, confinement=confined.confinement)
                context = SessionContext(
                    self._store, started, self._own_server(confined.tools, token), private.instructions
                )
                opened = await agent.open(session, prepared, self._settings, private.agent_session_id, context)
                usual = bytes(private.env) == b"{}"
                await self._store.write(lambda change: store_ready(change, agent, opened, usual=usual))
            except BaseException as error:
                await self.suspend(agent)
                if isinstance(error, AgentGone | AgentTimeout):
                    advice = await asyncio.to_thread(node_advice, entry, prepared.command[0], session.cwd, env)
                    error.add(advice)
                raise
        return agent

    @contextlib.asynccontextmanager
    async def started_beside(
        self, session: Session, entry: CatalogEntry, env: dict[str, str]
    ) -> AsyncGenerator[tuple[Link, PreparedStart]]:
        """Starts an agent that works for no session, as one in this session would be started, and ends it. One that a
        killed server left is ended by the next, which does not know its keeper."""
        strict = await self._store.read(lambda tx: is_strict(tx, entry.name))
        mode, settings = entry.mode(session.permission_mode, strict), self._settings
        prepared = await asyncio.to_thread(
            prepare, entry, settings.data_path, session.cwd, mode, env, settings.agent_env_names
        )
        confined = await self.confiner.confine(session, entry, prepared)
        keeper_id = new_id()
        async with self._alone(entry):
            try:
                async with self._starts.starting():
                    link = await self._launcher.start(
                        keeper_id,
                        prepared.command,
                        cwd=session.cwd,
                        env=confined.env,
                        box=confined.box,
                        network=confined.network,
                    )
                try:
                    yield link, prepared
                finally:
                    await shielded(asyncio.create_task(link.end()))
            finally:
                await shielded(asyncio.create_task(self._launcher.drop(keeper_id)))

    def _own_server(self, address: str | None, token: str) -> HttpServer | None:
        """Returns Bough itself as an MCP server of the agent, at the address by which the agent reaches it."""
        if address is None:
            return None
        headers = [NameValue(name="Authorization", value=f"Bearer {token}")]
        return HttpServer(name=mcp_servers.RESERVED, url=address, headers=headers)

    def _alone(self, entry: CatalogEntry) -> AbstractAsyncContextManager[Any]:
        """Returns a lock for agents that fail when two of them start at once."""
        if not entry.quirks.start_alone:
            return contextlib.nullcontext()
        return self._starting.setdefault(entry.name, asyncio.Lock())

    async def _clear(self, session: Session) -> None:
        """Ends the keeper of an earlier agent that was not ended properly; raises `AgentFailed` if that fails."""
        left: str | None = await self._store.read(lambda tx: tx.value(KEEPERS.of_session, session_id=session.id))
        if left is not None:
            await self.end_keeper(left)

    async def attach(self, keeper: Keeper, session: Session, handler: PermissionHandler) -> Agent:
        """Attaches to an agent that an earlier server started; `listen` delivers what it sent since."""
        entry = self.catalog.get(session.agent)
        link = await self._launcher.attach(keeper.id, keeper.stored)
        read = self._store.read

        async def settings(tx: Tx) -> tuple[PrivateColumns, ModeSettings, Redactor]:
            # A turn that continues keeps the mode that it was sent with.
            as_sent = msgspec.structs.replace(session, permission_mode=await turn_mode(tx, session))
            private, mode, _ = await start_settings(tx, entry, as_sent, self._settings, self.address)
            return private, mode, await redactor_of(tx, session.id)

        private, mode, redactor = await until_available(lambda: read(settings), "an agent that is found again")
        withheld = msgspec.json.decode(keeper.withheld, type=dict[str, str])
        limit = self._settings.max_transcript
        recorder = Recorder(self._store, self._hub, session.id, keeper.id, entry.tools, redactor, withheld, limit)
        recorder.received(keeper.stored)
        agent = Agent(session.id, keeper.id, keeper.made_of, entry, recorder, link, handler)
        known = KnownSettings(keeper.has_modes, known_options(keeper))
        takes = PromptCapabilities(keeper.takes_images, keeper.takes_resources)
        agent.resume(OpenedConversation(private.agent_session_id or "", known, takes))
        agent.want(mode)
        if keeper.needs_history:
            context = SessionContext(self._store, session, instructions=private.instructions)
            agent.preface = await until_available(context.untold, "an agent that is found again")
        self._agents[session.id] = agent
        return agent

    async def suspend(self, agent: Agent) -> None:
        """Ends an agent's process and its keeper; the next prompt starts another. Concurrent calls share one end."""
        if agent not in self._suspensions:
            self._suspensions[agent] = asyncio.create_task(self._suspend(agent), name=f"suspend {agent.session_id}")
        await shielded(self._suspensions[agent])

    async def _suspend(self, agent: Agent) -> None:
        # It stays in the pool until it has ended: a session has one keeper, and the next must not find another.
        try:
            await agent.end()
            await self.end_keeper(agent.keeper_id)
        finally:
            if self._agents.get(agent.session_id) is agent:
                del self._agents[agent.session_id]
            del self._suspensions[agent]

    async def end_keeper(self, keeper_id: str) -> None:
        """Ends a keeper and whatever is left of its agent."""
        await self._launcher.drop(keeper_id)
        await self._store.write(lambda change: change.tx.run(KEEPERS.remove, id=keeper_id))

    def detach(self) -> None:
        """Detaches from all agents before the server ends, so that running turns continue without it."""
        for agent in self:
            agent.detach()

    async def close(self) -> None:
        """Leaves agents running in their keepers if they are busy, or if nobody could open their conversation again.
        Suspends the others."""
        ends = [agent.leave() if self._must_stay(agent) else self.suspend(agent) for agent in self]
        for error in await asyncio.gather(*ends, return_exceptions=True):
            if isinstance(error, BaseException):
                log.warning("agent_not_left_in_order", error=repr(error))

    def _must_stay(self, agent: Agent) -> bool:
        """Tells whether an agent outlives an orderly end of this server. The next server attaches to it."""
        if agent.ending or self._settings.stop_agents:
            return False
        return agent.busy or not (agent.entry.resume or agent.down)
