"""Plans bringing new commits of the base into a worktree's branch, and hands conflicts to an agent."""

from __future__ import annotations

import asyncio
import json
import shlex
from collections.abc import Awaitable, Callable

from bough.core.finish.folder import BaseBranch, WorktreeFolder, find_base, find_remote, refuse_uncommitted
from bough.core.finish.remote_branches import RemoteBranches
from bough.core.finish.requests import Finished, FinishPlan, UpdateBody, counted, nothing
from bough.errors import Conflict
from bough.git.decode import shown
from bough.git.finish.conflicts import abort_conflict, leave_in_conflict
from bough.git.finish.merge import identity
from bough.git.finish.merge_trees import MergedTree, merge_trees, rebase
from bough.git.finish.move import move_checkout, touched_files
from bough.git.finish.transfer import fetch, tracking_ref
from bough.git.run import git
from bough.git.worktrees import resolve
from bough.model.values.visible import visible

MOST_NAMED = 100
RECOVERY = "refs/bough/updates"

# Sends a prompt to a session of the worktree and returns the session's and the task's id.
Prompt = Callable[[str], Awaitable[tuple[str, str]]]


async def plan_update(folder: WorktreeFolder, body: UpdateBody, prompt: Prompt, fetched: str | None) -> FinishPlan:
    """Plans an update by a merge or a rebase. `fetched` is the commit that the remote sent; None in previews."""
    branch = folder.own_branch
    folder.refuse_unfinished()
    base = await find_base(folder, body.base)
    finished = Finished("update", folder.row.id, body.dry_run, branch=branch, base=base.name)
    if body.fetch:
        base = await _fetched(folder, base, finished, fetched)
    common = (await git(folder.path, "merge-base", folder.head, base.sha, fine=(0, 1))).strip()
    if not common:
        raise Conflict("merge_blocked", f"{branch} and {base.name} have no commit in common.")
    columns = {"base_sha": base.sha}
    if common == base.sha:
        finished.steps.append(f"Nothing to do: {branch} already contains {base.name}.")
        finished.sha = None if body.dry_run else folder.head
        return FinishPlan(finished, nothing, columns)
    if common == folder.head:
        finished.steps.append(f"Move {branch} forward to {base.name}.")
        return FinishPlan(finished, await _move(folder, finished, base.sha, "Fast-forward"), columns)
    if body.how == "rebase":
        return await _plan_rebase(folder, base, body, finished, prompt)
    return await _plan_merge(folder, base, body, finished, prompt)


async def fetch_base(folder: WorktreeFolder, body: UpdateBody, remote_branches: RemoteBranches | None) -> str:
    """Fetches the base branch from its remote, and returns its commit. Notes it for a person: they can see it, so a
    later push may replace it."""
    base = await find_base(folder, body.base)
    remote = await find_remote(folder, base.branch, base.remote, fetching=True)
    sha = await fetch(folder.path, remote, base.branch)
    if remote_branches is not None:
        await remote_branches.note(folder, remote, base.branch, sha)
    return sha


async def _fetched(folder: WorktreeFolder, base: BaseBranch, finished: Finished, fetched: str | None) -> BaseBranch:
    """Returns the base as its remote sent it. Only a preview uses the ref, which agents can write."""
    remote = await find_remote(folder, base.branch, base.remote, fetching=True)
    finished.base = f"{remote.name}/{base.branch}"
    again = " The rest of this preview does not know it yet." if finished.dry_run else ""
    finished.steps.append(f"Fetch {base.branch} from {remote.shown}.{again}")
    sha = fetched or await resolve(folder.path, tracking_ref(remote, base.branch))
    return base if sha is None else BaseBranch(finished.base, sha, base.branch, base.local, remote.name)


async def _plan_merge(
    folder: WorktreeFolder, base: BaseBranch, body: UpdateBody, finished: Finished, prompt: Prompt
) -> FinishPlan:
    message = f"Merge branch '{base.name}' into {folder.own_branch}"
    merged = await merge_trees(folder.path, folder.head, base.sha)
    if merged.entries:
        finished.conflicts = list(map(shown, merged.conflicts))
        if body.on_conflict == "abort":
            raise _conflict(finished, base, "Nothing was changed.")
        return await _plan_conflict(folder, base, merged, finished, prompt, message)
    finished.steps.append(f"Merge {base.name} into {folder.branch}.")
    author = await identity(folder.path)
    words = ("commit-tree", merged.tree, "-p", folder.head, "-p", base.sha)
    new = (await git(folder.path, *words, env=author, stdin=f"{message}\n".encode("utf-8", "replace"))).strip()
    return FinishPlan(finished, await _move(folder, finished, new, message), {"base_sha": base.sha})


async def _plan_conflict(
    folder: WorktreeFolder, base: BaseBranch, merged: MergedTree, finished: Finished, prompt: Prompt, message: str
) -> FinishPlan:
    await refuse_uncommitted(folder.path, "Commit them first.", "worktree_dirty", untracked=False)
    await _refuse_overwriting(folder, merged.tree)
    finished.steps.append(
        f"Merge {base.name} into {folder.branch} and leave {counted(len(finished.conflicts), 'file')} in conflict."
    )
    finished.steps.append("Send one prompt to the agent to resolve them and commit.")

    async def act() -> None:
        try:
            await leave_in_conflict(folder.where, folder.head, base.sha, merged, message)
            finished.session_id, finished.task_id = await prompt(merge_prompt(base.name, finished.conflicts))
        except BaseException:
            await asyncio.shield(abort_conflict(folder.where, folder.head, merged))
            raise

    return FinishPlan(finished, act, {"base_sha": base.sha})


async def _plan_rebase(
    folder: WorktreeFolder, base: BaseBranch, body: UpdateBody, finished: Finished, prompt: Prompt
) -> FinishPlan:
    rebased = await rebase(folder.path, base.sha, folder.head, await identity(folder.path))
    if rebased.stopped_at is not None:
        finished.conflicts = list(map(shown, rebased.conflicts))
        if body.on_conflict == "abort":
            raise _conflict(
                finished, base, f"The rebase stops at the commit “{rebased.stopped_at}”. Nothing was changed."
            )
        finished.steps.append(f"Send one prompt to the agent to rebase {folder.branch} onto {base.name}.")

        async def act() -> None:
            finished.session_id, finished.task_id = await prompt(rebase_prompt(base.name, finished.conflicts))

        return FinishPlan(finished, act)
    finished.steps.append(f"Rebase {counted(rebased.picked, 'commit')} of {folder.branch} onto {base.name}.")
    return FinishPlan(
        finished, await _move(folder, finished, rebased.sha, f"Rebase onto {base.name}"), {"base_sha": base.sha}
    )


async def _move(folder: WorktreeFolder, finished: Finished, new: str, note: str) -> Callable[[], Awaitable[None]]:
    """Returns the function that moves the branch, after a check that it overwrites nothing."""
    finished.name_files(list(map(shown, await _refuse_overwriting(folder, new))))
    finished.recovery_ref = f"{RECOVERY}/{folder.row.id}"

    async def act() -> None:
        author = await identity(folder.path)
        words = (
            "update-ref",
            "--no-deref",
            "--create-reflog",
            "-m",
            "bough",
            f"{RECOVERY}/{folder.row.id}",
            folder.head,
        )
        await git(folder.path, *words, env=author)
        await move_checkout(folder.where, folder.head, new, f"bough update: {note}", author)
        finished.sha = new

    return act


async def _refuse_overwriting(folder: WorktreeFolder, new: str) -> list[str]:
    files = await touched_files(folder.where, folder.head, new)
    if files.blocked:
        named = list(map(shown, files.blocked[:MOST_NAMED]))
        raise Conflict(
            "worktree_dirty",
            f"Not committed in worktree {folder.row.name}, and in the way: "
            f"{', '.join(named)}. Commit or move them first.",
            files=named,
        )
    return files.touched


def _conflict(finished: Finished, base: BaseBranch, what: str) -> Conflict:
    named = ", ".join(finished.conflicts[:MOST_NAMED])
    return Conflict(
        "merge_conflict",
        f"{counted(len(finished.conflicts), 'file was', 'files were')} changed on both sides: {named}. {what} Hand the "
        f"conflict to the agent, or bring in {base.name} by hand.",
        files=finished.conflicts[:MOST_NAMED],
    )


def merge_prompt(base: str, files: list[str]) -> str:
    """Builds the prompt that hands a merge in conflict to an agent."""
    return (
        f"I merged {_quoted(base)} into this branch, and the merge stopped at conflicts. It is in progress here. "
        "Resolve the conflict markers in these files so that both sides keep their meaning, run the tests that concern "
        f"them, `git add` the files and conclude the merge with `git commit --no-edit`:\n\n{_list(files)}"
    )


def rebase_prompt(base: str, files: list[str]) -> str:
    """Builds the prompt that asks an agent for a rebase with conflicts."""
    return (
        f"Rebase this branch onto {_quoted(base)} (git rebase {shlex.quote(base)}). These files conflict, because "
        "both sides changed them. Resolve them so that both sides keep their meaning, run the tests that concern "
        "them, and continue the "
        f"rebase until it is complete:\n\n{_list(files)}"
    )


def _list(files: list[str]) -> str:
    more = f"\n- and {len(files) - MOST_NAMED} more" if len(files) > MOST_NAMED else ""
    return "\n".join(f"- {_quoted(name)}" for name in files[:MOST_NAMED]) + more


def _quoted(name: str) -> str:
    """Returns a name as a JSON string on one line, which it cannot leave: agents choose the names of files."""
    return json.dumps(visible(name), ensure_ascii=False).replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
