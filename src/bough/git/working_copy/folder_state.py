"""Inspects a folder without writing: whether it is a repository, its default branch and its state."""

from __future__ import annotations

import msgspec

from bough.git.decode import lines
from bough.git.refs.default_branch import default_branch
from bough.git.run import GitFailed, git
from bough.git.safe.location import is_bare as looks_bare
from bough.model.repo import GitState, RepoKind


class InspectedFolder(msgspec.Struct):
    """The kind of folder that was found."""

    kind: RepoKind
    default_branch: str | None
    bare: bool = False


async def inspect(path: str) -> InspectedFolder:
    """Returns whether the folder is a git repository (its top folder, bare or not) or a plain folder."""
    try:
        bare = await is_bare(path)
        await git(path, "rev-parse", "--git-dir", env={"GIT_DIR": path} if bare else None)
    except GitFailed:
        return InspectedFolder("plain", None)
    return InspectedFolder("git", await default_branch(path, bare=bare), bare)


async def is_bare(path: str) -> bool:
    """Tells whether the folder itself is a repository without a working copy, as git sees it."""
    if not looks_bare(path):
        return False
    try:
        answer = await git(path, "rev-parse", "--is-bare-repository", env={"GIT_DIR": path})
    except GitFailed:
        return False
    return answer.strip() == "true"


async def top_level(path: str) -> str | None:
    """Returns the top folder of the working copy that contains `path`, if any."""
    try:
        return (await git(path, "rev-parse", "--show-toplevel")).rstrip("\n") or None
    except GitFailed:
        return None


async def state(path: str) -> GitState:
    """Returns branch, commit and whether anything is uncommitted; an empty state for a plain folder."""
    try:
        words = ("--porcelain=v2", "--branch", "--untracked-files=normal", "--ignore-submodules=dirty")
        text = await git(path, "status", *words)
    except GitFailed:
        return GitState()
    status = GitState()
    for line in lines(text):
        if line.startswith("# branch.oid "):
            sha = line.removeprefix("# branch.oid ")
            status.sha = None if sha == "(initial)" else sha
        elif line.startswith("# branch.head "):
            head = line.removeprefix("# branch.head ")
            status.branch = None if head == "(detached)" else head
        elif not line.startswith("#"):
            status.dirty = True
            break
    return status
