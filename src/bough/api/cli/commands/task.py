"""`bough task`: prompts that wait, run or have run. Sending one is `bough session prompt`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from bough.api.cli.commands.repo import Limit, Offset
from bough.api.cli.framework import output
from bough.api.cli.framework.base import Here, command
from bough.api.cli.framework.client import Json, part, path
from bough.api.cli.framework.completion import ids
from bough.api.cli.framework.formats import ago, brief, clean, moment, short, short_forms, shorten
from bough.api.cli.session.prompt import OfSession, SessionId, spoken

app = typer.Typer(no_args_is_help=True, help="Prompts and the turns that they cause; the queue of a session.")
TaskId = Annotated[
    str, typer.Argument(metavar="TASK", help="Its id, or 8 characters of it.", autocompletion=ids("tasks", "prompt"))
]


def add_to(root: typer.Typer) -> None:
    root.add_typer(app, name="task")


@command(app, "list")
def list_tasks(
    here: Here,
    session: OfSession = None,
    status: Annotated[str | None, typer.Option("--status", help="Only these, such as queued,running.")] = None,
    limit: Limit = 20,
    offset: Offset = 0,
) -> None:
    """List tasks: of one session in the order of its queue, else of all sessions, newest first."""
    answer = here.client.get("/api/tasks", sessionId=session, status=status, limit=limit, offset=offset)

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
                    row["status"],
                    row["source"],
                    ago(row["createdAt"]),
                    brief(row["prompt"], 200),
                )
                for row in rows
            ],
            flexible="PROMPT",
            empty="No task.",
        )
        output.more(page, len(rows))

    here.show(answer, render)


@command(app, "show")
def show(here: Here, task: TaskId) -> None:
    """Show a task: its prompt, how it went, what it took."""

    def render(found: Json) -> None:
        cost = part(found, "cost")
        usage = part(found, "usage")
        output.facts(
            [
                ("id", found["id"]),
                ("session", short(found["sessionId"])),
                ("status", found["status"]),
                ("from", found["source"]),
                ("attempt", str(found["attempt"]) if found["attempt"] > 1 else ""),
                ("stop reason", found["stopReason"] or ""),
                ("error", clean(str(part(found, "error").get("message", "")))),
                ("tool calls", str(found["toolUseCount"] or "")),
                ("tokens", str(usage.get("totalTokens") or "")),
                ("cost", f"{cost['amount']:g} {cost.get('currency', '')}".strip() if cost.get("amount") else ""),
                ("created", moment(found["createdAt"])),
                ("started", moment(found["startedAt"])),
                ("ended", moment(found["endedAt"])),
            ]
        )
        output.line("")
        output.line(clean(found["prompt"]))

    here.show(here.client.get(path("tasks", task)), render)


@command(app, "edit")
def edit(
    here: Here, task: TaskId, text: Annotated[str, typer.Argument(metavar="TEXT|-", help="The new prompt; - reads it.")]
) -> None:
    """Change the text of a prompt that still waits."""
    answer = here.client.patch(path("tasks", task), {"prompt": spoken(text)})
    here.show(answer, lambda found: output.line(f"Task {short(found['id'])} now says: {brief(found['prompt'])}"))


@command(app, "move")
def move(
    here: Here,
    task: TaskId,
    before: Annotated[
        str | None,
        typer.Option(
            "--before",
            metavar="TASK",
            help="Run it before this one.",
            autocompletion=ids("tasks", "prompt", status="queued"),
        ),
    ] = None,
    last: Annotated[bool, typer.Option("--last", help="Run it after all others.")] = False,
) -> None:
    """Move a prompt that still waits to another place in its queue."""
    if (before is None) != last:
        raise typer.BadParameter("Say where to: either --before TASK or --last.")
    answer = here.client.patch(path("tasks", task), {"before": before or ""})
    place = f"before {shorten(before)}" if before else "at the end of its queue"
    here.show(answer, lambda found: output.line(f"Task {short(found['id'])} waits {place}."))


@command(app, "pause")
def pause(here: Here, session: SessionId) -> None:
    """Let the queue of a session wait, until it is resumed or prompted again; a turn that runs goes on."""
    here.show(here.client.patch(path("sessions", session), {"queuePaused": True}), _say_queue)


@command(app, "resume")
def resume(here: Here, session: SessionId) -> None:
    """Let the queue of a session go on."""
    here.show(here.client.patch(path("sessions", session), {"queuePaused": False}), _say_queue)


def _say_queue(found: Json) -> None:
    output.line(f"The queue of session {short(found['id'])} {'is paused' if found['queuePaused'] else 'goes on'}.")


@command(app, "cancel")
def cancel(here: Here, task: TaskId) -> None:
    """Take a prompt out of the queue, or stop the turn if it runs."""
    answer = here.client.delete(path("tasks", task))
    here.show(answer, lambda found: output.line(f"Task {short(found['id'])} is {found['status']}."))
