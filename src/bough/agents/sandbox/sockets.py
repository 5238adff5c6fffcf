"""Lists the sockets of this machine's programs in the file system. A socket can be used wherever it can be seen, also
where nothing can be written, and leads out of a box that has a network of its own."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable
from itertools import islice

TABLE = "/proc/net/unix"
PATH_FIELD = 7
MOST_SOCKETS = 500
"""Sockets that are hidden. Each is a mount; machines have a few dozen outside of the folders that are hidden anyway."""


def bound_sockets(table: str = TABLE) -> list[str]:
    """Returns the real paths of the sockets to which programs are bound now."""
    try:
        with open(table, errors="surrogateescape") as file:
            rows = [line.rstrip("\n").split(None, PATH_FIELD) for line in file]
    except OSError:
        return []
    names = dict.fromkeys(row[PATH_FIELD] for row in rows if len(row) > PATH_FIELD)
    return list(islice(_existing(names), MOST_SOCKETS))


def _existing(names: Iterable[str]) -> Iterable[str]:
    # Others are abstract names, which belong to the network of the box, or relative to a folder that is not known.
    for name in names:
        if name.startswith("/") and not name.startswith("/proc/"):
            with contextlib.suppress(OSError):
                if stat.S_ISSOCK(os.stat(name).st_mode):
                    yield os.path.realpath(name)
