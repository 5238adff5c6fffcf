"""Opens a terminal in a worktree, attaches this one to it, and lists and ends those that are open."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from bough.api.cli.framework import output
from bough.api.cli.framework.base import DONE, CommandContext
from bough.api.cli.framework.client import Json, path
from bough.api.cli.framework.formats import ago, short
from bough.api.cli.framework.terminal_safety import clean
from bough.api.cli.worktree.find import WorktreeId
from bough.errors import Conflict


def terminal(
    ctx: CommandContext,
    worktree: WorktreeId,
    new: Annotated[bool, typer.Option("--new", help="Open another one even if one is open already.")] = False,
    listing: Annotated[bool, typer.Option("--list", help="Only list the worktree's open terminals.")] = False,
    end: Annotated[
        str | None, typer.Option("--end", metavar="ID", help="End this terminal and what runs in it.")
    ] = None,
    detached: Annotated[bool, typer.Option("--detached", help="Open one without attaching, and print its id.")] = False,
) -> int:
    """Open your own shell in a worktree, or attach to the newest one that is open there; Ctrl-] detaches.

    It keeps running when you detach, close the window or restart the server. It ends with `exit`, with --end, and with
    its worktree. Admins only: what you type there is limited by no sandbox and no rule.
    """
    if end is not None:
        ctx.show(
            ctx.client.delete(path("terminals", end)), lambda row: output.line(f"Terminal {short(row['id'])} ended.")
        )
        return DONE
    rows = ctx.client.get("/api/terminals", worktreeId=worktree)
    if listing:
        ctx.show(rows, _print)
        return DONE
    open_ones: list[Json] = rows.value["terminals"]
    if detached:
        ctx.show(ctx.client.post("/api/terminals", {"worktreeId": worktree}), lambda row: output.line(short(row["id"])))
        return DONE
    if ctx.json:
        raise typer.BadParameter("--json needs --list, --end or --detached.")
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise Conflict("no_terminal", "This needs a terminal. Without one, only --list, --end and --detached work.")
    # Imported here, because it takes longer than the other commands do.
    from bough.api.cli.worktree import attach

    columns, height = attach.size()
    row = (
        open_ones[-1]
        if open_ones and not new
        else ctx.client.post("/api/terminals", {"worktreeId": worktree, "columns": columns, "rows": height}).value
    )
    output.note(f"Terminal {short(row['id'])} in {clean(row['folder'])}; Ctrl-] detaches.")
    ended = attach.attach(ctx.client, row["id"])
    if ended is None:
        output.note(f"Detached. Come back: bough worktree terminal {short(worktree)}")
        return DONE
    output.note("The terminal has ended.")
    return ended if 0 <= ended <= 255 else 128 - ended


def _print(answer: Json) -> None:
    rows: list[Json] = answer["terminals"]
    if not rows:
        output.note("No terminal is open there.")
    for row in rows:
        output.line(f"{short(row['id'])}  {clean(row['openedBy'])}  {ago(row['createdAt'])}")
