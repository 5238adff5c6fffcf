"""Puts a working copy into the state that `git merge` leaves after a conflict, without running a program: files with
conflict markers, their sides in the index, and the note that a merge is in progress."""

from __future__ import annotations

import asyncio
import contextlib
import os

from bough.git.finish.merge_trees import MergedTree
from bough.git.run import git
from bough.git.working_copy.snapshot import QUIET, WorkingCopy

# For writing every file of a large working copy.
WITHIN = 600.0


async def leave_in_conflict(where: WorkingCopy, head: str, theirs: str, merged: MergedTree, message: str) -> None:
    """Writes the files of a merge with conflicts. The caller has checked that nothing is overwritten."""
    await git(where.top, *QUIET, "update-index", "-q", "--refresh", env=where.env, timeout=WITHIN, fine=(0, 1))
    # First, so that whoever finds the files knows what they are.
    await asyncio.to_thread(_write, os.path.join(where.git_dir, "MERGE_MSG"), f"{message}\n")
    await git(where.top, *QUIET, "update-ref", "--no-deref", "MERGE_HEAD", theirs, env=where.env)
    await git(where.top, *QUIET, "read-tree", "-m", "-u", head, merged.tree, env=where.env, timeout=WITHIN)
    none = "0" * len(head)
    lines = [f"0 {none}\t{path}\0" for path in merged.conflicts]
    lines += [f"{entry.mode} {entry.sha} {entry.stage}\t{entry.path}\0" for entry in merged.entries]
    stdin = "".join(lines).encode("utf-8", "surrogateescape")
    await git(where.top, *QUIET, "update-index", "-z", "--index-info", env=where.env, stdin=stdin, timeout=WITHIN)


def _write(path: str, text: str) -> None:
    """Replaces a file, also a link or a pipe in its place. Follows no link, and waits for nobody who reads a pipe."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    with os.fdopen(file, "wb") as writing:
        writing.write(text.encode("utf-8", "replace"))


async def abort_conflict(where: WorkingCopy, head: str) -> None:
    """Puts back the files of a working copy that `leave_in_conflict` changed. It had no uncommitted changes then."""
    await git(where.top, *QUIET, "read-tree", "--reset", "-u", head, env=where.env, timeout=WITHIN)
    await git(where.top, *QUIET, "update-ref", "--no-deref", "-d", "MERGE_HEAD", env=where.env)
