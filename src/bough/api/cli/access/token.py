"""`bough token`: lists, creates, replaces and revokes what opens the server."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import typer

from bough.api.cli.framework import completion, output
from bough.api.cli.framework.base import CommandContext, command
from bough.api.cli.framework.client import Json, path
from bough.api.cli.framework.formats import ago, ahead, brief, short, short_forms

SERVER = "server"
OWNER = ("owner", "admin")
SPAN = re.compile(r"(\d{1,6})([mhdw])")
UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}

app = typer.Typer(no_args_is_help=True, help="Tokens of the server and of users, and the keys of signed-in browsers.")


def add_to(root: typer.Typer) -> None:
    root.add_typer(app, name="token")


@command(app, "list")
def list_tokens(ctx: CommandContext) -> None:
    """List the tokens of the server and of users, and the keys of signed-in browsers; only admins see all."""

    def render(page: Any) -> None:
        rows: list[Json] = page["tokens"]
        forms = {SERVER: SERVER} | short_forms([row["id"] for row in rows if row["id"] != SERVER])
        # Most servers have one person, who may do everything.
        shared = any((row["user"], row["role"]) != OWNER for row in rows)
        output.table(
            ("ID", *(("USER",) if shared else ()), "NAME", "ADDRESS", "CREATED", "LAST USED", "EXPIRES"),
            [
                (
                    forms[row["id"]],
                    *((f"{row['user']} ({row['role']})",) if shared else ()),
                    brief(row["name"], 40),
                    brief(row["origin"] or "", 60),
                    ago(row["createdAt"]),
                    ago(row["lastUsedAt"]),
                    ahead(row["expiresAt"]) or "never",
                )
                for row in rows
            ],
            flexible="NAME",
            empty="",
        )

    ctx.show(ctx.client.get("/api/tokens"), render)


@command(app, "add")
def add(
    ctx: CommandContext,
    user: Annotated[
        str,
        typer.Option(
            "--user", metavar="NAME", help="User that it belongs to; defaults to you.", autocompletion=completion.users
        ),
    ] = "",
    scope: Annotated[
        str | None,
        typer.Option(
            "--scope",
            "--role",
            metavar="ROLE",
            help="The most that it may do: viewer, operator or admin; by default as much as the user.",
            autocompletion=completion.roles,
        ),
    ] = None,
    name: Annotated[str, typer.Option("--name", metavar="TEXT", help="Name, such as that of a machine.")] = "",
    expires: Annotated[
        str | None,
        typer.Option("--expires", metavar="WHEN", help="30d, 12h, a date or time, or never; by default 90d."),
    ] = None,
) -> None:
    """Create a token and print it; it is shown only this once. It works like the server's, with the user's rights.

    Give it to that person: as BOUGH_TOKEN with BOUGH_URL for commands, or as a link to the page (URL/?token=TOKEN).
    """
    body: Json = {"name": name, "scope": scope}
    if expires is not None:
        body["expiresAt"] = expiry(expires)
    if user:
        body["user"] = user
    answer = ctx.client.post("/api/tokens", body)

    def render(token: Json) -> None:
        output.line(token["token"])
        ends = f"expires {ahead(token['expiresAt'])}" if token["expiresAt"] else "does not expire"
        output.note(f"Token {short(token['id'])} of {token['user']} ({token['role']}) {ends}. It is not shown again.")

    ctx.show(answer, render)


@command(app, "revoke")
def revoke(
    ctx: CommandContext,
    token_id: Annotated[
        str,
        typer.Argument(
            metavar="ID", help="Id, or 8 characters of it.", autocompletion=completion.ids("tokens", "name")
        ),
    ],
) -> None:
    """Revoke a user's token, or sign a browser out. For the server's own token, see: bough token rotate"""
    answer = ctx.client.delete(path("tokens", token_id))

    def render(token: Json) -> None:
        done = "Signed out" if token["kind"] == "page" else "Revoked"
        output.line(f"{done}: {brief(token['name'])} ({short(token['id'])})")

    ctx.show(answer, render)


@command(app, "rotate")
def rotate(
    ctx: CommandContext,
    token_id: Annotated[
        str | None,
        typer.Argument(
            metavar="ID",
            help="A user's token; by default the server's.",
            autocompletion=completion.ids("tokens", "name"),
        ),
    ] = None,
    revoke_pages: Annotated[
        bool, typer.Option("--revoke-pages", help="Also sign all browsers out; they need the new link.")
    ] = False,
) -> None:
    """Replace the server's token, or that of a user; the old one and its links stop working at once.

    Commands on this machine read the server's new token from the data folder. Running agents and signed-in browsers
    continue. Browsers that were signed in with a user's token need the new link.
    """
    if token_id is not None and token_id != SERVER:
        if revoke_pages:
            raise typer.BadParameter("--revoke-pages is for the server's token; a user's browsers always end with it.")
        answer = ctx.client.post(path("tokens", token_id, "rotate"))
        ctx.show(answer, lambda token: output.line(token["token"]))
        return

    def render(answer: Json) -> None:
        if ctx.target.address is not None:
            output.line(answer["token"])
        else:
            output.line("The server has a new token. Open the page in another browser with: bough open")
        if count := len(answer["revoked"]):
            output.line(f"Signed out: {count} {'browser' if count == 1 else 'browsers'}")

    ctx.show(ctx.client.post("/api/tokens/rotate", {"revokePages": revoke_pages}), render)


def expiry(text: str) -> str | None:
    """Returns the time at which a token expires, from a span, a date or a time; None for never."""
    if text == "never":
        return None
    match = SPAN.fullmatch(text)
    if match is not None:
        span = timedelta(**{UNITS[match[2]]: int(match[1])})
        try:
            return (datetime.now(UTC) + span).isoformat()
        except OverflowError as error:
            raise typer.BadParameter(f"{text!r} is too far away.") from error
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise typer.BadParameter(f"{text!r} is not a time; use 30d, 12h, 2026-12-31 or never.") from error
    return moment.astimezone(UTC).isoformat()
