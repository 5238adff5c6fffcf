"""Runs commands in worktrees, such as development servers: starts, lists and stops them, and prints their logs."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from bough.api.cli.framework import output
from bough.api.cli.framework.base import DONE, CommandContext
from bough.api.cli.framework.client import Json, path
from bough.api.cli.framework.formats import ago, brief, short
from bough.api.cli.framework.terminal_safety import clean
from bough.api.cli.worktree.find import WorktreeId
from bough.errors import Conflict, NotFound

# Seconds between looks at a log that is followed.
LOOK_EVERY = 1.0
# A command's name may be the end of another run's id.
SHORTEST_ID = 8
# So many characters find the place where a log continues.
OVERLAP = 256

Name = Annotated[
    str | None, typer.Argument(metavar="NAME", help="Name of a command in [run] of the repo's .bough.toml.")
]


def run(
    ctx: CommandContext,
    worktree: WorktreeId,
    name: Name = None,
    command: Annotated[
        str | None, typer.Option("--command", "-c", help="Run this shell command instead. Admins only.")
    ] = None,
    port: Annotated[
        int, typer.Option("--port", min=0, max=9, help="Number of the port in the worktree's block, for --command.")
    ] = 0,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Print its log until it ends.")] = False,
) -> int:
    """Run a command in a worktree, such as a development server. It keeps running without the server.

    It learns its ports from BOUGH_PORT, BOUGH_PORT_1, …, and the one to serve at from PORT. A command of the repo runs
    in the sandbox, once a person has allowed it (bough repo config); one that you type runs outside the sandbox.
    """
    if command is not None and name is not None:
        raise typer.BadParameter("Give either a NAME or --command.")
    body: Json = {"command": command, "port": port} if command is not None else {"name": name or _only(ctx, worktree)}
    started = ctx.client.post(path("worktrees", worktree, "runs"), body)
    if follow and not ctx.json:
        return _follow(ctx, started.value["id"])
    ctx.show(started, lambda row: _print_started(row, worktree))
    return DONE


def _only(ctx: CommandContext, worktree: str) -> str:
    """Returns the name of the only command of a worktree's repo."""
    row = ctx.client.get(path("worktrees", worktree)).value
    names = [
        item["name"]
        for item in ctx.client.get(path("repos", row["repoId"], "config"), worktreeId=row["id"]).value["run"]
    ]
    if len(names) != 1:
        listed = f"It has: {', '.join(names)}." if names else "Its .bough.toml has none in [run]; use --command."
        raise Conflict("which_command", f"Name the command to run. {listed}")
    return names[0]


def _print_started(row: Json, worktree: str) -> None:
    where = f", to serve at http://localhost:{row['port']}" if row["port"] else ""
    output.line(f"Started {clean(row['name'] or row['command'])} ({short(row['id'])}){where}.")
    output.note(f"Its log: bough worktree log {short(row['worktreeId'])}")


def runs(
    ctx: CommandContext,
    worktree: WorktreeId,
) -> None:
    """List what runs in a worktree, and the last commands that ended."""
    ctx.show(ctx.client.get("/api/runs", worktreeId=worktree), _print)


def _print(answer: Json) -> None:
    rows: list[Json] = answer["runs"]
    if not rows:
        output.note("Nothing has run there.")
    for row in rows:
        state = row["state"] if row["code"] is None else f"{row['state']} ({row['code']})"
        link = f"  http://localhost:{row['port']}" if row["answers"] else ""
        name = brief(row["name"] or row["command"], 40)
        output.line(f"{short(row['id'])}  {state:<12} {clean(name)}  {ago(row['createdAt'])}{link}")


def stop_run(ctx: CommandContext, worktree: WorktreeId, name: Name = None) -> None:
    """Stop a command in a worktree with everything that it started; all that run there, without NAME."""
    rows: list[Json] = ctx.client.get("/api/runs", worktreeId=worktree).value["runs"]
    chosen = [row for row in rows if row["state"] == "running" and (name is None or _is_named(row, name))]
    if not chosen:
        raise NotFound("run_not_found", "No such command runs in this worktree. To list them: bough worktree runs")
    for row in chosen:
        ctx.show(
            ctx.client.post(path("runs", row["id"], "stop")),
            lambda ended: output.line(f"{clean(ended['name'] or ended['command'])}: {ended['state']}."),
        )


def log(
    ctx: CommandContext,
    worktree: WorktreeId,
    name: Name = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Follow the log until the command ends.")] = False,
) -> int:
    """Print the end of a command's log: of the one that runs in a worktree, or the last that ended there."""
    rows: list[Json] = ctx.client.get("/api/runs", worktreeId=worktree).value["runs"]
    matching = [row for row in rows if name is None or _is_named(row, name)]
    if not matching:
        raise NotFound("run_not_found", "Nothing like this has been run in this worktree. See: bough worktree runs")
    row = next((row for row in reversed(matching) if row["state"] == "running"), matching[-1])
    if follow and not ctx.json:
        return _follow(ctx, row["id"])
    ctx.show(ctx.client.get(path("runs", row["id"], "log")), lambda answer: output.line(clean(answer["text"]).rstrip()))
    return DONE


def preview(ctx: CommandContext, worktree: WorktreeId, name: Name = None) -> None:
    """Print the address at which a browser on the server's machine previews what a command serves."""
    rows: list[Json] = ctx.client.get("/api/runs", worktreeId=worktree).value["runs"]
    running = [row for row in rows if row["state"] == "running" and (name is None or _is_named(row, name))]
    if not running:
        raise NotFound("run_not_found", "No such command runs in this worktree. To list them: bough worktree runs")
    row = next((row for row in reversed(running) if row["answers"]), running[-1])
    ctx.show(ctx.client.post(path("runs", row["id"], "preview")), lambda answer: output.line(answer["url"]))


def _is_named(row: Json, name: str) -> bool:
    return row["name"] == name or (
        len(name) >= SHORTEST_ID and (row["id"].startswith(name) or row["id"].endswith(name))
    )


def unseen(text: str, printed: str) -> str:
    """Returns what follows in a log after what was printed; a long log has lost its beginning meanwhile."""
    head = text[:OVERLAP]
    at = 0 if text.startswith(printed) else printed.find(head) if head else 0
    while at >= 0:
        if text.startswith(printed[at:]):
            return text[len(printed) - at :]
        at = printed.find(head, at + 1)
    return "" if printed.endswith(text) else f"…\n{text}"


def _follow(ctx: CommandContext, run_id: str) -> int:
    """Prints a log until its command has ended. Returns the command's exit code."""
    printed = ""
    while True:
        answer: Json = ctx.client.get(path("runs", run_id, "log")).value
        # Without the last line, which may still change.
        text = str(answer["text"])
        is_running = answer["run"]["state"] == "running"
        whole = text[: text.rfind("\n") + 1] if is_running else text
        fresh = unseen(whole, printed)
        if fresh:
            output.line(clean(fresh).removesuffix("\n"))
            printed = whole
        if not is_running:
            code = answer["run"]["code"]
            output.note(f"It has ended: {answer['run']['state']}" + (f", code {code}." if code is not None else "."))
            return DONE if code is None else code if 0 <= code <= 255 else 128 - code
        time.sleep(LOOK_EVERY)
