"""`bough checkpoint`, `bough task diff|restore` and `bough session diff`: shows file changes and restores files."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import typer

from bough.api.cli.commands.task import TaskId
from bough.api.cli.commands.task import app as task_app
from bough.api.cli.framework import output
from bough.api.cli.framework.base import CommandContext, command
from bough.api.cli.framework.client import Json, Response, path
from bough.api.cli.framework.completion import ids
from bough.api.cli.framework.formats import ago, short, short_forms
from bough.api.cli.repos.repo import Limit, Offset
from bough.api.cli.session.manage import app as session_app
from bough.api.cli.session.prompt import OfSession, SessionId

app = typer.Typer(no_args_is_help=True, help="Checkpoints: the files of a git folder before and after each task.")

STYLES = {"+": "green", "-": "red", "@": "cyan"}
LETTERS = {"added": "A", "deleted": "D", "modified": "M", "renamed": "R", "copied": "C", "typeChanged": "T"}

CheckpointId = Annotated[
    str,
    typer.Argument(
        metavar="CHECKPOINT", help="Checkpoint id, or 8 characters of it.", autocompletion=ids("checkpoints", "moment")
    ),
]
OfTask = Annotated[
    str | None,
    typer.Option("--task", metavar="TASK", help="Only this task.", autocompletion=ids("tasks", "prompt")),
]
Stat = Annotated[bool, typer.Option("--stat", help="Only list the files and how many lines changed.")]
OnlyPath = Annotated[str | None, typer.Option("--path", metavar="PATH", help="Only this file or folder.")]
Paths = Annotated[
    list[str] | None, typer.Option("--path", metavar="PATH", help="Only this file or folder; repeatable.")
]
Force = Annotated[
    bool,
    typer.Option("--force", help="Restore even while a turn is running there, or if it undoes other sessions' work."),
]


def add_to(root: typer.Typer) -> None:
    root.add_typer(app, name="checkpoint")


@command(task_app, "diff")
def diff_task(ctx: CommandContext, task: TaskId, stat: Stat = False, only: OnlyPath = None) -> None:
    """Show a task's file changes; for a running task, its changes so far."""
    _show_diff(ctx, _diff(ctx, f"{path('tasks', task)}/diff", stat, only))


@command(session_app, "diff")
def diff_session(ctx: CommandContext, session: SessionId, stat: Stat = False, only: OnlyPath = None) -> None:
    """Show a session's file changes, from its first task to its last."""
    _show_diff(ctx, _diff(ctx, f"{path('sessions', session)}/diff", stat, only))


@command(task_app, "restore")
def restore_task(
    ctx: CommandContext,
    task: TaskId,
    moment: Annotated[
        Literal["before", "after"],
        typer.Option("--moment", metavar="before|after", help="Restore the files from before or after the task."),
    ] = "before",
    paths: Paths = None,
    force: Force = False,
) -> None:
    """Restore the files from before or after a task; index and branch are not changed."""
    body = {"moment": moment, "paths": paths or None, "force": force}
    ctx.show(ctx.client.post(f"{path('tasks', task)}/restore", body), _print_restored)


@command(app, "list")
def list_checkpoints(
    ctx: CommandContext, session: OfSession = None, task: OfTask = None, limit: Limit = 20, offset: Offset = 0
) -> None:
    """List checkpoints, newest first."""
    answer = ctx.client.get("/api/checkpoints", sessionId=session, taskId=task, limit=limit, offset=offset)

    def render(page: Any) -> None:
        rows: list[Json] = page["checkpoints"]
        forms = short_forms([row["id"] for row in rows])
        output.table(
            ("ID", "TASK", "MOMENT", "COMMIT", "CREATED", "FOLDER"),
            [
                (
                    forms[row["id"]],
                    short(row["taskId"]) if row["taskId"] else "",
                    row["moment"],
                    row["sha"][:10] if row["sha"] else "none",
                    ago(row["createdAt"]),
                    row["note"] if not row["sha"] and row["note"] else row["cwd"],
                )
                for row in rows
            ],
            flexible="FOLDER",
            empty="No checkpoints.",
        )
        output.more(page, len(rows))

    ctx.show(answer, render)


@command(app, "restore")
def restore_checkpoint(
    ctx: CommandContext, checkpoint: CheckpointId, paths: Paths = None, force: Force = False
) -> None:
    """Restore the files of a checkpoint, such as the one that undoes a restore."""
    body = {"paths": paths or None, "force": force}
    ctx.show(ctx.client.post(f"{path('checkpoints', checkpoint)}/restore", body), _print_restored)


@command(app, "prune")
def prune(
    ctx: CommandContext,
    days: Annotated[
        float | None,
        typer.Option("--days", metavar="N", min=0, help="Age in days; defaults to the server's setting."),
    ] = None,
) -> None:
    """Delete old checkpoints and those of deleted sessions."""
    answer = ctx.client.post("/api/checkpoints/prune", {"days": days})
    ctx.show(answer, lambda result: output.line(f"{result['pruned']} checkpoints deleted."))


def _diff(ctx: CommandContext, address: str, stat: bool, only: str | None) -> Response:
    return ctx.client.call("GET", address, query={"stat": stat, "path": only})


def _show_diff(ctx: CommandContext, answer: Response) -> None:
    def render(changes: Json) -> None:
        if changes["text"]:
            for line in changes["text"].splitlines():
                output.line(line, STYLES.get(line[:1], ""))
        else:
            for file in changes["files"]:
                name = f"{file['oldPath']} → {file['path']}" if file["oldPath"] else file["path"]
                lines = "binary" if file["binary"] else f"+{file['additions']} -{file['deletions']}"
                output.line(f"{LETTERS.get(file['status'], '?')}  {name}  {lines}")
        if not changes["files"]:
            output.line("No changes.", "dim")
        if changes["overlaps"]:
            tasks = ", ".join(map(short, changes["overlaps"]))
            output.note(f"Other sessions were working there at the same time: task {tasks}.")
        if changes["note"]:
            output.note(changes["note"])

    ctx.show(answer, render)


def _print_restored(result: Json) -> None:
    for name in result["written"]:
        output.line(f"written  {name}")
    for name in result["removed"]:
        output.line(f"removed  {name}")
    for name in result["left"]:
        output.line(f"left     {name}", "dim")
    if result["note"]:
        output.note(result["note"])
    if result["undoCheckpointId"]:
        output.line(f"To undo this: bough checkpoint restore {result['undoCheckpointId']}")
