"""Finds the branch that contains the work of a worktree."""

from __future__ import annotations

from bough.core.finish.folder import WorktreeFolder, find_base
from bough.core.finish.merge import LastMerge
from bough.errors import Conflict
from bough.git.decode import lines
from bough.git.run import git


async def merged_into(folder: WorktreeFolder, last: LastMerge | None) -> str | None:
    """Returns the branch that contains the worktree's last commit: by its `last` merge, also a squash, or because the
    base has it, here or on a remote as far as it was fetched. None if there is no such branch."""
    if last is not None and last.tip == folder.head:
        return last.branch
    try:
        base = await find_base(folder)
    except Conflict:
        return None
    # A branch name has no characters that are special in a pattern.
    names = (f"refs/heads/{base.branch}", f"refs/remotes/*/{base.branch}")
    words = ("for-each-ref", "--format=%(refname)", f"--contains={folder.head}", *names)
    holders = [
        name.removeprefix("refs/heads/").removeprefix("refs/remotes/") for name in lines(await git(folder.path, *words))
    ]
    return next((name for name in holders if name != folder.branch), None)
