"""`bough repo`: the folders that sessions work in, and finding the one that a path or an id means."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from bough.api.cli import out
from bough.api.cli.base import Here, command
from bough.api.cli.client import Client, Json, path
from bough.api.cli.completing import ids
from bough.api.cli.words import ago, clean, moment, short, short_forms
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
    folder: Annotated[str, typer.Argument(metavar="PATH", help="A folder; inside a working copy its top.")] = ".",
    name: Annotated[str | None, typer.Option("--name", help="What to call it.")] = None,
) -> None:
    """Make a repository or a plain folder known; one that is known already is given back."""
    body: Json = {"path": str(Path(folder).expanduser().absolute())}
    answer = here.client.post("/api/repos", body | ({"name": name} if name else {}))
    here.show(answer, lambda repo: out.line(f"{short(repo['id'])}  {clean(repo['name'])}  {clean(repo['path'])}"))


@command(app, "list")
def list_repos(here: Here, limit: Limit = 20, offset: Offset = 0) -> None:
    """List repositories."""

    def render(page: Any) -> None:
        rows: list[Json] = page["repos"]
        ids = short_forms([row["id"] for row in rows], complete=page["total"] == len(rows))
        out.table(
            ("ID", "NAME", "KIND", "BRANCH", "PATH"),
            [
                (ids[row["id"]], clean(row["name"]), row["kind"], clean(row["defaultBranch"] or ""), row["path"])
                for row in rows
            ],
            flexible="PATH",
            empty="No repository yet. Make one known with: bough repo add PATH",
        )
        out.more(page, len(rows))

    here.show(here.client.get("/api/repos", limit=limit, offset=offset), render)


@command(app, "show")
def show(here: Here, repo: RepoId) -> None:
    """Show a repository."""

    def render(found: Json) -> None:
        out.facts(
            [
                ("id", found["id"]),
                ("name", clean(found["name"])),
                ("path", clean(found["path"])),
                ("kind", found["kind"]),
                ("default branch", clean(found["defaultBranch"] or "")),
                ("registered", f"{moment(found['createdAt'])} ({ago(found['createdAt'])})"),
            ]
        )

    here.show(here.client.get(path("repos", repo)), render)


@command(app, "rename")
def rename(here: Here, repo: RepoId, name: Annotated[str, typer.Argument(help="Its new name.")]) -> None:
    """Rename a repository."""
    answer = here.client.patch(path("repos", repo), {"name": name})
    here.show(answer, lambda found: out.line(f"{short(found['id'])} is called {clean(found['name'])} now."))


@command(app, "rm")
def remove(here: Here, repo: RepoId) -> None:
    """Forget a repository that no session uses; its folder stays as it is."""
    answer = here.client.delete(path("repos", repo))
    here.show(answer, lambda found: out.line(f"{clean(found['name'])} is forgotten; {clean(found['path'])} stays."))


def open_repo(client: Client, text: str) -> str:
    """The id for a path or an id; a folder that is new is registered."""
    if (folder := _folder(text)) is None:
        return text
    return client.post("/api/repos", {"path": str(folder)}).value["id"]


def find_repo(client: Client, text: str) -> str:
    """The id for a path or an id; a folder inside a known one means that one, and nothing is registered."""
    if (folder := _folder(text)) is None:
        return text
    known: dict[Path, str] = {}
    while True:
        page = client.get("/api/repos", limit=PAGE, offset=len(known)).value
        known |= {Path(repo["path"]): repo["id"] for repo in page["repos"]}
        if len(known) >= page["total"] or not page["repos"]:
            break
    real = folder.resolve()
    for place in (real, *real.parents):
        if place in known:
            return known[place]
    raise NotFound("repo_not_found", f"No repository is registered for {folder}.")


def _folder(text: str) -> Path | None:
    """The folder that is meant, if it is one and not an id."""
    given = Path(text).expanduser()
    if given.is_dir() or "/" in text or text.startswith((".", "~")):
        return given.absolute()
    return None
