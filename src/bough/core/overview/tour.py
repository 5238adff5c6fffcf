"""Creates and removes the tour: a small example repo in which people can try everything (O1, O4). Sessions in it are
ordinary ones; only a folder with our mark is ever removed."""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path
from typing import Any

import msgspec
import structlog

from bough.core.sessions.ending.cascades import Cascades
from bough.core.store.sql import REPOS, SESSIONS, WORKTREES
from bough.core.store.transactions import Store
from bough.core.worktrees.repos import Repos
from bough.core.worktrees.service import Worktrees
from bough.errors import BoughError, Conflict, Denied, NotFound
from bough.git.paths import is_folder, real
from bough.git.run import git
from bough.model.repo import Repo, Worktree
from bough.model.session import Caller, Session
from bough.settings import Settings
from bough.storage.backend import Tx

log = structlog.get_logger("bough.tour")

NAME = "tour"
FOLDER = "bough-tour"
# The mark is inside the .git folder, where no clean-up deletes it.
MARK = "bough-tour"
PLACES = 20
PIECE = 500

README = """# Tour

A small project to try Bough in. Nothing here matters: ask an agent to change it, fork it, race it, throw it away.

- `greeting.py` greets people.
- `test_greeting.py` says what it should say: `python -m unittest`.

Some things to ask for: *greet in three languages*, *explain the test*, *make the greeting depend on the hour*.
"""
GREETING = '''"""Greets people by their names."""


def greeting(name: str) -> str:
    """Returns a greeting."""
    return f"Hello, {name}!"


if __name__ == "__main__":
    print(greeting("world"))
'''
TEST = '''"""Tests the greeting."""

import unittest

from greeting import greeting


class GreetingTest(unittest.TestCase):
    def test_names_the_person(self) -> None:
        self.assertEqual(greeting("Ada"), "Hello, Ada!")


if __name__ == "__main__":
    unittest.main()
'''
FILES = {"README.md": README, "greeting.py": GREETING, "test_greeting.py": TEST, ".gitignore": "__pycache__/\n"}
# The first commit is Bough's, whatever the user's git configuration says.
WHO = {
    "GIT_AUTHOR_NAME": "Bough",
    "GIT_AUTHOR_EMAIL": "bough@localhost",
    "GIT_COMMITTER_NAME": "Bough",
    "GIT_COMMITTER_EMAIL": "bough@localhost",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
}


class Tour(msgspec.Struct, rename="camel"):
    """The repo of the tour."""

    repo_id: str
    path: str


class TourRemoved(msgspec.Struct, rename="camel"):
    """The result of removing the tour: how many sessions were purged, and whether the folder was removed."""

    repo_id: str | None
    path: str | None
    sessions: int
    folder_removed: bool


class Tours:
    """Creates the tour, and removes it with everything that was done in it."""

    def __init__(
        self, store: Store, settings: Settings, repos: Repos, worktrees: Worktrees, cascades: Cascades
    ) -> None:
        self._store = store
        self._root = settings.root_path
        self._repos = repos
        self._worktrees = worktrees
        self._cascades = cascades
        self._turn = asyncio.Lock()

    async def make(self, caller: Caller) -> Tour:
        """Returns the existing tour, or creates one."""
        _for_people(caller)
        async with self._turn:
            root = Path(real(str(self._root)))
            path = next((folder for folder in _folders(root) if _is_ours(folder)), None)
            if path is None:
                path = _claim(root)
                await _build(path)
                log.info("tour_created", path=str(path))
            known = await self._store.read(lambda tx: tx.one(REPOS.by_path, Repo, path=str(path)))
            # A repo that a person renamed keeps its name.
            repo = known or await self._repos.add(
                msgspec.structs.replace(caller, idempotency_key=None), str(path), NAME
            )
            return Tour(repo.id, repo.path)

    async def remove(self, caller: Caller) -> TourRemoved:
        """Removes the sessions, worktrees, row and folder of the tour."""
        _for_people(caller)
        async with self._turn:
            root = Path(real(str(self._root)))
            paths = [folder for folder in _folders(root) if _is_ours(folder)]
            removed = TourRemoved(None, None, 0, False)
            for path in paths:
                removed.path = str(path)
                repo = await self._store.read(lambda tx, path=str(path): tx.one(REPOS.by_path, Repo, path=path))
                if repo is not None:
                    removed.repo_id = repo.id
                    removed.sessions += await self._empty(caller, repo)
                    await self._repos.remove(caller, repo.id)
                await asyncio.to_thread(shutil.rmtree, path)
                removed.folder_removed = not is_folder(str(path))
                log.info("tour_removed", path=str(path))
            return removed

    async def _empty(self, caller: Caller, repo: Repo) -> int:
        """Purges the sessions of the repo with their descendants and removes its worktrees; returns how many."""
        count = 0
        for session in await self._store.read(lambda tx: _sessions(tx, repo)):
            try:
                done = await self._cascades.run(
                    msgspec.structs.replace(caller, idempotency_key=None), session.id, "purge"
                )
            except NotFound:
                # It was purged with an ancestor.
                continue
            refused = next((outcome for outcome in done.sessions if outcome.outcome == "refused"), None)
            if refused is not None:
                raise Conflict(
                    "tour_busy", f"Session {refused.session_id} cannot be removed: {refused.message} Try again."
                )
            count += len(done.sessions)
        for row in await self._store.read(lambda tx: tx.all(WORKTREES.of_repo, Worktree, repo_id=repo.id)):
            try:
                await self._worktrees.remove(caller, row.id, force=True)
            except BoughError as error:
                raise Conflict("tour_busy", f"Worktree {row.name} cannot be removed: {error.message}") from error
        return count


def _for_people(caller: Caller) -> None:
    if caller.kind == "session":
        raise Denied("tour_for_people", "Only people can create and remove the tour.")


async def _sessions(tx: Tx, repo: Repo) -> list[Session]:
    query = SESSIONS.page.with_(where="repo_id = :repo_id")
    sessions: list[Session] = []
    while True:
        page: list[Any] = await tx.all(query, Session, repo_id=repo.id, limit=PIECE, offset=len(sessions))
        sessions += page
        if len(page) < PIECE:
            # The oldest first, since descendants are purged with their ancestors.
            return sessions[::-1]


def _folders(root: Path) -> list[Path]:
    """Returns the folders that the tour may use; none is in the data folder, where no agent works."""
    return [root / FOLDER, *(root / f"{FOLDER}-{number}" for number in range(2, PLACES))]


def _is_ours(path: Path) -> bool:
    """Tells whether a folder has our mark, and is not a link to another folder."""
    return not path.is_symlink() and (path / ".git" / MARK).is_file()


def _claim(root: Path) -> Path:
    """Creates a new folder; an existing one belongs to somebody else, perhaps to another server."""
    for path in _folders(root):
        try:
            path.mkdir(parents=True)
        except FileExistsError:
            continue
        return path
    raise Conflict(
        "no_place",
        f"Every folder name for the tour is taken in {root}; remove {FOLDER}.",
    )


async def _build(path: Path) -> None:
    """Writes the files and the first commit. The mark comes last; an unfinished folder is removed."""
    try:
        _write(path)
        await git(str(path), "init", "--quiet", "--initial-branch=main", "--template=", env=WHO, worktree=str(path))
        await git(str(path), "add", "--all", env=WHO)
        await git(str(path), "commit", "--quiet", "--message", "A small project to try Bough in", env=WHO)
        _mark(path)
    except BaseException:
        await asyncio.to_thread(shutil.rmtree, path, True)
        raise


def _write(path: Path) -> None:
    for name, text in FILES.items():
        (path / name).write_text(text, encoding="utf-8")


def _mark(path: Path) -> None:
    (path / ".git" / MARK).write_text("Made by Bough; taken away with DELETE /api/tour.\n", encoding="utf-8")
