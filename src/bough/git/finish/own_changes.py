"""Leaves out of a commit's files what was changed before the work on them began, for example by a setup command."""

from __future__ import annotations

import msgspec

from bough.git.run import git
from bough.git.working_copy.snapshot import QUIET, WorkingCopy, scratch_index, working_copy

# For comparing every file of a large repository.
WITHIN = 600.0
_COMPARE = ("diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev")
_ABSENT = "000000"


class Preparation(msgspec.Struct, frozen=True):
    """Two commits: the files that a working copy was created with, and those that its work began with."""

    created: str
    begun: str


class _Entry(msgspec.Struct, frozen=True):
    """A path's mode and object before and after a change."""

    old_mode: str
    new_mode: str
    old: str


async def own_changes(path: str, prepared: Preparation, files: str) -> str:
    """Returns a tree with `files`, except that paths which differ only by the preparation are as they were created.
    Returns `files` itself if there are none. Changes neither the working copy nor its index."""
    if prepared.created == prepared.begun:
        return files
    made = await _changes(path, prepared.created, prepared.begun)
    own = await _changes(path, prepared.begun, files)
    restored = {name: entry for name, entry in made.items() if name not in own}
    for name in _in_the_way(restored, own):
        del restored[name]
    if not restored:
        return files
    # Removals first: a file may have become a folder.
    entries = sorted(restored.items(), key=lambda item: item[1].old_mode != _ABSENT)
    stdin = "".join(f"{entry.old_mode.lstrip('0') or '0'} {entry.old}\t{name}\0" for name, entry in entries)
    where = await _location(path)
    async with scratch_index(where, seeded=False) as env:
        await git(where.top, *QUIET, "read-tree", files, env=env, timeout=WITHIN)
        words = (*QUIET, "update-index", "--add", "-z", "--index-info")
        await git(where.top, *words, env=env, stdin=stdin.encode("utf-8", "surrogateescape"), timeout=WITHIN)
        return (await git(where.top, *QUIET, "write-tree", "--missing-ok", env=env, timeout=WITHIN)).strip()


async def _location(path: str) -> WorkingCopy:
    words = ("rev-parse", "--is-bare-repository", "--absolute-git-dir")
    bare, git_dir = (await git(path, *words)).rstrip("\n").split("\n")
    return WorkingCopy(git_dir, git_dir) if bare == "true" else await working_copy(path)


async def _changes(path: str, old: str, new: str) -> dict[str, _Entry]:
    words = iter((await git(path, *_COMPARE, old, new, "--", timeout=WITHIN)).split("\0"))
    changes: dict[str, _Entry] = {}
    for about in words:
        if about:
            old_mode, new_mode, old_object, *_ = about.removeprefix(":").split(" ")
            changes[next(words)] = _Entry(old_mode, new_mode, old_object)
    return changes


def _in_the_way(restored: dict[str, _Entry], own: dict[str, _Entry]) -> list[str]:
    """Returns the files that cannot be restored because the work made a folder of their name, or a file of the name of
    a folder above them."""
    files = {name for name, entry in own.items() if entry.new_mode != _ABSENT}
    folders = {folder for name in files for folder in _above(name)}
    return [
        name
        for name, entry in restored.items()
        if entry.old_mode != _ABSENT and (name in folders or not files.isdisjoint(_above(name)))
    ]


def _above(name: str) -> list[str]:
    """Returns the folders above a path: `a/b` and `a` for `a/b/c`."""
    parts = name.split("/")
    return ["/".join(parts[:length]) for length in range(1, len(parts))]
