"""Reads the state of a worktree from git: its branch, its changes, how far it is from its base, and what a recovery can
restore."""

from __future__ import annotations

from typing import Literal

from bough.errors import Conflict
from bough.git import worktrees as git
from bough.git.decode import shown
from bough.git.paths import is_folder
from bough.git.working_copy.status import distance, files
from bough.model.repo import Repo, Worktree, WorktreeState


async def read_state(row: Worktree, repo: Repo) -> WorktreeState:
    """Reads the worktree's state from git."""
    if not is_folder(row.path):
        return WorktreeState(branch=row.branch, missing=True)
    status = await files(row.path)
    entry = await git.find_worktree(repo.path, row.path)
    state = WorktreeState(
        branch=status.branch,
        sha=status.sha,
        dirty=bool(status.changed or status.untracked),
        changed=len(status.changed),
        untracked=len(status.untracked),
        locked=shown(entry.locked) if entry is not None and entry.locked is not None else None,
    )
    if status.upstream is not None:
        state.ahead, state.behind, state.against = status.ahead, status.behind, status.upstream
        return state
    for other in (row.base_ref, row.base_sha):
        counted = await distance(row.path, other) if other else None
        if counted is not None:
            state.ahead, state.behind = counted
            state.against = other
            break
    return state


async def find_recoverable(row: Worktree, repo: Repo) -> tuple[git.GitBranch | None, str | None, str | None]:
    """Returns what a recovery restores: the branch to check out or else the commit, and the snapshot of the files."""
    # By its commit: agents can write the ref.
    name = row.recovery_sha or row.recovery_ref
    snapshot = await git.resolve(repo.path, name) if name else None
    head = await git.resolve(repo.path, f"{snapshot}^1") if snapshot else None
    tip = await git.resolve(repo.path, f"refs/heads/{row.branch}") if row.branch else None
    head = head or (snapshot if snapshot else tip)
    if head is None:
        raise Conflict("nothing_to_recover", f"Nothing of worktree {row.name} was kept, and its branch is gone.")
    # Git checks out no branch of such a name, although one can be there.
    if row.branch is None or row.branch.startswith("-"):
        return None, head, snapshot
    if tip is None:
        return _branch(row.branch, "new", head, row), None, snapshot
    if tip == head and await git.checked_out_at(repo.path, row.branch) is None:
        return _branch(row.branch, "local", head, row), None, snapshot
    name, number = f"{row.branch}-recovered", 1
    while await git.resolve(repo.path, f"refs/heads/{name}") is not None:
        number += 1
        name = f"{row.branch}-recovered-{number}"
    return _branch(name, "new", head, row), None, snapshot


def _branch(name: str, kind: Literal["new", "local"], head: str, row: Worktree) -> git.GitBranch:
    return git.GitBranch(name, kind, head, head, row.base_ref, row.base_sha)
