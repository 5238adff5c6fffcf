"""Opens folders that were checked before, and notices if an agent has put a link in their place, or in that of a folder
above them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Generator

from bough.git.workspace import check_unswapped

_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@contextlib.contextmanager
def opened(folder: str) -> Generator[int]:
    """Opens a folder by its real path. Raises `Denied` if that leads elsewhere by now, and `OSError` if it cannot be
    opened."""
    descriptor = os.open(folder, _FLAGS)
    try:
        check_unswapped(folder, os.readlink(f"/proc/self/fd/{descriptor}"))
        yield descriptor
    finally:
        os.close(descriptor)
