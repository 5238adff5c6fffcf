"""Finds files that several live worktrees of a repository changed, before they conflict."""

from __future__ import annotations

import asyncio
import contextlib
import time
from weakref import WeakValueDictionary

import msgspec

from bough.errors import BoughError
from bough.git.decode import shown
from bough.git.finish.commit import uncommitted
from bough.git.run import git
from bough.git.worktrees import resolve
from bough.model.repo import Worktree

# At most this many worktrees are compared, the newest ones, and this many files of each are listed.
MOST_COMPARED = 50
MOST_NAMED = 50
# For how many seconds the changed files of a worktree are remembered: pages ask often, and all about the same ones.
REMEMBERED = 5.0


class Overlap(msgspec.Struct, rename="camel"):
    """Files that another worktree of the repository also changed; `filesTotal` counts all."""

    worktree_id: str
    name: str
    files: list[str]
    files_total: int


class Overlaps:
    """Compares the changed files of worktrees."""

    def __init__(self) -> None:
        self._remembered: dict[str, tuple[float, frozenset[str]]] = {}
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def find(self, row: Worktree, others: list[Worktree]) -> list[Overlap]:
        """Returns the worktrees that changed the same files, those with most of them first."""
        mine = await self.changed(row)
        if not mine:
            return []
        overlaps: list[Overlap] = []
        for other in others[-MOST_COMPARED:]:
            both = sorted(shown(name) for name in mine & await self.changed(other)) if other.id != row.id else []
            if both:
                overlaps.append(Overlap(other.id, other.name, both[:MOST_NAMED], len(both)))
        return sorted(overlaps, key=lambda overlap: -overlap.files_total)

    async def changed(self, row: Worktree) -> frozenset[str]:
        """Returns the files that differ from the base, committed or not; none if git cannot tell. Asks git about a
        folder once at a time."""
        async with self._locks.setdefault(row.path, asyncio.Lock()):
            return await self._look(row)

    async def _look(self, row: Worktree) -> frozenset[str]:
        now = time.monotonic()
        for path in [path for path, (at, _) in self._remembered.items() if at + REMEMBERED < now]:
            del self._remembered[path]
        if row.path not in self._remembered:
            names = frozenset[str]()
            with contextlib.suppress(BoughError, OSError):
                names = await _changed_files(row)
            self._remembered[row.path] = (time.monotonic(), names)
        return self._remembered[row.path][1]


async def _changed_files(row: Worktree) -> frozenset[str]:
    base = (await resolve(row.path, row.base_ref) if row.base_ref else None) or row.base_sha
    if base is None:
        return frozenset()
    start = (await git(row.path, "merge-base", "HEAD", base, fine=(0, 1))).strip() or base
    words = ("diff-tree", "-r", "-z", "--name-only", "--no-renames", start, "HEAD")
    committed, changes = await asyncio.gather(git(row.path, *words), uncommitted(row.path))
    return frozenset(name for name in committed.split("\0") if name) | {file.path for file in changes}
