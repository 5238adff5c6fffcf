"""Looking at a folder: is it a repository, what is its default branch, where does it stand. Nothing here writes."""

from __future__ import annotations

import msgspec

from bough.git.run import GitFailed, git
from bough.model.repo import GitState, RepoKind


class Found(msgspec.Struct):
    """What a folder turned out to be."""

    kind: RepoKind
    default_branch: str | None


async def inspect(path: str) -> Found:
    """What the folder is: a git repository (its top, bare or not), or a plain folder."""
    try:
        await git(path, "rev-parse", "--git-dir")
    except GitFailed:
        return Found("plain", None)
    return Found("git", await default_branch(path))


async def top_level(path: str) -> str | None:
    """The top folder of the working copy that `path` lies in; none if it lies in none."""
    try:
        return (await git(path, "rev-parse", "--show-toplevel")).rstrip("\n") or None
    except GitFailed:
        return None


async def default_branch(path: str) -> str | None:
    """The branch that the remote names as its head, else the one that is checked out."""
    for arguments in (
        ("symbolic-ref", "--quiet", "--short", "refs/remotes/origin/HEAD"),
        ("symbolic-ref", "--quiet", "--short", "HEAD"),
    ):
        try:
            name = (await git(path, *arguments)).strip()
        except GitFailed:
            continue
        return name.removeprefix("origin/")
    return None


async def state(path: str) -> GitState:
    """Branch, commit and whether anything is uncommitted; an empty state for a plain folder."""
    try:
        text = await git(path, "status", "--porcelain=v2", "--branch", "--untracked-files=normal")
    except GitFailed:
        return GitState()
    found = GitState()
    for line in text.splitlines():
        if line.startswith("# branch.oid "):
            sha = line.removeprefix("# branch.oid ")
            found.sha = None if sha == "(initial)" else sha
        elif line.startswith("# branch.head "):
            head = line.removeprefix("# branch.head ")
            found.branch = None if head == "(detached)" else head
        elif not line.startswith("#"):
            found.dirty = True
            break
    return found
