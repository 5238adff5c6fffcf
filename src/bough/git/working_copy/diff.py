"""Compares a working copy with a commit: text and counts, including untracked files and renames. Touches nothing in the
repository."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from typing import Literal

import msgspec

from bough.git.decode import shown
from bough.git.paths import is_there, quoted
from bough.git.run import git, git_head
from bough.git.working_copy.changed_paths import scan
from bough.git.working_copy.snapshot import QUIET, listed, scratch_index, working_copy

# For reading every file of a large working copy.
WITHIN = 600.0
LARGEST_TEXT = 1024 * 1024
MOST_FILES = 2000
# A larger untracked file is listed but not read: it is data, not a diff that anybody reads.
LARGEST_UNTRACKED = 5 * 1024 * 1024
FileStatus = Literal["added", "deleted", "modified", "renamed", "copied", "typeChanged", "unmerged"]
_STATES: dict[str, FileStatus] = {
    "A": "added",
    "D": "deleted",
    "M": "modified",
    "R": "renamed",
    "C": "copied",
    "T": "typeChanged",
    "U": "unmerged",
}


class ComparedFile(msgspec.Struct, rename="camel"):
    """A changed file: its status and how many lines were added and removed (not counted for binary files)."""

    path: str
    old_path: str | None
    status: FileStatus
    additions: int
    deletions: int
    binary: bool


class FileDiff(ComparedFile):
    """A changed file in a working copy."""

    untracked: bool


class Diff(msgspec.Struct, rename="camel"):
    """The changes since `sha`; `note` says what is missing if it was cut."""

    sha: str | None
    files: list[FileDiff]
    additions: int
    deletions: int
    text: str
    truncated: bool
    note: str | None


async def diff(path: str, since: str | None) -> Diff:
    """Returns all changes to the files since a commit; without one, since the empty tree."""
    where = await working_copy(path)
    with tempfile.TemporaryDirectory(prefix="bough-diff-") as folder:
        async with scratch_index(where, seeded=True) as env:
            env |= await _own_objects(path, folder)
            untracked, large = await _untracked(where.top)
            skipped = set(large)
            names = [name for name in (await scan(where.top, QUIET)).changed if name not in skipped]
            if names:
                words = ("update-index", "--add", "--remove", "--replace", "-z", "--stdin")
                await git(where.top, *QUIET, *words, env=env, stdin=listed(names), timeout=WITHIN)
            tree = (await git(path, *QUIET, "write-tree", "--missing-ok", env=env)).strip()
            old = since or (await git(path, "hash-object", "-t", "tree", "-w", "/dev/null", env=env)).strip()
            compare = ("diff-tree", "-r", "-M", "--no-ext-diff", "--no-textconv", "--submodule=short")
            states = await git(path, *compare, "-z", "--name-status", old, tree, env=env)
            numbers = await git(path, *compare, "-z", "--numstat", old, tree, env=env)
            text, cut = await git_head(path, LARGEST_TEXT, *compare, "-p", old, tree, env=env, timeout=WITHIN)
    files = list(_files(states, numbers, set(untracked)))
    files += [FileDiff(shown(name), None, "added", 0, 0, True, True) for name in large]
    return Diff(
        sha=since,
        files=files[:MOST_FILES],
        additions=sum(item.additions for item in files),
        deletions=sum(item.deletions for item in files),
        text=_whole_lines(text, cut),
        truncated=cut or len(files) > MOST_FILES or bool(large),
        note=_note(cut, len(files), large),
    )


async def _own_objects(path: str, folder: str) -> dict[str, str]:
    """Returns variables that let git read the repository's objects and write new ones elsewhere."""
    real = (await git(path, "rev-parse", "--path-format=absolute", "--git-path", "objects")).rstrip("\n")
    return {"GIT_OBJECT_DIRECTORY": folder, "GIT_ALTERNATE_OBJECT_DIRECTORIES": quoted(real)}


def _note(cut: bool, files: int, large: list[str]) -> str | None:
    notes: list[str] = []
    if cut:
        notes.append(f"The text is cut after {LARGEST_TEXT} bytes.")
    if files > MOST_FILES:
        notes.append(f"{MOST_FILES} of {files} files are listed.")
    if large:
        notes.append(f"Untracked files over {LARGEST_UNTRACKED} bytes are named and not read: {len(large)}.")
    return " ".join(notes) or None


def _whole_lines(text: bytes, cut: bool) -> str:
    if cut:
        text = text[: text.rfind(b"\n") + 1]
    return text.decode("utf-8", "replace").replace("\0", "�")


async def _untracked(path: str) -> tuple[list[str], list[str]]:
    """Returns the untracked files to read, and those that are too large."""
    small: list[str] = []
    large: list[str] = []
    for name in (await git(path, "ls-files", "--others", "--exclude-standard", "-z")).split("\0"):
        full = os.path.join(path, name)
        # A folder is a nested repository with its own history.
        if not name or name.endswith("/") or not is_there(full):
            continue
        (large if os.lstat(full).st_size > LARGEST_UNTRACKED else small).append(name)
    return small, large


def _files(states: str, numbers: str, untracked: set[str]) -> Iterator[FileDiff]:
    counted = dict(_counts(numbers))
    parts = iter(states.split("\0"))
    for state in parts:
        if not state:
            continue
        old = next(parts) if state[0] in "RC" else None
        name = next(parts)
        added, gone = counted.get(name, ("0", "0"))
        yield FileDiff(
            path=shown(name),
            old_path=shown(old) if old is not None else None,
            status=_STATES.get(state[0], "modified"),
            additions=0 if added == "-" else int(added),
            deletions=0 if gone == "-" else int(gone),
            binary=added == "-",
            untracked=name in untracked,
        )


def _counts(numbers: str) -> Iterator[tuple[str, tuple[str, str]]]:
    parts = iter(numbers.split("\0"))
    for part in parts:
        if not part:
            continue
        added, gone, name = part.split("\t", 2)
        if not name:
            # A rename: the old name, then the new one.
            next(parts)
            name = next(parts)
        yield name, (added, gone)
