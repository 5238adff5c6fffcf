"""Locks the data folder for one process at a time."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Generator
from pathlib import Path

from bough.errors import Busy


@contextlib.contextmanager
def only_one(data: Path) -> Generator[None]:
    """Refuses a second process on the same data folder. The lock ends with the process, however that happens."""
    handle = os.open(data / "server.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Busy(
                "data_folder_in_use",
                f"Another Bough server is running on {data}. Stop it, or choose another folder with --data.",
            ) from None
        yield
    finally:
        os.close(handle)


def in_use(data: Path) -> bool:
    """Tells whether a process holds the folder, without creating anything."""
    try:
        handle = os.open(data / "server.lock", os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return False
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
