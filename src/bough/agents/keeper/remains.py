"""What a keeper leaves in its folder and among the processes, for a server that comes later: whether it lives, what
its agent said to the end, which processes are orphans. It leaves talking to a living keeper to `link`."""

import asyncio
import contextlib
import shutil
import signal
import time
from collections.abc import Generator
from pathlib import Path

import msgspec

from bough.agents.keeper import frames, proctree
from bough.agents.keeper.files import EXIT, KEEPER, MARK
from bough.agents.keeper.journal import NAME, read_journal
from bough.agents.lines import LineSplitter
from bough.agents.link import Batch, Exit
from bough.errors import AgentFailed

SWEEP_GRACE = 1.0
"""Seconds for orphans to leave when they are asked to: their agent is dead already."""
KILL_WAIT = 5.0
"""Seconds for the kernel to take away killed processes; only one stuck in the kernel needs longer."""
POLL = 0.05
"""Seconds between looks at processes that are not our children, whose end nobody reports."""


class KeeperGone(AgentFailed):
    """The keeper is dead, or never came up."""


class ProcessRef(msgspec.Struct, frozen=True):
    """A process that cannot be mistaken for a later one with the same number."""

    pid: int
    start: int

    @property
    def alive(self) -> bool:
        return proctree.alive(proctree.Process(self.pid, self.start))


class About(msgspec.Struct, frozen=True):
    """What a keeper says of itself in keeper.json."""

    version: int
    keeper: ProcessRef
    agent: ProcessRef
    command: list[str]


class Ended(msgspec.Struct, frozen=True):
    """What a keeper says of its agent's end, in exit.json and in an EXIT frame."""

    code: int | None
    signal: int | None
    stderr: str
    last: int
    left: list[int]
    reason: str | None = None

    @property
    def exit(self) -> Exit:
        return Exit(code=self.code, signal=self.signal, stderr=self.stderr)


def list_keepers(root: Path) -> list[Path]:
    """Returns the folders of all keepers, living or dead, oldest name first."""
    return sorted(path for path in root.iterdir() if path.is_dir()) if root.is_dir() else []


def read_about(folder: Path) -> About | None:
    """Returns what the keeper said of itself; None if it has not come up."""
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        return msgspec.json.decode((folder / KEEPER).read_bytes(), type=About)
    return None


def read_ended(folder: Path) -> Ended | None:
    """Returns how the agent ended; None if the keeper has not seen its end."""
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        return msgspec.json.decode((folder / EXIT).read_bytes(), type=Ended)
    return None


def is_alive(folder: Path) -> bool:
    """Whether the keeper of this folder runs."""
    about = read_about(folder)
    return about is not None and about.keeper.alive


def read_dead(folder: Path, after: int) -> tuple[list[bytes], Exit | None]:
    """Returns the lines after this number that a dead keeper has journalled, and the agent's end if it saw that."""
    lines = [line for batch in read_batches(folder, after) for line in batch.lines]
    ended = read_ended(folder)
    return lines, ended.exit if ended is not None else None


def read_sent(folder: Path) -> set[str]:
    """Returns the keys of the lines that a dead keeper has written to its agent, or was about to."""
    keys: set[str] = set()
    with contextlib.suppress(FileNotFoundError):
        for frame in read_journal(folder / NAME):
            if frame.head.kind == frames.SEND:
                keys.add(frame.payload[: frame.head.amount].decode())
            elif frame.head.kind == frames.BASE:
                keys.update(frame.text()["keys"])
    return keys


def read_batches(folder: Path, after: int) -> Generator[Batch]:
    """Yields the lines after this number, in the blocks in which they were journalled. What was cut off is dropped."""
    splitter, last = LineSplitter(), after
    with contextlib.suppress(FileNotFoundError):
        for frame in read_journal(folder / NAME):
            if frame.head.kind != frames.LINES or frame.head.touched <= last:
                continue
            lines = splitter.feed(frames.lines_after(last, frame.head, frame.payload))
            last += len(lines)
            if lines:
                yield Batch(lines, last)


def discard(folder: Path) -> None:
    """Removes the folder. A keeper that still lives then ends its agent and itself."""
    with contextlib.suppress(FileNotFoundError):
        shutil.rmtree(folder)


async def sweep(folder: Path) -> list[int]:
    """Ends everything that the agent of a dead keeper left behind; returns the processes, which are all gone.

    They are found by the mark in their environment (the name of the folder), by descent, and by the agent's session.
    AgentFailed("agent_stuck") if some do not end: nobody should work in their folder.
    """
    return await asyncio.to_thread(_sweep, folder)


def _sweep(folder: Path) -> list[int]:
    about, mark = read_about(folder), f"{MARK}={folder.name}".encode()
    known = [proctree.Process(about.agent.pid, about.agent.start)] if about is not None else []
    ended: dict[int, None] = {}
    for number, wait in ((signal.SIGTERM, SWEEP_GRACE), (signal.SIGKILL, KILL_WAIT)):
        deadline = time.monotonic() + wait
        while known := _orphans(mark, known):
            ended.update(dict.fromkeys(process.pid for process in known))
            if time.monotonic() >= deadline:
                break
            proctree.send_signal(known, number)
            time.sleep(POLL)
    if known:
        left = [process.pid for process in known]
        message = f"Processes {left} of an agent whose keeper died did not end, not even when killed."
        raise AgentFailed("agent_stuck", message, pids=left)
    return list(ended)


def _orphans(mark: bytes, known: list[proctree.Process]) -> list[proctree.Process]:
    """Returns what lives of what is marked, of what was known before, and of all that descends from either."""
    roots = [*known, *proctree.marked(mark)]
    return proctree.family(roots[0], roots[1:]) if roots else []
