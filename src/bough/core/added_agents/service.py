"""Adds agents from a registry's entry, and removes them. Adding runs nothing and downloads nothing but the document."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec
import structlog

from bough.agents.catalog import Catalog, CatalogEntry, load_catalog
from bough.agents.catalog.load import check_file
from bough.agents.registry.documents import find_agent
from bough.agents.registry.entry_file import catalog_text, write_file
from bough.agents.registry.read_entry import Distribution, read_entry
from bough.core.store.sql import SESSIONS
from bough.core.store.transactions import Change, Store
from bough.errors import Conflict, Invalid
from bough.model.session import Caller
from bough.settings import Settings

log = structlog.get_logger("bough.agents")

ADD = "agents.add"
MOST_ADDED = 100


class NewAgent(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """An agent to add: the text of its entry (`agent.json`), or its id in the registry of the setting."""

    entry: str | None = None
    name: str | None = None
    # How to start it; by default the first of npx, uvx and binary that the entry has.
    distribution: Distribution | None = None
    # Replaces the agent if it was added before, for another version.
    replace: bool = False
    idempotency_key: str | None = None


class _Added(msgspec.Struct):
    name: str


class AddedAgents:
    """Keeps the catalog files that come from registries."""

    def __init__(self, store: Store, settings: Settings, catalog: Catalog) -> None:
        self._store = store
        self._settings = settings
        self._catalog = catalog
        self._lock = asyncio.Lock()

    async def add(self, caller: Caller, new: NewAgent) -> CatalogEntry:
        """Adds an agent. Raises `Invalid` for an entry that is not to be trusted, `Conflict` if its name is taken."""
        caller.require("admin", "add agents")
        request = msgspec.structs.replace(new, idempotency_key=None)
        earlier = await self._store.stored_answer(caller, ADD, request, _Added)
        if earlier is not None:
            return self._catalog.get(earlier.name)
        if (new.entry is None) == (new.name is None):
            raise Invalid("agent_entry_missing", "Send either the text of an entry or the name of an agent.")
        if new.entry is not None:
            text = new.entry.encode("utf-8", "surrogatepass")
        else:
            text = await find_agent(self._settings.agent_registry, new.name or "")
        agent = read_entry(text, new.distribution)
        async with self._lock:
            self._check_name(agent.id, replace=new.replace)
            path = self._path(agent.id)
            described = catalog_text(agent, self._settings.data_path)
            check_file(described, path, self._settings.data_path)

            async def work(change: Change) -> _Added:
                change.audit(
                    caller,
                    "agent.added",
                    subject_id=agent.id,
                    version=agent.version,
                    command=agent.command,
                    archive=agent.archive or None,
                    env=sorted(agent.env) or None,
                )
                return _Added(agent.id)

            # The file first: a crash in between leaves an agent that can be replaced or removed.
            await asyncio.to_thread(write_file, path, described)
            await self._store.write_once(caller, ADD, request, _Added, work)
            await self._reload()
        log.info("agent_added", agent=agent.id, version=agent.version, distribution=agent.distribution)
        return self._catalog.get(agent.id)

    async def remove(self, caller: Caller, name: str) -> CatalogEntry:
        """Removes an agent that was added. Raises `Conflict` while active sessions use it."""
        caller.require("admin", "remove agents")
        async with self._lock:
            entry = self._catalog.get(name)
            if entry.registry is None:
                raise Conflict("agent_not_added", f"{entry.title} was not added from a registry: {entry.origin}.")

            async def work(change: Change) -> None:
                count: int = await change.tx.value(SESSIONS.active_of_agent, agent=name) or 0
                if count:
                    sessions = "1 active session uses" if count == 1 else f"{count} active sessions use"
                    raise Conflict("agent_in_use", f"{sessions} {entry.title}. Complete or cancel them first.")
                change.audit(caller, "agent.removed", subject_id=name)

            await self._store.write(work)
            await asyncio.to_thread(self._path(name).unlink, missing_ok=True)
            await self._reload()
        log.info("agent_removed", agent=name)
        return entry

    def _check_name(self, name: str, *, replace: bool) -> None:
        if name in self._catalog.built_in_names:
            raise Conflict("agent_exists", f"{name} is the name of an agent that Bough knows by itself.")
        known = self._catalog.entry(name)
        is_broken = any(broken.name == name for broken in self._catalog.broken)
        if is_broken or (known is not None and known.registry is None) or (known is None and self._path(name).exists()):
            raise Conflict("agent_exists", f"{self._path(name)} already describes an agent named {name}.")
        if known is not None and not replace:
            raise Conflict("agent_exists", f"{known.title} was already added. Replace it to have another version.")
        if known is None and sum(entry.registry is not None for entry in self._catalog.entries()) >= MOST_ADDED:
            raise Conflict("too_many_agents", f"There are already {MOST_ADDED} added agents. Remove some first.")

    def _path(self, name: str) -> Path:
        return self._settings.data_path / "agents" / f"{name}.toml"

    async def _reload(self) -> None:
        self._catalog.take(await asyncio.to_thread(load_catalog, self._settings.data_path))
