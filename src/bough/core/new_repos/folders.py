"""Lists folders below the workspace root, for people who look for one to register, and finds repositories there."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import msgspec

from bough.core.new_repos.find import FoundRepos, find_repos, is_text
from bough.core.new_repos.open_folder import opened
from bough.core.store.sql import REPOS
from bough.core.store.transactions import Store
from bough.core.worktrees.allowed_paths import resolve_inside
from bough.errors import Denied, Invalid
from bough.git.paths import real
from bough.model.session import Caller
from bough.settings import Settings
from bough.storage.backend import Tx

# A longer list is of no use to anybody; more can be reached by its path.
MOST_LISTED = 1000


class FolderEntry(msgspec.Struct, rename="camel"):
    """A folder to choose. `isGit` says that it is a git repository or worktree."""

    name: str
    path: str
    is_git: bool
    # Null if it is not registered.
    repo_id: str | None = None


class FolderList(msgspec.Struct, rename="camel"):
    """The folders in a folder, by name, without hidden ones and links. `parent` is null at the workspace root; `more`
    says that the list was cut off."""

    root: str
    path: str
    parent: str | None
    is_git: bool
    repo_id: str | None
    folders: list[FolderEntry]
    more: bool


class WorkspaceFolders:
    """Shows people what is below the workspace root."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self._store = store
        self._root = settings.root_path
        self._data = settings.data_path
        self._finding: asyncio.Task[FoundRepos] | None = None

    async def find(self, caller: Caller) -> FoundRepos:
        """Finds the repositories below the root. Those who ask meanwhile get the same answer."""
        _check_person(caller)
        if self._finding is None:
            work = asyncio.to_thread(find_repos, real(str(self._root)), real(str(self._data)))
            self._finding = asyncio.create_task(work, name="find repositories")
            self._finding.add_done_callback(self._ended)
        walk = await asyncio.shield(self._finding)
        known = await self._known([repo.path for repo in walk.repos])
        repos = [msgspec.structs.replace(repo, repo_id=known.get(repo.path)) for repo in walk.repos]
        return msgspec.structs.replace(walk, repos=repos)

    async def list(self, caller: Caller, path: str | None) -> FolderList:
        """Lists the folders in one folder, by default the workspace root. Refuses those outside of it."""
        _check_person(caller)
        root = real(str(self._root))
        folder = str(resolve_inside(self._root, path or root, data=self._data, noun="folder"))
        try:
            is_git, folders = await asyncio.to_thread(_listed, folder, real(str(self._data)))
        except OSError as error:
            raise Invalid("bad_path", f"The folder {folder} cannot be read: {error.strerror}.") from error
        more = len(folders) > MOST_LISTED
        known = await self._known([folder, *(entry.path for entry in folders[:MOST_LISTED])])
        entries = [msgspec.structs.replace(entry, repo_id=known.get(entry.path)) for entry in folders[:MOST_LISTED]]
        parent = str(Path(folder).parent) if folder != root else None
        return FolderList(root, folder, parent, is_git, known.get(folder), entries, more)

    async def close(self) -> None:
        """Ends a look that is under way."""
        if self._finding is not None:
            self._finding.cancel()
            await asyncio.wait({self._finding})

    def _ended(self, task: asyncio.Task[FoundRepos]) -> None:
        self._finding = None
        # An error that nobody waits for anymore.
        if not task.cancelled():
            task.exception()

    async def _known(self, paths: list[str]) -> dict[str, str]:
        """Returns the ids of the folders that are registered."""

        async def work(tx: Tx) -> list[tuple[str, str]]:
            return await tx.all(REPOS.ids_by_path, tuple[str, str], paths=paths)

        return dict(await self._store.read(work)) if paths else {}


def _check_person(caller: Caller) -> None:
    if caller.kind == "session":
        raise Denied("clone_for_people", "Only a person may look at the folders of the workspace.")
    caller.require("operator", "look at the folders of the workspace")


def _listed(folder: str, data: str) -> tuple[bool, list[FolderEntry]]:
    folders: list[FolderEntry] = []
    is_git = False
    with opened(folder) as descriptor, os.scandir(descriptor) as entries:
        for entry in entries:
            if entry.name == ".git":
                is_git = True
            path = os.path.join(folder, entry.name)
            if entry.name.startswith(".") or path == data or not is_text(entry.name):
                continue
            if entry.is_dir(follow_symlinks=False):
                folders.append(FolderEntry(entry.name, path, is_git=False))
    folders.sort(key=lambda entry: entry.name.casefold())
    for entry in folders[: MOST_LISTED + 1]:
        entry.is_git = os.path.lexists(os.path.join(entry.path, ".git"))
    return is_git, folders
