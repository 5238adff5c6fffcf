"""Plans the cleanup of a worktree: which sessions end, what is removed, what stays recoverable, and why not."""

from __future__ import annotations

import msgspec

from bough.core.finish.checks.rows import find_row
from bough.core.finish.cleanup.merged_into import merged_into
from bough.core.finish.folder import WorktreeFolder, read_folder, refuse_turns, refuse_uncommitted, written_folders
from bough.core.finish.requests import CleanupBody, Finished, counted
from bough.core.store.sql import TASKS, WORKTREES
from bough.core.store.transactions import Store
from bough.core.worktrees.records import SessionUse
from bough.core.worktrees.removal import refusals
from bough.errors import Conflict
from bough.git import worktrees as git
from bough.git.paths import below, is_folder
from bough.model.repo import Repo, Worktree
from bough.model.session import Caller, Session
from bough.model.task import Task
from bough.storage.backend import Tx

# At most this many sessions are named in a sentence.
MOST_NAMED = 5


class CleanupPlan(msgspec.Struct):
    """A cleanup that can be done: its preview, and the commit at which the branch goes, too, if it may."""

    finished: Finished
    tip: str | None = None


class _Open(msgspec.Struct):
    """The sessions of a worktree that are not archived, and how many prompts each of the active ones has to do."""

    sessions: list[Session]
    tasks: dict[str, int]


async def plan_cleanup(store: Store, caller: Caller, row: Worktree, repo: Repo, body: CleanupBody) -> CleanupPlan:
    """Returns the plan. Raises `Conflict` while sessions work there and, without force, if work is not committed or not
    merged."""
    usage = await store.read(lambda tx: _open_sessions(tx, row))
    if not body.end_sessions and (error := refusals.in_use(row, await store.read(lambda tx: _active(tx, row)))):
        raise error
    if not body.force:
        await store.read(lambda tx: refuse_turns(tx, row.path, caller))
        _refuse_prompts(usage)
    finished = Finished("cleanup", row.id, body.dry_run, branch=row.branch, base=row.base_ref)
    finished.steps = _session_steps(usage.sessions)
    if not is_folder(row.path):
        finished.steps.append(f"Take worktree {row.name} off the list: its folder no longer exists.")
        return CleanupPlan(finished)
    if not row.made_by_bough:
        finished.steps.append(f"Take worktree {row.name} off the list. Bough did not create it: {row.path} stays.")
        return CleanupPlan(finished)
    folder = await read_folder(row, repo, await store.read(written_folders))
    folder.refuse_changed(body)
    await _refuse_blocked(row, repo)
    merged = await merged_into(store, folder)
    merged = merged or await store.read(lambda tx: _merged_request(tx, folder))
    if not body.force:
        folder.refuse_unfinished()
        advice = "Commit them first, or send force: true: they are then kept on a recovery ref."
        await refuse_uncommitted(row.path, advice, "worktree_dirty", untracked=True)
        if merged is None:
            raise _unmerged(folder)
    finished.branch, finished.base = folder.branch, merged or row.base_ref
    finished.steps.append(
        f"Remove worktree {row.name} at {row.path}. Its commits and files can be recovered; files that git ignores are "
        "deleted."
    )
    delete = folder.branch is not None and folder.branch == row.branch and row.branch_made and merged is not None
    delete = delete and not body.keep_branch
    if folder.branch is not None:
        finished.steps.append(_branch_step(folder.branch, row, merged, body, delete=delete))
    return CleanupPlan(finished, folder.head if delete else None)


def _branch_step(branch: str, row: Worktree, merged: str | None, body: CleanupBody, *, delete: bool) -> str:
    if delete:
        return f"Delete branch {branch}: {merged} contains its work."
    if body.keep_branch:
        return f"Keep branch {branch}."
    if merged is None:
        return f"Keep branch {branch}: it is not merged."
    return f"Keep branch {branch}: Bough did not create it."


async def _active(tx: Tx, row: Worktree) -> list[SessionUse]:
    return await tx.all(WORKTREES.active_sessions, SessionUse, id=row.id, path=row.path)


async def _open_sessions(tx: Tx, row: Worktree) -> _Open:
    sessions = await tx.all(WORKTREES.unarchived_sessions, Session, id=row.id, path=row.path)
    active = [session for session in sessions if session.status == "active"]
    tasks = {session.id: len(await tx.all(TASKS.open, Task, session_id=session.id)) for session in active}
    return _Open(sessions, tasks)


def _refuse_prompts(usage: _Open) -> None:
    """Refuses while sessions have prompts to do; a turn that runs has one."""
    busy = [session_id for session_id, count in usage.tasks.items() if count]
    if busy:
        raise Conflict(
            "session_busy",
            f"{counted(len(busy), 'session')} of this worktree still {'has' if len(busy) == 1 else 'have'} prompts to "
            f"do: {', '.join(busy)}. Let them finish or stop them, or send force: true.",
            sessions=busy,
        )


def _session_steps(sessions: list[Session]) -> list[str]:
    active = [session for session in sessions if session.status == "active"]
    steps: list[str] = []
    if active:
        steps.append(f"End {counted(len(active), 'active session')}: {_titles(active)}.")
    if sessions:
        steps.append(f"Archive {counted(len(sessions), 'session')}: {_titles(sessions)}.")
    return steps


def _titles(sessions: list[Session]) -> str:
    names = [session.title or session.id for session in sessions[:MOST_NAMED]]
    return ", ".join(names) + (f" and {len(sessions) - MOST_NAMED} more" if len(sessions) > MOST_NAMED else "")


async def _refuse_blocked(row: Worktree, repo: Repo) -> None:
    """Raises what forbids the removal even with force: a lock, other worktrees inside, a folder unknown to git."""
    listed = await git.find_worktree(repo.path, row.path)
    if listed is None:
        raise refusals.unknown_to_git(row, repo)
    inside = [other.path for other in await git.list_worktrees(repo.path) if below(other.path, row.path)]
    if error := refusals.locked(row, listed) or refusals.holds_others(row, inside):
        raise error


async def _merged_request(tx: Tx, folder: WorktreeFolder) -> str | None:
    """Returns the pull request that was merged with the worktree's last commit, as the server told."""
    request = await find_row(tx, folder.row.id)
    if request is None or request.state != "merged" or request.head != folder.head:
        return None
    return f"the merged pull request {request.number}"


def _unmerged(folder: WorktreeFolder) -> Conflict:
    base = folder.row.base_ref or folder.repo.default_branch or "its base"
    return Conflict(
        "not_merged",
        f"{folder.branch or 'HEAD'} of worktree {folder.row.name} has commits that {base} does not contain. Merge them "
        "first, or send force: true: the branch stays, and everything is kept on a recovery ref.",
    )


async def sessions_to_end(tx: Tx, row: Worktree) -> list[Session]:
    """Returns the sessions of a worktree that are not archived, children first."""
    return (await _open_sessions(tx, row)).sessions
