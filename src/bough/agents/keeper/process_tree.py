"""Finds and signals all processes that a program has started, in whatever session, through `/proc`."""

import errno
import os
import signal
from collections.abc import Iterable
from typing import NamedTuple

# `/proc` cannot be read for now, which says nothing about a process.
_EXHAUSTED = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM})


class Process(NamedTuple):
    """A process, with its start time so that a later one with the same number is not mistaken for it."""

    pid: int
    start: int


class _Stat(NamedTuple):
    state: str
    parent: int
    session: int
    start: int
    ticks: int


def find(pid: int) -> Process | None:
    """Returns the living process with this number, or None, also if there are no file descriptors to look with."""
    try:
        return _living(pid)
    except OSError:
        return None


def alive(process: Process) -> bool:
    """Returns whether the process still runs. A zombie does not. Without file descriptors to look with, any process
    with this number counts as alive, since its end would have consequences."""
    try:
        return _living(process.pid) == process
    except OSError:
        return _exists(process.pid)


def family(root: Process, known: Iterable[Process] = ()) -> list[Process]:
    """Returns the living processes among the root, its session and all their descendants, leaves first.

    Pass the result of an earlier call as `known`, because a process whose parent ended cannot be found otherwise.
    Raises `OSError` without file descriptors to look with.
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


def cpu_seconds(pid: int) -> float:
    """Returns the processor time of a program and everything that it has started, also of what ended since."""
    root = find(pid)
    if root is None:
        return 0.0
    stats = [_stat(process.pid) for process in family(root)]
    return sum(stat.ticks for stat in stats if stat is not None) / os.sysconf("SC_CLK_TCK")


def marked(mark: bytes) -> list[Process]:
    """Returns the living processes whose environment at their start holds this entry. Raises `OSError` without file
    descriptors to look with."""
    processes: list[Process] = []
    for pid in _pids():
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                environ = file.read()
        except OSError as error:  # It belongs to another user, or is gone.
            _raise_if_exhausted(error)
            continue
        if mark in environ.split(b"\0") and (process := _living(pid)) is not None:
            processes.append(process)
    return processes


def send_signal(processes: Iterable[Process], number: signal.Signals) -> None:
    """Signals each process that certainly still lives, in the given order."""
    for process in processes:
        if find(process.pid) == process:
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


def _living(pid: int) -> Process | None:
    stat = _stat(pid)
    return Process(pid, stat.start) if stat and stat.state not in "ZX" else None


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def _raise_if_exhausted(error: OSError) -> None:
    if error.errno in _EXHAUSTED:
        raise error


def _stat(pid: int) -> _Stat | None:
    """Returns what the kernel says about a process; None if it is gone or not visible to this user."""
    try:
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:
            # The program's name, in parentheses, may itself contain spaces and parentheses.
            fields = file.read(4096).rpartition(b")")[2].split()
    except OSError as error:
        _raise_if_exhausted(error)
        return None
    if len(fields) < 20:
        return None
    ticks = sum(map(int, fields[11:15]))
    return _Stat(fields[0].decode(), int(fields[1]), int(fields[3]), int(fields[19]), ticks)
