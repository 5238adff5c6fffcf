"""Opens the further folders that git may write (the setting `sandbox_write`) once, so that a dead disk delays no git
process."""

from __future__ import annotations

import contextlib
import os
import queue
import threading
import time
from collections.abc import Iterable, Mapping

import structlog

log = structlog.get_logger("bough.git")

WITHIN = 2.0
"""Seconds for all of them. A disk that takes longer does not respond."""

_opened: dict[str, int] = {}


def open_all(paths: Iterable[str], within: float = WITHIN) -> None:
    """Opens the folders in place of earlier ones. Leaves out those that are missing or whose disk does not respond."""
    done: queue.SimpleQueue[tuple[str, str, int]] = queue.SimpleQueue()
    unique = list(dict.fromkeys(paths))
    for path in unique:
        # A thread for each, because one that hangs cannot be ended.
        threading.Thread(target=_open, args=(path, done), name="bough-git-paths", daemon=True).start()
    missing, until = set(unique), time.monotonic() + within
    opened: dict[str, int] = {}
    while missing:
        try:
            path, real, folder = done.get(timeout=max(0.0, until - time.monotonic()))
        except queue.Empty:
            log.warning("sandbox_write_does_not_respond", paths=sorted(missing))
            break
        missing.discard(path)
        if folder >= 0:
            opened[real] = folder
    for folder in _opened.values():
        with contextlib.suppress(OSError):
            os.close(folder)
    _opened.clear()
    _opened.update(opened)


def opened() -> Mapping[str, int]:
    """Returns the real paths of the folders, with descriptors that were opened with `O_PATH`."""
    return _opened


def _open(path: str, done: queue.SimpleQueue[tuple[str, str, int]]) -> None:
    try:
        real = os.path.realpath(path)
        done.put((path, real, os.open(real, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)))
    except OSError:
        done.put((path, path, -1))
