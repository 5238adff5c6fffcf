"""The data folder as a thing that one process at a time works on. What lies in it belongs to those who put it there."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Generator
from pathlib import Path

from bough.errors import Busy


@contextlib.contextmanager
def only_one(data: Path) -> Generator[None]:
    """Refuses a second holder of the same data folder; the lock goes with the process, however it ends."""
    handle = os.open(data / "server.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Busy(
                "data_folder_in_use",
                f"Another Bough server runs on {data}. Stop it, or choose another folder with --data.",
            ) from None
        yield
    finally:
        os.close(handle)


def in_use(data: Path) -> bool:
    """Whether a process holds the folder now; nothing is made by looking."""
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
