"""Worktrees as rows: what callers say about them, reading and changing them with their events. What happens to the
folders is `worktree_making` and `worktree_removal`."""

from __future__ import annotations

from typing import Any

import msgspec

from bough.core.store.short_ids import find, find_id
from bough.core.store.sql import REPOS, WORKTREES
from bough.core.store.transactions import Change
from bough.errors import Conflict, Invalid
from bough.model.repo import Repo, Worktree
from bough.model.session import Activity, Status
from bough.storage.backend import Tx

LONGEST_NOTES = 20_000


class NewWorktree(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """A worktree to make, of a branch that is made if it is missing; without a branch one that git has at `path`
    already. `wait: false` answers before its setup is done."""

    repo_id: str
    branch: str | None = None
    path: str | None = None
    base: str | None = None
    name: str | None = None
    notes: str = ""
    board_id: str | None = None
    x: float | None = None
    y: float | None = None
    wait: bool = True
    idempotency_key: str | None = None


class Start(msgspec.Struct, frozen=True):
    """Files that a worktree begins with, as a commit, the commit that they are on top of, and what was asked for, which
    is the same when it is asked for again."""

    sha: str
    head: str
    asked: tuple[str | bool | None, ...] = ()


class SessionWorktree(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """A worktree to make for a new session."""

    branch: str
    path: str | None = None
    base: str | None = None


class WorktreePatch(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Changes to a worktree; what is left out stays, null takes it off its board."""

    name: str | msgspec.UnsetType = msgspec.UNSET
    notes: str | msgspec.UnsetType = msgspec.UNSET
    board_id: str | msgspec.UnsetType | None = msgspec.UNSET
    x: float | msgspec.UnsetType | None = msgspec.UNSET
    y: float | msgspec.UnsetType | None = msgspec.UNSET


class Use(msgspec.Struct, rename="camel"):
    """A session that works in a worktree."""

    id: str
    title: str
    agent: str
    status: Status
    activity: Activity


async def worktree(tx: Tx, worktree_id: str) -> Worktree:
    return await find(tx, "worktrees", worktree_id, WORKTREES.get, Worktree)


async def repo_of(tx: Tx, row: Worktree) -> Repo:
    return await find(tx, "repos", row.repo_id, REPOS.get, Repo)


async def usable(tx: Tx, worktree_id: str) -> Worktree:
    """A worktree that sessions can work in now."""
    found = await worktree(tx, worktree_id)
    if found.removed_at is not None:
        raise Conflict("worktree_removed", f"Worktree {found.name} was removed.")
    if found.status != "ready":
        raise Conflict(
            "worktree_busy",
            f"Worktree {found.name} is not ready yet ({found.status}). Wait for its event worktree.patched.",
            status=found.status,
        )
    return found


async def session_place(tx: Tx, repo_id: str | None, worktree_id: str | None) -> tuple[Repo, Worktree | None]:
    """The repository and, if one was named, the worktree that a session is to work in."""
    if worktree_id is not None:
        found = await usable(tx, worktree_id)
        repo = await repo_of(tx, found)
        if repo_id is not None and await find_id(tx, "repos", repo_id) != repo.id:
            raise Invalid("worktree_of_other_repo", f"Worktree {found.name} belongs to {repo.name}.")
        return repo, found
    if repo_id is None:
        raise Invalid("repo_missing", "Name a repository (repoId) or a worktree (worktreeId) to work in.")
    return await find(tx, "repos", repo_id, REPOS.get, Repo), None


async def update(change: Change, worktree_id: str, **columns: Any) -> Worktree:
    """Changes a worktree and says so."""
    found = await quietly(change, worktree_id, **columns)
    change.emit("worktree.patched", found)
    return found


async def quietly(change: Change, worktree_id: str, **columns: Any) -> Worktree:
    """Changes a worktree; the event is the caller's part."""
    query = WORKTREES.patch.with_(set=", ".join(f"{name} = :{name}" for name in columns))
    found = await change.tx.one(query, Worktree, id=worktree_id, now=change.now, **columns)
    assert found is not None
    return found


def checked_notes(notes: str) -> str:
    if len(notes) > LONGEST_NOTES:
        raise Invalid("notes_too_long", f"Notes have at most {LONGEST_NOTES} characters.")
    return notes
