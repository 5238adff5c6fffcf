"""Defines requests about worktrees, and reads and changes their rows with the matching events."""

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
    """A worktree to create. A missing branch is created. Without a branch, the worktree that git has at `path` is
    adopted. With `wait: false` the response does not wait for the setup."""

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


class StartFiles(msgspec.Struct, frozen=True):
    """The files a worktree starts with, as a commit; the commit they are based on; and the parts of the request that
    identify a repeat."""

    sha: str
    head: str
    asked: tuple[str | bool | None, ...] = ()


class SessionWorktree(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """A worktree to create for a new session."""

    branch: str
    path: str | None = None
    base: str | None = None


class WorktreePatch(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """Changes to a worktree. Omitted fields stay; `boardId: null` takes it off its board."""

    name: str | msgspec.UnsetType = msgspec.UNSET
    notes: str | msgspec.UnsetType = msgspec.UNSET
    board_id: str | msgspec.UnsetType | None = msgspec.UNSET
    x: float | msgspec.UnsetType | None = msgspec.UNSET
    y: float | msgspec.UnsetType | None = msgspec.UNSET


class SessionUse(msgspec.Struct, rename="camel"):
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
    """Returns a worktree that is ready for sessions, or raises `Conflict`."""
    row = await worktree(tx, worktree_id)
    if row.removed_at is not None:
        raise Conflict("worktree_removed", f"Worktree {row.name} was removed.")
    if row.status != "ready":
        raise Conflict(
            "worktree_busy",
            f"Worktree {row.name} is not ready yet ({row.status}). Wait for its `worktree.patched` event.",
            status=row.status,
        )
    return row


async def session_folder(tx: Tx, repo_id: str | None, worktree_id: str | None) -> tuple[Repo, Worktree | None]:
    """Returns the repository and, if given, the worktree for a session."""
    if worktree_id is not None:
        row = await usable(tx, worktree_id)
        repo = await repo_of(tx, row)
        if repo_id is not None and await find_id(tx, "repos", repo_id) != repo.id:
            raise Invalid(
                "worktree_of_other_repo", f"Worktree {row.name} belongs to the repo {repo.name}. Send no repoId."
            )
        return repo, row
    if repo_id is None:
        raise Invalid("repo_missing", "Give a repository (repoId) or a worktree (worktreeId).")
    return await find(tx, "repos", repo_id, REPOS.get, Repo), None


async def update(change: Change, worktree_id: str, **columns: Any) -> Worktree:
    """Changes a worktree and emits its event."""
    row = await quietly(change, worktree_id, **columns)
    change.emit("worktree.patched", row)
    return row


async def quietly(change: Change, worktree_id: str, **columns: Any) -> Worktree:
    """Changes a worktree without an event; the caller emits one."""
    query = WORKTREES.patch.setting(columns)
    row = await change.tx.one(query, Worktree, id=worktree_id, now=change.now, **columns)
    assert row is not None
    return row


def checked_notes(notes: str) -> str:
    if len(notes) > LONGEST_NOTES:
        raise Invalid("notes_too_long", f"Notes may have at most {LONGEST_NOTES} characters.")
    return notes
