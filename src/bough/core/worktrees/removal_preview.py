"""What removing a worktree would lose, and whether it would be refused, for the dialog that asks (O4, W2). Removing it
is `worktree_removal`, which looks again."""

from __future__ import annotations

import msgspec

from bough.core.store.sql import WORKTREES
from bough.core.store.transactions import Store
from bough.core.worktrees import records as rows
from bough.core.worktrees.losses import Lost, lost
from bough.core.worktrees.records import Use
from bough.errors import BoughError, Conflict
from bough.git import worktrees as git
from bough.git.decode import shown
from bough.git.paths import below, is_folder, is_there
from bough.model.repo import Repo, Worktree
from bough.storage.backend import Tx

# What is named of each; the rest is counted.
NAMED = 50


class OwnCommit(msgspec.Struct):
    """A commit that is on no other branch and on no remote."""

    sha: str
    subject: str


class LossCounts(msgspec.Struct, rename="camel"):
    """How much there is of each."""

    uncommitted: int
    untracked: int
    unpushed: int
    sessions: int


class Losses(msgspec.Struct, rename="camel"):
    """What only a worktree has, the active sessions that work there, and whether it can be removed without force; `why`
    says so in a sentence. Forced, everything named here is kept on a recovery ref."""

    uncommitted: list[str]
    untracked: list[str]
    unpushed: list[OwnCommit]
    counts: LossCounts
    sessions: list[str]
    removable: bool
    why: str


async def losses(store: Store, worktree_id: str, besides: str | None = None) -> Losses:
    """What would be lost; the session `besides` is about to go, and does not count."""

    async def work(tx: Tx) -> tuple[Worktree, Repo, list[str]]:
        row = await rows.worktree(tx, worktree_id)
        if row.removed_at is not None or row.status == "making":
            raise Conflict("worktree_removed", f"Worktree {row.name} was removed already.")
        uses = await tx.all(WORKTREES.active_sessions, Use, id=row.id, path=row.path)
        return row, await rows.repo_of(tx, row), [one.id for one in uses]

    row, repo, using = await store.read(work)
    using = [one for one in using if one != besides]
    found, problem = await _found(row, repo)
    why = problem or (_refusal(row, found, using) if found is not None or using else None)
    changed = [one["path"] for one in found.files if one["state"] != "untracked"] if found else []
    untracked = [one["path"] for one in found.files if one["state"] == "untracked"] if found else []
    commits = [OwnCommit(one["sha"], one["subject"]) for one in found.commits] if found else []
    return Losses(
        uncommitted=changed[:NAMED],
        untracked=untracked[:NAMED],
        unpushed=commits[:NAMED],
        counts=LossCounts(
            len(changed), len(untracked), len(commits) + (found.more_commits if found else 0), len(using)
        ),
        sessions=using[:NAMED],
        removable=why is None,
        why=why or _harmless(row),
    )


async def _found(row: Worktree, repo: Repo) -> tuple[Lost | None, str | None]:
    """What it holds, as far as git can tell, and what else stands in the way."""
    if row.status != "ready":
        return None, f"The worktree is busy ({row.status})."
    if not is_folder(row.path):
        return None, None
    try:
        entry = await git.entry(repo.path, row.path)
        others = [one.path for one in await git.entries(repo.path) if below(one.path, row.path)]
    except BoughError as error:
        return None, error.message
    if entry is None:
        known = "Git does not know its folder as a worktree any more; it is left alone."
        return None, known if row.made_by_bough and is_there(row.path) else None
    found = await lost(row, entry)
    if not row.made_by_bough:
        return found, None
    if entry.locked is not None:
        return found, f"It is locked{f' ({shown(entry.locked)})' if entry.locked else ''}. Unlock it with git first."
    if others:
        return found, f"Other worktrees lie inside of it: {', '.join(map(shown, others))}. Remove those first."
    return found, None


def _refusal(row: Worktree, found: Lost | None, using: list[str]) -> str | None:
    """Why it would be refused."""
    if using:
        return f"{_some(len(using), 'active session')} {'works' if len(using) == 1 else 'work'} in it."
    if found is None or not row.made_by_bough:
        return None
    total = len(found.commits) + found.more_commits
    parts = [
        *([_some(len(found.files), "uncommitted or untracked file")] if found.files else []),
        *([_some(total, "commit") + " that nobody else has"] if total else []),
    ]
    if not parts:
        return None
    return f"It has {' and '.join(parts)}. Forced, all of it is kept on a recovery ref."


def _harmless(row: Worktree) -> str:
    if not row.made_by_bough:
        return "Bough did not make it: it is only forgotten, and its folder stays as it is."
    if not is_folder(row.path):
        return "Its folder is gone already."
    return "Nothing would be lost."


def _some(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
