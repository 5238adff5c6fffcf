"""Finds the default branch of a repository, bare or not."""

from __future__ import annotations

from bough.git.run import GitFailed, git


async def default_branch(path: str, *, bare: bool = False) -> str | None:
    """Returns the branch that the remote names as its head, or else the one that is checked out."""
    for arguments in (
        ("symbolic-ref", "--quiet", "--short", "refs/remotes/origin/HEAD"),
        ("symbolic-ref", "--quiet", "--short", "HEAD"),
    ):
        try:
            name = (await git(path, *arguments, env={"GIT_DIR": path} if bare else None)).strip()
        except GitFailed:
            continue
        return name.removeprefix("origin/")
    return None
