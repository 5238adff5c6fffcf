"""Tells whether the disk of the data folder takes writes: without it no agent can start."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from bough.errors import AgentFailed, Busy

DISK_ERRORS = frozenset({errno.EIO, errno.ENOSPC, errno.EDQUOT, errno.EROFS})
"""The errors of a disk that is broken, full or read-only. It may work again later."""
# A disk that is nearly full still takes a byte, but not what a keeper writes.
PROBE = bytes(4096)
NAME = ".disk-check"


def disk_trouble(data: Path) -> OSError | None:
    """Writes a small file into the data folder and removes it. Returns the error if the disk does not take it."""
    path = data / NAME
    try:
        with open(path, "wb", buffering=0) as file:
            written = file.write(PROBE)
        path.unlink()
    except OSError as error:
        return error if error.errno in DISK_ERRORS else None
    return None if written == len(PROBE) else OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def blames_disk(error: Exception) -> bool:
    """Tells whether an agent's start failed because of the disk."""
    if isinstance(error, OSError):
        return error.errno in DISK_ERRORS
    return isinstance(error, AgentFailed) and any(os.strerror(number) in error.message for number in DISK_ERRORS)


def unwritable(error: Exception) -> Busy:
    """Returns the error for an agent that cannot start until the disk takes writes."""
    reason = error.strerror if isinstance(error, OSError) else str(error)
    return Busy("data_folder_unwritable", f"Nothing can be started now: the data folder cannot be written ({reason}).")
