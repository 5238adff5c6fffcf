"""Previews a worktree while a person types: the same plan as `create`, without doing anything (O4). Suggests another
name where the given one is not possible."""

from __future__ import annotations

import os
import re
from pathlib import Path

import msgspec

from bough.core.store.short_ids import find
from bough.core.store.sql import REPOS
from bough.core.store.transactions import Store
from bough.core.worktrees.creation.create import FOLDER, WorktreeCreation
from bough.core.worktrees.records import NewWorktree
from bough.errors import BoughError, NotFound
from bough.git import worktrees as git
from bough.git.paths import is_there, real
from bough.model.repo import Repo
from bough.settings import Settings

# How many names are tried before giving up on a suggestion.
TRIES = 20
LONGEST = 60
# Errors that another name or number can avoid.
CURABLE = frozenset({"branch_in_use", "path_exists", "bad_branch"})


class Preview(msgspec.Struct, rename="camel"):
    """The path and branch of the worktree, or the reason it cannot be created and a name that would work."""

    path: str
    branch: str
    branch_exists: bool
    path_exists: bool
    problem: str | None
    code: str | None
    suggestion: str | None


async def preview(store: Store, settings: Settings, creation: WorktreeCreation, new: NewWorktree) -> Preview:
    """Returns what `POST /api/worktrees` would do with the same fields."""
    repo = await store.read(lambda tx: find(tx, "repos", new.repo_id, REPOS.get, Repo))
    new = msgspec.structs.replace(new, branch=(new.branch or "").strip(), path=new.path or None)
    if not new.branch:
        message = "Give a branch for the worktree."
        return Preview(_intended_path(repo, new), "", False, False, message, "branch_missing", None)
    try:
        _, branch, path = await creation.plan(new)
        return Preview(str(path), branch.name, branch.kind != "new", False, None, None, None)
    except NotFound:
        raise
    except BoughError as problem:
        error = problem
    path = _intended_path(repo, new)
    # Reveals nothing about paths outside the root, not even where links lead.
    inside = Path(real(str(settings.root_path))) in Path(real(path)).parents
    return Preview(
        path=real(path) if inside else path,
        branch=new.branch,
        branch_exists=await _exists(repo, new.branch),
        path_exists=inside and is_there(path),
        problem=error.message,
        code=error.code,
        suggestion=await _suggestion(creation, new) if error.code in CURABLE and new.path is None else None,
    )


def _intended_path(repo: Repo, new: NewWorktree) -> str:
    path = new.path or os.path.join(FOLDER, new.branch or "")
    if "\0" in path:
        return repo.path
    return os.path.normpath(os.path.join(repo.path, os.path.expanduser(path)))


async def _exists(repo: Repo, branch: str) -> bool:
    try:
        await git.checked_branch(repo.path, branch)
        return await git.resolve(repo.path, f"refs/heads/{branch}") is not None
    except BoughError:
        return False


async def _suggestion(creation: WorktreeCreation, new: NewWorktree) -> str | None:
    """Returns the first similar name that would work, with its path."""
    stem = re.sub(r"[^\w./+-]+", "-", new.branch or "", flags=re.ASCII).strip("-./")
    stem = re.sub(r"/{2,}|\.{2,}", "-", stem)[:LONGEST]
    if not stem:
        return None
    for name in (stem, *(f"{stem}-{number}" for number in range(2, TRIES))):
        if name == new.branch:
            continue
        try:
            _, branch, _ = await creation.plan(msgspec.structs.replace(new, branch=name, path=None))
        except BoughError as error:
            if error.code not in CURABLE:
                return None
            continue
        if branch.kind == "new":
            return name
    return None
