"""Owns finding and ending everything that a command has started, also what left its session or lost its parent.
It leaves when to do so to the command and the session.
"""

from __future__ import annotations

import asyncio
import os
import signal

from bough.agents.keeper import process_tree
from bough.agents.keeper.process_tree import Process
from bough.agents.terminal.shell import MARK

# What a command that is cut off gets for tidying up before it is killed.
GRACE = 1.0
# For the kernel to take away what was killed; only a process stuck in the kernel needs longer.
KILL_WAIT = 2.0
# Nobody reports the end of a process that is not a child.
LOOK_EVERY = 0.02


def living(mark: str, root: Process | None = None) -> list[Process]:
    """Returns what lives of a command, or of all commands whose marks begin so, parents first."""
    roots = [*([root] if root is not None else []), *_marked(f"{MARK}={mark}".encode())]
    return list(reversed(process_tree.family(roots[0], roots[1:]))) if roots else []


async def end(mark: str, root: Process | None = None, grace: float = GRACE) -> None:
    """Ends all of it: politely first, a parent before its children, so that a script goes on to nothing else."""
    loop = asyncio.get_running_loop()
    told: set[Process] = set()
    for number, wait in ((signal.SIGTERM, grace), (signal.SIGKILL, KILL_WAIT)):
        deadline = loop.time() + wait
        while left := await asyncio.to_thread(living, mark, root):
            # Once is enough to be asked; what is to be killed may start others while we look.
            process_tree.send_signal([one for one in left if number == signal.SIGKILL or one not in told], number)
            told.update(left)
            if loop.time() >= deadline:
                break
            await asyncio.sleep(LOOK_EVERY)
        else:
            return


def kill(mark: str) -> None:
    """Kills all of it that there is now; for the very end, when there is no time left."""
    process_tree.send_signal(living(mark), signal.SIGKILL)


def _marked(entry: bytes) -> list[Process]:
    found: list[Process] = []
    for pid in [int(name) for name in os.listdir("/proc") if name.isdigit()]:
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                environ = file.read()
        except OSError:  # another user's, or gone
            continue
        # The first variable has no zero before it.
        if b"\0" + entry in b"\0" + environ and (process := process_tree.find(pid)) is not None:
            found.append(process)
    return found
