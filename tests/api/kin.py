"""The processes behind a data folder, which are no children of its server: keepers, agents and what those start. What
must be left of them when is the suites' part."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import AsyncGenerator
from pathlib import Path

from bough.agents.keeper import files, orphans, process_tree
from bough.agents.keeper.process_tree import Process
from tests.support.eventually import eventually
from tests.support.server import ServerProcess


def kin(data: Path) -> list[Process]:
    """All that lives of a data folder, found by the keepers' command lines and by the mark in the environment."""
    home = str(data / "keepers")
    found: dict[Process, None] = {}
    for name in os.listdir("/proc"):
        if name.isdigit() and _command(int(name))[-1].startswith(home) and (keeper := process_tree.find(int(name))):
            found |= dict.fromkeys(process_tree.family(keeper))
    for folder in orphans.list_keepers(data / "keepers"):
        found |= dict.fromkeys(process_tree.marked(f"{files.MARK}={folder.name}".encode()))
    return list(found)


def _command(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace").rstrip("\0").split("\0")
    except OSError:  # gone meanwhile
        return [""]


async def gone(processes: list[Process]) -> None:
    """Waits until none of these runs any more."""
    await eventually(lambda: not any(process_tree.alive(process) for process in processes), "all processes have ended")


@contextlib.asynccontextmanager
async def started(server: ServerProcess) -> AsyncGenerator[ServerProcess]:
    """A real server that is up, and is gone afterwards with all that it started."""
    try:
        await server.start()
        yield server
    finally:
        if server.process is not None:
            await server.stop(signal.SIGKILL)
        await _end(server.data)


async def _end(data: Path) -> None:
    """Kills whatever a server has left, so that no test leaves a process behind."""
    while left := kin(data):
        process_tree.send_signal(left, signal.SIGKILL)
        await gone(left)
