"""Plans merging a worktree's branch into its base, and undoing that."""

from __future__ import annotations

import asyncio

import msgspec

from bough.core.finish.folder import WorktreeFolder, checkout_of, find_base, refuse_uncommitted
from bough.core.finish.last_merge import LastMerge, Merges, is_in_base, kept_ref
from bough.core.finish.once import Foresee
from bough.core.finish.requests import Finished, FinishPlan, MergeBody, UndoMergeBody, counted, nothing
from bough.errors import Conflict
from bough.git.decode import shown
from bough.git.finish.commit import checked_message
from bough.git.finish.merge import identity
from bough.git.finish.merge_trees import merge_trees, tree_of
from bough.git.finish.move import move_branch, move_checkout, touched_files, unfinished
from bough.git.refs.branches import is_noted
from bough.git.run import git
from bough.git.working_copy.snapshot import working_copy
from bough.git.worktrees import common_folder, resolve

MOST_NAMED = 100


class MergeTarget(msgspec.Struct, frozen=True):
    """The branch to merge into, and the folder that has it checked out, if any."""

    branch: str
    sha: str
    checkout: str | None


async def find_target(folder: WorktreeFolder, into: str | None) -> MergeTarget:
    """Finds the branch to merge into. Raises `Conflict` if only a remote has it."""
    base = await find_base(folder, into)
    if base.local is None:
        raise Conflict("no_base", f"{base.name} is a branch of a remote only. Push, and open a pull request.")
    sha = await resolve(folder.path, f"refs/heads/{base.local}")
    assert sha is not None
    return MergeTarget(base.local, sha, await checkout_of(folder, base.local))


async def check_checkout(folder: WorktreeFolder, target: MergeTarget) -> None:
    """Raises `Conflict` unless the base branch can be moved: its checkout must have no uncommitted changes."""
    if target.checkout is None:
        if await asyncio.to_thread(is_noted, await common_folder(folder.repo.path), target.branch):
            raise Conflict("base_busy", f"A rebase or bisect elsewhere will come back to {target.branch}. Finish it.")
        return
    where = await working_copy(target.checkout)
    under_way = unfinished(where)
    if under_way is not None:
        raise Conflict("base_busy", f"A {under_way} is in progress at {target.checkout}. Finish or abort it first.")
    advice = "Commit or stash them there first; a base with uncommitted changes is left alone."
    await refuse_uncommitted(target.checkout, advice, "base_dirty", untracked=False)


async def plan_merge(
    folder: WorktreeFolder, target: MergeTarget, body: MergeBody, proposed: str, foresee: Foresee, merges: Merges
) -> FinishPlan:
    """Plans a merge with a merge commit, by moving the base forward, or as one commit."""
    branch = folder.own_branch
    folder.refuse_unfinished()
    finished = Finished("merge", folder.row.id, body.dry_run, branch=branch, base=target.branch)
    if not body.force:
        advice = "Commit them first, or send force: true to merge without them."
        await refuse_uncommitted(folder.path, advice, "worktree_dirty", untracked=True)
    await check_checkout(folder, target)
    common = (await git(folder.path, "merge-base", target.sha, folder.head, fine=(0, 1))).strip()
    if not common:
        raise Conflict("merge_blocked", f"{branch} and {target.branch} have no commit in common.")
    if common == folder.head:
        finished.steps.append(f"Nothing to do: {target.branch} already contains {branch}.")
        finished.sha = None if body.dry_run else target.sha
        return FinishPlan(finished, nothing)
    if body.how == "ff" and common != target.sha:
        raise Conflict(
            "not_fast_forward",
            f"{target.branch} has commits that {branch} does not have. Update {branch} first, or merge another way.",
        )
    message, new = await _merged_commit(folder, target, body, common, proposed, finished)
    finished.message, finished.recovery_ref = message, kept_ref(folder, "before")
    await _check_files(target, new, finished, folder)

    async def act() -> None:
        earlier = await merges.noted(folder)
        merge = LastMerge(target.branch, target.sha, new, folder.head)
        finished.sha = new
        await foresee(finished)
        try:
            await merges.note(folder, merge)
            await _move(folder, target, new, f"bough merge {branch}")
        except BaseException:
            if not await is_in_base(folder, merge):
                await (merges.forget(folder) if earlier is None else merges.note(folder, earlier))
            raise

    return FinishPlan(finished, act)


async def _merged_commit(
    folder: WorktreeFolder, target: MergeTarget, body: MergeBody, common: str, proposed: str, finished: Finished
) -> tuple[str | None, str]:
    """Creates the commit that the base branch will point to; returns its message, too, unless it exists already."""
    where = f"{target.branch} (checked out at {target.checkout})" if target.checkout else target.branch
    count = int(await git(folder.path, "rev-list", "--count", f"{target.sha}..{folder.head}"))
    commits = counted(count, "commit")
    if body.how == "ff":
        finished.steps.append(f"Move {where} forward by {commits} to {folder.branch}.")
        return None, folder.head
    tree = await _tree(folder, target, common, finished)
    if body.how == "squash":
        text, parents = proposed, (target.sha,)
        finished.steps.append(f"Add {commits} of {folder.branch} as one commit to {where}.")
    else:
        text, parents = f"Merge branch '{folder.branch}'", (target.sha, folder.head)
        finished.steps.append(f"Merge {commits} of {folder.branch} into {where} with a merge commit.")
    message = checked_message(body.message if body.message is not None else text)
    above = [word for parent in parents for word in ("-p", parent)]
    stdin = f"{message}\n".encode("utf-8", "replace")
    return message, (
        await git(folder.path, "commit-tree", tree, *above, env=await identity(folder.path), stdin=stdin)
    ).strip()


async def _tree(folder: WorktreeFolder, target: MergeTarget, common: str, finished: Finished) -> str:
    if common == target.sha:
        return await tree_of(folder.path, folder.head)
    merged = await merge_trees(folder.path, target.sha, folder.head)
    if merged.entries:
        finished.conflicts = list(map(shown, merged.conflicts))
        named = finished.conflicts[:MOST_NAMED]
        raise Conflict(
            "merge_conflict",
            f"{counted(len(finished.conflicts), 'file was', 'files were')} changed on both sides: "
            f"{', '.join(named)}. Nothing was merged. "
            f"Update {folder.branch} from {target.branch} first, and resolve the conflicts there.",
            files=named,
        )
    return merged.tree


async def _check_files(target: MergeTarget, new: str, finished: Finished, folder: WorktreeFolder) -> None:
    """Names the files that change, and refuses to overwrite untracked ones in the base's checkout."""
    if target.checkout is None:
        words = ("diff-tree", "-r", "-z", "--name-only", "--no-renames", target.sha, new)
        finished.name_files([shown(name) for name in (await git(folder.path, *words)).split("\0") if name])
        return
    files = await touched_files(await working_copy(target.checkout), target.sha, new)
    if files.blocked:
        named = list(map(shown, files.blocked[:MOST_NAMED]))
        raise Conflict(
            "base_dirty",
            f"{len(files.blocked)} files that the merge would write are not committed at {target.checkout}: "
            f"{', '.join(named)}. Commit or move them first.",
            files=named,
        )
    finished.name_files(list(map(shown, files.touched)))


async def _move(folder: WorktreeFolder, target: MergeTarget, new: str, note: str) -> None:
    author = await identity(folder.path)
    if target.checkout is None:
        await move_branch(folder.repo.path, target.branch, target.sha, new, note, author)
    else:
        await move_checkout(await working_copy(target.checkout), target.sha, new, note, author)


async def plan_undo(
    folder: WorktreeFolder, last: LastMerge, target: MergeTarget, body: UndoMergeBody, merges: Merges
) -> FinishPlan:
    """Plans moving the base back to where it was before the last merge. Raises `Conflict` if it has moved on since."""
    finished = Finished("undo-merge", folder.row.id, body.dry_run, branch=folder.branch, base=last.branch)
    if target.sha != last.after:
        raise Conflict(
            "merge_blocked",
            f"{last.branch} has moved on since the merge. The commit before it was {last.before}; go back by hand.",
        )
    await check_checkout(folder, target)
    finished.steps.append(f"Move {last.branch} back to {last.before[:12]}, where it was before the merge.")
    await _check_files(target, last.before, finished, folder)

    async def act() -> None:
        await _move(folder, target, last.before, "bough undo merge")
        await merges.forget(folder)
        finished.sha = last.before

    return FinishPlan(finished, act)
