"""Says which ports of this machine a person previews, and at which addresses (decision 17)."""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from pathlib import Path

import msgspec
import structlog

from bough.agents.keeper_client.keeper_key import keeper_key
from bough.core.store.short_ids import find
from bough.core.store.sql import RUNS, WORKTREES
from bough.core.store.transactions import Store
from bough.core.worktrees import records
from bough.core.worktrees.config.parse import MOST_PORTS
from bough.errors import Conflict
from bough.model.repo import Worktree
from bough.model.run import Run
from bough.model.session import Caller
from bough.settings import Settings
from bough.storage.backend import Tx

log = structlog.get_logger("bough.previews")

# Addresses that are remembered; the oldest is forgotten first, and comes back when it is opened again.
MOST_TARGETS = 500
# Addresses of Bough's page from which a preview may be shown in a frame.
MOST_FRAMERS = 8
SUFFIX = ".localhost"


class RunPreview(msgspec.Struct, rename="camel"):
    """The address at which a browser on this machine sees what a run serves. Whoever has it can use it."""

    url: str
    port: int


class PreviewTarget(msgspec.Struct):
    """The target of a host name: a port of a worktree, its origin, and the origins that may show it in a frame."""

    worktree_id: str
    port: int
    origin: str
    framers: list[str]


class Previews:
    """The addresses of previews. Each is derived from a secret, so that it stays the same and cannot be guessed."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self._store = store
        self._root = settings.data_path / "runs"
        self._targets: OrderedDict[str, PreviewTarget] = OrderedDict()
        # Where the proxy listens; None while it does not.
        self.port: int | None = None

    async def open(self, caller: Caller, run_id: str, framer: str) -> RunPreview:
        """Returns the address of what a run serves; the page at `framer` may show it in a frame. Raises `Conflict` if
        the run has ended or has no port."""
        caller.require("operator", "preview what runs in a worktree")

        async def work(tx: Tx) -> tuple[Run, Worktree]:
            run = await find(tx, "runs", run_id, RUNS.get, Run)
            return run, await records.usable(tx, run.worktree_id)

        run, worktree = await self._store.read(work)
        if self.port is None or run.port is None or run.state != "running" or not _owns(worktree, run.port):
            raise Conflict("no_preview", "There is nothing to preview: the command has ended, or serves at no port.")
        host = f"{await asyncio.to_thread(_label, self._root, worktree.id, run.port)}{SUFFIX}:{self.port}"
        known = self._targets.pop(host, None)
        framers = [framer, *(item for item in (known.framers if known is not None else []) if item != framer)]
        self._targets[host] = PreviewTarget(worktree.id, run.port, f"http://{host}", framers[:MOST_FRAMERS])
        while len(self._targets) > MOST_TARGETS:
            self._targets.popitem(last=False)
        return RunPreview(f"http://{host}/", run.port)

    async def find(self, host: str) -> PreviewTarget | None:
        """Returns what a host name stands for; None if it is unknown, or the port is no longer its worktree's."""
        target = self._targets.get(host)
        if target is None:
            return None
        row = await self._store.read(lambda tx: tx.one(WORKTREES.get, Worktree, id=target.worktree_id))
        if row is None or row.removed_at is not None or not _owns(row, target.port):
            self._targets.pop(host, None)
            return None
        return target


def _owns(worktree: Worktree, port: int) -> bool:
    first = worktree.first_port
    return first is not None and first <= port < first + MOST_PORTS


def _label(root: Path, worktree_id: str, port: int) -> str:
    root.mkdir(mode=0o700, parents=True, exist_ok=True)
    key = keeper_key(root, f"preview:{worktree_id}:{port}")
    return f"p{hashlib.sha256(key.encode()).hexdigest()[:32]}"
