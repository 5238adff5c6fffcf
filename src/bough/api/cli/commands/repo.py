"""`bough repo`: the folders that sessions work in, and finding the one that a path or an id means."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from bough.api.cli.framework import output
from bough.api.cli.framework.base import Here, command
from bough.api.cli.framework.client import Client, Json, Refused, path
from bough.api.cli.framework.completion import ids
from bough.api.cli.framework.formats import ago, clean, moment, short, short_forms
from bough.errors import NotFound

PAGE = 500

app = typer.Typer(no_args_is_help=True, help="Repositories and plain folders that sessions work in.")
RepoId = Annotated[
    str, typer.Argument(metavar="REPO", help="Its id, or 8 characters of it.", autocompletion=ids("repos", "path"))
]
Limit = Annotated[int, typer.Option("--limit", "-n", min=1, max=PAGE, help="How many at most.")]
Offset = Annotated[int, typer.Option("--offset", min=0, help="How many to skip.")]


def add_to(root: typer.Typer) -> None:
    root.add_typer(app, name="repo")


@command(app, "add")
def add(
    here: Here,
    place: Annotated[str, typer.Argument(metavar="PATH", help="A folder; inside a working copy its top.")] = ".",
    name: Annotated[str | None, typer.Option("--name", help="What to call it.")] = None,
) -> None:
    """Make a repository or a plain folder known; one that is known already is given back."""
    body: Json = {"path": str(Path(place).expanduser().absolute())}
    answer = here.client.post("/api/repos", body | ({"name": name} if name else {}))

    def render(repo: Json) -> None:
        output.line(f"{short(repo['id'])}  {clean(repo['name'])}  {clean(repo['path'])}")
        if repo["kind"] == "git":
            say_adoptable(here.client, repo["id"])

    here.show(answer, render)


@command(app, "list")
def list_repos(here: Here, limit: Limit = 20, offset: Offset = 0) -> None:
    """List repositories."""

    def render(page: Any) -> None:
        rows: list[Json] = page["repos"]
        ids = short_forms([row["id"] for row in rows], complete=page["total"] == len(rows))
        output.table(
            ("ID", "NAME", "KIND", "BRANCH", "PATH"),
            [
                (ids[row["id"]], clean(row["name"]), row["kind"], clean(row["defaultBranch"] or ""), row["path"])
                for row in rows
            ],
            flexible="PATH",
            empty="No repository yet. Make one known with: bough repo add PATH",
        )
        output.more(page, len(rows))

    here.show(here.client.get("/api/repos", limit=limit, offset=offset), render)


@command(app, "show")
def show(here: Here, repo: RepoId) -> None:
    """Show a repository."""
    here.show(here.client.get(path("repos", repo)), _draw)


def _draw(found: Json) -> None:
    output.facts(
        [
            ("id", found["id"]),
            ("name", clean(found["name"])),
            ("path", clean(found["path"])),
            ("kind", found["kind"]),
            ("default branch", clean(found["defaultBranch"] or "")),
            ("setup", clean(shlex.join(found["setup"]))),
            ("copied", ", ".join(clean(one) for one in found["copyIgnored"])),
            ("registered", f"{moment(found['createdAt'])} ({ago(found['createdAt'])})"),
        ]
    )


@command(app, "set")
def change(
    here: Here,
    repo: RepoId,
    name: Annotated[str | None, typer.Option("--name", help="What to call it.")] = None,
    setup: Annotated[
        str | None,
        typer.Option("--setup", metavar="COMMAND", help="Command for each new worktree, without a shell; '' for none."),
    ] = None,
    copy: Annotated[
        list[str] | None,
        typer.Option("--copy", metavar="GLOB", help="Ignored files to copy into each new worktree; repeat."),
    ] = None,
    no_copy: Annotated[bool, typer.Option("--no-copy", help="Copy none.")] = False,
) -> None:
    """Change a repository's name, or what is done in its new worktrees."""
    body: Json = {"name": name} if name is not None else {}
    if setup is not None:
        try:
            body["setup"] = shlex.split(setup)
        except ValueError as error:
            raise typer.BadParameter(f"This is no command: {error}.") from None
    if copy or no_copy:
        body["copyIgnored"] = [] if no_copy else copy
    if not body:
        raise typer.BadParameter("Say what to change; see: bough repo set --help")
    here.show(here.client.patch(path("repos", repo), body), _draw)


@command(app, "rename")
def rename(here: Here, repo: RepoId, name: Annotated[str, typer.Argument(help="Its new name.")]) -> None:
    """Rename a repository."""
    answer = here.client.patch(path("repos", repo), {"name": name})
    here.show(answer, lambda found: output.line(f"{short(found['id'])} is called {clean(found['name'])} now."))


@command(app, "rm")
def remove(here: Here, repo: RepoId) -> None:
    """Forget a repository that no session uses; its folder stays as it is."""
    answer = here.client.delete(path("repos", repo))
    here.show(answer, lambda found: output.line(f"{clean(found['name'])} is forgotten; {clean(found['path'])} stays."))


def say_adoptable(client: Client, repo_id: str) -> None:
    """Points out the worktrees that git has and Bough does not know."""
    try:
        found: list[Json] = client.get(path("repos", repo_id, "worktrees"), known=False, limit=PAGE).value["worktrees"]
    except Refused:
        # A plain folder has none.
        return
    for one in found:
        output.note(f"Not known to Bough: {one['path']} ({one['branch'] or 'detached'}); bough worktree adopt PATH")


def open_repo(client: Client, text: str) -> str:
    """The id for a path or an id; a folder that is new is registered."""
    if (place := folder(text)) is None:
        return text
    return client.post("/api/repos", {"path": str(place)}).value["id"]


def find_repo(client: Client, text: str) -> str:
    """The id for a path or an id; a folder inside a known one means that one, and nothing is registered."""
    if (place := folder(text)) is None:
        return text
    known: dict[Path, str] = {}
    while True:
        page = client.get("/api/repos", limit=PAGE, offset=len(known)).value
        known |= {Path(repo["path"]): repo["id"] for repo in page["repos"]}
        if len(known) >= page["total"] or not page["repos"]:
            break
    real = place.resolve()
    for one in (real, *real.parents):
        if one in known:
            return known[one]
    raise NotFound("repo_not_found", f"No repository is registered for {place}.")


def folder(text: str) -> Path | None:
    """The folder that is meant, if it is one and not an id."""
    given = Path(text).expanduser()
    if given.is_dir() or "/" in text or text.startswith((".", "~")):
        return given.absolute()
    return None
