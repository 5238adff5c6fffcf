"""`bough session prompt` and `watch`: sends a prompt and shows a session's activity live."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from bough.api.cli.framework import output, stream
from bough.api.cli.framework.base import DONE, CommandContext
from bough.api.cli.framework.client import Json, path
from bough.api.cli.framework.completion import names
from bough.api.cli.framework.formats import short, shorten
from bough.api.cli.framework.selectors import SESSION
from bough.api.cli.session.make_room import MakeRoom, note_made_room
from bough.api.cli.session.options import Files, encode_files

SessionId = Annotated[
    str,
    SESSION,
    typer.Argument(
        metavar="SESSION",
        help="Session: its id or 8 characters of it, its title, branch, repo or folder, or @last.",
        autocompletion=names("session"),
    ),
]
OfSession = Annotated[
    str | None,
    SESSION,
    typer.Option("--session", "-s", metavar="SESSION", help="Only this session.", autocompletion=names("session")),
]
Follow = Annotated[bool, typer.Option("--follow", "-f", help="Show the answer as it arrives.")]


def prompt(
    ctx: CommandContext,
    session: SessionId,
    text: Annotated[str, typer.Argument(metavar="TEXT|-", help="The prompt; - reads it from standard input.")],
    file: Files = None,
    resume: Annotated[bool, typer.Option("--resume", help="Reopen the session first if it has ended.")] = False,
    make_room: MakeRoom = True,
    now: Annotated[
        bool, typer.Option("--now", help="Put it into the running turn, if the agent takes it there.")
    ] = False,
    after_stop: Annotated[
        bool, typer.Option("--after-stop", help="Stop the running turn, then send it before the queue.")
    ] = False,
    follow: Follow = False,
) -> int:
    """Send a prompt; it is queued if a turn is running."""
    if now and after_stop:
        raise typer.BadParameter("Use --now or --after-stop, not both.")
    content = read_text(text)
    cursor = stream.now(ctx.client) if follow else 0
    body: Json = {"text": content, "resume": resume}
    if files := encode_files(file):
        body["files"] = files
    if resume and make_room:
        body["makeRoom"] = True
    if now or after_stop:
        body["when"] = "now" if now else "after_stop"
    answer = ctx.client.post(path("sessions", session, "prompt"), body)
    note_made_room(answer.value)
    task_id: str = answer.value["taskId"]
    if follow:
        return follow_session(ctx, ctx.client.get(path("tasks", task_id)).value["sessionId"], task_id, cursor)
    session_name = shorten(session)
    ctx.show(
        answer, lambda _: output.line(f"Task {short(task_id)}. See the answer: bough session watch {session_name}")
    )
    return DONE


def watch(ctx: CommandContext, session: SessionId) -> int:
    """Show a session live until Ctrl-C."""
    cursor = stream.now(ctx.client)
    row: Json = ctx.client.get(path("sessions", session)).value
    if not ctx.json:
        state = row["activity"] if row["status"] == "active" else row["status"]
        doing = row["stuck"] or state
        output.note(f"Session {short(row['id'])} ({row['agent']}) is {doing}. Press Ctrl-C to stop watching.")
    return follow_session(ctx, row["id"], None, cursor)


def read_text(text: str) -> str:
    """Returns the text of a prompt, read from standard input if it is `-`."""
    try:
        content = sys.stdin.read() if text == "-" else text
        # Bytes on the command line that are not UTF-8 arrive as lone surrogates.
        content.encode("utf-8")
    except UnicodeError as error:
        raise typer.BadParameter("The text is not UTF-8.") from error
    return content


def follow_session(ctx: CommandContext, session_id: str, task_id: str | None, cursor: int) -> int:
    """Follows one turn, or the session if `task_id` is None; returns the exit code."""
    from bough.api.cli.session.follow.follow_session import FollowTarget, follow

    return follow(ctx, FollowTarget(session_id, task_id), cursor)
