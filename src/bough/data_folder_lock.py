"""Locks the data folder for one process at a time."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Generator
from pathlib import Path
from typing import Any

from bough.errors import Busy


@contextlib.contextmanager
def only_one(data: Path) -> Generator[None]:
    """Refuses a second process on the same data folder. The lock ends with the process, however that happens."""
    handle = os.open(data / "server.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise _held(data, handle) from None
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(handle)


def _held(data: Path, handle: int) -> Busy:
    """Names the process that holds the lock, and its address once it has announced one."""
    holder = os.pread(handle, 20, 0).decode("ascii", "replace").strip()
    try:
        announced: dict[str, Any] = json.loads((data / "server.json").read_bytes())
        # A server that is still starting has not replaced the file of the last one.
        url = str(announced["url"]) if str(announced["pid"]) == holder else None
    except (OSError, ValueError, KeyError, TypeError):
        url = None
    owner = ", ".join(part for part in (f"process {holder}" if holder else "", f"at {url}" if url else "") if part)
    stop = f"Stop it (kill {holder})" if holder.isdigit() else "Stop it"
    return Busy(
        "data_folder_in_use",
        f"Another Bough server is running on {data}{f' ({owner})' if owner else ''}. {stop}, or choose another folder "
        "with --data.",
        **({"pid": int(holder)} if holder.isdigit() else {}),
        **({"url": url} if url else {}),
    )


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
