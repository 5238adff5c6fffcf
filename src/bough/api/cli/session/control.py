"""`bough session stop|seen|resume|complete|archive|rm`: controls and ends sessions, alone or with everything below
them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Annotated, Any

import typer

from bough.api.cli.framework import output
from bough.api.cli.framework.base import DONE, FAILED, CommandContext, report
from bough.api.cli.framework.client import Json, Refused, Response, path
from bough.api.cli.framework.completion import names
from bough.api.cli.framework.formats import brief, short, shorten
from bough.api.cli.framework.selectors import SESSION, find
from bough.api.cli.framework.terminal_safety import clean
from bough.api.cli.session.make_room import MakeRoom, note_made_room
from bough.api.cli.session.prompt import SessionId
from bough.api.cli.worktree.remove import print_losses, print_removed

# Each stop waits up to half a minute for its agent; a tree is stopped a level at a time.
CASCADE_WITHIN = 600.0
LARGEST_PAGE = 500

Cascade = Annotated[
    bool,
    typer.Option("--cascade", help="Also apply it to everything forked or spawned from the session, children first."),
]


Sessions = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="SESSION...",
        help="Sessions: ids or 8 characters of each, titles, branches, repos or folders, or @last.",
        autocompletion=names("session"),
    ),
]
Idle = Annotated[
    bool, typer.Option("--idle", help="Apply it to every session that is idle with an empty queue, instead of ids.")
]


def stop(ctx: CommandContext, session: SessionId, cascade: Cascade = False) -> int:
    """Stop the running turn and pause the queue until the next prompt or resume."""

    def render(answer: Json) -> None:
        task: Json | None = answer["task"]
        text = f"Task {short(task['id'])} is {task['status']}." if task else "No turn was running."
        is_held_up = answer["session"]["queuePaused"] and _has_queue(ctx, answer["session"]["id"])
        output.line(f"{text} The queue is paused." if is_held_up else text)

    answer = ctx.client.post(path("sessions", session, "stop"), {"cascade": cascade}, CASCADE_WITHIN)
    return _show(ctx, answer, render)


def seen(ctx: CommandContext, session: SessionId) -> None:
    """Mark a session as read."""

    def render(session_row: Json) -> None:
        output.line(f"Session {short(session_row['id'])} is marked as read.")

    ctx.show(ctx.client.post(path("sessions", session, "seen")), render)


def unseen(ctx: CommandContext, session: SessionId) -> None:
    """Mark a session as unread again."""

    def render(session_row: Json) -> None:
        output.line(f"Session {short(session_row['id'])} is marked as unread.")

    ctx.show(ctx.client.post(path("sessions", session, "unseen")), render)


def pin(ctx: CommandContext, session: SessionId) -> None:
    """Pin a session at the top of your sidebar on the page."""
    ctx.show(ctx.client.call("PUT", path("sessions", session, "pin")), _print_pins)


def unpin(ctx: CommandContext, session: SessionId) -> None:
    """Remove a session from your pins."""
    ctx.show(ctx.client.delete(path("sessions", session, "pin")), _print_pins)


def _print_pins(sidebar: Json) -> None:
    pinned = [row for row in sidebar["sessions"] if row["pinned"]]
    if not pinned:
        output.line("You have no pinned sessions.")
    for row in pinned:
        output.line(f"{short(row['id'])}  {clean(row['title'] or 'Untitled session')}")


def resume(ctx: CommandContext, session: SessionId, make_room: MakeRoom = True) -> None:
    """Resume a paused queue, or reopen a session that has ended."""
    answer = ctx.client.post(path("sessions", session, "resume"), {"makeRoom": make_room})
    note_made_room(answer.value)
    ctx.show(answer, print_state)


def complete(
    ctx: CommandContext,
    sessions: Sessions = None,
    force: Annotated[bool, typer.Option("--force", help="Cancel the running turn and all queued prompts.")] = False,
    cascade: Cascade = False,
    idle: Idle = False,
) -> int:
    """Mark sessions as completed."""
    body = {"force": force, "cascade": cascade}

    def complete_one(session: str) -> int:
        return _show(ctx, ctx.client.post(path("sessions", session, "complete"), body, CASCADE_WITHIN), print_state)

    return _each(ctx, _chosen(ctx, sessions, idle), complete_one)


def archive(
    ctx: CommandContext,
    sessions: Sessions = None,
    undo: Annotated[bool, typer.Option("--undo", help="Remove it from the archive.")] = False,
    cascade: Cascade = False,
    idle: Idle = False,
) -> int:
    """Archive sessions; lists no longer show them."""
    body = {"archived": not undo, "cascade": cascade}
    result = "is no longer archived" if undo else "is archived"

    def archive_one(session: str) -> int:
        answer = ctx.client.post(path("sessions", session, "archive"), body, CASCADE_WITHIN)
        return _show(ctx, answer, lambda session_row: output.line(f"Session {short(session_row['id'])} {result}."))

    return _each(ctx, _chosen(ctx, sessions, idle, archived=undo), archive_one)


def remove(
    ctx: CommandContext,
    sessions: Sessions = None,
    purge: Annotated[bool, typer.Option("--purge", help="Delete it permanently, with its transcript.")] = False,
    worktree: Annotated[bool, typer.Option("--worktree", help="Also remove its worktree.")] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Remove the worktree even if it contains work, which can be recovered.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
    cascade: Cascade = False,
    idle: Idle = False,
) -> int:
    """Cancel sessions: stop their turns, cancel their queues and end their agents."""
    also = {"worktree": "remove", "force": force} if worktree else {}
    query = {"purge": purge, "cascade": cascade or None, **also}
    return _each(ctx, _chosen(ctx, sessions, idle), lambda session: _remove(ctx, session, query, yes))


def _remove(ctx: CommandContext, session: str, query: Json, yes: bool) -> int:
    purge, cascade = query["purge"], query["cascade"]
    if purge and not yes:
        row: Json = ctx.client.get(path("sessions", session)).value
        title = f" ({brief(row['title'], 60)})" if row["title"] else ""
        about = f"session {short(row['id'])}{title} with {len(row['messages'])} messages"
        if cascade and (more := len(below(ctx.client.get(path("sessions", row["id"], "tree")).value, row["id"]))):
            about += f" and the {more} sessions below it"
        typer.confirm(f"Permanently delete {about}?", abort=True, err=True)
    try:
        answer = ctx.client.call("DELETE", path("sessions", session), query=query, within=CASCADE_WITHIN)
    except Refused as error:
        print_losses(error)
        raise

    def render(row: Json) -> None:
        output.line(f"Session {short(row['id'])} is deleted.") if purge else print_state(row)
        if row["worktree"] is not None:
            print_removed(row["worktree"])

    return _show(ctx, answer, render)


def _chosen(ctx: CommandContext, sessions: list[str] | None, idle: bool, *, archived: bool = False) -> list[str]:
    """Returns the named sessions, or all idle ones whose queue is empty."""
    if bool(sessions) == idle:
        raise typer.BadParameter("Name one or more sessions, or use --idle.")
    if sessions:
        return list(dict.fromkeys(sessions))
    queued = {task["sessionId"] for task in _all(ctx, "tasks", status="queued")}
    rows = _all(ctx, "sessions", status="idle", archived=archived)
    # Children first, so that no parent is completed before them.
    chosen = [row["id"] for row in sorted(rows, key=lambda row: -row["depth"]) if row["id"] not in queued]
    if not chosen:
        output.note("No session is idle.")
    return chosen


def _all(ctx: CommandContext, noun: str, **query: Any) -> list[Json]:
    """Returns all pages of a list."""
    rows: list[Json] = []
    while True:
        page: Json = ctx.client.get(path(noun), **query, limit=LARGEST_PAGE, offset=len(rows)).value
        rows += page[noun]
        if not page[noun] or len(rows) >= page["total"]:
            return rows


def _each(ctx: CommandContext, sessions: list[str], work: Callable[[str], int]) -> int:
    """Applies a command to each session. One that is refused does not keep the others from it."""
    if len(sessions) == 1:
        return work(find(ctx.client, SESSION, sessions[0]))
    code = DONE
    for session in sessions:
        try:
            code = max(code, work(find(ctx.client, SESSION, session)))
        except Refused as error:
            code = max(code, report(error, as_json=ctx.json))
    return code


def below(tree: Json, session_id: str) -> list[Json]:
    """Returns all sessions below a session in its tree."""
    children: list[Json] = [child for child in tree["sessions"] if origin(child) == session_id]
    return [*children, *(descendant for child in children for descendant in below(tree, child["id"]))]


def origin(node: Json) -> str | None:
    """Returns the id of the session directly above in the tree."""
    return node["parentSessionId"] or node["forkedFromSessionId"]


def _has_queue(ctx: CommandContext, session_id: str) -> bool:
    return bool(ctx.client.get(path("sessions", session_id, "tasks"), status="queued", limit=1).value["tasks"])


def _show(ctx: CommandContext, answer: Response, render: Callable[[Json], None]) -> int:
    """Prints the session, then the outcome for all of a cascade; returns FAILED if one was refused."""
    outcomes: list[Json] = answer.value["cascade"] or []
    ctx.show(answer, render)
    refused = [outcome for outcome in outcomes if outcome["outcome"] == "refused"]
    if not ctx.json and outcomes:
        counts = Counter(outcome["outcome"] for outcome in outcomes)
        output.line(f"{len(outcomes)} sessions: {', '.join(f'{count} {name}' for name, count in counts.items())}.")
        for outcome in refused:
            output.note(f"Session {short(outcome['sessionId'])}: {shorten(outcome['message'])} ({outcome['code']})")
    return FAILED if refused else DONE


def state(session: Json) -> str:
    """Returns a session's activity while it is active, or that it is stuck; otherwise its status."""
    if session["status"] != "active":
        return session["status"]
    return session.get("stuck") or session["activity"]


def print_state(session: Json) -> None:
    """Prints a session's state as a sentence."""
    title = f" ({brief(session['title'], 60)})" if session["title"] else ""
    current = state(session).replace("_", " ")
    output.line(f"Session {short(session['id'])}{title} is {current}, mode {session['permissionMode']}.")
