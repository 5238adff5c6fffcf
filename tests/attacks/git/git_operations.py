"""Lists every operation of the server that calls git, each as a function of a folder."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

from bough.core.worktrees.creation.setup import copy_ignored
from bough.errors import BoughError
from bough.git import worktree_recovery, worktrees
from bough.git.commit_diff import compare
from bough.git.finish import merge
from bough.git.finish.commit import commit, plan_commit, uncommitted
from bough.git.finish.conflicts import abort_conflict, leave_in_conflict
from bough.git.finish.merge_trees import merge_trees, rebase
from bough.git.finish.move import move_branch, move_checkout, touched_files
from bough.git.finish.remotes import find_remote, parse_remote
from bough.git.finish.transfer import fetch, push, remote_tip
from bough.git.refs import checkpoint_refs
from bough.git.refs.default_branch import default_branch
from bough.git.run import git
from bough.git.working_copy.diff import diff
from bough.git.working_copy.folder_state import inspect, state, top_level
from bough.git.working_copy.restore import apply, changed_paths, differences, plan
from bough.git.working_copy.snapshot import Memory, SnapshotTooLarge, take, working_copy
from bough.git.working_copy.status import distance, files, own_commits, submodules
from tests.support.repos import git as run

REF = checkpoint_refs.ref_name("session", "task", "before")


async def look(cwd: str) -> None:
    await inspect(cwd)
    await top_level(cwd)
    await default_branch(cwd)
    await state(cwd)


async def status(cwd: str) -> None:
    await files(cwd)


async def commits(cwd: str) -> None:
    await own_commits(cwd, "main")
    await own_commits(cwd, None, remotes_only=True)
    await distance(cwd, "other")
    await submodules(cwd)


async def checkpoint(cwd: str) -> None:
    memory = Memory()
    shot = await take(cwd, memory=memory)
    await take(cwd, memory=memory)
    await take(cwd, ignored=True)
    await checkpoint_refs.keep(cwd, {REF: shot.sha})
    await checkpoint_refs.held(cwd, shot.sha)


async def recover_checkpoints(cwd: str) -> None:
    await checkpoint_refs.all_refs(cwd)
    await checkpoint_refs.drop(cwd, [REF])


async def restore(cwd: str) -> None:
    before = await take(cwd)
    where = await working_copy(cwd)
    for target in ("HEAD~1", "HEAD", before.sha):
        sha = (await git(cwd, "rev-parse", "--verify", target)).strip()
        await apply(await plan(cwd, sha))
    await differences(cwd, "HEAD~1", before.sha)
    await changed_paths(cwd, "HEAD~1", before.sha)
    checkpoint_refs.sweep(where.git_dir)


async def show_diff(cwd: str) -> None:
    await diff(cwd, await worktrees.resolve(cwd, "HEAD~1"))
    await diff(cwd, None)


async def compare_commits(cwd: str) -> None:
    await compare(cwd, "HEAD~1", "HEAD")
    await compare(cwd, "main", "other")


async def create_and_remove_worktree(cwd: str) -> None:
    """Creates, fills, checks and removes worktrees, as forks and races do."""
    common = await worktrees.common_folder(cwd)
    await worktrees.checked_branch(cwd, "fork")
    branch = await worktrees.find_branch(cwd, "fork", None, "main")
    path = str(Path(cwd).parent / "fork")
    await worktrees.add(cwd, path, branch)
    await worktrees.exclude(common, cwd, path)
    with contextlib.suppress(BoughError):
        await worktree_recovery.restore(path, (await take(cwd)).sha)
    await copy_ignored(cwd, path, ["*"])
    (Path(path) / "README.md").write_text("changed\n")
    (Path(path) / "more").write_text("more\n")
    await state(path)
    await files(path)
    contents = await worktree_recovery.keep_all(path, "id", "Kept.")
    await worktree_recovery.keep_all(path, "id", "Kept again.", contents.sha)
    with contextlib.suppress(BoughError):
        await worktrees.remove(cwd, path, force=False)
    await worktrees.remove(cwd, path, force=True)
    await worktrees.add(cwd, path, None, await worktrees.resolve(cwd, f"{contents.sha}^1"))
    await worktree_recovery.restore(path, contents.sha)
    os.unlink(Path(path, ".git"))
    await worktrees.reconnect(cwd, path)
    await worktrees.clear(cwd, path)
    await worktree_recovery.drop(cwd, "id")
    await worktrees.delete_branch(cwd, "fork")
    await worktrees.list_worktrees(cwd)


async def keep_whole(cwd: str) -> None:
    """Keeps the folder as the removal of a worktree would, including nested repositories."""
    await worktree_recovery.keep_all(cwd, "whole", "Kept.")
    await worktree_recovery.drop(cwd, "whole")


async def merge_branch(cwd: str) -> None:
    """Commits the files and merges, as keeping a racer does."""
    prepared = await merge.prepare(cwd, "Work.")
    await merge.settle(cwd, prepared)
    other = await worktrees.resolve(cwd, "other")
    assert other is not None
    with contextlib.suppress(BoughError):
        await merge.check(cwd, other)
    await merge.merge(cwd, other, "Merge.")


async def commit_files(cwd: str) -> None:
    """Commits all files, as a person finishing work does."""
    await uncommitted(cwd)
    await commit(await plan_commit(cwd, None), "Work.")


async def update_branch(cwd: str) -> None:
    """Merges, rebases and leaves a conflict, as updating a worktree does."""
    where = await working_copy(cwd)
    head, other = await worktrees.resolve(cwd, "HEAD"), await worktrees.resolve(cwd, "other")
    assert head is not None and other is not None
    author = await merge.identity(cwd)
    rebased = await rebase(cwd, other, head, author)
    merged = await merge_trees(cwd, head, other)
    await touched_files(where, head, merged.tree)
    await move_checkout(where, head, rebased.sha, "Rebase.", author)
    await move_checkout(where, rebased.sha, head, "Back.", author)
    await leave_in_conflict(where, head, other, merged, "Merge.")
    await abort_conflict(where, head, merged)
    await move_branch(cwd, "other", other, head, "Forward.", author)


async def push_and_fetch(cwd: str) -> None:
    """Pushes a branch to a folder and fetches it back."""
    remote = Path(cwd).parent / "pushed.git"
    run(Path(cwd).parent, "init", "--quiet", "--bare", str(remote))
    head = await worktrees.resolve(cwd, "HEAD")
    assert head is not None
    with contextlib.suppress(BoughError):
        await find_remote(cwd, "main")
    target = parse_remote("pushed", str(remote), cwd)
    await push(cwd, target, "sent", head, "")
    assert await remote_tip(cwd, target, "sent") == head
    assert await fetch(cwd, target, "sent") == head


OPERATIONS: tuple[Callable[[str], Awaitable[None]], ...] = (
    *(look, status, commits, checkpoint, recover_checkpoints, show_diff, compare_commits, keep_whole),
    *(create_and_remove_worktree, update_branch, push_and_fetch, merge_branch, restore, commit_files),
)


async def carry_out(operation: Callable[[str], Awaitable[None]], cwd: Path) -> str | None:
    """Carries out an operation; returns its error if it was refused, which is fine in a hostile place."""
    try:
        await operation(str(cwd))
    except (BoughError, SnapshotTooLarge, OSError, ValueError, AssertionError) as error:
        return str(error)
    return None
