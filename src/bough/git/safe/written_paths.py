"""Lists the folders that one git process may write, and refuses repositories whose own files are links to elsewhere.

An agent writes parts of a git folder, because commits do, and can put links there. Our git runs outside its sandbox. So
the kernel keeps git from writing outside the repository (`landlock`), and `link_out` finds links to the parts of it
that an agent must not write, such as its configuration. Where the kernel cannot do that, and where a person allowed
hooks or filters, which write elsewhere, `link_out` does both."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from bough.git.safe import landlock, opened_paths
from bough.git.safe.alternates import MOST_FOLDERS, borrows_too_much
from bough.git.safe.location import Location, common_of, find, is_own

# Commands that write the index only, objects and files only, and refs as well. All others only read.
_INDEX = frozenset(("read-tree", "update-index"))
_OBJECTS = frozenset(("checkout-index", "commit-tree", "hash-object", "merge-tree", "pack-objects", "write-tree"))
_REFS = frozenset(("add", "branch", "commit", "merge", "reset", "submodule", "update-ref", "worktree"))
# Parts of a git folder that git writes for us, besides files such as ORIG_HEAD. Other links there are a person's own,
# like the lock that an editor puts beside a commit message.
_WRITTEN = frozenset(
    (
        *("AUTO_MERGE", "COMMIT_EDITMSG", "HEAD", "MERGE_MODE", "MERGE_MSG", "MERGE_RR", "SQUASH_MSG"),
        *("index", "logs", "objects", "packed-refs", "refs", "worktrees"),
    )
)
# Closed in every sandbox.
_OURS = os.path.join("refs", "bough")


def rights(cwd: str, env: Mapping[str, str], worktree: str | None) -> dict[str, int]:
    """Returns what one git process may write: the folders of its repository, those that its variables name, and the
    worktree that it creates or removes."""
    location = _location(cwd, env)
    named = [_above_resolved(env[name]) for name in ("GIT_WORK_TREE", "GIT_OBJECT_DIRECTORY") if name in env]
    folders = [*_folders(location, env), *named, *([worktree] if worktree else [])]
    result = {os.path.dirname(worktree): landlock.REMOVE_DIR} if worktree else {}
    return {**result, **dict.fromkeys(folders, landlock.EVERYTHING), os.devnull: landlock.WRITE_FILE}


def landlock_works(cwd: str, env: Mapping[str, str]) -> bool:
    """Returns whether the kernel can limit git in a folder's repository."""
    location = _location(cwd, env)
    return location is None or all(landlock.works_at(folder) for folder in _folders(location, env))


def why_refused(cwd: str, env: Mapping[str, str]) -> str | None:
    """Returns why git does not work in a folder's repository at all: it is not its own, or borrows from too many
    others."""
    location = _location(cwd, env)
    if location is None:
        return None
    if "GIT_DIR" not in env and not is_own(location):
        return (
            f"The .git of {cwd} names {location.git_dir}, which belongs to another working copy. Remove it, or, if a "
            "worktree was moved, run `git worktree repair` there"
        )
    if borrows_too_much(location.common):
        return f"{location.common}/objects/info/alternates leads to more than {MOST_FOLDERS} folders. Shorten it"
    return None


def link_out(cwd: str, command: str, env: Mapping[str, str], *, limited: bool) -> str | None:
    """Returns a link in the git folder through which a git command would write where nobody expects it, if any. Under
    Landlock only links to other parts of the repository matter."""
    writes_objects = command in _OBJECTS or (command in _INDEX and "GIT_INDEX_FILE" in env)
    if command not in (_REFS | _INDEX | _OBJECTS) or (writes_objects and limited):
        return None
    location = _location(cwd, env)
    if location is None:
        return None
    # Links from ref to ref are an old kind of symbolic ref.
    fine = (os.path.join(location.common, "refs"), os.path.join(location.git_dir, "refs"), *opened_paths.opened())
    for link in _links(location, objects=not limited):
        target = os.path.realpath(link)
        if not any(target == folder or target.startswith(folder + "/") for folder in fine):
            return link
    return None


def _above_resolved(path: str) -> str:
    """Resolves links above a path, but not the path itself, which an agent may have made a link."""
    return os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))


def _location(cwd: str, env: Mapping[str, str]) -> Location | None:
    if "GIT_DIR" not in env:
        return find(cwd)
    git_dir = os.path.realpath(env["GIT_DIR"])
    return Location(os.path.realpath(env.get("GIT_WORK_TREE", git_dir)), git_dir, common_of(git_dir))


def _folders(location: Location | None, env: Mapping[str, str]) -> list[str]:
    if location is None:
        return []
    # It may belong to another working copy only by now.
    if "GIT_DIR" not in env and not is_own(location):
        return [location.top]
    folders = [location.top, location.git_dir]
    # An agent may have written the file that names the common folder.
    if os.path.dirname(location.git_dir) == os.path.join(location.common, "worktrees"):
        folders.append(location.common)
    return folders


def _links(location: Location, *, objects: bool) -> Iterator[str]:
    for folder in dict.fromkeys((location.git_dir, location.common)):
        for entry in _entries(folder):
            if entry.name not in _WRITTEN and not entry.name.endswith("_HEAD"):
                continue
            if entry.is_symlink():
                yield entry.path
            elif entry.name in ("refs", "logs"):
                yield from _links_below(entry.path, os.path.join(folder, _OURS))
            elif entry.name == "objects" and objects:
                yield from (inner.path for inner in _entries(entry.path) if inner.is_symlink())


def _links_below(folder: str, closed: str) -> Iterator[str]:
    for entry in _entries(folder):
        if entry.is_symlink():
            yield entry.path
        elif entry.path != closed and entry.is_dir(follow_symlinks=False):
            yield from _links_below(entry.path, closed)


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []
