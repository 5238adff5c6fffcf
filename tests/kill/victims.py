"""Harms what a server depends on, at random moments that a seed decides: its agents, keepers, disk and database."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import signal
from dataclasses import dataclass
from pathlib import Path

from tests.support.faults.disk_faults import ERRORS, FaultyDisk
from tests.support.faults.postgres_proxy import PostgresProxy
from tests.support.postgres import Postgres

# Victims and their weights. Keepers also crash by themselves, in the middle of a write.
PROCESSES = {"agent": 3, "keeper": 2, "stopped keeper": 2}
DISK = {"disk": 2}
# With PostgreSQL, its connections are cut or go silent for a while, and it is killed or stopped itself.
POSTGRES = {"cut": 2, "silent": 1, "killed PostgreSQL": 1, "frozen PostgreSQL": 1}
# The number of seconds for which something is stopped, silent or broken, at most.
LONGEST_STOP = 3.0


@dataclass
class Victims:
    """Everything beside the server that can be harmed; what a run does not have is None."""

    data: Path
    random: random.Random
    proxy: PostgresProxy | None
    postgres: Postgres | None
    disk: FaultyDisk | None

    @property
    def weights(self) -> dict[str, int]:
        """Returns the victims of this run with their weights."""
        return PROCESSES | (DISK if self.disk is not None else {}) | (POSTGRES if self.postgres is not None else {})

    async def harm(self, victim: str) -> None:
        """Harms a victim, and repairs what does not repair itself."""
        if victim in ("agent", "keeper"):
            self._kill(victim)
        elif victim == "stopped keeper":
            await self._stop_keeper()
        elif victim == "disk":
            await self._break_disk()
        else:
            await self._harm_database(victim)

    def _kill(self, victim: str) -> None:
        if pids := processes(self.data)[victim]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.random.choice(pids), signal.SIGKILL)

    async def _stop_keeper(self) -> None:
        """Stops a keeper for a while, as a debugger or an overloaded machine does."""
        pids = processes(self.data)["keeper"]
        if not pids:
            return
        pid = self.random.choice(pids)
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)
            try:
                await self._while()
            finally:
                os.kill(pid, signal.SIGCONT)

    async def _break_disk(self) -> None:
        """Lets every write of server, keepers and git fail for a while."""
        assert self.disk is not None
        with self.disk.failing(self.random.choice(ERRORS)):
            await self._while()

    async def _harm_database(self, victim: str) -> None:
        assert self.proxy is not None and self.postgres is not None
        if victim == "cut":
            self.proxy.cut()
        elif victim == "silent":
            self.proxy.freeze()
            await self._while()
            self.proxy.thaw()
        elif victim == "killed PostgreSQL":
            await asyncio.to_thread(self.postgres.crash)
        else:
            with self.postgres.frozen():
                await self._while()

    async def _while(self) -> None:
        await asyncio.sleep(self.random.uniform(0.1, LONGEST_STOP))


def processes(data: Path) -> dict[str, list[int]]:
    """Returns the living processes of a data folder: keepers by their command, agents by their environment."""
    pids_by_kind: dict[str, list[int]] = {"agent": [], "keeper": []}
    home = f"BOUGH_DEMO_HOME={data}/demo".encode()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        with contextlib.suppress(OSError):
            command = (entry / "cmdline").read_bytes().split(b"\0")
            if command[2:4] == [b"-m", b"tests.support.faults.torn_keeper"] and str(data).encode() in command[4]:
                pids_by_kind["keeper"].append(int(entry.name))
            elif home in (entry / "environ").read_bytes().split(b"\0"):
                pids_by_kind["agent"].append(int(entry.name))
    return {kind: sorted(pids) for kind, pids in pids_by_kind.items()}
