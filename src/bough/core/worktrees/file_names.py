"""Finds files of a session's folder by a part of their names, for people who mention them in prompts."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Iterable

import msgspec

from bough.core.store import records
from bough.core.store.transactions import Store
from bough.errors import BoughError
from bough.git.decode import shown
from bough.git.run import git_head

# The longest list of names that is read, and the most files that are returned.
MOST_BYTES = 8 * 1024 * 1024
MOST_FILES = 50
# For how many seconds names are remembered while somebody types, and those of how many folders.
REMEMBERED = 5.0
MOST_FOLDERS = 16
# Git lists even large repositories within this.
WITHIN = 10.0


class FileMatches(msgspec.Struct, rename="camel"):
    """Files of a session's folder, the best matches first; paths are relative to the folder. `more` says that others
    match, too."""

    files: list[str]
    more: bool


class FileNames:
    """Finds files that git tracks or would track; ignored files are left out."""

    def __init__(self, store: Store, check_folder: Callable[[str], Awaitable[None]]) -> None:
        self._store = store
        self._check_folder = check_folder
        self._remembered: dict[str, tuple[float, list[str]]] = {}

    async def find(self, session_id: str, words: str) -> FileMatches:
        """Returns the files whose path has the letters of `words` in this order. A folder without git has none."""
        session = await self._store.read(lambda tx: records.session(tx, session_id))
        await self._check_folder(session.cwd)
        names = await self._names(session.cwd)
        return await asyncio.to_thread(_match, names, words)

    async def _names(self, cwd: str) -> list[str]:
        now = time.monotonic()
        for path in [path for path, (at, _) in self._remembered.items() if at + REMEMBERED < now]:
            del self._remembered[path]
        if cwd not in self._remembered:
            names = await _listed(cwd)
            while len(self._remembered) >= MOST_FOLDERS:
                del self._remembered[next(iter(self._remembered))]
            self._remembered[cwd] = (time.monotonic(), names)
        return self._remembered[cwd][1]


async def _listed(cwd: str) -> list[str]:
    words = ("ls-files", "--cached", "--others", "--exclude-standard", "--deduplicate", "-z")
    try:
        text, _ = await git_head(cwd, MOST_BYTES, *words, timeout=WITHIN)
    except (BoughError, OSError):
        return []
    parts = text.split(b"\0")
    # The last one is empty, or cut off.
    return [shown(os.fsdecode(part)) for part in parts[:-1]]


def _match(names: Iterable[str], words: str) -> FileMatches:
    letters = words.casefold()
    ranked = [(rank, len(name), name) for name in names if (rank := _rank(name.casefold(), letters)) is not None]
    ranked.sort()
    return FileMatches([name for _, _, name in ranked[:MOST_FILES]], len(ranked) > MOST_FILES)


def _rank(path: str, letters: str) -> int | None:
    """Returns how well a path matches: 0 is best, None is not at all."""
    base = path.rpartition("/")[2]
    if base.startswith(letters) or path.startswith(letters):
        return 0
    if letters in base:
        return 1
    if letters in path:
        return 2
    rest = iter(path)
    return 3 if all(letter in rest for letter in letters) else None
