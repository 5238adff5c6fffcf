"""Plans pushing a worktree's branch."""

from __future__ import annotations

from bough.core.finish.folder import WorktreeFolder, find_remote
from bough.core.finish.remote_branches import RemoteBranches
from bough.core.finish.requests import Finished, FinishPlan, PushBody, counted
from bough.errors import BoughError, Conflict
from bough.git.finish.remotes import Remote
from bough.git.finish.transfer import push, tracking_ref
from bough.git.refs.branches import set_upstream
from bough.git.run import git
from bough.git.working_copy.status import files
from bough.git.worktrees import resolve


async def plan_push(folder: WorktreeFolder, body: PushBody, remote_branches: RemoteBranches) -> FinishPlan:
    """Plans a push of the branch's commits. What is not committed stays here."""
    branch = folder.own_branch
    remote = await find_remote(folder, branch, body.remote)
    if body.expected_address not in (None, remote.shown):
        raise Conflict(
            "head_changed",
            f"The remote was {body.expected_address or 'missing'} when this was asked for, and is now {remote.shown}. "
            "Ask again.",
        )
    finished = Finished("push", folder.row.id, body.dry_run, branch=branch, base=f"{remote.name}/{branch}")
    rewrites = body.rewrite or body.replaces is not None
    lease = await remote_branches.replaceable(folder, remote, branch, body.replaces) if rewrites else None
    known = await _last_known(folder, remote, branch, remote_branches)
    if known == folder.head:
        finished.steps.append(f"Nothing new: {remote.name} had this commit of {branch} when it was last asked.")
    elif known is not None:
        count = int(await git(folder.path, "rev-list", "--count", f"{known}..{folder.head}"))
        commits = counted(count, "new commit")
        finished.steps.append(f"Push {commits} of {branch} to {remote.shown}.")
    else:
        finished.steps.append(f"Push {branch} as a new branch to {remote.shown}.")
    if rewrites:
        finished.steps.append("Replace commits there that are not here, unless somebody else pushed since.")
    status = await files(folder.path)
    left = len(status.changed) + len(status.untracked)
    if left:
        finished.steps.append(f"{counted(left, 'uncommitted file stays', 'uncommitted files stay')} here.")

    async def act() -> None:
        pushed = await push(folder.path, remote, branch, folder.head, lease)
        await remote_branches.note(folder, remote, branch, folder.head)
        finished.sha = pushed.sha
        if pushed.not_noted is not None:
            finished.steps.append(
                f"{remote.name} has the commits, but this could not be noted here. {pushed.not_noted}"
            )
        try:
            await set_upstream(folder.path, branch, f"{remote.name}/{branch}")
        except BoughError as error:
            finished.steps.append(f"{branch} does not follow {remote.name}/{branch} yet. {error.message}")

    return FinishPlan(finished, act)


async def _last_known(
    folder: WorktreeFolder, remote: Remote, branch: str, remote_branches: RemoteBranches
) -> str | None:
    """Returns the commit that the remote had when Bough asked it last or, as far as git knows, when anybody did."""
    noted = await remote_branches.find(folder, remote, branch)
    sha = await resolve(folder.path, noted) if noted is not None else None
    return sha or await resolve(folder.path, tracking_ref(remote, branch))
