"""Looks for git repositories below the workspace root. The walk is bounded, follows no links, runs no program and skips
folders that hold other people's code."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Iterator

import msgspec

from bough.core.new_repos.open_folder import opened
from bough.errors import Denied
from bough.git.decode import shown
from bough.git.paths import read_start
from bough.model.values.times import of_seconds
from bough.model.values.visible import visible

# What one look may cost. Near folders come first, so that a bound cuts off the far ones.
MOST_FOLDERS = 50_000
MOST_DEPTH = 8
MOST_FOUND = 500
WITHIN = 3.0
# Folders of packages, builds and caches. Hidden folders are skipped, too.
SKIPPED = frozenset(
    (
        *("node_modules", "bower_components", "vendor", "third_party", "site-packages", "dist-packages"),
        *("venv", "virtualenv", "__pycache__", "target", "build", "dist", "out", "Pods", "DerivedData"),
        *("lost+found",),
    )
)
# A branch's name has less.
_LONGEST_HEAD = 4096
_BRANCH = b"ref: refs/heads/"


class FoundRepo(msgspec.Struct, rename="camel"):
    """A git repository below the workspace root. `folder` is its path below the root; `branch` is what is checked out.
    `usedAt` is when somebody last committed or switched branches there."""

    path: str
    folder: str
    name: str
    branch: str | None
    used_at: str | None
    # Null if it is not registered.
    repo_id: str | None = None


class FoundRepos(msgspec.Struct, rename="camel"):
    """The repositories that were found, the last used first. `complete` is false if the look was cut off."""

    root: str
    repos: list[FoundRepo]
    complete: bool


def find_repos(root: str, data: str) -> FoundRepos:
    """Walks through the folders below `root`, near ones first. Does not enter repositories or the `data` folder."""
    deadline = time.monotonic() + WITHIN
    waiting = deque([(root, 0)])
    repos: list[FoundRepo] = []
    looked = 0
    while waiting:
        folder, depth = waiting.popleft()
        looked += 1
        if looked > MOST_FOLDERS or len(repos) >= MOST_FOUND or time.monotonic() > deadline:
            return FoundRepos(root, _sorted(repos), complete=False)
        try:
            names, kind = _read(folder)
        except (OSError, Denied):
            continue
        if kind == "repository":
            repos.append(_described(root, folder))
        if kind is not None and folder != root:
            continue
        if depth < MOST_DEPTH:
            waiting.extend((path, depth + 1) for name in names if (path := os.path.join(folder, name)) != data)
    return FoundRepos(root, _sorted(repos), complete=True)


def is_skipped(name: str) -> bool:
    """Tells whether the walk does not enter a folder of this name."""
    return name.startswith(".") or name in SKIPPED


def is_text(name: str) -> bool:
    """Tells whether a name can be shown and sent: a folder may have any bytes."""
    return visible(name) == name and "\n" not in name


def _read(folder: str) -> tuple[list[str], str | None]:
    """Returns the folders to enter, and what kind of working copy this is: `repository`, or `other` for a worktree or
    submodule, which belongs to another repository."""
    names: list[str] = []
    kind = None
    with opened(folder) as descriptor:
        for entry in _entries(descriptor):
            if entry.name == ".git":
                kind = "repository" if entry.is_dir(follow_symlinks=False) else "other"
            elif not is_skipped(entry.name) and is_text(entry.name) and entry.is_dir(follow_symlinks=False):
                names.append(entry.name)
    return sorted(names), kind


def _entries(descriptor: int) -> Iterator[os.DirEntry[str]]:
    with os.scandir(descriptor) as entries:
        yield from entries


def _described(root: str, folder: str) -> FoundRepo:
    head = os.path.join(folder, ".git", "HEAD")
    content = (read_start(head, _LONGEST_HEAD) or b"").strip()
    branch = visible(shown(os.fsdecode(content.removeprefix(_BRANCH)))) if content.startswith(_BRANCH) else None
    relative = os.path.relpath(folder, root)
    name = os.path.basename(folder)
    return FoundRepo(folder, "" if relative == "." else relative, name, branch, _used_at(folder))


def _used_at(folder: str) -> str | None:
    moments: list[float] = []
    for name in ("index", "HEAD"):
        try:
            moments.append(os.lstat(os.path.join(folder, ".git", name)).st_mtime)
        except OSError:
            continue
    # An agent can set any time.
    return of_seconds(min(max(moments), time.time())) if moments else None


def _sorted(repos: list[FoundRepo]) -> list[FoundRepo]:
    return sorted(repos, key=lambda repo: repo.used_at or "", reverse=True)
