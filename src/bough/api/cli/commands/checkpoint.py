"""`bough checkpoint`, `bough task diff|restore` and `bough session diff`: what was changed in files, and bringing them
back (W4). All of it is done by the server."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import typer

from bough.api.cli.commands.repo import Limit, Offset
from bough.api.cli.commands.task import TaskId
from bough.api.cli.commands.task import app as task_app
from bough.api.cli.framework import output
from bough.api.cli.framework.base import Here, command
from bough.api.cli.framework.client import Answer, Json, path
from bough.api.cli.framework.completion import ids
from bough.api.cli.framework.formats import ago, short, short_forms
from bough.api.cli.session.manage import app as session_app
from bough.api.cli.session.prompt import OfSession, SessionId

app = typer.Typer(no_args_is_help=True, help="The files of git folders as they were before and after tasks.")

STYLES = {"+": "green", "-": "red", "@": "cyan"}
LETTERS = {"added": "A", "deleted": "D", "modified": "M", "renamed": "R", "copied": "C", "typeChanged": "T"}

CheckpointId = Annotated[
    str,
    typer.Argument(
        metavar="CHECKPOINT", help="Its id, or 8 characters of it.", autocompletion=ids("checkpoints", "moment")
    ),
]
OfTask = Annotated[
    str | None,
    typer.Option("--task", metavar="TASK", help="Only of this task.", autocompletion=ids("tasks", "prompt")),
]
Stat = Annotated[bool, typer.Option("--stat", help="Only which files, and how many lines.")]
OnlyPath = Annotated[str | None, typer.Option("--path", metavar="PATH", help="Only this file or folder.")]
Paths = Annotated[
    list[str] | None, typer.Option("--path", metavar="PATH", help="Only this file or folder; may be given again.")
]
Force = Annotated[bool, typer.Option("--force", help="Even if a turn runs there, or others' work is undone.")]


def add_to(root: typer.Typer) -> None:
    root.add_typer(app, name="checkpoint")


@command(task_app, "diff")
def diff_task(here: Here, task: TaskId, stat: Stat = False, only: OnlyPath = None) -> None:
    """Show what a task has changed in the files; of one that runs, what it has changed so far."""
    _show_diff(here, _diff(here, f"{path('tasks', task)}/diff", stat, only))


@command(session_app, "diff")
def diff_session(here: Here, session: SessionId, stat: Stat = False, only: OnlyPath = None) -> None:
    """Show what a session has changed in the files, from its first task to its last."""
    _show_diff(here, _diff(here, f"{path('sessions', session)}/diff", stat, only))


@command(task_app, "restore")
def restore_task(
    here: Here,
    task: TaskId,
    moment: Annotated[
        Literal["before", "after"],
        typer.Option("--moment", metavar="before|after", help="To how they were before the task, or after it."),
    ] = "before",
    paths: Paths = None,
    force: Force = False,
) -> None:
    """Bring files back to how they were before a task, or after it; index and branch stay."""
    body = {"moment": moment, "paths": paths or None, "force": force}
    here.show(here.client.post(f"{path('tasks', task)}/restore", body), _say_restored)


@command(app, "list")
def list_checkpoints(
    here: Here, session: OfSession = None, task: OfTask = None, limit: Limit = 20, offset: Offset = 0
) -> None:
    """List checkpoints, newest first."""
    answer = here.client.get("/api/checkpoints", sessionId=session, taskId=task, limit=limit, offset=offset)

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
            empty="No checkpoint.",
        )
        output.more(page, len(rows))

    here.show(answer, render)


@command(app, "restore")
def restore_checkpoint(here: Here, checkpoint: CheckpointId, paths: Paths = None, force: Force = False) -> None:
    """Bring files back to a checkpoint, such as the one that undoes a restore."""
    body = {"paths": paths or None, "force": force}
    here.show(here.client.post(f"{path('checkpoints', checkpoint)}/restore", body), _say_restored)


@command(app, "prune")
def prune(
    here: Here,
    days: Annotated[
        float | None,
        typer.Option("--days", metavar="N", min=0, help="Those older than this; by default, as the server is set."),
    ] = None,
) -> None:
    """Forget old checkpoints, and those of sessions that are gone."""
    answer = here.client.post("/api/checkpoints/prune", {"days": days})
    here.show(answer, lambda found: output.line(f"{found['pruned']} checkpoints forgotten."))


def _diff(here: Here, address: str, stat: bool, only: str | None) -> Answer:
    return here.client.call("GET", address, query={"stat": stat, "path": only})


def _show_diff(here: Here, answer: Answer) -> None:
    def render(found: Json) -> None:
        if found["text"]:
            for line in found["text"].splitlines():
                output.line(line, STYLES.get(line[:1], ""))
        else:
            for one in found["files"]:
                named = f"{one['oldPath']} → {one['path']}" if one["oldPath"] else one["path"]
                lines = "binary" if one["binary"] else f"+{one['additions']} -{one['deletions']}"
                output.line(f"{LETTERS.get(one['status'], '?')}  {named}  {lines}")
        if not found["files"]:
            output.line("Nothing was changed.", "dim")
        if found["overlaps"]:
            others = ", ".join(map(short, found["overlaps"]))
            output.note(f"Other sessions were at work there at the same time: task {others}.")
        if found["note"]:
            output.note(found["note"])

    here.show(answer, render)


def _say_restored(found: Json) -> None:
    for name in found["written"]:
        output.line(f"written  {name}")
    for name in found["removed"]:
        output.line(f"removed  {name}")
    for name in found["left"]:
        output.line(f"left     {name}", "dim")
    if found["note"]:
        output.note(found["note"])
    if found["undoCheckpointId"]:
        output.line(f"To undo this: bough checkpoint restore {found['undoCheckpointId']}")
