"""Finds what would be lost with a worktree: uncommitted files, and commits on no other branch or remote (W2)."""

from __future__ import annotations

import msgspec

from bough.git.decode import shown
from bough.git.paths import relative
from bough.git.working_copy.status import files, own_commits, submodules
from bough.git.worktrees import ListedWorktree
from bough.model.repo import Worktree


class OwnWork(msgspec.Struct):
    """Lists the files and commits that only this worktree has."""

    files: list[dict[str, str]]
    commits: list[dict[str, str]]
    more_commits: int
    submodules: bool


async def find_lost(row: Worktree, listed: ListedWorktree) -> OwnWork:
    """Returns what only this worktree has, including its submodules."""
    status = await files(row.path)
    own = await own_commits(row.path, listed.branch)
    named: list[dict[str, str]] = [{"path": shown(name), "state": state} for name, state in status.changed]
    named += [{"path": shown(name), "state": "untracked"} for name in status.untracked]
    commits: list[dict[str, str]] = [{"sha": sha, "subject": subject} for sha, subject in own.named]
    more = own.total - len(own.named)
    inner = await submodules(row.path)
    for path in inner:
        # A submodule's repository, with all its branches, belongs to this worktree alone.
        commits_inside = await own_commits(path, None, remotes_only=True)
        prefix = shown(relative(path, row.path))
        commits += [{"sha": sha, "subject": f"{prefix}: {subject}"} for sha, subject in commits_inside.named]
        more += commits_inside.total - len(commits_inside.named)
    return OwnWork(named, commits, more, bool(inner))
