"""Tells what agents offer before the first turn, and has them asked in the background, each once per version."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta

import msgspec
import structlog

from bough.agents.catalog import Catalog, CatalogEntry
from bough.agents.catalog.find_program import LocatedAgent, install_hint
from bough.agents.errors import AgentGone, AgentTimeout
from bough.core.agent_offers.ask import ask_agent
from bough.core.live_agents.agent_pool import AgentPool
from bough.core.live_agents.offers import OfferRow, read_row, store_failure, store_offer
from bough.core.store.transactions import Change, Store
from bough.core.store.until_available import until_available
from bough.errors import BoughError, Invalid
from bough.model.agents.offer import AgentOffer, OfferedCommand, OfferedOwnMode, OfferError
from bough.model.session import Caller
from bough.model.values.times import now, parse
from bough.settings import Settings

log = structlog.get_logger("bough.agents")

CHECK = "agents.check"
AT_ONCE = 1
"""The most agents that are asked at the same time."""
RETRY_AFTER = timedelta(minutes=10)
"""The time after which an agent that could not be asked is asked again without being told to."""


class CheckRequest(msgspec.Struct):
    """A request to have an agent asked."""

    name: str
    force: bool


class AgentOffers:
    """Answers what the agents offer, and has them asked."""

    def __init__(self, store: Store, settings: Settings, catalog: Catalog, agents: AgentPool) -> None:
        self._store = store
        self._settings = settings
        self._catalog = catalog
        self._agents = agents
        self._gate = asyncio.Semaphore(AT_ONCE)
        self._checks: dict[str, asyncio.Task[None]] = {}

    async def get(self, name: str) -> AgentOffer:
        """Returns what is known. Starts nothing and waits for nothing but the database."""
        entry = self._catalog.get(name)
        located = await asyncio.to_thread(self._catalog.find, entry)
        row = await self._store.read(lambda tx: read_row(tx, name))
        return self._shown(entry, located, row)

    async def list(self) -> list[AgentOffer]:
        """Returns what is known about all agents."""
        return [await self.get(name) for name in self._catalog.names()]

    async def check(self, caller: Caller, name: str, *, force: bool = False) -> AgentOffer:
        """Has an agent asked in the background if its installed version has not been asked yet, or with `force`;
        returns what is known so far. An agent that npx would have to download is asked only with `force`. Raises
        `Invalid` with `force` if it cannot be started."""
        caller.require("operator", "have agents asked what they offer")
        entry = self._catalog.get(name)
        request = CheckRequest(name, force)
        if await self._store.stored_answer(caller, CHECK, request, AgentOffer) is not None:
            # A repeated request acts once.
            return await self.get(name)
        located = await asyncio.to_thread(self._catalog.find, entry)
        if located is None:
            if force:
                raise Invalid("agent_missing", _missing(entry).message, agent=name)
        else:
            row = await self._store.read(lambda tx: read_row(tx, name))
            if name not in self._checks and (force or _is_due(located, row)):
                task = asyncio.create_task(self._run(entry, located), name=f"check {name}")
                self._checks[name] = task
                task.add_done_callback(lambda _: self._checks.pop(name, None))
        offer = await self.get(name)
        if caller.idempotency_key is None:
            return offer

        async def work(_change: Change) -> AgentOffer:
            return offer

        return await self._store.write_once(caller, CHECK, request, AgentOffer, work)

    async def close(self) -> None:
        """Ends the checks that run, with their agents."""
        tasks = list(self._checks.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def _run(self, entry: CatalogEntry, located: LocatedAgent) -> None:
        version = located.version or ""
        try:
            async with self._gate:
                offer = await ask_agent(self._agents, self._settings, entry)
        except BoughError as error:
            details = error.details if isinstance(error, AgentGone | AgentTimeout) else {}
            log.warning("agent_check_failed", agent=entry.name, error=error.message, **details)
            code, message = error.code, error.message
            await self._write(lambda change: store_failure(change, entry.name, version, code, message))
        except Exception:
            log.exception("agent_check_broke", agent=entry.name)
            message = f"Bough failed to ask {entry.title} what it offers; the server's log says why."
            await self._write(lambda change: store_failure(change, entry.name, version, "internal", message))
        else:
            log.info("agent_checked", agent=entry.name, version=offer.version)
            await self._write(lambda change: store_offer(change, entry.name, offer))

    async def _write(self, work: Callable[[Change], Awaitable[None]]) -> None:
        await until_available(lambda: self._store.write(work), "what an agent offers")

    def _shown(self, entry: CatalogEntry, located: LocatedAgent | None, row: OfferRow | None) -> AgentOffer:
        models, default_model = row.values("model") if row is not None else ([], None)
        efforts, default_effort = row.values("thought_level") if row is not None else ([], None)
        installed = (located.version or "") if located is not None else ""
        error = OfferError(row.error_code, row.error or "") if row is not None and row.error_code is not None else None
        return AgentOffer(
            agent=entry.name,
            version=row.version if row is not None else "",
            installed_version=installed,
            current=row is not None and located is not None and row.version == installed,
            checking=entry.name in self._checks,
            models=models,
            efforts=efforts,
            default_model=default_model,
            default_effort=default_effort,
            modes=msgspec.json.decode(row.modes, type=list[OfferedOwnMode]) if row is not None else [],
            commands=msgspec.json.decode(row.commands, type=list[OfferedCommand]) if row is not None else [],
            source=row.source if row is not None and row.known else None,
            error=_missing(entry) if located is None else error,
            checked_at=row.checked_at if row is not None else None,
        )


def _is_due(located: LocatedAgent, row: OfferRow | None) -> bool:
    """Returns whether an agent is asked without being told to."""
    if located.how != "installed":
        return False
    if row is None or row.version != (located.version or ""):
        return True
    if row.error_code is not None:
        return parse(now()) - parse(row.checked_at) > RETRY_AFTER
    # A session tells everything but commands.
    return row.source == "session" and bytes(row.commands) == b"[]"


def _missing(entry: CatalogEntry) -> OfferError:
    return OfferError("agent_missing", f"{entry.title} is not installed. {install_hint(entry)}".strip())
