"""Finds the repository that a folder belongs to, from the file system alone and in the order in which git looks."""

from __future__ import annotations

import os

import msgspec

from bough.git.paths import read_start

# A `.git` file holds one path.
LONGEST_LINK = 8192


class Location(msgspec.Struct, frozen=True):
    """A working copy's top folder, its private git folder and the one that all working copies share."""

    top: str
    git_dir: str
    common: str


def find(path: str) -> Location | None:
    """Returns the repository that contains `path`, or None. Bare repositories are not found this way."""
    folder = os.path.realpath(path)
    while True:
        git_dir = _git_dir(folder)
        if git_dir is not None:
            common = common_of(git_dir)
            if os.path.lexists(os.path.join(git_dir, "HEAD")) and _holds_objects(common):
                return Location(folder, git_dir, common)
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent


def is_own(location: Location) -> bool:
    """Returns whether a working copy's git folder belongs to it. An agent can write a `.git` file, or a link, that
    names the git folder of another repository, in which our git would then work.

    A linked worktree's git folder names the worktree in return, and a submodule's is inside that of a repository around
    it. A git folder that somebody keeps elsewhere counts as well, if it has a name of its own."""
    entry = os.path.join(location.top, ".git")
    if location.git_dir == entry:
        return True
    if os.path.dirname(location.git_dir) == os.path.join(location.common, "worktrees"):
        back = _read(os.path.join(location.git_dir, "gitdir"))
        return back is not None and os.path.realpath(os.path.join(location.git_dir, back)) == os.path.realpath(entry)
    if ".git" not in location.git_dir.split("/"):
        return True
    outer = find(os.path.dirname(location.top))
    return outer is not None and location.git_dir.startswith(f"{outer.git_dir}/modules/") and is_own(outer)


def is_bare(path: str) -> bool:
    """Tells whether a folder itself has the shape of a repository without a working copy."""
    return not os.path.lexists(os.path.join(path, ".git")) and _is_file(path, "HEAD") and _holds_objects(path)


def _holds_objects(folder: str) -> bool:
    return all(os.path.isdir(os.path.join(folder, name)) for name in ("objects", "refs"))


def _is_file(folder: str, name: str) -> bool:
    return os.path.isfile(os.path.join(folder, name))


def _git_dir(folder: str) -> str | None:
    entry = os.path.join(folder, ".git")
    if os.path.isdir(entry):
        return os.path.realpath(entry)
    target = _read(entry)
    if target is None or not target.startswith("gitdir: "):
        return None
    return os.path.realpath(os.path.join(folder, target.removeprefix("gitdir: ")))


def common_of(git_dir: str) -> str:
    """Returns the folder that a git folder shares with others: itself, unless it belongs to a linked worktree."""
    target = _read(os.path.join(git_dir, "commondir"))
    return git_dir if target is None else os.path.realpath(os.path.join(git_dir, target))


def _read(path: str) -> str | None:
    """Returns a small file's text without its last line ends, or None for anything else, such as a pipe."""
    content = read_start(path, LONGEST_LINK)
    # For git, too, the path ends at a NUL character.
    return None if content is None else os.fsdecode(content).rstrip("\r\n").partition("\0")[0]
