"""Tools that finish the work in a worktree. A person decides each time about what leaves the worktree."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from bough.api.mcp.tools import results
from bough.api.mcp.tools.base import ChangingParams, Tool, ToolContext
from bough.api.mcp.tools.shared_wording import Id, quote
from bough.core.finish.folder import WorktreeFolder, find_remote
from bough.core.finish.merge import find_target
from bough.core.finish.requests import CommitBody, Finished, MergeBody, PullRequestBody, PushBody, UpdateBody
from bough.errors import Conflict
from bough.model.call import Claim

LEAVES = "It changes a branch that others use, or sends commits with the person's own keys."


class FinishedWork(msgspec.Struct, rename="camel"):
    """Says what was done or, with dryRun, would be."""

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


async def _look(ctx: ToolContext, worktree_id: str) -> tuple[WorktreeFolder, dict[str, str]]:
    """Returns a worktree, and what a person is asked about: its branch and commit."""
    folder = await ctx.services.finishing.look(worktree_id)
    return folder, {"head": folder.head, "branch": folder.branch or ""}


def _named(folder: WorktreeFolder) -> str:
    return f"{folder.branch or 'HEAD'} ({folder.head[:12]}) of worktree {folder.row.name!r}"


def _claim(folder: WorktreeFolder, title: str, expected: dict[str, str], why: str | None = None) -> Claim:
    return Claim(title=title, repo=folder.row.repo_id, worktree=folder.row.id, expected=expected, reason_to_ask=why)


async def _commit_claim(ctx: ToolContext, params: CommitWorktree) -> Claim:
    folder, expected = await _look(ctx, params.worktree_id)
    sentence = f"{len(params.files)} files" if params.files is not None else "all files"
    title = f"Commit {sentence} to {_named(folder)} as {quote(params.message)}?"
    return _claim(folder, title, expected)


async def _commit(ctx: ToolContext, params: CommitWorktree) -> FinishedWork:
    body = CommitBody(message=params.message, files=params.files, dry_run=params.dry_run, **_expected(ctx))
    return _result(await ctx.services.finishing.commit(ctx.caller, params.worktree_id, body))


async def _update_claim(ctx: ToolContext, params: UpdateBranch) -> Claim:
    folder, expected = await _look(ctx, params.worktree_id)
    base = folder.row.base_ref or "its base"
    return _claim(folder, f"Update {_named(folder)} from {base} ({params.how})?", expected)


async def _update(ctx: ToolContext, params: UpdateBranch) -> FinishedWork:
    body = UpdateBody(how=params.how, dry_run=params.dry_run, **_expected(ctx))
    return _result(await ctx.services.finishing.update(ctx.caller, params.worktree_id, body))


async def _merge_claim(ctx: ToolContext, params: MergeWorktree) -> Claim:
    folder, expected = await _look(ctx, params.worktree_id)
    into = (await find_target(folder, None)).branch
    sentence = f"{_named(folder)} into {into} ({params.how})?"
    expected["into"] = into
    if params.dry_run:
        return _claim(folder, f"Preview merging {sentence}", expected)
    return _claim(folder, f"Merge {sentence}", expected, LEAVES)


async def _merge(ctx: ToolContext, params: MergeWorktree) -> FinishedWork:
    body = MergeBody(how=params.how, into=ctx.expected.get("into"), dry_run=params.dry_run, **_expected(ctx))
    return _result(await ctx.services.finishing.merge(ctx.caller, params.worktree_id, body))


async def _push_claim(ctx: ToolContext, params: PushWorktree) -> Claim:
    folder, expected = await _look(ctx, params.worktree_id)
    address = expected["address"] = await _address(folder)
    sentence = f"{_named(folder)} to {address or 'its remote'}?"
    if params.dry_run:
        return _claim(folder, f"Preview pushing {sentence}", expected)
    return _claim(folder, f"Push {sentence}", expected, LEAVES)


async def _push(ctx: ToolContext, params: PushWorktree) -> FinishedWork:
    body = PushBody(dry_run=params.dry_run, expected_address=ctx.expected.get("address"), **_expected(ctx))
    return _result(await ctx.services.finishing.push(ctx.caller, params.worktree_id, body))


async def _pull_request_claim(ctx: ToolContext, params: PullRequestOfWorktree) -> Claim:
    folder, expected = await _look(ctx, params.worktree_id)
    address = expected["address"] = await _address(folder)
    words = f" as {quote(params.title)}" if params.title is not None else ""
    sentence = f"{_named(folder)} to {address or 'its remote'}"
    if params.dry_run:
        return _claim(folder, f"Preview pushing {sentence} and a pull request{words}?", expected)
    return _claim(folder, f"Push {sentence} and open or update a pull request{words}?", expected, LEAVES)


async def _pull_request(ctx: ToolContext, params: PullRequestOfWorktree) -> FinishedWork:
    body = PullRequestBody(
        title=params.title,
        body=params.body,
        draft=params.draft,
        dry_run=params.dry_run,
        expected_address=ctx.expected.get("address"),
        **_expected(ctx),
    )
    return _result(await ctx.services.finishing.pull_request(ctx.caller, params.worktree_id, body))


async def _address(folder: WorktreeFolder) -> str:
    """Returns the address that the branch would be sent to; empty if there is none."""
    try:
        return (await find_remote(folder, folder.branch)).shown
    except Conflict:
        return ""


def _expected(ctx: ToolContext) -> dict[str, Any]:
    """Returns the fields that hold a request to what a person was asked about."""
    return {"expected_head": ctx.expected.get("head"), "expected_branch": ctx.expected.get("branch")}


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
