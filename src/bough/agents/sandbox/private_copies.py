"""Makes the copies of files that an agent changes for itself only."""

from __future__ import annotations

import os
import secrets
import shutil
import time
from collections.abc import Iterable

FOLDER = "copies"
"""The folder in the data folder that holds them. A box keeps its copies open, so that they are needed only while it
starts."""
NEEDED_FOR = 3600.0
"""Seconds after which a copy is removed: no box takes so long to start."""


def copied(paths: Iterable[str], data: str) -> list[tuple[str, str]]:
    """Returns a fresh copy of each file together with the file's own path. Removes old copies."""
    folder = os.path.join(data, FOLDER)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    _remove_old(folder)
    pairs: list[tuple[str, str]] = []
    for path in dict.fromkeys(paths):
        copy = os.path.join(folder, f"{secrets.token_hex(8)}-{os.path.basename(path)}")
        with open(copy, "xb", opener=lambda file, flags: os.open(file, flags, 0o600)) as new, open(path, "rb") as old:
            shutil.copyfileobj(old, new)
        pairs.append((copy, path))
    return pairs


def _remove_old(folder: str) -> None:
    before = time.time() - NEEDED_FOR
    with os.scandir(folder) as entries:
        for entry in entries:
            try:
                if entry.stat(follow_symlinks=False).st_mtime < before:
                    os.unlink(entry.path)
            except OSError:
                continue
