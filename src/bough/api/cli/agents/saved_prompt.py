"""`bough prompt`: saved prompts, to insert or to send. A repo offers its own as files."""

from __future__ import annotations

from typing import Annotated

import typer

from bough.api.cli.framework import output
from bough.api.cli.framework.base import CommandContext, command
from bough.api.cli.framework.client import Json, path
from bough.api.cli.framework.completion import names, saved_prompts
from bough.api.cli.framework.formats import brief
from bough.api.cli.framework.selectors import REPO
from bough.api.cli.framework.terminal_safety import clean
from bough.api.cli.session.prompt import read_text

SAVED = "/api/saved-prompts"

app = typer.Typer(no_args_is_help=True, help="Saved prompts: texts that you insert into prompts or send again.")
Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the saved prompt.", autocompletion=saved_prompts)]
Repo = Annotated[
    str | None,
    REPO,
    typer.Option(
        "--repo",
        "-r",
        metavar="REPO",
        help="Also the prompts in .bough/prompts of this repo.",
        autocompletion=names("repo"),
    ),
]


def add_to(root: typer.Typer) -> None:
    root.add_typer(app, name="prompt")


@command(app, "list")
def list_prompts(ctx: CommandContext, repo: Repo = None) -> None:
    """List your saved prompts, and those that a repo offers."""

    def render(answer: Json) -> None:
        rows: list[Json] = answer["prompts"]
        output.table(
            ("NAME", "FROM", "TEXT"),
            [(row["name"], clean(row["path"] or "you"), brief(row["text"], 200)) for row in rows],
            flexible="TEXT",
            empty="No saved prompts yet. Save one: bough prompt add NAME TEXT",
        )

    query = {"repoId": repo} if repo is not None else {}
    ctx.show(ctx.client.get(f"{SAVED}/offered", **query), render)


@command(app, "show")
def show(ctx: CommandContext, name: Name) -> None:
    """Print the text of a saved prompt: bough session prompt SESSION "$(bough prompt show NAME)"."""
    ctx.show(ctx.client.get(path("saved-prompts", name)), lambda row: output.line(clean(row["text"])))


@command(app, "add")
def add(
    ctx: CommandContext,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Its name: letters, digits, _ and -.")],
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The prompt; - reads it from standard input.")],
) -> None:
    """Save a prompt for yourself."""
    body = {"name": name, "text": read_text(text)}
    ctx.show(ctx.client.post(SAVED, body), lambda row: output.line(f"Saved {row['name']}."))


@command(app, "change")
def change(
    ctx: CommandContext,
    prompt: Name,
    name: Annotated[str | None, typer.Option("--name", help="New name.")] = None,
    text: Annotated[
        str | None, typer.Option("--text", metavar="TEXT|-", help="New text; - reads it from standard input.")
    ] = None,
) -> None:
    """Change a saved prompt."""
    body: Json = {"name": name} if name is not None else {}
    if text is not None:
        body["text"] = read_text(text)
    if not body:
        raise typer.BadParameter("Nothing to change; see: bough prompt change --help")
    answer = ctx.client.patch(path("saved-prompts", prompt), body)
    ctx.show(answer, lambda row: output.line(f"Changed {row['name']}."))


@command(app, "rm")
def remove(ctx: CommandContext, name: Name) -> None:
    """Remove a saved prompt."""
    answer = ctx.client.delete(path("saved-prompts", name))
    ctx.show(answer, lambda row: output.line(f"Removed {row['name']}."))
