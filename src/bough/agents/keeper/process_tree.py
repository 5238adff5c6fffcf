"""Finds and signals everything that an agent has started, however deep and in whichever session it runs.
It needs only the standard library and `/proc`, and leaves when to signal and how long to wait to others."""

import os
import signal
from collections.abc import Iterable
from typing import NamedTuple


class Process(NamedTuple):
    """A process that cannot be mistaken for a later one with the same number."""

    pid: int
    start: int


class _Stat(NamedTuple):
    state: str
    parent: int
    session: int
    start: int


def find(pid: int) -> Process | None:
    """Returns the living process with this number."""
    stat = _stat(pid)
    return Process(pid, stat.start) if stat and stat.state not in "ZX" else None


def alive(process: Process) -> bool:
    """Whether the process still runs; one that waits to be reaped does not."""
    return find(process.pid) == process


def family(root: Process, known: Iterable[Process] = ()) -> list[Process]:
    """Returns what lives of the root, its session and all their descendants, leaf first.

    Give what an earlier call returned as `known`: nothing leads any more to a process whose parent ended.
    """
    stats = {pid: stat for pid in _pids() if (stat := _stat(pid)) is not None}
    children: dict[int, list[int]] = {}
    for pid, stat in stats.items():
        children.setdefault(stat.parent, []).append(pid)
    top = [process.pid for process in (root, *known) if _is(stats, process)]
    if root.pid not in stats or _is(stats, root):
        top += [pid for pid, stat in stats.items() if stat.session == root.pid]
    order: dict[int, None] = {}
    while top:
        pid = top.pop()
        if pid not in order:
            order[pid] = None
            top += children.get(pid, [])
    parents_first = sorted(order, key=lambda pid: _depth(stats, pid))
    return [Process(pid, stats[pid].start) for pid in reversed(parents_first) if stats[pid].state not in "ZX"]


def marked(mark: bytes) -> list[Process]:
    """Returns the living processes whose environment, as it was when they were started, holds this entry."""
    found: list[Process] = []
    for pid in _pids():
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                environ = file.read()
        except OSError:  # another user's, or gone
            continue
        if mark in environ.split(b"\0") and (process := find(pid)) is not None:
            found.append(process)
    return found


def send_signal(processes: Iterable[Process], number: signal.Signals) -> None:
    """Signals each process that is still the one it was, in the given order."""
    for process in processes:
        if alive(process):
            try:
                os.kill(process.pid, number)
            except (ProcessLookupError, PermissionError):
                continue


def _is(stats: dict[int, _Stat], process: Process) -> bool:
    stat = stats.get(process.pid)
    return stat is not None and stat.start == process.start


def _depth(stats: dict[int, _Stat], pid: int) -> int:
    depth = 0
    while (stat := stats.get(pid)) is not None and depth < len(stats):
        pid, depth = stat.parent, depth + 1
    return depth


def _pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _stat(pid: int) -> _Stat | None:
    try:
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:
            # The name of the program, in parentheses, may itself hold spaces and parentheses.
            fields = file.read(4096).rpartition(b")")[2].split()
    except OSError:  # gone, or hidden from us
        return None
    if len(fields) < 20:
        return None
    return _Stat(fields[0].decode(), int(fields[1]), int(fields[3]), int(fields[19]))
