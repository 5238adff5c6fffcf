"""Commits a working copy's files as they are, and merges a commit into another branch completely or not at all."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Literal

import msgspec

from bough.errors import Conflict
from bough.git.decode import shown
from bough.git.finish.merge_trees import merge_trees
from bough.git.finish.move import move_checkout, touched_files, unfinished
from bough.git.finish.own_changes import Preparation, own_changes
from bough.git.paths import is_there
from bough.git.run import GitFailed, Needs, git
from bough.git.safe import permissions
from bough.git.safe.location import find
from bough.git.working_copy.snapshot import IDENTITY, QUIET, WorkingCopy, take, working_copy
from bough.git.working_copy.status import files
from bough.git.worktrees import resolve

# For writing every file of a large working copy.
WITHIN = 600.0
MOST_NAMED = 100
# Dated now.
_OURS = {name: value for name, value in IDENTITY.items() if not name.endswith("DATE")}
# Overrides whatever the user configured for their own merges.
_MERGE = ("merge", "--quiet", "--ff", "--commit", "--no-squash", "--no-edit", "--no-stat", "--no-verify")

Merged = Literal["fast_forward", "merge", "none"]


class Prepared(msgspec.Struct, frozen=True):
    """A commit of all files of a working copy that no branch points to yet; HEAD if nothing is uncommitted."""

    sha: str
    head: str

    @property
    def new(self) -> bool:
        return self.sha != self.head


class MergePlan(msgspec.Struct, frozen=True):
    """A merge that can be done: the branch, the commit it starts from and the files it changes."""

    branch: str
    kind: Merged
    files: list[str]


async def prepare(path: str, message: str, made: Preparation | None = None) -> Prepared:
    """Creates the commit and changes nothing else. Leaves out what only the preparation of the files changed."""
    torn = [shown(name) for name, state in (await files(path)).changed if state == "in conflict"]
    if torn:
        raise Conflict("merge_blocked", f"Files in {path} are in conflict: {', '.join(torn)}.", files=torn)
    shot = await take(path)
    if shot.head is None:
        raise Conflict("no_commit", f"{path} has no commit yet.")
    before = (await git(path, "rev-parse", "--verify", f"{shot.head}^{{tree}}")).strip()
    tree = await own_changes(path, made, shot.tree) if made is not None else shot.tree
    if before == tree:
        return Prepared(shot.head, shot.head)
    words = ("commit-tree", tree, "-p", shot.head)
    stdin = message.encode("utf-8", "replace")
    return Prepared((await git(path, *QUIET, *words, env=await identity(path), stdin=stdin)).strip(), shot.head)


async def settle(path: str, prepared: Prepared) -> None:
    """Moves the branch to its new commit. The files stay the same."""
    if prepared.new:
        note = ("-m", "commit: bough race", "HEAD", prepared.sha, prepared.head)
        await git(path, *QUIET, "update-ref", *note, env=await identity(path))
        await git(path, *QUIET, "reset", "--quiet", timeout=WITHIN)


async def identity(path: str) -> dict[str, str]:
    """Returns nothing if the user has configured a git identity, or else variables that name Bough."""
    try:
        await git(path, "-c", "user.useConfigOnly=true", "var", "GIT_COMMITTER_IDENT")
    except GitFailed:
        return _OURS
    return {}


async def check(path: str, sha: str) -> MergePlan:
    """Refuses a merge that would stop halfway or lose something. Changes nothing."""
    where = await working_copy(path)
    try:
        branch = (await git(path, "symbolic-ref", "--quiet", "--short", "HEAD")).strip()
    except GitFailed:
        raise Conflict("merge_blocked", f"No branch is checked out at {path} that could be merged into.") from None
    if unfinished(where) is not None:
        raise Conflict("merge_blocked", f"A merge or rebase is in progress at {path}. Finish it first.")
    head = await resolve(path, "HEAD")
    if head is None:
        raise Conflict("merge_blocked", f"There is no commit yet at {path} that could be merged into.")
    base = (await git(path, "merge-base", head, sha, fine=(0, 1))).strip()
    if not base:
        raise Conflict("merge_blocked", f"The winner's branch and {branch} have no commit in common.")
    if base == sha:
        return MergePlan(branch, "none", [])
    tree = sha if base == head else await _tree(path, head, sha, branch)
    touched, blocked = msgspec.structs.astuple(await touched_files(where, head, tree))
    if blocked:
        named = [shown(name) for name in blocked[:MOST_NAMED]]
        raise Conflict(
            "merge_blocked",
            f"{len(blocked)} files that the merge would change are not committed at {path}: {', '.join(named)}. Commit "
            "or move them, or keep the winner another way (checkout with force, or branch).",
            files=named,
        )
    return MergePlan(branch, "fast_forward" if base == head else "merge", touched)


async def _tree(path: str, head: str, sha: str, branch: str) -> str:
    """Returns the tree that the merge results in, or raises `Conflict` with the conflicting files."""
    merged = await merge_trees(path, head, sha)
    named = list(map(shown, merged.conflicts))
    if named:
        raise Conflict(
            "merge_conflict",
            f"{len(named)} files were changed on both sides: {', '.join(named[:MOST_NAMED])}. Nothing was merged. "
            f"Merge into {branch} by hand, or keep the winner another way (checkout, or branch).",
            files=named[:MOST_NAMED],
        )
    return merged.tree


async def merge(path: str, sha: str, message: str) -> None:
    """Performs a checked merge. If git refuses it anyway, everything stays as it was. Hooks run if a person allowed
    that."""
    where = await working_copy(path)
    how = _merge_with_hooks if permissions.allowed(await asyncio.to_thread(find, path)).hooks else _merge_without_hooks
    try:
        await how(where, sha, message)
    except GitFailed as error:
        raise Conflict("merge_blocked", f"Git refused the merge, and nothing was changed. {error.message}") from error


async def _merge_without_hooks(where: WorkingCopy, sha: str, message: str) -> None:
    """Merges with commands that start no program, unlike `git merge`."""
    head = (await git(where.top, "rev-parse", "--verify", "HEAD^{commit}", env=where.env)).strip()
    base = (await git(where.top, "merge-base", head, sha, env=where.env)).strip()
    merged, note = sha, "Fast-forward"
    if base != head:
        tree = await _tree(where.top, head, sha, "the branch")
        words = ("commit-tree", tree, "-p", head, "-p", sha)
        env = where.env | await identity(where.top)
        merged = (await git(where.top, *words, env=env, stdin=f"{message}\n".encode("utf-8", "replace"))).strip()
        note = "Merge made by Bough"
    await move_checkout(where, head, merged, f"merge {sha}: {note}", await identity(where.top))


async def _merge_with_hooks(where: WorkingCopy, sha: str, message: str) -> None:
    words = (*QUIET, "-c", "merge.autoStash=false", *_MERGE, "-m", message, sha)
    try:
        env = await identity(where.top)
        await git(where.top, *words, env=env, timeout=WITHIN, needs=Needs(hooks=True))
    except GitFailed:
        if is_there(where.git_dir, "MERGE_HEAD"):
            with contextlib.suppress(GitFailed):
                await git(where.top, *QUIET, "merge", "--abort", timeout=WITHIN, needs=Needs(children=True))
        raise
