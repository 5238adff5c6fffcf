"""`bough repo clone`, `clones` and `cancel-clone`: copies repositories into the workspace root, and shows how far that
is. `bough repo find` lists those that are there already."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Annotated

import typer

from bough.api.cli.framework import output
from bough.api.cli.framework.base import DONE, FAILED, CommandContext, command
from bough.api.cli.framework.client import Client, Json, path
from bough.api.cli.framework.completion import ids
from bough.api.cli.framework.formats import ago, short, short_forms
from bough.api.cli.framework.terminal_safety import clean
from bough.api.cli.repos.repo import app, print_undecided

# Seconds between looks at the progress.
LOOK_EVERY = 0.5
PHASES = {
    "connecting": "Connecting",
    "receiving": "Receiving",
    "resolving": "Resolving",
    "checking_out": "Writing files",
    "placing": "Finishing",
}
Show = Callable[[Json], None]


def add_to(_root: typer.Typer) -> None:
    """Its commands belong to `bough repo`."""


@command(app, "find")
def find(
    ctx: CommandContext,
    every: Annotated[bool, typer.Option("--all", "-a", help="Also list those that are registered.")] = False,
) -> None:
    """Find git repositories below the workspace root that are not registered yet."""

    def render(answer: Json) -> None:
        rows: list[Json] = [row for row in answer["repos"] if every or row["repoId"] is None]
        output.table(
            ("PATH", "BRANCH", "USED", "REPO"),
            [
                (
                    clean(row["path"]),
                    clean(row["branch"] or ""),
                    ago(row["usedAt"]) if row["usedAt"] else "",
                    short(row["repoId"]) if row["repoId"] else "",
                )
                for row in rows
            ],
            flexible="PATH",
            empty=f"No unregistered repositories below {clean(answer['root'])}.",
        )
        if not answer["complete"]:
            output.note("There are too many folders to look at all of them. Register others by their path.")
        if any(row["repoId"] is None for row in rows):
            output.note("Register one: bough repo add PATH")

    ctx.show(ctx.client.get("/api/workspace/repos"), render)


@command(app, "clone")
def clone(
    ctx: CommandContext,
    address: Annotated[
        str, typer.Argument(metavar="URL", help="An https or ssh address, or a folder where the server runs.")
    ],
    folder: Annotated[
        str | None,
        typer.Argument(
            metavar="[FOLDER]", help="Where it goes; by default the repository's name in the workspace root."
        ),
    ] = None,
    name: Annotated[str | None, typer.Option("--name", help="Display name.")] = None,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Wait until the clone is complete.")] = True,
) -> int:
    """Clone a repository into the workspace root and register it.

    Git uses your logins where the server runs: its credential helper and ssh. Nothing of the repository runs: no hooks,
    filters or submodules. Ctrl+C cancels the clone.
    """
    body: Json = {"address": address}
    if folder is not None:
        body["path"] = str(Path(folder).expanduser().absolute())
    if name is not None:
        body["name"] = name
    started = ctx.client.post("/api/clones", body)
    if not wait:
        ctx.show(started, lambda row: output.line(f"{short(row['id'])}  {clean(row['path'])}"))
        return DONE
    ended = _follow(ctx.client, started.value, quiet=ctx.json)
    ctx.show(ctx.client.get(path("clones", ended["id"])), lambda row: _print_end(ctx.client, row))
    return DONE if ended["state"] == "done" else FAILED


@command(app, "clones")
def list_clones(ctx: CommandContext) -> None:
    """List the clones under way and the last that ended."""

    def render(answer: Json) -> None:
        rows: list[Json] = answer["clones"]
        forms = short_forms([row["id"] for row in rows])
        output.table(
            ("ID", "STATE", "BEGUN", "FROM", "TO"),
            [
                (forms[row["id"]], _state(row), ago(row["createdAt"]), clean(row["address"]), clean(row["path"]))
                for row in rows
            ],
            flexible="TO",
            empty="Nothing has been cloned. To begin: bough repo clone URL",
        )

    ctx.show(ctx.client.get("/api/clones"), render)


@command(app, "cancel-clone")
def cancel(
    ctx: CommandContext,
    clone_id: Annotated[
        str,
        typer.Argument(metavar="CLONE", help="Id of the clone.", autocompletion=ids("clones", "address")),
    ],
) -> None:
    """Cancel a clone and remove what has arrived."""
    answer = ctx.client.post(path("clones", clone_id, "cancel"))
    ctx.show(answer, lambda row: output.line(f"{clean(row['address'])}: {row['state']}."))


def _follow(client: Client, row: Json, *, quiet: bool) -> Json:
    """Shows the progress until the clone has ended. An interrupt cancels it."""
    try:
        with _bar(row, quiet=quiet) as show:
            while row["state"] == "cloning":
                show(row)
                time.sleep(LOOK_EVERY)
                row = client.get(path("clones", row["id"])).value
    except KeyboardInterrupt:
        client.post(path("clones", row["id"], "cancel"))
        raise
    return row


@contextlib.contextmanager
def _bar(row: Json, *, quiet: bool) -> Generator[Show]:
    """Yields the function that shows the progress: a bar on a terminal, elsewhere nothing."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

    console = Console(stderr=True, highlight=False, markup=False, emoji=False)
    if quiet or not console.is_terminal:
        if not quiet:
            output.note(f"Cloning {clean(row['address'])} …")
        yield lambda _: None
        return
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(PHASES["connecting"], total=None)

        def show(row: Json) -> None:
            percent = row["percent"]
            progress.update(
                task,
                description=PHASES[row["phase"]],
                total=100 if percent is not None else None,
                completed=percent or 0,
            )

        yield show


def _print_end(client: Client, row: Json) -> None:
    if row["state"] != "done":
        output.note(f"{row['state'].capitalize()}: {clean(row['error'] or 'nothing was kept.')}")
        return
    output.line(f"{short(row['repoId'])}  {clean(row['address'])}  {clean(row['path'])}")
    print_undecided(client.get(path("repos", row["repoId"], "git")).value)


def _state(row: Json) -> str:
    if row["state"] != "cloning":
        return row["state"]
    return PHASES[row["phase"]].lower() + (f" {row['percent']}%" if row["percent"] is not None else "")
