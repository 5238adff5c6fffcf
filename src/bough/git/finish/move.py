"""Moves a branch from one commit to another: with the files of its checkout, or alone if it is checked out nowhere.
Completely, or not at all."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Generator

import msgspec

from bough.errors import Conflict
from bough.git.decode import shown
from bough.git.paths import is_there
from bough.git.run import GitFailed, git
from bough.git.working_copy.snapshot import QUIET, WorkingCopy
from bough.git.working_copy.status import files

# For writing every file of a large working copy.
WITHIN = 600.0
# Files that exist while something is in progress, with the words for it.
_UNFINISHED = {
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
    "MERGE_HEAD": "merge",
}


class TouchedFiles(msgspec.Struct, frozen=True):
    """The files that a move changes, and those of them that it would overwrite although they are not committed."""

    touched: list[str]
    blocked: list[str]


def unfinished(where: WorkingCopy) -> str | None:
    """Returns what is in progress in a working copy: a merge, rebase, cherry-pick or revert; None if nothing is."""
    return next((word for name, word in _UNFINISHED.items() if is_there(where.git_dir, name)), None)


async def touched_files(where: WorkingCopy, old: str, new: str) -> TouchedFiles:
    """Compares two commits or trees, and the changed files with the working copy."""
    words = ("diff-tree", "-r", "-z", "--name-status", "--no-renames", old, new)
    listed = (await git(where.top, *words, timeout=WITHIN)).split("\0")[:-1]
    touched = dict(zip(listed[1::2], listed[::2], strict=True))
    status = await files(where.top)
    dirty = {name for name, _ in status.changed} | set(status.untracked)
    # Git does not report ignored files and would overwrite them.
    blocked = sorted(
        name for name, state in touched.items() if name in dirty or (state == "A" and is_there(where.top, name))
    )
    return TouchedFiles(list(touched), blocked)


async def head_ref(where: WorkingCopy) -> str:
    """Returns the ref that a commit moves: the branch, or HEAD if it is detached. Raises `Conflict` if HEAD points to
    anything else, such as a ref of Bough's own."""
    ref = (await git(where.top, "symbolic-ref", "--quiet", "HEAD", fine=(0, 1))).rstrip("\n")
    if ref and not ref.startswith("refs/heads/"):
        raise Conflict("no_branch", f"HEAD of {where.top} is {shown(ref)}, which is not a branch.")
    return ref or "HEAD"


async def move_checkout(where: WorkingCopy, old: str, new: str, note: str, author: dict[str, str]) -> None:
    """Moves the branch that is checked out, with its files. If git refuses, everything stays as it was."""
    with naming_locks(where):
        # Files that only look changed would be in the way. Exits with 1 if some have really changed.
        await git(where.top, *QUIET, "update-index", "-q", "--refresh", env=where.env, timeout=WITHIN, fine=(0, 1))
        await git(where.top, *QUIET, "read-tree", "-m", "-u", old, new, env=where.env, timeout=WITHIN)
    try:
        words = ("update-ref", "--no-deref", "-m", note, await head_ref(where), new, old)
        await git(where.top, *words, env=where.env | author)
    except (GitFailed, Conflict) as error:
        await _undo(where, new, old, error)
        raise


@contextlib.contextmanager
def naming_locks(where: WorkingCopy) -> Generator[None]:
    """Turns git's failure into a `Conflict` that names the lock if the index is locked. Git does not always say so."""
    try:
        yield
    except GitFailed as error:
        lock = os.path.join(where.git_dir, "index.lock")
        if not os.path.lexists(lock):
            raise
        raise index_locked(lock) from error


def index_locked(lock: str) -> Conflict:
    """Builds the error for an index that another git command uses, or that one left locked when it was killed."""
    return Conflict(
        "index_locked",
        f"Git's index is locked: {lock} exists. If no git command runs there, delete that file and try again.",
        path=lock,
    )


async def _undo(where: WorkingCopy, new: str, old: str, cause: GitFailed | Conflict) -> None:
    """Puts files and index back, because the branch could not be moved, for example because of a lock that a killed git
    left behind."""
    words = ("read-tree", "-m", "-u", new, old)
    try:
        await asyncio.shield(git(where.top, *QUIET, *words, env=where.env, timeout=WITHIN))
    except GitFailed as error:
        raise Conflict(
            "merge_blocked",
            f"The files at {where.top} are merged, but git could not move the branch: {cause.message} Undoing failed "
            f"too: {error.message} Undo it by hand with `git {' '.join(words)}`.",
        ) from error


async def move_branch(repo: str, branch: str, old: str, new: str, note: str, author: dict[str, str]) -> None:
    """Moves a branch that is checked out nowhere, unless somebody moved it meanwhile."""
    await git(repo, *QUIET, "update-ref", "--no-deref", "-m", note, f"refs/heads/{branch}", new, old, env=author)
