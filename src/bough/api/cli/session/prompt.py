"""`bough session prompt` and `watch`: saying something to a session and listening to it."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from bough.api.cli.framework import output, stream
from bough.api.cli.framework.base import DONE, Here
from bough.api.cli.framework.client import Json, path
from bough.api.cli.framework.completion import ids
from bough.api.cli.framework.formats import short, shorten
from bough.api.cli.session.options import Given, given_files

SessionId = Annotated[
    str,
    typer.Argument(metavar="SESSION", help="Its id, or 8 characters of it.", autocompletion=ids("sessions", "title")),
]
OfSession = Annotated[
    str | None,
    typer.Option(
        "--session", "-s", metavar="ID", help="Only of this session.", autocompletion=ids("sessions", "title")
    ),
]
Follow = Annotated[bool, typer.Option("--follow", "-f", help="Stay and show the answer as it comes.")]


def prompt(
    here: Here,
    session: SessionId,
    text: Annotated[str, typer.Argument(metavar="TEXT|-", help="What to say; - reads it from standard input.")],
    file: Given = None,
    resume: Annotated[bool, typer.Option("--resume", help="Reopen the session first if it has ended.")] = False,
    follow: Follow = False,
) -> int:
    """Send a prompt; it waits in the queue if the session is at work."""
    said = spoken(text)
    cursor = stream.now(here.client) if follow else 0
    body: Json = {"text": said, "resume": resume}
    if files := given_files(file):
        body["files"] = files
    answer = here.client.post(path("sessions", session, "prompt"), body)
    task_id: str = answer.value["taskId"]
    if follow:
        return listen(here, here.client.get(path("tasks", task_id)).value["sessionId"], task_id, cursor)
    known = shorten(session)
    here.show(answer, lambda _: output.line(f"Task {short(task_id)}. See the answer with: bough session watch {known}"))
    return DONE


def watch(here: Here, session: SessionId) -> int:
    """Show what a session says and does as it happens, until Ctrl-C."""
    cursor = stream.now(here.client)
    found: Json = here.client.get(path("sessions", session)).value
    if not here.json:
        state = found["activity"] if found["status"] == "active" else found["status"]
        output.note(f"Session {short(found['id'])} ({found['agent']}) is {state}. Ctrl-C leaves.")
    return listen(here, found["id"], None, cursor)


def spoken(text: str) -> str:
    """The text of a prompt, from standard input if it is `-`."""
    try:
        said = sys.stdin.read() if text == "-" else text
        # Bytes on the command line that are no UTF-8 come as lone surrogates.
        said.encode("utf-8")
    except UnicodeError as error:
        raise typer.BadParameter("The text is not UTF-8.") from error
    return said


def listen(here: Here, session_id: str, task_id: str | None, cursor: int) -> int:
    """Follows a turn or a session."""
    from bough.api.cli.session.follow import Followed, follow

    return follow(here, Followed(session_id, task_id), cursor)
