"""Adds a new worktree to git and checks out its files."""

from __future__ import annotations

from pathlib import Path

import structlog

from bough.core.worktrees.records import StartFiles
from bough.git import worktree_recovery
from bough.git import worktrees as git
from bough.git.run import GitFailed, Needs
from bough.git.run import git as run_git
from bough.git.safe import permissions
from bough.git.safe.location import find as find_location
from bough.model.repo import Repo

log = structlog.get_logger("bough.worktrees")


async def check_out(
    repo: Repo, common: str, path: Path, branch: git.GitBranch, lock: int, start: StartFiles | None
) -> str | None:
    """Runs git and writes the initial files. Returns the error of a failed hook."""
    hook_error = await add_keeping_hooks(repo.path, str(path), branch, None, lock)
    await git.exclude(common, repo.path, str(path))
    if start is not None:
        await worktree_recovery.restore(str(path), start.sha)
    if (path / ".gitmodules").exists() and permissions.allowed(find_location(str(path))).submodules:
        # Writes to the configuration that all worktrees share; the clone itself can wait.
        try:
            await run_git(str(path), "submodule", "--quiet", "init", needs=Needs(network=True))
        except GitFailed as error:
            log.warning("submodules_not_initialized", path=str(path), error=error.message)
    return hook_error


async def add_keeping_hooks(
    repo: str, path: str, branch: git.GitBranch | None, sha: str | None, lock: int | None
) -> str | None:
    """Runs `git worktree add`. If git fails but the worktree is complete, only a hook failed, and its error is
    returned. Git itself cleans up what it could not finish."""
    try:
        await git.add(repo, path, branch, sha, lock)
    except GitFailed as error:
        listed = await git.find_worktree(repo, path) if error.code == "git_failed" else None
        if listed is None or listed.locked is not None or listed.prunable:
            raise
        return f"The post-checkout hook failed: {error.message}"
    return None
