"""Stores checkpoints on hidden refs, so that git does not garbage-collect their commits."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

from bough.git.decode import lines
from bough.git.run import GitFailed, git
from bough.git.working_copy.snapshot import IN_USE, QUIET, SCRATCH

PREFIX = "refs/bough/checkpoints"
# No reflog: these refs are created once and deleted once.
_REFS = (*QUIET, "-c", "core.logAllRefUpdates=false", "update-ref", "--no-deref", "-z", "--stdin")
# A temporary index this old was left by a killed process, though another process has its number now.
STALE = 24 * 3600


def ref_name(session_id: str, task_id: str, moment: str) -> str:
    """Returns the ref of a checkpoint: one per moment of a task."""
    return f"{PREFIX}/{session_id}/{task_id}/{moment}"


async def keep(path: str, refs: Mapping[str, str]) -> None:
    """Points refs to commits, all or none."""
    words = "".join(f"update {ref}\0{sha}\0\0" for ref, sha in refs.items())
    await git(path, *_REFS, stdin=words.encode())


async def drop(path: str, refs: Iterable[str]) -> None:
    """Deletes refs. Missing ones are ignored."""
    words = "".join(f"delete {ref}\0\0" for ref in dict.fromkeys(refs))
    if words:
        await git(path, *_REFS, stdin=words.encode("utf-8", "surrogateescape"))


async def all_refs(path: str) -> set[str]:
    """Returns the refs of all checkpoints of a repository."""
    return set(lines(await git(path, "for-each-ref", "--format=%(refname)", PREFIX)))


async def held(path: str, sha: str) -> bool:
    """Tells whether a commit still exists."""
    try:
        await git(path, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{sha}^{{tree}}")
    except GitFailed:
        return False
    return True


def sweep(git_dir: str) -> int:
    """Deletes the temporary indexes that killed processes left in a working copy's private folder."""
    swept = 0
    for path in Path(git_dir).glob(f"{SCRATCH}*"):
        with contextlib.suppress(OSError):
            if not _is_in_use(path):
                path.unlink()
                swept += 1
    return swept


def _is_in_use(path: Path) -> bool:
    process, _, _ = path.name.removeprefix(SCRATCH).partition("-")
    if process == str(os.getpid()):
        # Also a server that was killed may have had this number.
        return str(path).removesuffix(".lock") in IN_USE
    # By the time when the file was created: its other time is copied from the real index.
    return Path("/proc", process).exists() and path.stat().st_ctime >= time.time() - STALE
