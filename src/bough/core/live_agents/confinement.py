"""Decides whether an agent starts in the sandbox, and builds its box for one session (`bough.agents.sandbox`)."""

from __future__ import annotations

import asyncio
import resource
import shutil

import msgspec

from bough.agents.catalog.entry import CatalogEntry
from bough.agents.catalog.prepare import PreparedStart
from bough.agents.sandbox.detect import SandboxProbe
from bough.agents.sandbox.gather import BoxRequest, box_env, gather
from bough.agents.sandbox.profile import Limits, arguments, limited
from bough.core.policy.sandbox_choice import wanted_sandbox
from bough.core.store import records
from bough.core.store.sql import WORKTREES
from bough.core.store.transactions import Change, Store
from bough.errors import AgentFailed
from bough.model.sandbox import Confinement, Sandbox
from bough.model.session import Session
from bough.settings import Settings
from bough.storage.backend import Tx


class ConfinedStart(msgspec.Struct, frozen=True):
    """The words before an agent's command, its environment, and what people are told about its confinement."""

    box: list[str]
    env: dict[str, str]
    confinement: Confinement
    reason: str | None = None


class Confiner:
    """Builds the boxes of agents."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self._store = store
        self._settings = settings
        self.probe = SandboxProbe()

    async def confine(self, session: Session, entry: CatalogEntry, prepared: PreparedStart) -> ConfinedStart:
        """Returns how to start an agent. Raises `AgentFailed` (`sandbox_unavailable`) if it must be confined and cannot
        be."""
        sandbox, worktrees = await self._store.read(lambda tx: self._read(tx, session))
        if sandbox == "off":
            return _unconfined(prepared, "The sandbox is switched off.")
        available = await asyncio.to_thread(self.probe.find)
        if available.program is None:
            if sandbox == "required":
                raise AgentFailed(
                    "sandbox_unavailable",
                    f"{entry.title} was not started, because its sandbox is required and does not work here. "
                    f"{available.reason}",
                )
            return _unconfined(prepared, available.reason)
        return await asyncio.to_thread(self._build, available.program, session, entry, prepared, worktrees)

    async def _read(self, tx: Tx, session: Session) -> tuple[Sandbox, list[str]]:
        rows = await tx.all(WORKTREES.paths, tuple[str])
        return await wanted_sandbox(tx, session, self._settings), [path for (path,) in rows]

    def _build(
        self, program: str, session: Session, entry: CatalogEntry, prepared: PreparedStart, worktrees: list[str]
    ) -> ConfinedStart:
        settings = self._settings
        box = gather(
            BoxRequest(
                cwd=session.cwd,
                read_only=reads_only(entry, session),
                data=settings.data_path,
                env=prepared.env,
                command=prepared.command,
                state=prepared.state,
                copied_state=prepared.copied_state,
                private_state=prepared.private_state,
                absent_state=prepared.absent_state,
                protected_state=prepared.protected_state,
                readable=prepared.readable,
                nests=entry.quirks.sandboxed,
                worktrees=worktrees,
                extra_readable=settings.sandbox_read_paths,
                extra_writable=settings.sandbox_write_paths,
            )
        )
        limits = Limits(
            _at_most(settings.sandbox_memory, resource.RLIMIT_DATA),
            _at_most(settings.sandbox_processes, resource.RLIMIT_NPROC),
            _at_most(settings.sandbox_open_files, resource.RLIMIT_NOFILE),
        )
        words = [*arguments(program, box), "--", *limited(shutil.which("prlimit"), limits)]
        confinement: Confinement = "read-only" if reads_only(entry, session) else "workspace"
        return ConfinedStart(words, box_env(prepared.env, settings.data_path), confinement)


def reads_only(entry: CatalogEntry, session: Session) -> bool:
    """Returns whether everything but the agent's own state is read-only in the session's box."""
    return session.kind == "btw" or (session.permission_mode == "plan" and not entry.sandbox.plans_continue)


async def note(change: Change, session_id: str, start: ConfinedStart) -> None:
    """Stores how a session's agent is confined, if that has changed."""
    session = await records.session(change.tx, session_id)
    if (session.confinement, session.unconfined_reason) != (start.confinement, start.reason):
        await records.update_session(change, session.id, confinement=start.confinement, unconfined_reason=start.reason)


def _at_most(limit: int, kind: int) -> int:
    """Returns a limit that does not exceed the server's own, which the agent inherits and cannot raise."""
    _, hard = resource.getrlimit(kind)
    return limit if hard == resource.RLIM_INFINITY else min(limit, hard)


def _unconfined(prepared: PreparedStart, reason: str) -> ConfinedStart:
    return ConfinedStart([], prepared.env, "unconfined", reason)
