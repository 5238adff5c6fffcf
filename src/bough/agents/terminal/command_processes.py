"""Finds and ends all processes that a command started, including those that left its session or lost their parent."""

from __future__ import annotations

import asyncio
import os
import signal

from bough.agents.keeper import process_tree
from bough.agents.keeper.process_tree import Process
from bough.agents.terminal.shell import MARK

# Seconds that a cancelled command gets to clean up before it is killed.
GRACE = 1.0
# Seconds for the kernel to remove killed processes; only one stuck in the kernel needs longer.
KILL_WAIT = 2.0
# Seconds between looks: the end of a process that is not a child is not reported.
LOOK_EVERY = 0.02


def living(mark: str, root: Process | None = None) -> list[Process]:
    """Returns the living processes of a command, or of all commands whose marks begin like this, parents first."""
    roots = [*([root] if root is not None else []), *_marked(f"{MARK}={mark}".encode())]
    return list(reversed(process_tree.family(roots[0], roots[1:]))) if roots else []


async def end(mark: str, root: Process | None = None, grace: float = GRACE) -> None:
    """Ends them with SIGTERM, then SIGKILL, parents before children so that a script starts nothing else."""
    loop = asyncio.get_running_loop()
    signalled: set[Process] = set()
    for number, wait in ((signal.SIGTERM, grace), (signal.SIGKILL, KILL_WAIT)):
        deadline = loop.time() + wait
        while left := await asyncio.to_thread(living, mark, root):
            # SIGTERM is sent once to each; SIGKILL again and again, since processes may start others meanwhile.
            due = [process for process in left if number == signal.SIGKILL or process not in signalled]
            process_tree.send_signal(due, number)
            signalled.update(left)
            if loop.time() >= deadline:
                break
            await asyncio.sleep(LOOK_EVERY)
        else:
            return


def kill(mark: str) -> None:
    """Kills the processes that exist now, without waiting for them."""
    process_tree.send_signal(living(mark), signal.SIGKILL)


def _marked(entry: bytes) -> list[Process]:
    processes: list[Process] = []
    for pid in [int(name) for name in os.listdir("/proc") if name.isdigit()]:
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                environ = file.read()
        except OSError:  # It belongs to another user, or is gone.
            continue
        # The first variable has no zero byte before it.
        if b"\0" + entry in b"\0" + environ and (process := process_tree.find(pid)) is not None:
            processes.append(process)
    return processes
