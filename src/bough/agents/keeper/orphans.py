"""Inspects keepers from outside, by their folders and processes: reads dead ones' journals and ends what they left."""

import asyncio
import contextlib
import os
import shutil
import signal
import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import TypeVar

import msgspec

from bough.agents.errors import AgentGone
from bough.agents.keeper import frames, process_tree
from bough.agents.keeper.end_agent import GRACE, KILL_WAIT
from bough.agents.keeper.files import EXIT, KEEPER, MARK
from bough.agents.keeper.journal import NAME, read_journal
from bough.agents.keeper.process_tree import Process
from bough.agents.lines import LineSplitter
from bough.agents.link import Batch, Exit
from bough.errors import AgentFailed

SWEEP_GRACE = 1.0
"""Seconds for orphans to exit after SIGTERM; their agent is already dead."""
POLL = 0.05
"""Seconds between checks of processes that are not children, whose end is not reported."""
END_MARGIN = 10.0
"""Seconds that a keeper gets to end its agent beyond its own limits; then both are killed."""
LOOK = 0.02
"""Seconds between checks of a keeper, which is not a child."""


T = TypeVar("T")


class KeeperGone(AgentGone):
    """The keeper is dead or never started."""


class About(msgspec.Struct, frozen=True):
    """The contents of keeper.json."""

    version: int
    keeper: Process
    agent: Process
    command: list[str]


class Ended(msgspec.Struct, frozen=True):
    """The end of an agent, as in exit.json and in an EXIT frame."""

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
    """Returns the folders of all keepers, living or dead, sorted by name."""
    return sorted(path for path in root.iterdir() if path.is_dir()) if root.is_dir() else []


def read_about(folder: Path) -> About | None:
    """Reads keeper.json. Returns None if the keeper has not started."""
    return _read(folder / KEEPER, About)


def read_ended(folder: Path) -> Ended | None:
    """Reads how the agent ended. Returns None if the keeper has not seen its end."""
    return _read(folder / EXIT, Ended)


def _read(path: Path, kind: type[T]) -> T | None:
    # An unreadable file was emptied by a crash of the machine and counts as missing.
    with contextlib.suppress(FileNotFoundError, NotADirectoryError, msgspec.DecodeError):
        return msgspec.json.decode(path.read_bytes(), type=kind)
    return None


def is_alive(folder: Path) -> bool:
    """Returns whether the keeper of this folder runs."""
    about = read_about(folder)
    return about is not None and process_tree.alive(about.keeper)


def read_dead(folder: Path, after: int) -> tuple[list[bytes], Exit | None]:
    """Returns the lines after this number in a dead keeper's journal, and the agent's end if it is known."""
    lines = [line for batch in read_batches(folder, after) for line in batch.lines]
    ended = read_ended(folder)
    return lines, ended.exit if ended is not None else None


def read_sent(folder: Path) -> set[str]:
    """Returns the keys of the lines that a dead keeper sent to its agent, or was about to."""
    keys: set[str] = set()
    with contextlib.suppress(FileNotFoundError):
        for frame in read_journal(folder / NAME):
            if frame.head.kind == frames.SEND:
                keys.add(frame.payload[: frame.head.amount].decode())
            elif frame.head.kind == frames.BASE:
                keys.update(frame.text()["keys"])
    return keys


def read_batches(folder: Path, after: int) -> Generator[Batch]:
    """Yields the lines after this number, in the blocks in which they were journalled. Drops an incomplete line."""
    return Tail(folder, after).read()


class Tail:
    """Reads the lines of a journal after a number, repeatedly as the journal grows."""

    def __init__(self, folder: Path, after: int) -> None:
        self._path = folder / NAME
        self._offset = 0
        self._last = after
        self._splitter = LineSplitter()

    def read(self) -> Generator[Batch]:
        """Yields the lines that were not yielded before."""
        with contextlib.suppress(FileNotFoundError):
            for head, payload in read_journal(self._path, self._offset):
                self._offset += frames.HEADER.size + head.length
                if head.kind != frames.LINES or head.touched <= self._last:
                    continue
                # Lines that the journal no longer holds were stored by a database that has since been rolled back.
                self._last = max(self._last, head.first - 1)
                lines = self._splitter.feed(frames.lines_after(self._last, head, payload))
                self._last += len(lines)
                if lines:
                    yield Batch(lines, self._last)


def discard(folder: Path) -> None:
    """Removes the folder. A keeper that still runs then ends its agent and itself."""
    with contextlib.suppress(FileNotFoundError):
        shutil.rmtree(folder)


async def end_keeper(folder: Path) -> list[int]:
    """Ends a keeper and its agent without its protocol, by SIGTERM, which every version understands.

    Kills it if that takes too long. Returns the processes that `sweep` had to end.
    """
    about = read_about(folder)
    if about is not None:
        for number, wait in (
            (signal.SIGTERM, 2 * GRACE + KILL_WAIT + END_MARGIN),
            (signal.SIGKILL, KILL_WAIT),
        ):
            if process_tree.alive(about.keeper):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(about.keeper.pid, number)
                await until(lambda: not process_tree.alive(about.keeper), wait)
    return await sweep(folder)


async def until(condition: Callable[[], bool], seconds: float) -> None:
    """Polls for a condition, at most this long."""
    deadline = asyncio.get_running_loop().time() + seconds
    while not condition() and asyncio.get_running_loop().time() < deadline:  # noqa: ASYNC110
        await asyncio.sleep(LOOK)


async def sweep(folder: Path) -> list[int]:
    """Ends all processes that the agent of a dead keeper left behind, and returns their numbers.

    They are found by the mark in their environment (the name of the folder), by descent, and by the agent's session.
    Raises `AgentFailed` (`agent_stuck`) if some do not end, because nothing else should work in their folder.
    """
    return await asyncio.to_thread(_sweep, folder)


def _sweep(folder: Path) -> list[int]:
    about, mark = read_about(folder), f"{MARK}={folder.name}".encode()
    known = [about.agent] if about is not None else []
    ended: dict[int, None] = {}
    for number, wait in ((signal.SIGTERM, SWEEP_GRACE), (signal.SIGKILL, KILL_WAIT)):
        deadline = time.monotonic() + wait
        while known := _orphans(mark, known):
            ended.update(dict.fromkeys(process.pid for process in known))
            if time.monotonic() >= deadline:
                break
            process_tree.send_signal(known, number)
            time.sleep(POLL)
    if known:
        left = [process.pid for process in known]
        message = f"Processes {left} of an agent whose keeper died could not be ended, not even by SIGKILL."
        raise AgentFailed("agent_stuck", message, pids=left)
    return list(ended)


def _orphans(mark: bytes, known: list[Process]) -> list[Process]:
    """Returns the living processes that are marked or were known before, and their descendants."""
    roots = [*known, *process_tree.marked(mark)]
    return process_tree.family(roots[0], roots[1:]) if roots else []
