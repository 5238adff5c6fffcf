"""`bough task`: lists, shows, cancels and retries tasks, and edits the queue."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from bough.api.cli.framework import output
from bough.api.cli.framework.base import CommandContext, command
from bough.api.cli.framework.client import Json, part, path
from bough.api.cli.framework.completion import ids, names
from bough.api.cli.framework.formats import ago, brief, moment, short, short_forms, shorten
from bough.api.cli.framework.selectors import SESSION
from bough.api.cli.framework.terminal_safety import clean
from bough.api.cli.repos.repo import Limit, Offset
from bough.api.cli.session.make_room import MakeRoom, note_made_room
from bough.api.cli.session.parked import describe_limit
from bough.api.cli.session.prompt import OfSession, SessionId, read_text

app = typer.Typer(no_args_is_help=True, help="Tasks: prompts and their turns, and a session's queue.")
TaskId = Annotated[
    str, typer.Argument(metavar="TASK", help="Task id, or 8 characters of it.", autocompletion=ids("tasks", "prompt"))
]


def add_to(root: typer.Typer) -> None:
    root.add_typer(app, name="task")


@command(app, "list")
def list_tasks(
    ctx: CommandContext,
    named: Annotated[
        str | None,
        SESSION,
        typer.Argument(metavar="SESSION", help="Only this session, as --session.", autocompletion=names("session")),
    ] = None,
    session: OfSession = None,
    status: Annotated[str | None, typer.Option("--status", help="Only these statuses, such as queued,running.")] = None,
    limit: Limit = 20,
    offset: Offset = 0,
) -> None:
    """List tasks: those of one session in queue order, or those of all sessions, newest first."""
    if named is not None and session is not None:
        raise typer.BadParameter("Name the session once: use SESSION or --session.")
    answer = ctx.client.get("/api/tasks", sessionId=named or session, status=status, limit=limit, offset=offset)

    def render(page: Any) -> None:
        rows: list[Json] = page["tasks"]
        ids = short_forms([row["id"] for row in rows])
        sessions = short_forms([row["sessionId"] for row in rows])
        output.table(
            ("ID", "SESSION", "STATUS", "FROM", "CREATED", "PROMPT"),
            [
                (
                    ids[row["id"]],
                    sessions[row["sessionId"]],
                    "parked" if row["parked"] else row["status"],
                    row["source"],
                    ago(row["createdAt"]),
                    brief(row["prompt"], 200),
                )
                for row in rows
            ],
            flexible="PROMPT",
            empty="No tasks.",
        )
        output.more(page, len(rows))

    ctx.show(answer, render)


@command(app, "show")
def show(ctx: CommandContext, task: TaskId) -> None:
    """Show a task: its prompt, outcome and usage."""

    def render(row: Json) -> None:
        cost = part(row, "cost")
        usage = part(row, "usage")
        output.facts(
            [
                ("id", row["id"]),
                ("session", short(row["sessionId"])),
                ("status", "parked" if row["parked"] else row["status"]),
                ("limit", describe_limit(row["parked"]) if row["parked"] else ""),
                ("from", row["source"]),
                ("attempt", str(row["attempt"]) if row["attempt"] > 1 else ""),
                ("stop reason", row["stopReason"] or ""),
                ("error", clean(str(part(row, "error").get("message", "")))),
                ("tool calls", str(row["toolUseCount"] or "")),
                ("last call" if usage.get("counts") == "call" else "tokens", _tokens(usage)),
                ("cost", f"{cost['amount']:g} {cost.get('currency', '')}".strip() if cost.get("amount") else ""),
                ("created", moment(row["createdAt"])),
                ("started", moment(row["startedAt"])),
                ("ended", moment(row["endedAt"])),
            ]
        )
        output.line("")
        output.line(clean(row["prompt"]))

    ctx.show(ctx.client.get(path("tasks", task)), render)


@command(app, "edit")
def edit(
    ctx: CommandContext,
    task: TaskId,
    text: Annotated[str, typer.Argument(metavar="TEXT|-", help="The new prompt; - reads it from standard input.")],
) -> None:
    """Change the text of a queued prompt."""
    answer = ctx.client.patch(path("tasks", task), {"prompt": read_text(text)})
    ctx.show(answer, lambda row: output.line(f"Task {short(row['id'])} now says: {brief(row['prompt'])}"))


@command(app, "move")
def move(
    ctx: CommandContext,
    task: TaskId,
    before: Annotated[
        str | None,
        typer.Option(
            "--before",
            metavar="TASK",
            help="Put it before this task.",
            autocompletion=ids("tasks", "prompt", status="queued"),
        ),
    ] = None,
    last: Annotated[bool, typer.Option("--last", help="Put it last.")] = False,
) -> None:
    """Move a queued prompt within its queue."""
    if (before is None) != last:
        raise typer.BadParameter("Use either --before TASK or --last.")
    answer = ctx.client.patch(path("tasks", task), {"before": before or ""})
    position = f"before {shorten(before)}" if before else "at the end of its queue"
    ctx.show(answer, lambda row: output.line(f"Task {short(row['id'])} is now {position}."))


@command(app, "pause")
def pause(ctx: CommandContext, session: SessionId) -> None:
    """Pause a session's queue until it is resumed or prompted again; a running turn continues."""
    ctx.show(ctx.client.patch(path("sessions", session), {"queuePaused": True}), _print_queue)


@command(app, "resume")
def resume(ctx: CommandContext, session: SessionId) -> None:
    """Resume a session's queue."""
    ctx.show(ctx.client.patch(path("sessions", session), {"queuePaused": False}), _print_queue)


def _print_queue(session: Json) -> None:
    output.line(
        f"The queue of session {short(session['id'])} {'is paused' if session['queuePaused'] else 'is running'}."
    )


@command(app, "retry")
def retry(ctx: CommandContext, task: TaskId, make_room: MakeRoom = True) -> None:
    """Send the prompt of a failed or cancelled task again, with its files, or try a parked task now. A session that has
    ended is resumed."""
    answer = ctx.client.post(path("tasks", task, "retry"), {"makeRoom": make_room})
    note_made_room(answer.value)
    ctx.show(answer, lambda row: output.line(f"Task {short(row['id'])} is {row['status']}: {brief(row['prompt'])}"))


@command(app, "cancel")
def cancel(ctx: CommandContext, task: TaskId) -> None:
    """Remove a prompt from the queue, or stop its turn."""
    answer = ctx.client.delete(path("tasks", task))
    ctx.show(answer, lambda row: output.line(f"Task {short(row['id'])} is {row['status']}."))


def _tokens(usage: dict[str, Any]) -> str:
    total = usage.get("totalTokens")
    return "" if not total else f"{total} tokens" if usage.get("counts") == "call" else str(total)
