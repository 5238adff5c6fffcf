"""Finishes the work in a worktree: commits, updates, merges, pushes and cleans up, each with a preview."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal

import typer

from bough.api.cli.framework import output
from bough.api.cli.framework.base import DONE, FAILED, CommandContext
from bough.api.cli.framework.client import SETUP_WITHIN, Json, path
from bough.api.cli.framework.error_hints import with_options
from bough.api.cli.framework.formats import short
from bough.api.cli.framework.terminal_safety import clean
from bough.api.cli.worktree.find import ExactWorktreeId, WorktreeId
from bough.errors import Conflict

# A preview lists at most this many files.
MOST_FILES = 20

DryRun = Annotated[bool, typer.Option("--dry-run", "-n", help="Only show what would happen, or why it is refused.")]
Replaces = Annotated[
    str | None,
    typer.Option("--replaces", metavar="COMMIT", help="Replace this last commit there, whoever pushed it."),
]
Force = Annotated[bool, typer.Option("--force", help="Continue while a turn runs there.")]


def status(ctx: CommandContext, worktree: WorktreeId) -> None:
    """Show the uncommitted, unpushed and unmerged work in a worktree."""
    state = ctx.client.get(path("worktrees", worktree, "finish"))
    if state.value is None:
        raise Conflict("worktree_busy", f"Worktree {worktree} is being created or removed, or is gone.")
    ctx.show(state, _print_state)


def _print_state(state: Json) -> None:
    remote: Json = state["remote"]
    merge: Json = state["lastMerge"] or {}
    counts = (
        f"{state['ahead']} ahead of {state['base']}, {state['behind']} behind" if state["ahead"] is not None else ""
    )
    pushed = f"{remote['ahead']} to push, {remote['behind']} behind" if remote["ahead"] is not None else "not pushed"
    output.facts(
        [
            ("branch", clean(state["branch"] or "(detached)")),
            ("commits", clean(counts)),
            ("files", f"{state['filesTotal']} not committed" if state["filesTotal"] else "clean"),
            ("in progress", state["unfinished"] or ""),
            ("remote", clean(f"{remote['name']} ({remote['address']}): {pushed}" if remote["name"] else "")),
            ("merged", clean(f"into {merge['branch']}" if state["merged"] else "")),
            ("cleanup", clean(f"not completed: {state['cleanupError']}" if state["cleanupError"] else "")),
            ("running", ", ".join(short(item) for item in state["running"])),
        ]
    )
    for overlap in state["overlaps"]:
        names = ", ".join(overlap["files"][:3]) + (", …" if overlap["filesTotal"] > 3 else "")
        output.line(clean(f"also changed in {overlap['name']}: {names}"))
    for file in state["files"]:
        output.line(f"{file['status']:<12} {clean(file['path'])}")
    if state["filesTotal"] > len(state["files"]):
        output.line(f"and {state['filesTotal'] - len(state['files'])} more")


def commit(
    ctx: CommandContext,
    worktree: WorktreeId,
    files: Annotated[
        list[str] | None, typer.Argument(metavar="FILE...", help="Files; all changed ones by default.")
    ] = None,
    message: Annotated[
        str | None, typer.Option("--message", "-m", help="Message; proposed from the last turn by default.")
    ] = None,
    dry_run: DryRun = False,
    force: Force = False,
) -> int:
    """Commit files of a worktree; hooks run only where a person allowed them."""
    return send(ctx, worktree, "commit", {"message": message, "files": files or None}, dry_run, force)


def update(
    ctx: CommandContext,
    worktree: WorktreeId,
    rebase: Annotated[bool, typer.Option("--rebase", help="Rebase instead of merging.")] = False,
    base: Annotated[str | None, typer.Option("--base", metavar="BRANCH", help="Another base branch.")] = None,
    fetch: Annotated[bool, typer.Option("--fetch", help="Fetch the base from its remote first.")] = False,
    agent: Annotated[
        bool, typer.Option("--agent", help="Hand a conflict to the worktree's agent as one prompt.")
    ] = False,
    dry_run: DryRun = False,
    force: Force = False,
) -> int:
    """Bring new commits of the base into a worktree's branch; a conflict changes nothing."""
    body: Json = {"how": "rebase" if rebase else "merge", "base": base, "fetch": fetch}
    body["onConflict"] = "agent" if agent else "abort"
    return send(ctx, worktree, "update", body, dry_run, force)


def merge(
    ctx: CommandContext,
    worktree: ExactWorktreeId,
    how: Annotated[
        Literal["merge", "ff", "squash"],
        typer.Option("--how", help="A merge commit, a fast-forward only, or one new commit."),
    ] = "merge",
    into: Annotated[str | None, typer.Option("--into", metavar="BRANCH", help="Another branch than the base.")] = None,
    message: Annotated[str | None, typer.Option("--message", "-m", help="Message of the new commit.")] = None,
    undo: Annotated[
        bool, typer.Option("--undo", help="Move the base back to where it was before the last merge.")
    ] = False,
    dry_run: DryRun = False,
    force: Annotated[
        bool, typer.Option("--force", help="Continue while a turn runs there, and without uncommitted files.")
    ] = False,
) -> int:
    """Merge a worktree's branch into its base, which must have no uncommitted changes where it is checked out."""
    if undo:
        return send(ctx, worktree, "merge/undo", {}, dry_run, force)
    return send(ctx, worktree, "merge", {"how": how, "into": into, "message": message}, dry_run, force)


def push(
    ctx: CommandContext,
    worktree: ExactWorktreeId,
    remote: Annotated[str | None, typer.Option("--remote", metavar="NAME", help="Another remote.")] = None,
    rewrite: Annotated[
        bool, typer.Option("--rewrite", help="Replace commits there, unless somebody else pushed since.")
    ] = False,
    replaces: Replaces = None,
    dry_run: DryRun = False,
    force: Force = False,
) -> int:
    """Push a worktree's branch with your own keys."""
    return send(ctx, worktree, "push", {"remote": remote, "rewrite": rewrite, "replaces": replaces}, dry_run, force)


def cleanup(
    ctx: CommandContext,
    worktree: ExactWorktreeId,
    keep_branch: Annotated[bool, typer.Option("--keep-branch", help="Keep the branch although it is merged.")] = False,
    dry_run: DryRun = False,
    force: Annotated[
        bool,
        typer.Option("--force", help="Stop turns, and remove it with uncommitted or unmerged work, recoverably."),
    ] = False,
) -> int:
    """End and archive a worktree's sessions, remove it, and delete its branch if that is merged."""

    def then(finished: Json) -> None:
        if not dry_run and finished["recoveryRef"]:
            output.note(f"Recover it: bough worktree recover {short(finished['worktreeId'])}")

    return send(ctx, worktree, "cleanup", {"keepBranch": keep_branch}, dry_run, force, then)


def send(
    ctx: CommandContext,
    worktree: str,
    verb: str,
    body: Json,
    dry_run: bool,
    force: bool,
    then: Callable[[Json], None] | None = None,
) -> int:
    """Sends an operation and prints its steps; `then` gets the answer. A preview that would be refused fails."""
    fields = {key: value for key, value in body.items() if value is not None}
    target = path("worktrees", worktree, *verb.split("/"))
    answer = ctx.client.post(target, {**fields, "dryRun": dry_run, "force": force}, within=SETUP_WITHIN)
    ctx.show(answer, print_finished)
    if then is not None:
        then(answer.value)
    return FAILED if answer.value["refusal"] else DONE


def print_finished(finished: Json) -> None:
    """Prints what an operation did or would do."""
    for step in finished["steps"]:
        output.line(clean(step))
    if finished["refusal"]:
        output.line(f"Refused: {clean(with_options(finished['refusal']['message']))}")
    for name in finished["conflicts"][:MOST_FILES]:
        output.line(f"  in conflict  {clean(name)}")
    if finished["pullRequest"]:
        _print_request(finished["pullRequest"], with_text=finished["dryRun"] or not finished["pullRequest"]["url"])
    if finished["dryRun"]:
        if finished["message"]:
            output.line("")
            output.line(clean(finished["message"]))
        for name in finished["files"][:MOST_FILES]:
            output.line(f"  {clean(name)}")
        if finished["filesTotal"] > MOST_FILES:
            output.line(f"  and {finished['filesTotal'] - MOST_FILES} more")
        output.note("Nothing was changed (--dry-run).")
    elif finished["sha"]:
        output.note(f"Now at {finished['sha'][:12]}.")
    if finished["taskId"]:
        output.note(f"Watch it: bough session show {short(finished['sessionId'])}")


def _print_request(request: Json, *, with_text: bool) -> None:
    """Prints a pull request's address, and the text to check or to paste."""
    for address in (request["url"], request["link"]):
        if address:
            output.line(clean(address))
    if with_text:
        for text in ("", request["title"], "", request["body"]):
            output.line(clean(text))
