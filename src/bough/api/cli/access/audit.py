"""`bough audit`: shows, follows and exports the audit trail. Nothing here changes it."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from bough.api.cli.framework import completion, output
from bough.api.cli.framework.base import DONE, CommandContext, command
from bough.api.cli.framework.client import Json
from bough.api.cli.framework.formats import brief, moment, short
from bough.api.cli.session.prompt import OfSession

# Seconds between two looks for new entries.
PAUSE = 1.0
PIECE = 500


def add_to(root: typer.Typer) -> None:
    command(root, "audit")(audit)


def audit(
    ctx: CommandContext,
    session: OfSession = None,
    user: Annotated[
        str | None,
        typer.Option("--user", metavar="NAME", help="Only this person.", autocompletion=completion.users),
    ] = None,
    action: Annotated[
        str | None,
        typer.Option("--action", metavar="ACTION", help="Only this action (token.added) or group (token)."),
    ] = None,
    since: Annotated[str | None, typer.Option("--since", metavar="TIME", help="Only at or after this time.")] = None,
    until: Annotated[str | None, typer.Option("--until", metavar="TIME", help="Only before this time.")] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=PIECE, help="Maximum number of entries.")] = 20,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Show new entries until Ctrl-C.")] = False,
    export: Annotated[
        bool, typer.Option("--export", help="Print all entries, oldest first, one JSON object per line.")
    ] = False,
) -> int:
    """Show who did what: opened, prompted, decided and changed rights. Needs the role admin.

    No interface can change the trail. Old entries are removed on the server's machine only: bough db prune-audit
    """
    filters: Json = {"sessionId": session, "user": user, "action": action, "since": since, "until": until}
    if export:
        for entry in _after(ctx, filters, 0):
            output.document(entry)
        return DONE
    answer = ctx.client.get("/api/audit", limit=limit, **filters)
    entries: list[Json] = answer.value["entries"]
    if not follow:
        ctx.show(answer, lambda _page: _table(entries))
        return DONE
    for entry in reversed(entries):
        _line(ctx, entry)
    newest = entries or ctx.client.get("/api/audit", limit=1).value["entries"]
    return _follow(ctx, filters, newest[0]["number"] if newest else 0)


def _follow(ctx: CommandContext, filters: Json, number: int) -> int:
    try:
        while True:
            for entry in _after(ctx, filters, number):
                _line(ctx, entry)
                number = entry["number"]
            time.sleep(PAUSE)
    except KeyboardInterrupt:
        output.parting("Stopped.")
        return DONE


def _after(ctx: CommandContext, filters: Json, number: int) -> Iterator[Json]:
    """Yields the entries after a number, oldest first."""
    while True:
        page: list[Json] = ctx.client.get("/api/audit", limit=PIECE, after=number, **filters).value["entries"]
        yield from page
        if len(page) < PIECE:
            return
        number = page[-1]["number"]


def _table(entries: list[Json]) -> None:
    output.table(
        ("NUMBER", "TIME", "WHO", "DOOR", "ACTION", "SUBJECT", "DETAILS"),
        [
            (
                str(entry["number"]),
                moment(entry["at"]),
                _who(entry),
                entry["door"],
                entry["action"],
                short(entry["subjectId"]) if entry["subjectId"] else "",
                _details(entry),
            )
            for entry in entries
        ],
        flexible="DETAILS",
        empty="No entries.",
    )


def _line(ctx: CommandContext, entry: Json) -> None:
    if ctx.json:
        output.document(entry)
        return
    subject = short(entry["subjectId"]) if entry["subjectId"] else ""
    output.line(f"{moment(entry['at'])}  {_who(entry):<12}  {entry['action']:<20}  {subject}  {_details(entry)}")


def _who(entry: Json) -> str:
    if entry["userName"]:
        return entry["userName"]
    return f"session {short(entry['callerSessionId'])}" if entry["callerSessionId"] else entry["kind"]


def _details(entry: Json) -> str:
    details: dict[str, Any] = entry["details"]
    parts = [f"{name}={value if isinstance(value, str) else json.dumps(value)}" for name, value in details.items()]
    return brief(" ".join(parts), 200)
