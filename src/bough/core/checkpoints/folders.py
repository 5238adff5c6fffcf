"""Holds the last scan and the locks of each folder that checkpoints are taken of, and knows which are too slow to scan.

`take` is the caller. Folders come and go with worktrees, so only those used last are remembered."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Generator
from contextlib import contextmanager

import msgspec

from bough.git.safe.location import find
from bough.git.working_copy.snapshot import Memory

# More folders than people work in at once; a scan of a large working copy takes some megabytes.
MOST_FOLDERS = 200
# A folder that was too slow is tried again after this many seconds: the machine may have been busy.
TRY_AGAIN = 600.0


class Folder(msgspec.Struct, eq=False):
    """One folder: `lock` is held while it is scanned or written, `gate` while no turn may start in it."""

    memory: Memory = msgspec.field(default_factory=Memory)
    lock: asyncio.Lock = msgspec.field(default_factory=asyncio.Lock)
    gate: asyncio.Lock = msgspec.field(default_factory=asyncio.Lock)
    slow_until: float = 0.0
    users: int = 0


class Folders:
    """Holds the folders in use and the `MOST_FOLDERS` that were used last."""

    def __init__(self) -> None:
        self._folders: OrderedDict[str, Folder] = OrderedDict()

    def __len__(self) -> int:
        return len(self._folders)

    @contextmanager
    def use(self, cwd: str) -> Generator[Folder]:
        """Returns a folder, which is not forgotten before the block ends."""
        folder = self._folders.setdefault(cwd, Folder())
        self._folders.move_to_end(cwd)
        folder.users += 1
        try:
            yield folder
        finally:
            folder.users -= 1
            self._shrink()

    async def pass_gates(self, cwd: str) -> None:
        """Waits until a turn may start in a folder. Whoever writes a whole working copy holds the gate of its top,
        which may be a folder above."""
        location = await asyncio.to_thread(find, cwd)
        for path in dict.fromkeys((cwd, location.top if location is not None else cwd)):
            with self.use(path) as folder:
                async with folder.gate:
                    pass

    def is_slow(self, cwd: str) -> bool:
        folder = self._folders.get(cwd)
        return folder is not None and time.monotonic() < folder.slow_until

    def mark_slow(self, cwd: str) -> None:
        """Lets the folder be skipped for a while."""
        with self.use(cwd) as folder:
            folder.slow_until = time.monotonic() + TRY_AGAIN

    def _shrink(self) -> None:
        for cwd in [cwd for cwd, folder in self._folders.items() if not folder.users]:
            if len(self._folders) <= MOST_FOLDERS:
                return
            del self._folders[cwd]
