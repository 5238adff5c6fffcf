"""Creates, adopts and changes worktrees."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bough.api.cli.framework import output, stream
from bough.api.cli.framework.base import DONE, FAILED, CommandContext
from bough.api.cli.framework.client import Json, path
from bough.api.cli.framework.completion import names
from bough.api.cli.framework.formats import short
from bough.api.cli.framework.terminal_safety import clean
from bough.api.cli.repos.repo import find_repo, open_repo
from bough.api.cli.worktree.find import WorktreeId

# Seconds without output after which a setup is polled, in case its event was missed.
POLL_AFTER = 15.0

Repo = Annotated[
    str,
    typer.Option("--repo", "-r", metavar="PATH|NAME|ID", autocompletion=names("repo"), help="Repo to create it in."),
]
Notes = Annotated[str | None, typer.Option("--notes", help="Notes for people.")]
Name = Annotated[str | None, typer.Option("--name", help="Display name.")]


def new(
    ctx: CommandContext,
    branch: Annotated[str, typer.Argument(metavar="BRANCH", help="Branch; created if it does not exist.")],
    repo: Repo = ".",
    folder: Annotated[
        str | None, typer.Option("--path", metavar="DIR", help="Folder; defaults to .worktrees/BRANCH in the repo.")
    ] = None,
    base: Annotated[
        str | None,
        typer.Option("--base", metavar="REF", help="Base of a new branch; defaults to the repo's default branch."),
    ] = None,
    name: Name = None,
    notes: Notes = None,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Wait for its setup to finish.")] = True,
) -> int:
    """Create a worktree and show its setup as it runs."""
    fields = {"branch": branch, "path": folder, "base": base, "name": name, "notes": notes}
    body = {key: value for key, value in fields.items() if value is not None}
    body |= {"repoId": open_repo(ctx.client, repo), "wait": False}
    cursor = stream.now(ctx.client) if wait else 0
    answer = ctx.client.post("/api/worktrees", body)
    if answer.value["status"] != "setting_up" or not wait:
        ctx.show(answer, print_created)
        return DONE
    ready = follow_setup(ctx, answer.value, cursor)
    output.document(ready) if ctx.json else print_created(ready)
    return FAILED if ready["setupError"] else DONE


def setup(
    ctx: CommandContext,
    worktree: WorktreeId,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Wait for its setup to finish.")] = True,
) -> int:
    """Repeat a worktree's setup, for example after you allowed it with `bough repo config --allow`."""
    cursor = stream.now(ctx.client) if wait else 0
    answer = ctx.client.post(path("worktrees", worktree, "setup"), {"wait": False})
    ready = follow_setup(ctx, answer.value, cursor) if wait else answer.value
    output.document(ready) if ctx.json else print_created(ready)
    return FAILED if ready["setupError"] else DONE


def follow_setup(ctx: CommandContext, created: Json, cursor: int) -> Json:
    """Shows a setup's output until it ends; returns the worktree in its final state."""
    if not ctx.json:
        output.note(f"Running the setup of worktree {short(created['id'])} …")
    shown = ""
    with stream.EventStream(ctx.client, None, cursor) as events:
        while True:
            item = events.next(within=POLL_AFTER)
            if item is None or item.kind in ("lost", "back"):
                continue
            if item.kind == "quiet":
                worktree: Json = ctx.client.get(path("worktrees", created["id"])).value
            elif item.event.get("objectId") == created["id"]:
                worktree = item.event["data"]
            else:
                continue
            text: str = worktree["setupOutput"] or ""
            if not ctx.json and text != shown:
                fresh = text[len(shown) :] if text.startswith(shown) else text
                output.note(fresh.rstrip("\n"))
                shown = text
            if worktree["status"] != "setting_up":
                return worktree


def print_created(worktree: Json) -> None:
    output.line(f"Worktree {short(worktree['id'])}: {worktree['branch'] or 'detached'} in {clean(worktree['path'])}")
    if worktree["setupError"]:
        output.note(f"Its setup failed: {worktree['setupError']}")
    output.note(f"Next: bough session new --in {short(worktree['id'])} -p PROMPT")


def adopt(
    ctx: CommandContext,
    folder_text: Annotated[str, typer.Argument(metavar="PATH", help="Folder of an existing git worktree.")],
    repo: Annotated[
        str | None,
        typer.Option(
            "--repo",
            "-r",
            metavar="PATH|NAME|ID",
            autocompletion=names("repo"),
            help="Its repo; defaults to this folder's.",
        ),
    ] = None,
    name: Name = None,
    notes: Notes = None,
) -> None:
    """Adopt a worktree that was created without Bough; nothing in it changes."""
    absolute = str(Path(folder_text).expanduser().absolute())
    repo_id = find_repo(ctx.client, repo if repo is not None else ".")
    fields = {"repoId": repo_id, "path": absolute, "name": name, "notes": notes}
    answer = ctx.client.post("/api/worktrees", {key: value for key, value in fields.items() if value is not None})
    ctx.show(answer, print_created)


def change(
    ctx: CommandContext,
    worktree: WorktreeId,
    name: Name = None,
    notes: Notes = None,
    board: Annotated[
        str | None, typer.Option("--board", metavar="ID", help="Board to put it on; '' removes it from its board.")
    ] = None,
    x: Annotated[float | None, typer.Option("--x", metavar="N", help="Distance from the board's left edge.")] = None,
    y: Annotated[float | None, typer.Option("--y", metavar="N", help="Distance from the board's top edge.")] = None,
) -> None:
    """Change a worktree's name, notes or position on a board."""
    fields = {"name": name, "notes": notes, "x": x, "y": y}
    body: Json = {key: value for key, value in fields.items() if value is not None}
    if board is not None:
        body["boardId"] = board or None
    if not body:
        raise typer.BadParameter("Nothing to change; see: bough worktree set --help")
    answer = ctx.client.patch(path("worktrees", worktree), body)
    ctx.show(
        answer,
        lambda worktree_row: output.line(
            f"Worktree {short(worktree_row['id'])} is now called {clean(worktree_row['name'])}."
        ),
    )
