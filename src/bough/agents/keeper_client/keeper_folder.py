"""Reads a keeper's folder from the server's side: what runs there, the journal of the agent's lines, and how the agent
ended."""

import contextlib
import shutil
from collections.abc import Generator
from pathlib import Path
from typing import TypeVar

import msgspec

from bough.agents.keeper import frames, process_tree
from bough.agents.keeper.files import EXIT, KEEPER
from bough.agents.keeper.journal import NAME, is_damaged, read_journal
from bough.agents.keeper.process_tree import Process
from bough.agents.lines import LineSplitter
from bough.agents.link import AgentExit, LineBatch

T = TypeVar("T")


class KeeperInfo(msgspec.Struct, frozen=True):
    """The contents of keeper.json."""

    version: int
    keeper: Process
    agent: Process
    command: list[str]


class AgentEnd(msgspec.Struct, frozen=True):
    """The end of an agent, as in exit.json and in an EXIT frame."""

    code: int | None
    signal: int | None
    stderr: str
    last: int
    left: list[int]
    reason: str | None = None

    @property
    def exit(self) -> AgentExit:
        return AgentExit(code=self.code, signal=self.signal, stderr=self.stderr)


class TerminalExit(msgspec.Struct, frozen=True):
    """The end of a person's shell, as in exit.json."""

    code: int | None
    reason: str | None


def list_keepers(root: Path) -> list[Path]:
    """Returns the folders of all keepers, living or dead, sorted by name."""
    return sorted(path for path in root.iterdir() if path.is_dir()) if root.is_dir() else []


def read_info(folder: Path) -> KeeperInfo | None:
    """Reads keeper.json. Returns None if the keeper has not started."""
    return _read(folder / KEEPER, KeeperInfo)


def read_end(folder: Path) -> AgentEnd | None:
    """Reads how the agent ended. Returns None if the keeper has not seen its end."""
    return _read(folder / EXIT, AgentEnd)


def read_terminal_exit(folder: Path) -> TerminalExit | None:
    """Reads how a person's shell ended. Returns None if its keeper has not seen its end."""
    return _read(folder / EXIT, TerminalExit)


def _read(path: Path, kind: type[T]) -> T | None:
    # An unreadable file was emptied by a crash of the machine and counts as missing.
    with contextlib.suppress(FileNotFoundError, NotADirectoryError, msgspec.DecodeError):
        return msgspec.json.decode(path.read_bytes(), type=kind)
    return None


def is_alive(folder: Path) -> bool:
    """Returns whether the keeper of this folder runs."""
    about = read_info(folder)
    return about is not None and process_tree.alive(about.keeper)


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


def read_batches(folder: Path, after: int) -> Generator[LineBatch]:
    """Yields the lines after this number of a dead keeper, in the blocks in which they were journalled, and says which
    are missing. Drops an incomplete line."""
    tail = Tail(folder, after)
    yield from tail.read()
    yield from tail.missing_at_end(read_end(folder))


class Tail:
    """Reads the lines of a journal after a number, repeatedly as the journal grows."""

    def __init__(self, folder: Path, after: int) -> None:
        self._path = folder / NAME
        self._offset = 0
        self._after = after
        self._last = after
        self._highest = 0  # The number of the last line that the journal holds or has released.
        self._lost = ""
        self._splitter = LineSplitter()

    def read(self) -> Generator[LineBatch]:
        """Yields the lines that were not yielded before."""
        with contextlib.suppress(FileNotFoundError):
            for head, payload in read_journal(self._path, self._offset):
                self._offset += frames.HEADER.size + head.length
                if head.kind in (frames.LINES, frames.BASE):
                    self._highest = head.first + head.amount - 1
                if head.kind != frames.LINES or head.touched <= self._last:
                    continue
                if head.first - 1 > self._last:
                    # The journal was cut, or it has released lines that a database stored before it was rolled back.
                    self._lost = _missing(self._last + 1, head.first - 1)
                    self._last = head.first - 1
                lines = self._splitter.feed(frames.lines_after(self._last, head, payload))
                self._last += len(lines)
                if lines:
                    yield LineBatch(lines, self._last, self._lost)
                    self._lost = ""

    def missing_at_end(self, ended: AgentEnd | None) -> Generator[LineBatch]:
        """Yields a batch without lines if the journal of an agent that has ended is known to lack its last lines."""
        # A folder without a journal is about to be removed, after everything was stored.
        with contextlib.suppress(FileNotFoundError):
            if ended is not None and ended.last > self._last:
                yield LineBatch([], self._last, _missing(self._last + 1, ended.last))
            elif is_damaged(self._path, self._offset) or self._highest < self._after:
                lost = f"The agent's journal is damaged: what the agent said after line {self._last} may be missing."
                yield LineBatch([], self._last, lost)


def _missing(first: int, last: int) -> str:
    lines = f"line {first}" if first == last else f"lines {first} to {last}"
    return f"A part of the agent's output ({lines}) is missing, because its journal was cut or damaged."


def discard(folder: Path) -> None:
    """Removes the folder. A keeper that still runs then ends its agent and itself."""
    with contextlib.suppress(FileNotFoundError):
        shutil.rmtree(folder)
