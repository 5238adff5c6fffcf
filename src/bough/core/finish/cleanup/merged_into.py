"""Finds the branch that contains the work of a worktree."""

from __future__ import annotations

from bough.core.finish.folder import WorktreeFolder, find_base
from bough.core.finish.last_merge import Merges
from bough.core.finish.remote_branches import RemoteBranches
from bough.core.store.transactions import Store
from bough.errors import Conflict
from bough.git.run import git


async def merged_into(store: Store, folder: WorktreeFolder) -> str | None:
    """Returns the branch that contains the worktree's last commit: by its last merge, also a squash, or because the
    base has it, here or on a remote when Bough last fetched or pushed it. None if there is no such branch."""
    last = await Merges(store).last(folder)
    if last is not None and last.tip == folder.head:
        return last.branch
    try:
        base = await find_base(folder)
    except Conflict:
        return None
    if base.local is not None and base.local != folder.branch and await _contains(folder, f"refs/heads/{base.local}"):
        return base.local
    # Not by `refs/remotes`, which agents can write.
    address = await RemoteBranches(store).holding(folder, base.branch)
    return None if address is None else f"{base.branch} at {address}"


async def _contains(folder: WorktreeFolder, ref: str) -> bool:
    words = ("for-each-ref", "--format=%(refname)", f"--contains={folder.head}", "--", ref)
    return bool((await git(folder.path, *words)).strip())
