"""Puts a working copy into the state that `git merge` leaves after a conflict, without running a program: files with
conflict markers, their sides in the index, and the note that a merge is in progress.

The order of the steps matters, because Bough may be killed between any two. The index says first that files are in
conflict, so that nothing can be committed from then on. The note comes last: with it, a commit counts as the merge, and
would drop every change of the other side that is not in the files yet."""

from __future__ import annotations

import asyncio
import contextlib
import os

from bough.git.finish.merge_trees import MergedTree
from bough.git.finish.move import index_locked, naming_locks
from bough.git.run import git
from bough.git.working_copy.snapshot import QUIET, WorkingCopy, scratch_index

# For writing every file of a large working copy.
WITHIN = 600.0


async def leave_in_conflict(where: WorkingCopy, head: str, theirs: str, merged: MergedTree, message: str) -> None:
    """Writes the files of a merge with conflicts. The caller has checked that nothing is overwritten, and calls
    `abort_conflict` if this fails."""
    with naming_locks(where):
        await git(where.top, *QUIET, "update-index", "-q", "--refresh", env=where.env, timeout=WITHIN, fine=(0, 1))
    async with scratch_index(where, seeded=True) as scratch:
        await _mark(where, head, merged, where.env)
        await git(where.top, *QUIET, "read-tree", "-m", "-u", head, merged.tree, env=scratch, timeout=WITHIN)
        await _mark(where, head, merged, scratch)
        await asyncio.to_thread(_replace_index, where, scratch["GIT_INDEX_FILE"])
    await asyncio.to_thread(_write, os.path.join(where.git_dir, "MERGE_MSG"), f"{message}\n")
    await git(where.top, *QUIET, "update-ref", "--no-deref", "MERGE_HEAD", theirs, env=where.env)


async def _mark(where: WorkingCopy, head: str, merged: MergedTree, env: dict[str, str]) -> None:
    """Puts the sides of the files in conflict into an index, all at once."""
    none = "0" * len(head)
    lines = [f"0 {none}\t{path}\0" for path in merged.conflicts]
    lines += [f"{entry.mode} {entry.sha} {entry.stage}\t{entry.path}\0" for entry in merged.entries]
    stdin = "".join(lines).encode("utf-8", "surrogateescape")
    await git(where.top, *QUIET, "update-index", "-z", "--index-info", env=env, stdin=stdin, timeout=WITHIN)


def _replace_index(where: WorkingCopy, new: str) -> None:
    """Renames a finished index into place while git's own lock on the index is held."""
    index = os.path.join(where.git_dir, "index")
    lock = f"{index}.lock"
    try:
        os.close(os.open(lock, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except FileExistsError as error:
        raise index_locked(lock) from error
    try:
        os.replace(new, index)
    finally:
        os.unlink(lock)


def _write(path: str, text: str) -> None:
    """Replaces a file, also a link or a pipe in its place. Follows no link, and waits for nobody who reads a pipe."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    with os.fdopen(file, "wb") as writing:
        writing.write(text.encode("utf-8", "replace"))


async def abort_conflict(where: WorkingCopy, head: str, merged: MergedTree) -> None:
    """Puts back the files of a working copy that `leave_in_conflict` changed, completely or in part. It had no
    uncommitted changes then."""
    # The note first, and the index last, for the same reasons as above.
    await git(where.top, *QUIET, "update-ref", "--no-deref", "-d", "MERGE_HEAD", env=where.env)
    async with scratch_index(where, seeded=True) as scratch:
        # So that files which only the merge has are removed.
        await git(where.top, *QUIET, "read-tree", "--reset", merged.tree, env=scratch, timeout=WITHIN)
        await git(where.top, *QUIET, "read-tree", "--reset", "-u", head, env=scratch, timeout=WITHIN)
    await git(where.top, *QUIET, "read-tree", "--reset", "-u", head, env=where.env, timeout=WITHIN)
    with contextlib.suppress(OSError):
        await asyncio.to_thread(os.unlink, os.path.join(where.git_dir, "MERGE_MSG"))
