"""Tools that finish the work in a worktree. A person decides each time about what leaves the worktree."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from bough.api.mcp.tools import results
from bough.api.mcp.tools.base import ChangingParams, Tool, ToolContext
from bough.api.mcp.tools.shared_wording import Id, quote
from bough.core.finish.requests import CommitBody, Finished, MergeBody, PullRequestBody, PushBody, UpdateBody
from bough.model.call import Claim

LEAVES = "It changes a branch that others use, or sends commits with the person's own keys."


class FinishedWork(msgspec.Struct, rename="camel"):
    """What was done or, with dryRun, would be."""

    action: str
    steps: list[str]
    sha: str | None
    files: list[str]
    conflicts: list[str]
    refusal: str | None
    url: str | None
    by_hand: str | None


class CommitWorktree(ChangingParams):
    worktree_id: Id
    message: str
    files: list[str] | None = None
    dry_run: bool = False


class UpdateBranch(ChangingParams):
    worktree_id: Id
    how: Literal["merge", "rebase"] = "merge"
    dry_run: bool = False


class MergeWorktree(ChangingParams):
    worktree_id: Id
    how: Literal["merge", "ff", "squash"] = "merge"
    dry_run: bool = False


class PushWorktree(ChangingParams):
    worktree_id: Id
    dry_run: bool = False


class PullRequestOfWorktree(ChangingParams):
    worktree_id: Id
    title: str | None = None
    body: str | None = None
    draft: bool = False
    dry_run: bool = False


def _result(finished: Finished) -> FinishedWork:
    request = finished.pull_request
    return FinishedWork(
        finished.action,
        finished.steps,
        finished.sha,
        finished.files,
        finished.conflicts,
        finished.refusal.message if finished.refusal is not None else None,
        request.url if request is not None else None,
        request.link if request is not None else None,
    )


async def _commit_claim(ctx: ToolContext, params: CommitWorktree) -> Claim:
    worktree = await ctx.services.worktrees.get(params.worktree_id)
    what = f"{len(params.files)} files" if params.files is not None else "all files"
    title = f"Commit {what} of worktree {worktree.name!r} as {quote(params.message)}?"
    return Claim(title=title, repo=worktree.repo_id)


async def _commit(ctx: ToolContext, params: CommitWorktree) -> FinishedWork:
    body = CommitBody(message=params.message, files=params.files, dry_run=params.dry_run)
    return _result(await ctx.services.finishing.commit(ctx.caller, params.worktree_id, body))


async def _update_claim(ctx: ToolContext, params: UpdateBranch) -> Claim:
    worktree = await ctx.services.worktrees.get(params.worktree_id)
    base = worktree.base_ref or "its base"
    return Claim(title=f"Update worktree {worktree.name!r} from {base} ({params.how})?", repo=worktree.repo_id)


async def _update(ctx: ToolContext, params: UpdateBranch) -> FinishedWork:
    body = UpdateBody(how=params.how, dry_run=params.dry_run)
    return _result(await ctx.services.finishing.update(ctx.caller, params.worktree_id, body))


async def _merge_claim(ctx: ToolContext, params: MergeWorktree) -> Claim:
    worktree = await ctx.services.worktrees.get(params.worktree_id)
    into = worktree.base_ref or "its base"
    title = f"Merge worktree {worktree.name!r} into {into} ({params.how})?"
    return Claim(title=title, repo=worktree.repo_id, reason_to_ask=LEAVES)


async def _merge(ctx: ToolContext, params: MergeWorktree) -> FinishedWork:
    body = MergeBody(how=params.how, dry_run=params.dry_run)
    return _result(await ctx.services.finishing.merge(ctx.caller, params.worktree_id, body))


async def _push_claim(ctx: ToolContext, params: PushWorktree) -> Claim:
    worktree = await ctx.services.worktrees.get(params.worktree_id)
    remote = (await ctx.services.finishing.state(worktree.id)).remote.address
    title = f"Push the branch of worktree {worktree.name!r} to {remote or 'its remote'}?"
    return Claim(title=title, repo=worktree.repo_id, reason_to_ask=LEAVES)


async def _push(ctx: ToolContext, params: PushWorktree) -> FinishedWork:
    body = PushBody(dry_run=params.dry_run)
    return _result(await ctx.services.finishing.push(ctx.caller, params.worktree_id, body))


async def _pull_request_claim(ctx: ToolContext, params: PullRequestOfWorktree) -> Claim:
    worktree = await ctx.services.worktrees.get(params.worktree_id)
    remote = (await ctx.services.finishing.state(worktree.id)).remote.address
    words = f" as {quote(params.title)}" if params.title is not None else ""
    title = f"Push worktree {worktree.name!r} to {remote or 'its remote'} and open or update a pull request{words}?"
    return Claim(title=title, repo=worktree.repo_id, reason_to_ask=LEAVES)


async def _pull_request(ctx: ToolContext, params: PullRequestOfWorktree) -> FinishedWork:
    body = PullRequestBody(title=params.title, body=params.body, draft=params.draft, dry_run=params.dry_run)
    return _result(await ctx.services.finishing.pull_request(ctx.caller, params.worktree_id, body))


RESULT = results.FINISHED
TOOLS: tuple[Tool[Any], ...] = (
    Tool(
        "agor_worktrees_commit",
        "Commit files of a worktree.",
        CommitWorktree,
        RESULT,
        _commit,
        _commit_claim,
        "change",
    ),
    Tool(
        "agor_worktrees_update_branch",
        "Bring in the base's new commits. A conflict changes nothing.",
        UpdateBranch,
        RESULT,
        _update,
        _update_claim,
        "change",
    ),
    Tool(
        "agor_worktrees_merge",
        "Merge a branch into its base. A person decides.",
        MergeWorktree,
        RESULT,
        _merge,
        _merge_claim,
        "change",
    ),
    Tool(
        "agor_worktrees_push",
        "Push a branch. A person decides.",
        PushWorktree,
        RESULT,
        _push,
        _push_claim,
        "change",
    ),
    Tool(
        "agor_worktrees_pull_request",
        "Push, then open or update a pull request. A person decides.",
        PullRequestOfWorktree,
        RESULT,
        _pull_request,
        _pull_request_claim,
        "change",
    ),
)
