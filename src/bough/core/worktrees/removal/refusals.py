"""States each reason for refusing to remove a worktree once (W2): removal raises it, the preview shows it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

import msgspec

from bough.core.worktrees.records import SessionUse
from bough.core.worktrees.removal.losses import OwnWork
from bough.errors import Conflict
from bough.git.decode import shown
from bough.git.working_copy.status import NAMED
from bough.git.worktrees import ListedWorktree
from bough.model.repo import Repo, Worktree


def removed(row: Worktree) -> Conflict | None:
    """Refuses a worktree that no longer exists."""
    if row.removed_at is None and row.status != "making":
        return None
    return Conflict("worktree_removed", f"Worktree {row.name} was already removed.")


def busy(row: Worktree, *, force: bool) -> Conflict | None:
    """Refuses while the worktree is being removed or set up; force interrupts the setup."""
    if row.status == "ready" or (row.status == "setting_up" and force):
        return None
    return Conflict("worktree_busy", f"Worktree {row.name} is busy ({row.status}). Wait, or force the removal.")


def in_use(row: Worktree, sessions: Sequence[SessionUse]) -> Conflict | None:
    """Refuses while active sessions work in the worktree."""
    if not sessions:
        return None
    ids = ", ".join(session.id for session in sessions)
    return Conflict(
        "worktree_in_use",
        f"Active sessions are working in worktree {row.name}: {ids}. Complete or cancel them first.",
        sessions=[msgspec.to_builtins(session) for session in sessions],
    )


def unknown_to_git(row: Worktree, repo: Repo) -> Conflict:
    """Refuses a folder that git no longer lists as a worktree."""
    return Conflict(
        "not_a_worktree",
        f"Git no longer lists {row.path} as a worktree of {repo.name}, so Bough leaves it alone. Repair it with "
        "`git worktree repair`, or delete the folder yourself.",
    )


def locked(row: Worktree, listed: ListedWorktree) -> Conflict | None:
    """Refuses a worktree that is locked in git."""
    if listed.locked is None:
        return None
    reason = f" ({shown(listed.locked)})" if listed.locked else ""
    return Conflict(
        "worktree_locked",
        f"Worktree {row.name} is locked{reason}. Unlock it first: git worktree unlock {shlex.quote(row.path)}",
        reason=shown(listed.locked),
    )


def holds_others(row: Worktree, inside: Sequence[str]) -> Conflict | None:
    """Refuses while other worktrees are inside this one."""
    if not inside:
        return None
    return Conflict(
        "worktree_holds_others",
        f"Other worktrees are inside {row.path}: {', '.join(map(shown, inside))}. Remove those first.",
        paths=list(inside),
    )


def dirty(row: Worktree, lost: OwnWork) -> Conflict | None:
    """Refuses while files or commits would be lost."""
    total = len(lost.commits) + lost.more_commits
    parts: list[str] = []
    if lost.files:
        parts.append(f"{_counted(len(lost.files), 'uncommitted or untracked file')} ({_names(lost.files, 'path')})")
    if total:
        parts.append(f"{_counted(total, 'commit')} on no other branch or remote ({_names(lost.commits, 'subject')})")
    if not parts:
        return None
    return Conflict(
        "worktree_dirty",
        f"Worktree {row.name} has {' and '.join(parts)}. Commit, push or discard them, or force the removal: "
        "everything is then kept on a recovery ref.",
        files=lost.files[:NAMED],
        filesTotal=len(lost.files),
        commits=lost.commits,
        commitsTotal=total,
    )


def _names(items: list[dict[str, str]], field: str) -> str:
    named = ", ".join(item[field][:80] for item in items[:3])
    return f"{named}, …" if len(items) > 3 else named


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
