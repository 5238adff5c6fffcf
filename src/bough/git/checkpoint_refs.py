"""Checkpoints in the repository: hidden refs that hold snapshots against git's own clearing up. Taking a snapshot is
`snapshot`, bringing one back `restore`, which are kept and how long `bough.core`."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

from bough.git.run import GitFailed, git
from bough.git.snapshot import QUIET, SCRATCH

PREFIX = "refs/bough/checkpoints"
# No notes about the refs either: they are made once and dropped once.
_REFS = (*QUIET, "-c", "core.logAllRefUpdates=false", "update-ref", "--no-deref", "-z", "--stdin")
# An index of ours this old was left behind by a process that was killed.
STALE = 24 * 3600


def ref_name(session_id: str, task_id: str, moment: str) -> str:
    """The ref of a checkpoint; one moment of a task has one."""
    return f"{PREFIX}/{session_id}/{task_id}/{moment}"


async def keep(path: str, refs: Mapping[str, str]) -> None:
    """Points refs to commits, all or none."""
    words = "".join(f"update {ref}\0{sha}\0\0" for ref, sha in refs.items())
    await git(path, *_REFS, stdin=words.encode())


async def drop(path: str, refs: Iterable[str]) -> None:
    """Forgets refs; those that are gone already are fine."""
    words = "".join(f"delete {ref}\0\0" for ref in dict.fromkeys(refs))
    if words:
        await git(path, *_REFS, stdin=words.encode())


async def held(path: str, sha: str) -> bool:
    """Whether a commit is still there."""
    try:
        await git(path, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{sha}^{{tree}}")
    except GitFailed:
        return False
    return True


def sweep(git_dir: str) -> int:
    """Removes what killed processes have left in the private folder of a working copy."""
    swept = 0
    for left in Path(git_dir).glob(f"{SCRATCH}*"):
        with contextlib.suppress(OSError):
            if os.stat(left).st_mtime < time.time() - STALE:
                left.unlink()
                swept += 1
    return swept
