"""`bough token`: lists what opens the server, revokes the keys of browsers, and replaces the server's token."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from bough.api.cli.framework import output
from bough.api.cli.framework.base import CommandContext, command
from bough.api.cli.framework.client import Json, path
from bough.api.cli.framework.completion import ids
from bough.api.cli.framework.formats import ago, ahead, brief, short, short_forms

SERVER = "server"

app = typer.Typer(no_args_is_help=True, help="The server's token, and the keys of signed-in browsers.")


def add_to(root: typer.Typer) -> None:
    root.add_typer(app, name="token")


@command(app, "list")
def list_tokens(ctx: CommandContext) -> None:
    """List the server's token and the keys of signed-in browsers."""

    def render(page: Any) -> None:
        rows: list[Json] = page["tokens"]
        forms = {SERVER: SERVER} | short_forms([row["id"] for row in rows if row["id"] != SERVER])
        output.table(
            ("ID", "NAME", "ADDRESS", "CREATED", "LAST USED", "EXPIRES"),
            [
                (
                    forms[row["id"]],
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


@command(app, "revoke")
def revoke(
    ctx: CommandContext,
    token_id: Annotated[
        str,
        typer.Argument(metavar="ID", help="Id, or 8 characters of it.", autocompletion=ids("tokens", "name")),
    ],
) -> None:
    """Sign a browser out; it needs the link again. For the server's own token, see: bough token rotate"""
    answer = ctx.client.delete(path("tokens", token_id))
    ctx.show(answer, lambda key: output.line(f"Signed out: {brief(key['name'])} ({short(key['id'])})"))


@command(app, "rotate")
def rotate(
    ctx: CommandContext,
    revoke_pages: Annotated[
        bool, typer.Option("--revoke-pages", help="Also sign all browsers out; they need the new link.")
    ] = False,
) -> None:
    """Replace the server's token; the old one and its links stop working at once.

    Commands on this machine read the new token from the data folder. Running agents and signed-in browsers go on.
    """

    def render(answer: Json) -> None:
        if ctx.target.address is not None:
            output.line(answer["token"])
        else:
            output.line("The server has a new token. Open the page in another browser with: bough open")
        if count := len(answer["revoked"]):
            output.line(f"Signed out: {count} {'browser' if count == 1 else 'browsers'}")

    ctx.show(ctx.client.post("/api/tokens/rotate", {"revokePages": revoke_pages}), render)
