"""Reads a working copy's state without writing: its branch, uncommitted files, and commits that exist nowhere else."""

from __future__ import annotations

import contextlib
import os

import msgspec

from bough.git.decode import shown
from bough.git.paths import is_there, relative
from bough.git.run import GitFailed, git

# At most this many of each are listed; the rest are counted.
NAMED = 100


class WorkingCopyStatus(msgspec.Struct):
    """The result of `git status`: every path with its state, including the contents of submodules."""

    branch: str | None = None
    sha: str | None = None
    upstream: str | None = None
    ahead: int = 0
    behind: int = 0
    changed: list[tuple[str, str]] = []
    untracked: list[str] = []


class Commits(msgspec.Struct):
    """Commits on no other branch and no remote: the newest by sha and subject, and their number."""

    named: list[tuple[str, str]]
    total: int


SUBMODULE_CHANGED = "submodule changed"
_WORDS = {"M": "modified", "A": "added", "D": "deleted", "R": "renamed", "C": "copied", "T": "type changed"}


async def files(path: str) -> WorkingCopyStatus:
    """Returns the state of the working copy, including its submodules. Those are scanned one by one, because git would
    start itself there."""
    text = await git(
        *(path, "status", "--porcelain=v2", "--branch", "-z", "--untracked-files=all", "--ignore-submodules=dirty")
    )
    status = _parsed(text)
    known = {name for name, _ in status.changed}
    for inner in await own_submodules(path):
        name = relative(inner, path)
        if name not in known and await _is_dirty(inner):
            status.changed.append((name, SUBMODULE_CHANGED))
    return status


async def _is_dirty(path: str) -> bool:
    status = await files(path)
    return bool(status.changed or status.untracked)


def _parsed(text: str) -> WorkingCopyStatus:
    status = WorkingCopyStatus()
    parts = iter(text.split("\0"))
    for part in parts:
        kind, _, rest = part.partition(" ")
        if kind == "#":
            _head(status, rest)
        elif kind == "1":
            fields = rest.split(" ", 7)
            status.changed.append((fields[7], _word(fields[0], fields[1])))
        elif kind == "2":
            fields = rest.split(" ", 8)
            next(parts, None)
            status.changed.append((fields[8], _word(fields[0], fields[1])))
        elif kind == "u":
            status.changed.append((rest.split(" ", 9)[9], "in conflict"))
        elif kind == "?":
            status.untracked.append(rest)
    return status


def _head(status: WorkingCopyStatus, line: str) -> None:
    name, _, value = line.partition(" ")
    if name == "branch.oid":
        status.sha = None if value == "(initial)" else value
    elif name == "branch.head":
        status.branch = None if value == "(detached)" else value
    elif name == "branch.upstream":
        status.upstream = value
    elif name == "branch.ab":
        ahead, _, behind = value.partition(" ")
        status.ahead, status.behind = int(ahead), -int(behind)


def _word(state: str, module: str) -> str:
    if module.startswith("S") and module != "S...":
        return SUBMODULE_CHANGED
    return _WORDS.get(state.replace(".", "")[:1], "changed")


async def distance(path: str, other: str) -> tuple[int, int] | None:
    """Returns how many commits HEAD is ahead of and behind `other`."""
    with contextlib.suppress(GitFailed, ValueError):
        counts = await git(path, "rev-list", "--left-right", "--count", "--end-of-options", f"HEAD...{other}")
        ahead, behind = counts.split()
        return int(ahead), int(behind)
    return None


async def own_commits(path: str, branch: str | None, *, remotes_only: bool = False) -> Commits:
    """Returns the commits of HEAD that only this branch has, or that no branch has if HEAD is detached. With
    `remotes_only`, for a repository that goes as a whole, its other branches and its stash count too."""
    if remotes_only:
        # Tags do not count: those that came with a clone are often on no branch.
        ours, held_by = ["HEAD", "refs/stash", "--branches"], list[str]()
    else:
        ours, held_by = ["HEAD"], [*([f"--exclude={branch}"] if branch else []), "--branches"]
    # Without a commit there is no HEAD and nothing to lose; a file may be called HEAD.
    selection = ["--ignore-missing", *ours, "--not", *held_by, "--remotes", "--"]
    total = int(await git(path, "rev-list", "--count", *selection))
    if not total:
        return Commits([], 0)
    text = await git(path, "log", "-z", f"--max-count={NAMED}", "--no-show-signature", "--format=%H %s", *selection)
    lines = [line.partition(" ") for line in text.split("\0") if line]
    return Commits([(sha, shown(subject)) for sha, _, subject in lines], total)


async def submodules(path: str) -> list[str]:
    """Returns the checked-out submodules of a working copy, including nested ones."""
    nested: list[str] = []
    for inner in await own_submodules(path):
        nested += [inner, *await submodules(inner)]
    return nested


async def own_submodules(path: str) -> list[str]:
    """Returns the direct submodules only."""
    lines = [line.partition(" ") for line in (await git(path, "ls-files", "--stage", "-z")).split("\0")]
    # One in conflict is listed more than once.
    named = dict.fromkeys(rest.partition("\t")[2] for mode, _, rest in lines if mode == "160000")
    return [inner for name in named if is_there(inner := os.path.join(path, name), ".git")]
