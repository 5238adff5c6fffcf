"""`bough user`: the people who share a server, and what each of them may do."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from bough.api.cli.framework import completion, output
from bough.api.cli.framework.base import CommandContext, command
from bough.api.cli.framework.client import Json, path
from bough.api.cli.framework.formats import ago

app = typer.Typer(no_args_is_help=True, help="People who share the server: viewers, operators and admins.")

Name = Annotated[str, typer.Argument(metavar="NAME", help="The user's name.", autocompletion=completion.users)]


def add_to(root: typer.Typer) -> None:
    root.add_typer(app, name="user")


@command(app, "list")
def list_users(ctx: CommandContext) -> None:
    """List the people who may use this server. The owner is whoever runs it."""

    def render(page: Any) -> None:
        rows: list[Json] = page["users"]
        output.table(
            ("NAME", "ROLE", "TOKENS", "ADDED"),
            [(row["name"], row["role"], str(row["tokens"]), ago(row["createdAt"])) for row in rows],
            flexible="NAME",
            empty="",
        )

    ctx.show(ctx.client.get("/api/users"), render)


@command(app, "me")
def me(ctx: CommandContext) -> None:
    """Show who you are to the server, and what you may do."""
    ctx.show(ctx.client.get("/api/me"), lambda row: output.line(f"{row['name']} ({row['role']})"))


@command(app, "add")
def add(
    ctx: CommandContext,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Lower-case letters, digits, `.`, `_` and `-`.")],
    role: Annotated[
        str,
        typer.Option("--role", metavar="ROLE", help="viewer, operator or admin.", autocompletion=completion.roles),
    ] = "viewer",
) -> None:
    """Add a user. Then create a token for that person: bough token add --user NAME

    A viewer reads. An operator also prompts, decides approvals, and creates, forks and merges. An admin also changes
    rules, the sandbox, users and tokens.
    """
    answer = ctx.client.post("/api/users", {"name": name, "role": role})
    ctx.show(answer, lambda user: output.line(f"Added {user['name']} ({user['role']})."))


@command(app, "set")
def set_role(
    ctx: CommandContext,
    name: Name,
    role: Annotated[
        str,
        typer.Option("--role", metavar="ROLE", help="viewer, operator or admin.", autocompletion=completion.roles),
    ],
) -> None:
    """Give a user another role, which counts at once."""
    answer = ctx.client.patch(path("users", name), {"role": role})
    ctx.show(answer, lambda user: output.line(f"{user['name']} is now {user['role']}."))


@command(app, "remove")
def remove(ctx: CommandContext, name: Name) -> None:
    """Remove a user with all tokens and signed-in browsers. Transcripts and the audit trail keep the name."""
    answer = ctx.client.delete(path("users", name))
    ctx.show(answer, lambda user: output.line(f"Removed {user['name']}."))
