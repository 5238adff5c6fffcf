"""Previews the removal of a worktree: what would be lost, and whether it would be refused (O4, W2)."""

from __future__ import annotations

import msgspec

from bough.core.store.sql import WORKTREES
from bough.core.store.transactions import Store
from bough.core.worktrees import records
from bough.core.worktrees.records import SessionUse
from bough.core.worktrees.removal import refusals
from bough.core.worktrees.removal.losses import OwnWork, find_lost
from bough.errors import BoughError
from bough.git import worktrees as git
from bough.git.paths import below, is_folder, is_there
from bough.model.repo import Repo, Worktree
from bough.storage.backend import Tx

# At most this many of each are listed; the rest are counted.
NAMED = 50


class OwnCommit(msgspec.Struct):
    """A commit that is on no other branch and on no remote."""

    sha: str
    subject: str


class LossCounts(msgspec.Struct, rename="camel"):
    """Counts what would be lost and who is working there."""

    uncommitted: int
    untracked: int
    unpushed: int
    sessions: int


class Losses(msgspec.Struct, rename="camel"):
    """Lists what only this worktree has, the active sessions in it, and whether it can be removed without force.

    `why` gives the reason in a sentence. A forced removal keeps everything listed here on a recovery ref."""

    uncommitted: list[str]
    untracked: list[str]
    unpushed: list[OwnCommit]
    counts: LossCounts
    sessions: list[str]
    removable: bool
    why: str


async def losses(store: Store, worktree_id: str, besides: str | None = None) -> Losses:
    """Returns what would be lost. The session `besides` is about to end and does not count."""

    async def work(tx: Tx) -> tuple[Worktree, Repo, list[SessionUse]]:
        row = await records.worktree(tx, worktree_id)
        if error := refusals.removed(row):
            raise error
        uses = await tx.all(WORKTREES.active_sessions, SessionUse, id=row.id, path=row.path)
        return row, await records.repo_of(tx, row), [use for use in uses if use.id != besides]

    row, repo, uses = await store.read(work)
    lost, refusal = await _inspect(row, repo)
    if lost is not None and row.made_by_bough:
        refusal = refusal or refusals.dirty(row, lost)
    refusal = refusals.in_use(row, uses) or refusal
    changed = [file["path"] for file in lost.files if file["state"] != "untracked"] if lost else []
    untracked = [file["path"] for file in lost.files if file["state"] == "untracked"] if lost else []
    commits = [OwnCommit(commit["sha"], commit["subject"]) for commit in lost.commits] if lost else []
    return Losses(
        uncommitted=changed[:NAMED],
        untracked=untracked[:NAMED],
        unpushed=commits[:NAMED],
        counts=LossCounts(len(changed), len(untracked), len(commits) + (lost.more_commits if lost else 0), len(uses)),
        sessions=[use.id for use in uses][:NAMED],
        removable=refusal is None,
        why=refusal.message if refusal else _harmless(row),
    )


async def _inspect(row: Worktree, repo: Repo) -> tuple[OwnWork | None, BoughError | None]:
    """Returns what the worktree holds, as far as git can tell, and what else prevents its removal."""
    if error := refusals.busy(row, force=False):
        return None, error
    if not is_folder(row.path):
        return None, None
    try:
        listed = await git.find_worktree(repo.path, row.path)
        inside = [other.path for other in await git.list_worktrees(repo.path) if below(other.path, row.path)]
    except BoughError as error:
        return None, error
    if listed is None:
        return None, refusals.unknown_to_git(row, repo) if row.made_by_bough and is_there(row.path) else None
    lost = await find_lost(row, listed)
    if not row.made_by_bough:
        return lost, None
    return lost, refusals.locked(row, listed) or refusals.holds_others(row, inside)


def _harmless(row: Worktree) -> str:
    """Says why nothing would be lost."""
    if not row.made_by_bough:
        return "Bough did not create this worktree: it is removed from the list only, and its folder stays."
    if not is_folder(row.path):
        return "Its folder no longer exists."
    return "Nothing would be lost."
