"""Ends keepers from outside, without their protocol, and the processes that dead ones left behind."""

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

from bough.agents.keeper import process_tree
from bough.agents.keeper.end_agent import GRACE, KILL_WAIT
from bough.agents.keeper.files import MARK
from bough.agents.keeper.process_tree import Process
from bough.agents.keeper_client.keeper_folder import read_info
from bough.errors import AgentFailed

SWEEP_GRACE = 1.0
"""Seconds for orphans to exit after SIGTERM; their agent is already dead."""
ORPHAN_POLL = 0.05
"""Seconds between checks of orphans, whose end is not reported because they are not children."""
END_MARGIN = 10.0
"""Seconds that a keeper gets to end its agent beyond its own limits; then both are killed."""
KEEPER_POLL = 0.02
"""Seconds between checks of a keeper, which is not a child."""


async def end_keeper(folder: Path) -> list[int]:
    """Ends a keeper and its agent without its protocol, by SIGTERM, which every version understands.

    Kills it if that takes too long. Returns the processes that `sweep` had to end.
    """
    about = read_info(folder)
    if about is not None:
        for number, wait in (
            (signal.SIGTERM, 2 * GRACE + KILL_WAIT + END_MARGIN),
            (signal.SIGKILL, KILL_WAIT),
        ):
            if process_tree.alive(about.keeper):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(about.keeper.pid, number)
                await wait_until(lambda: not process_tree.alive(about.keeper), wait)
    return await sweep(folder)


async def wait_until(condition: Callable[[], bool], seconds: float) -> None:
    """Polls for a condition, at most this long."""
    deadline = asyncio.get_running_loop().time() + seconds
    while not condition() and asyncio.get_running_loop().time() < deadline:  # noqa: ASYNC110
        await asyncio.sleep(KEEPER_POLL)


async def sweep(folder: Path) -> list[int]:
    """Ends all processes that the agent of a dead keeper left behind, and returns their numbers.

    They are found by the mark in their environment (the name of the folder), by descent, and by the agent's session.
    Raises `AgentFailed` (`agent_stuck`) if some do not end, because nothing else should work in their folder.
    """
    return await asyncio.to_thread(_sweep, folder)


def _sweep(folder: Path) -> list[int]:
    about, mark = read_info(folder), f"{MARK}={folder.name}".encode()
    known = [about.agent] if about is not None else []
    ended: dict[int, None] = {}
    for number, wait in ((signal.SIGTERM, SWEEP_GRACE), (signal.SIGKILL, KILL_WAIT)):
        deadline = time.monotonic() + wait
        while known := _orphans(mark, known):
            ended.update(dict.fromkeys(process.pid for process in known))
            if time.monotonic() >= deadline:
                break
            process_tree.send_signal(known, number)
            time.sleep(ORPHAN_POLL)
    if known:
        left = [process.pid for process in known]
        message = f"Processes {left} of an agent whose keeper died could not be ended, not even by SIGKILL."
        raise AgentFailed("agent_stuck", message, pids=left)
    return list(ended)


def _orphans(mark: bytes, known: list[Process]) -> list[Process]:
    """Returns the living processes that are marked or were known before, and their descendants."""
    roots = [*known, *process_tree.marked(mark)]
    return process_tree.family(roots[0], roots[1:]) if roots else []
