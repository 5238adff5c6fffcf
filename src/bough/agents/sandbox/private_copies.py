"""Makes the copies of files that an agent changes for itself only."""

from __future__ import annotations

import os
import secrets
import shutil
import stat
import time
from collections.abc import Iterable, Sequence
from typing import BinaryIO

from bough.agents.sandbox.own_files import is_below

FOLDER = "copies"
"""The folder in the data folder that holds them. A box keeps its copies open, so that they are needed only while it
starts."""
NEEDED_FOR = 3600.0
"""Seconds after which a copy is removed: no box takes so long to start."""


def copied(paths: Iterable[str], data: str, writable: Sequence[str] = ()) -> list[tuple[str, str]]:
    """Returns a fresh copy of each file together with the file's own path. Removes old copies. Leaves out what is not a
    file, and links in folders that agents write: they could lead to what the box hides."""
    folder = os.path.join(data, FOLDER)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    _remove_old(folder)
    pairs: list[tuple[str, str]] = []
    for path in dict.fromkeys(paths):
        copy = os.path.join(folder, f"{secrets.token_hex(8)}-{os.path.basename(path)}")
        try:
            old = _open(path, follow=not is_below(path, writable))
        except OSError:
            continue
        with old, open(copy, "xb", opener=lambda file, flags: os.open(file, flags, 0o600)) as new:
            shutil.copyfileobj(old, new)
        pairs.append((copy, path))
    return pairs


def _open(path: str, *, follow: bool) -> BinaryIO:
    """Opens a file to be copied. Raises `OSError` for anything else, and never waits for a pipe."""
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
    file = os.fdopen(os.open(path, flags if follow else flags | os.O_NOFOLLOW), "rb")
    is_swapped = not follow and os.readlink(f"/proc/self/fd/{file.fileno()}") != path
    if is_swapped or not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(f"{path} is not a file of its own")
    return file


def _remove_old(folder: str) -> None:
    before = time.time() - NEEDED_FOR
    with os.scandir(folder) as entries:
        for entry in entries:
            try:
                if entry.stat(follow_symlinks=False).st_mtime < before:
                    os.unlink(entry.path)
            except OSError:
                continue
