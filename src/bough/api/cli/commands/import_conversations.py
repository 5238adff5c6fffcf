"""`bough import`: lists the conversations that agents had outside of Bough, and imports them as sessions.
`bough session terminal-command|catch-up`: the other way."""

from __future__ import annotations

import os
from typing import Annotated, Any

import typer

from bough.api.cli.framework import output
from bough.api.cli.framework.base import CommandContext, command
from bough.api.cli.framework.client import Json, Refused, path
from bough.api.cli.framework.completion import agents
from bough.api.cli.framework.formats import ago, short
from bough.api.cli.framework.progress import waiting
from bough.api.cli.repos.repo import Offset
from bough.api.cli.session.manage import app as sessions
from bough.api.cli.session.prompt import SessionId
from bough.errors import Conflict, Invalid, NotFound

# An agent may take a minute to start, and as long to replay a conversation.
READ_WITHIN = 300.0
MOST = 500


def add_to(root: typer.Typer) -> None:
    command(root, "import")(import_conversations)


def import_conversations(
    ctx: CommandContext,
    conversation: Annotated[
        str | None,
        typer.Argument(metavar="CONVERSATION", help="The conversation's id, or its beginning. Without it, list all."),
    ] = None,
    agent: Annotated[
        str | None,
        typer.Option("--agent", metavar="NAME", help="Only conversations of this agent.", autocompletion=agents),
    ] = None,
    folder: Annotated[
        str | None,
        typer.Option("--folder", metavar="DIR", help="List conversations in this folder, or import one into it."),
    ] = None,
    title: Annotated[str | None, typer.Option("--title", metavar="TEXT", help="Title of the session.")] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Import every listed conversation that is not imported yet.")
    ] = False,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=MOST, help="Maximum number of results.")] = 50,
    offset: Offset = 0,
) -> int | None:
    """List the conversations that agents had outside of Bough, or import them as completed sessions.

    An imported session has the whole transcript and is resumed, forked and searched like any other. Each conversation
    is imported once."""
    where = os.path.abspath(os.path.expanduser(folder)) if folder is not None else None
    if conversation is None and not everything:
        with waiting("Asking the agents"):
            answer = ctx.client.call(
                "GET",
                "/api/conversations",
                query={"agent": agent, "folder": where, "limit": limit, "offset": offset},
                within=READ_WITHIN,
            )
        ctx.show(answer, _draw)
        return None
    if conversation is not None and everything:
        raise Invalid("bad_import", "Name a conversation, or use --all.")
    listed = _listed(ctx, agent, None if conversation is not None else where)
    if conversation is not None:
        chosen = _chosen(listed, conversation)
        body = {"agent": chosen["agent"], "conversationId": chosen["id"], "folder": where, "title": title}
        with waiting("Reading the conversation"):
            answer = ctx.client.post("/api/conversations/import", body, READ_WITHIN)
        ctx.show(answer, _draw_imported)
        return None
    return _import_all(ctx, [row for row in listed if row["sessionId"] is None and row["refusal"] is None])


def _listed(ctx: CommandContext, agent: str | None, folder: str | None) -> list[Json]:
    rows: list[Json] = []
    with waiting("Asking the agents"):
        while True:
            query = {"agent": agent, "folder": folder, "limit": MOST, "offset": len(rows)}
            page: Json = ctx.client.call("GET", "/api/conversations", query=query, within=READ_WITHIN).value
            rows += page["conversations"]
            if len(rows) >= page["total"] or not page["conversations"]:
                return rows


def _chosen(listed: list[Json], text: str) -> Json:
    """Returns the conversation with this id, or the only one whose id begins with it."""
    exact = [row for row in listed if row["id"] == text]
    matching = exact or [row for row in listed if row["id"].startswith(text)]
    if not matching:
        raise NotFound(
            "conversation_not_found", f"No agent holds a conversation {text!r}. List them with bough import."
        )
    if len(matching) > 1:
        ids = ", ".join(f"{row['id']} ({row['agent']})" for row in matching[:5])
        raise Conflict("ambiguous_id", f"{text!r} stands for several conversations: {ids}.")
    return matching[0]


def _import_all(ctx: CommandContext, listed: list[Json]) -> int:
    """Imports conversations one after the other, and continues after one that is refused."""
    imported: list[Json] = []
    refused: list[Json] = []
    for number, row in enumerate(listed, 1):
        body = {"agent": row["agent"], "conversationId": row["id"]}
        try:
            with waiting(f"Reading conversation {number} of {len(listed)}"):
                answer: Json = ctx.client.post("/api/conversations/import", body, READ_WITHIN).value
        except Refused as error:
            refused.append({"agent": row["agent"], "id": row["id"], "code": error.code, "message": error.message})
            if not ctx.json:
                output.note(f"{row['id']}: {error.message}")
        else:
            imported.append(answer)
            if not ctx.json:
                _draw_imported(answer)
    if ctx.json:
        output.document({"imported": imported, "refused": refused})
    elif not listed:
        output.line("Nothing to import.", "dim")
    return 1 if refused else 0


def _draw(page: Any) -> None:
    rows = [
        (
            row["id"],
            row["agent"],
            ago(row["updatedAt"]) if row["updatedAt"] else "",
            f"session {short(row['sessionId'])}" if row["sessionId"] else "not importable" if row["refusal"] else "",
            row["folder"],
            row["title"],
        )
        for row in page["conversations"]
    ]
    columns = ("conversation", "agent", "changed", "imported", "folder", "title")
    output.table(columns, rows, flexible="title", empty="No conversations.")
    for problem in page["unread"]:
        output.note(f"{problem['agent']}: {problem['reason']}")
    output.more(page, len(rows))


def _draw_imported(answer: Any) -> None:
    session: Json = answer["session"]
    turns = "1 turn" if answer["turns"] == 1 else f"{answer['turns']} turns"
    output.line(f"Session {short(session['id'])} holds {session['title']!r} with {turns}.")
    for warning in answer["warnings"]:
        output.note(warning)


@command(sessions, "catch-up")
def catch_up(ctx: CommandContext, session: SessionId) -> None:
    """Add turns from the agent's own terminal program to the transcript. The next prompt does this automatically."""

    def render(answer: Json) -> None:
        turns = answer["turns"]
        sentence = (
            "Nothing was said" if not turns else "1 turn took place" if turns == 1 else f"{turns} turns took place"
        )
        output.line(f"{sentence} outside of Bough.")

    with waiting("Reading the conversation"):
        answer = ctx.client.post(path("sessions", session, "catch-up"), {}, READ_WITHIN)
    ctx.show(answer, render)


@command(sessions, "terminal-command")
def terminal_command(
    ctx: CommandContext,
    session: SessionId,
    run: Annotated[bool, typer.Option("--run", help="Run it here, in place of this command.")] = False,
) -> None:
    """Print the command that continues a session in its agent's own terminal program.

    Bough ends its own idle agent of the session, and catches up before the next turn."""
    answer = ctx.client.post(path("sessions", session, "terminal-command"))
    if run:
        row: Json = answer.value
        try:
            os.chdir(row["cwd"])
            os.execvpe(row["words"][0], row["words"], {**os.environ, **row["env"]})
        except OSError as error:
            name = row["words"][0]
            raise NotFound("program_missing", f"{name} cannot be run here: {error.strerror}. Install it.") from error
    ctx.show(answer, lambda row: output.line(row["command"]))
