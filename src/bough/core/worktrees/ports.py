"""Gives each worktree a block of ports of its own, when something in it first needs one. Removal of the worktree frees
the block."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import zlib

import structlog

from bough.core.store.sql import WORKTREES
from bough.core.store.transactions import Change, Store
from bough.core.worktrees import records
from bough.core.worktrees.config.parse import DEFAULT_PORTS, MOST_PORTS
from bough.core.worktrees.config.read import read_config
from bough.errors import Conflict
from bough.model.repo import Repo, Worktree
from bough.settings import Settings
from bough.storage.backend import Tx

log = structlog.get_logger("bough.worktrees")

# Free blocks that are looked at for one without a foreign listener; a machine has few of them.
MOST_LOOKS = 64


def port_variables(first: int, count: int = DEFAULT_PORTS) -> dict[str, str]:
    """Returns the variables by which programs learn their worktree's ports."""
    more = {f"BOUGH_PORT_{number}": str(first + number) for number in range(1, count)}
    return {"BOUGH_PORT": str(first), **more}


class PortBlocks:
    """Claims and describes the blocks of worktrees."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self._store = store
        self._settings = settings

    async def claim(self, worktree_id: str) -> int:
        """Returns the first port of a worktree's block, which it gets now if it has none. Raises `Conflict` if all
        blocks are taken."""
        row = await self._store.read(lambda tx: records.worktree(tx, worktree_id))
        if row.first_port is not None:
            return row.first_port
        free = await asyncio.to_thread(self._free, await self._store.read(_taken))

        async def work(change: Change) -> int:
            current = await records.worktree(change.tx, row.id)
            if current.removed_at is not None:
                raise Conflict("worktree_removed", f"Worktree {current.name} was removed.")
            if current.first_port is not None:
                return current.first_port
            taken = await _taken(change.tx)
            first = next((port for port in free if port not in taken), None)
            if first is None:
                raise Conflict(
                    "no_ports",
                    f"Every block of {MOST_PORTS} ports in {self._settings.worktree_ports} is taken. Remove worktrees, "
                    "or choose a larger range (worktree_ports).",
                )
            await records.update(change, row.id, first_port=first)
            return first

        return await self._store.write(work)

    def _free(self, taken: set[int]) -> list[int]:
        """Returns the first blocks that no worktree has and in which no other program listens."""
        low, high = self._settings.worktree_port_range
        free: list[int] = []
        looks = 0
        blocks = range(low, high - MOST_PORTS + 2, MOST_PORTS)
        # Servers of one machine begin at different blocks: another one's may be claimed without a listener yet.
        begin = zlib.crc32(str(self._settings.data_path).encode()) % len(blocks)
        for first in (*blocks[begin:], *blocks[:begin]):
            if first in taken or any(abs(first - other) < MOST_PORTS for other in taken):
                continue
            looks += 1
            if all(_is_free(port) for port in range(first, first + MOST_PORTS)):
                free.append(first)
            if looks == MOST_LOOKS:
                break
        return free

    async def variables(self, worktree: Worktree, repo: Repo) -> dict[str, str]:
        """Returns the variables with a worktree's ports; none if it can get no block."""
        try:
            first = await self.claim(worktree.id)
        except Conflict as error:
            log.warning("no_ports", worktree=worktree.id, error=error.message)
            return {}
        config = await asyncio.to_thread(read_config, worktree.path, repo.path)
        return port_variables(first, config.ports)

    async def variables_of(self, worktree_id: str | None) -> dict[str, str]:
        """Returns the variables of a worktree by its id; none without one."""
        if worktree_id is None:
            return {}

        async def work(tx: Tx) -> tuple[Worktree, Repo]:
            row = await records.worktree(tx, worktree_id)
            return row, await records.repo_of(tx, row)

        return await self.variables(*await self._store.read(work))


async def _taken(tx: Tx) -> set[int]:
    return {first for (first,) in await tx.all(WORKTREES.ports, tuple[int])}


def _is_free(port: int) -> bool:
    with contextlib.closing(socket.socket()) as listener:
        # As servers do; otherwise a port would seem taken for a while after its last use.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
