"""Finds the processes of a data folder that are not children of its server: keepers, agents and what those start."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import AsyncGenerator
from pathlib import Path

from bough.agents.keeper import files, process_tree
from bough.agents.keeper.process_tree import Process
from bough.agents.keeper_client import keeper_folder
from tests.support.eventually import eventually
from tests.support.server import ServerProcess


def live_processes(data: Path) -> list[Process]:
    """Returns all live processes of a data folder, found by the keepers' command lines and their environment mark."""
    home = str(data / "keepers")
    processes: dict[Process, None] = {}
    for name in os.listdir("/proc"):
        if name.isdigit() and _command(int(name))[-1].startswith(home) and (keeper := process_tree.find(int(name))):
            processes |= dict.fromkeys(process_tree.family(keeper))
    for folder in keeper_folder.list_keepers(data / "keepers"):
        processes |= dict.fromkeys(process_tree.marked(f"{files.MARK}={folder.name}".encode()))
    return list(processes)


def _command(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace").rstrip("\0").split("\0")
    except OSError:  # gone meanwhile
        return [""]


async def gone(processes: list[Process]) -> None:
    """Waits until none of the processes is running."""
    await eventually(lambda: not any(process_tree.alive(process) for process in processes), "all processes have ended")


@contextlib.asynccontextmanager
async def started(server: ServerProcess) -> AsyncGenerator[ServerProcess]:
    """Starts a real server, and afterwards kills it with everything it started."""
    try:
        await server.start()
        yield server
    finally:
        if server.process is not None:
            await server.stop(signal.SIGKILL)
        await _end(server.data)


async def _end(data: Path) -> None:
    """Kills whatever a server left running, so that no test leaves a process behind."""
    while left := live_processes(data):
        process_tree.send_signal(left, signal.SIGKILL)
        await gone(left)
