"""`bough review`: shows changed files, keeps a draft of comments on them, and sends the comments as one prompt."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

import typer

from bough.api.cli.commands.checkpoint import LETTERS, STYLES
from bough.api.cli.framework import output
from bough.api.cli.framework.base import CommandContext, command
from bough.api.cli.framework.client import Json, path
from bough.api.cli.framework.completion import ids, names
from bough.api.cli.framework.formats import brief, short, short_forms
from bough.api.cli.framework.selectors import SESSION, WORKTREE, find
from bough.api.cli.framework.terminal_safety import clean
from bough.api.cli.session.make_room import MakeRoom, note_made_room
from bough.errors import Invalid

app = typer.Typer(
    no_args_is_help=True,
    help="Reviews: changed files of a session, worktree or task, and comments that are sent as one prompt.",
)

OfSession = Annotated[
    str | None,
    typer.Option(
        "--session", "-s", metavar="SESSION", help="Review a session.", autocompletion=ids("sessions", "title")
    ),
]
OfWorktree = Annotated[
    str | None,
    typer.Option(
        "--worktree",
        "-w",
        metavar="WORKTREE",
        help="Review a worktree, by its id or folder, against its base.",
        autocompletion=ids("worktrees", "name"),
    ),
]
OfTask = Annotated[
    str | None,
    typer.Option("--task", "-t", metavar="TASK", help="Review a task.", autocompletion=ids("tasks", "prompt")),
]
CommentId = Annotated[str, typer.Argument(metavar="COMMENT", help="Comment id, or 8 characters of it.")]
Text = Annotated[str, typer.Argument(metavar="TEXT", help="The comment.")]
LINES = re.compile(r"(.+?):(\d+)(?:-(\d+))?")


def add_to(root: typer.Typer) -> None:
    root.add_typer(app, name="review")


@command(app, "show")
def show(
    ctx: CommandContext,
    session: OfSession = None,
    worktree: OfWorktree = None,
    task: OfTask = None,
    file: Annotated[
        str | None, typer.Option("--file", "-f", metavar="PATH", help="Show the changes of this file.")
    ] = None,
    whole: Annotated[bool, typer.Option("--whole", help="With --file: include all unchanged lines.")] = False,
) -> None:
    """List the changed files with your comments, or show the changes of one file."""
    address = _address(ctx, session, worktree, task)
    if file is not None:
        ctx.show(ctx.client.call("GET", f"{address}/file", query={"path": file, "whole": whole}), _print_file)
        return
    # Without it, `send` means the draft of the current folder's worktree.
    option = next((name for name, text in (("-s", session), ("-w", worktree), ("-t", task)) if text), None)
    ctx.show(ctx.client.get(address), lambda review: _print_review(review, option))


@command(app, "comment")
def comment(
    ctx: CommandContext,
    place: Annotated[
        str,
        typer.Argument(
            metavar="PATH:LINE[-LINE]", help="The lines of a changed file; with --message, the message's id."
        ),
    ],
    text: Text,
    session: OfSession = None,
    worktree: OfWorktree = None,
    task: OfTask = None,
    side: Annotated[
        Literal["old", "new"],
        typer.Option("--side", metavar="old|new", help="Count lines before or after the change."),
    ] = "new",
    message: Annotated[bool, typer.Option("--message", help="Comment on a message or plan instead.")] = False,
) -> None:
    """Add a comment on lines, or on a message or plan, to your draft."""
    body: Json = {"body": text}
    if message:
        body["messageId"] = place
    else:
        match = LINES.fullmatch(place)
        if match is None:
            raise Invalid("bad_lines", f"{place!r} names no lines. Write PATH:LINE or PATH:FIRST-LAST.")
        first = int(match[2])
        body |= {"path": match[1], "side": side, "startLine": first, "endLine": int(match[3] or first)}
    answer = ctx.client.post(f"{_address(ctx, session, worktree, task)}/comments", body)
    ctx.show(answer, lambda row: output.line(f"Added comment {short(row['id'])} to your draft."))


@command(app, "edit")
def edit(ctx: CommandContext, comment: CommentId, text: Text) -> None:
    """Change a comment of your draft."""
    answer = ctx.client.call("PATCH", path("review-comments", comment), body={"body": text})
    ctx.show(answer, lambda row: output.line(f"Changed comment {short(row['id'])}."))


@command(app, "remove")
def remove(ctx: CommandContext, comment: CommentId) -> None:
    """Delete a comment of your draft."""
    answer = ctx.client.call("DELETE", path("review-comments", comment))
    ctx.show(answer, lambda row: output.line(f"Deleted comment {short(row['id'])}."))


@command(app, "viewed")
def viewed(
    ctx: CommandContext,
    file: Annotated[str, typer.Argument(metavar="PATH", help="The changed file.")],
    session: OfSession = None,
    worktree: OfWorktree = None,
    task: OfTask = None,
    undo: Annotated[bool, typer.Option("--undo", help="Mark it as not viewed.")] = False,
) -> None:
    """Mark a file as viewed; the mark is gone when the file changes."""
    address = f"{_address(ctx, session, worktree, task)}/viewed"
    answer = ctx.client.call("PUT", address, body={"path": file, "viewed": not undo})
    ctx.show(answer, lambda row: output.line(f"{clean(file)}: {'viewed' if row['viewed'] else 'not viewed'}"))


@command(app, "send")
def send(
    ctx: CommandContext,
    session: OfSession = None,
    worktree: OfWorktree = None,
    task: OfTask = None,
    to: Annotated[
        str | None,
        typer.Option(
            "--to",
            metavar="SESSION",
            help="Send to this session of the worktree, by its id or another name.",
            autocompletion=names("session"),
        ),
    ] = None,
    note: Annotated[str, typer.Option("--note", metavar="TEXT", help="Text before the comments.")] = "",
    resume: Annotated[bool, typer.Option("--resume", help="Resume the session if it has ended.")] = False,
    make_room: MakeRoom = True,
) -> None:
    """Send all comments of your draft as one prompt."""
    body = {"sessionId": find(ctx.client, SESSION, to) if to is not None else None, "note": note, "resume": resume}
    if resume and make_room:
        body["makeRoom"] = True
    answer = ctx.client.post(f"{_address(ctx, session, worktree, task)}/send", body)
    note_made_room(answer.value)

    def render(sent: Any) -> None:
        count = "1 comment" if sent["comments"] == 1 else f"{sent['comments']} comments"
        output.line(f"Sent {count} as task {short(sent['task']['id'])}.")

    ctx.show(answer, render)


def _address(ctx: CommandContext, session: str | None, worktree: str | None, task: str | None) -> str:
    """Returns the address of the review that the options name; without any, of the worktree of the current folder."""
    named = [(kind, text) for kind, text in (("session", session), ("worktree", worktree), ("task", task)) if text]
    if len(named) > 1:
        raise Invalid("bad_subject", "Give only one of --session, --worktree and --task.")
    kind, text = named[0] if named else ("worktree", ".")
    selects = {"worktree": WORKTREE, "session": SESSION}.get(kind)
    return path("reviews", kind, find(ctx.client, selects, text) if selects is not None else text)


def _print_review(review: Json, option: str | None) -> None:
    for file in review["files"]:
        name = f"{file['oldPath']} → {file['path']}" if file["oldPath"] else file["path"]
        lines = "binary" if file["binary"] else f"+{file['additions']} -{file['deletions']}"
        marks = f"{'viewed' if file['viewed'] else '':<7}"
        output.line(f"{LETTERS.get(file['status'], '?')}  {marks} {lines:<12} {clean(name)}")
    if not review["files"]:
        output.line("No changes.", "dim")
    forms = short_forms([comment["id"] for comment in review["comments"]])
    for comment in review["comments"]:
        output.line(
            f"{forms[comment['id']]}  {comment['status']:<9} {clean(_place(comment))}: {brief(comment['body'], 100)}"
        )
    if review["drafts"]:
        count = "1 comment is" if review["drafts"] == 1 else f"{review['drafts']} comments are"
        subject = f" {option} {short(review['id'])}" if option else ""
        output.note(f"{count} not sent yet. To send: bough review send{subject}")
    if review["note"]:
        output.note(review["note"])


def _place(comment: Json) -> str:
    if comment["path"] is None:
        return f"message {short(comment['messageId'])}"
    first, last = comment["line"] or comment["startLine"], comment["lastLine"] or comment["endLine"]
    return f"{comment['path']}:{first}" if first == last else f"{comment['path']}:{first}-{last}"


def _print_file(file: Json) -> None:
    for line in file["patch"].splitlines():
        output.line(clean(line), STYLES.get(line[:1], ""))
    if file["binary"]:
        output.line("Binary file.", "dim")
    if file["truncated"]:
        output.note("The change is too large to be shown whole.")
