"""`bough session stop|seen|resume|complete|archive|rm`: steering and ending sessions, alone or with all below them.
What each means is the server's part."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Annotated

import typer

from bough.api.cli.commands.worktree import name_what_would_be_lost, say_removed
from bough.api.cli.framework import output
from bough.api.cli.framework.base import DONE, FAILED, Here
from bough.api.cli.framework.client import Answer, Json, Refused, path
from bough.api.cli.framework.formats import brief, short, shorten
from bough.api.cli.session.prompt import SessionId

# Each stop waits up to half a minute for its agent; a tree is stopped a level at a time.
CASCADE_WITHIN = 600.0

Cascade = Annotated[
    bool, typer.Option("--cascade", help="The same to all that was forked or spawned from it, children first.")
]


def stop(here: Here, session: SessionId, cascade: Cascade = False) -> int:
    """Stop the running turn; what is queued waits for the next prompt or for resume."""

    def render(answer: Json) -> None:
        task: Json | None = answer["task"]
        said = f"Task {short(task['id'])} is {task['status']}." if task else "No turn was running."
        output.line(f"{said} The queue is paused." if answer["session"]["queuePaused"] else said)

    answer = here.client.post(path("sessions", session, "stop"), {"cascade": cascade}, CASCADE_WITHIN)
    return _show(here, answer, render)


def seen(here: Here, session: SessionId) -> None:
    """Note that you have looked at a session: what has ended there so far is no news any more."""

    def render(found: Json) -> None:
        output.line(f"Session {short(found['id'])} is seen.")

    here.show(here.client.post(path("sessions", session, "seen")), render)


def resume(here: Here, session: SessionId) -> None:
    """Let a paused queue go on, or reopen a session that has ended."""
    here.show(here.client.post(path("sessions", session, "resume")), say_state)


def complete(
    here: Here,
    session: SessionId,
    force: Annotated[bool, typer.Option("--force", help="Cancel what still runs or waits.")] = False,
    cascade: Cascade = False,
) -> int:
    """End a session as completed."""
    body = {"force": force, "cascade": cascade}
    return _show(here, here.client.post(path("sessions", session, "complete"), body, CASCADE_WITHIN), say_state)


def archive(
    here: Here,
    session: SessionId,
    undo: Annotated[bool, typer.Option("--undo", help="Take it out of the archive again.")] = False,
    cascade: Cascade = False,
) -> int:
    """Put a session away; lists leave it out from then on."""
    body = {"archived": not undo, "cascade": cascade}
    answer = here.client.post(path("sessions", session, "archive"), body, CASCADE_WITHIN)
    said = "is out of the archive" if undo else "is archived"
    return _show(here, answer, lambda found: output.line(f"Session {short(found['id'])} {said}."))


def remove(
    here: Here,
    session: SessionId,
    purge: Annotated[bool, typer.Option("--purge", help="Remove it for good, transcript and all.")] = False,
    worktree: Annotated[bool, typer.Option("--worktree", help="Remove its worktree too.")] = False,
    force: Annotated[
        bool, typer.Option("--force", help="The worktree also with work in it, which is kept and can be recovered.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before a purge.")] = False,
    cascade: Cascade = False,
) -> int:
    """Cancel a session: its agent is told, its turn and its queue are cancelled."""
    if purge and not yes:
        found: Json = here.client.get(path("sessions", session)).value
        title = f" ({brief(found['title'], 60)})" if found["title"] else ""
        about = f"session {short(found['id'])}{title} with {len(found['messages'])} messages"
        if cascade and (more := len(below(here.client.get(path("sessions", found["id"], "tree")).value, found["id"]))):
            about += f" and the {more} sessions below it"
        typer.confirm(f"Remove {about} for good?", abort=True, err=True)
    also = {"worktree": "remove", "force": force} if worktree else {}
    query = {"purge": purge, "cascade": cascade or None, **also}
    try:
        answer = here.client.call("DELETE", path("sessions", session), query=query, within=CASCADE_WITHIN)
    except Refused as error:
        name_what_would_be_lost(error)
        raise

    def render(found: Json) -> None:
        output.line(f"Session {short(found['id'])} is removed.") if purge else say_state(found)
        if found["worktree"] is not None:
            say_removed(found["worktree"])

    return _show(here, answer, render)


def below(tree: Json, session_id: str) -> list[Json]:
    """What of a tree hangs below a session."""
    children: list[Json] = [one for one in tree["sessions"] if origin(one) == session_id]
    return [*children, *(inner for one in children for inner in below(tree, one["id"]))]


def origin(node: Json) -> str | None:
    """What a session hangs below in its tree."""
    return node["parentSessionId"] or node["forkedFromSessionId"]


def _show(here: Here, answer: Answer, render: Callable[[Json], None]) -> int:
    """The session itself, then what was done to all; the exit code says if something was refused."""
    done: list[Json] = answer.value["cascade"] or []
    here.show(answer, render)
    wrong = [one for one in done if one["outcome"] == "refused"]
    if not here.json and done:
        counts = Counter(one["outcome"] for one in done)
        output.line(f"{len(done)} sessions: {', '.join(f'{count} {what}' for what, count in counts.items())}.")
        for one in wrong:
            output.note(f"Session {short(one['sessionId'])}: {shorten(one['message'])} ({one['code']})")
    return FAILED if wrong else DONE


def state(found: Json) -> str:
    """How a session stands, in a word."""
    return found["activity"] if found["status"] == "active" else found["status"]


def say_state(found: Json) -> None:
    """The same as a sentence."""
    title = f" ({brief(found['title'], 60)})" if found["title"] else ""
    output.line(
        f"Session {short(found['id'])}{title} is {state(found).replace('_', ' ')}, mode {found['permissionMode']}."
    )
