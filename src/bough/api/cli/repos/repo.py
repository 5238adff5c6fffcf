"""`bough repo`: registers, lists, shows, changes and forgets repos, and finds the repo for a path or an id."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Collection, Generator
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from bough.api.cli.framework import output
from bough.api.cli.framework.base import CommandContext, command
from bough.api.cli.framework.client import Client, Json, Refused, path
from bough.api.cli.framework.completion import names
from bough.api.cli.framework.formats import ago, moment, short, short_forms
from bough.api.cli.framework.selectors import REPO, find, folder_named
from bough.api.cli.framework.terminal_safety import clean
from bough.errors import BoughError, NotFound

PAGE = 500

app = typer.Typer(no_args_is_help=True, help="Repos: the git repositories and plain folders that sessions work in.")
RepoId = Annotated[
    str,
    REPO,
    typer.Argument(
        metavar="REPO",
        help="Repo: its id or 8 characters of it, its name or folder, or @last.",
        autocompletion=names("repo"),
    ),
]
Limit = Annotated[int, typer.Option("--limit", "-n", min=1, max=PAGE, help="Maximum number of results.")]
Offset = Annotated[int, typer.Option("--offset", min=0, help="Number of results to skip.")]


def add_to(root: typer.Typer) -> None:
    root.add_typer(app, name="repo")


@command(app, "add")
def add(
    ctx: CommandContext,
    folder_text: Annotated[
        str, typer.Argument(metavar="PATH", help="A folder; inside a git repository, its top folder is used.")
    ] = ".",
    name: Annotated[str | None, typer.Option("--name", help="Display name.")] = None,
) -> None:
    """Register a git repository or a plain folder; an already registered one is shown."""
    body: Json = {"path": str(Path(folder_text).expanduser().absolute())}
    answer = ctx.client.post("/api/repos", body | ({"name": name} if name else {}))

    def render(repo: Json) -> None:
        output.line(f"{short(repo['id'])}  {clean(repo['name'])}  {clean(repo['path'])}")
        if repo["kind"] == "git":
            print_adoptable(ctx.client, repo["id"])
            print_undecided(ctx.client.get(path("repos", repo["id"], "git")).value)

    ctx.show(answer, render)


@command(app, "list")
def list_repos(ctx: CommandContext, limit: Limit = 20, offset: Offset = 0) -> None:
    """List repos."""

    def render(page: Any) -> None:
        rows: list[Json] = page["repos"]
        ids = short_forms([row["id"] for row in rows])
        output.table(
            ("ID", "NAME", "KIND", "BRANCH", "PATH"),
            [
                (ids[row["id"]], clean(row["name"]), row["kind"], clean(row["defaultBranch"] or ""), row["path"])
                for row in rows
            ],
            flexible="PATH",
            empty="No repos yet. Register one: bough repo add PATH",
        )
        output.more(page, len(rows))

    ctx.show(ctx.client.get("/api/repos", limit=limit, offset=offset), render)


@command(app, "show")
def show(ctx: CommandContext, repo: RepoId) -> None:
    """Show a repo."""
    ctx.show(ctx.client.get(path("repos", repo)), _draw)


def _draw(repo: Json) -> None:
    output.facts(
        [
            ("id", repo["id"]),
            ("name", clean(repo["name"])),
            ("path", clean(repo["path"])),
            ("kind", repo["kind"]),
            ("default branch", clean(repo["defaultBranch"] or "")),
            ("setup", clean(shlex.join(repo["setup"]))),
            ("copied files", ", ".join(clean(pattern) for pattern in repo["copyIgnored"])),
            ("sandbox", repo["sandbox"] or ""),
            ("sandbox profile", repo["sandboxProfile"] or ""),
            ("sandbox hosts", ", ".join(clean(host) for host in repo["sandboxHosts"])),
            ("registered", f"{moment(repo['createdAt'])} ({ago(repo['createdAt'])})"),
        ]
    )


@command(app, "set")
def change(
    ctx: CommandContext,
    repo: RepoId,
    name: Annotated[str | None, typer.Option("--name", help="Display name.")] = None,
    setup: Annotated[
        str | None,
        typer.Option(
            "--setup", metavar="COMMAND", help="Command to run in each new worktree, without a shell; '' for none."
        ),
    ] = None,
    copy: Annotated[
        list[str] | None,
        typer.Option("--copy", metavar="GLOB", help="Ignored files to copy into each new worktree; repeatable."),
    ] = None,
    no_copy: Annotated[bool, typer.Option("--no-copy", help="Copy no ignored files.")] = False,
    sandbox: Annotated[
        Literal["off", "auto", "required", "inherit"] | None,
        typer.Option(
            "--sandbox",
            metavar="off|auto|required|inherit",
            help="Whether agents run in a sandbox here; inherit uses the server's setting.",
        ),
    ] = None,
    profile: Annotated[
        Literal["workspace", "strict", "inherit"] | None,
        typer.Option(
            "--sandbox-profile",
            metavar="workspace|strict|inherit",
            help="Profile of the sandbox here: workspace limits files, strict also limits hosts.",
        ),
    ] = None,
    host: Annotated[
        list[str] | None,
        typer.Option(
            "--sandbox-host",
            metavar="HOST",
            help="Host that strictly confined agents may reach here; repeatable. Replaces the list.",
        ),
    ] = None,
    no_host: Annotated[bool, typer.Option("--no-sandbox-host", help="Allow no additional hosts here.")] = False,
) -> None:
    """Change a repo's name, how its new worktrees are set up, or whether its agents run in a sandbox."""
    body: Json = {"name": name} if name is not None else {}
    if setup is not None:
        try:
            body["setup"] = shlex.split(setup)
        except ValueError as error:
            raise typer.BadParameter(f"--setup is not a valid command: {error}.") from None
    if copy or no_copy:
        body["copyIgnored"] = [] if no_copy else copy
    if sandbox is not None:
        body["sandbox"] = None if sandbox == "inherit" else sandbox
    if profile is not None:
        body["sandboxProfile"] = None if profile == "inherit" else profile
    if host or no_host:
        body["sandboxHosts"] = [] if no_host else host
    if not body:
        raise typer.BadParameter("Nothing to change; see: bough repo set --help")
    ctx.show(ctx.client.patch(path("repos", repo), body), _draw)


@command(app, "rename")
def rename(ctx: CommandContext, repo: RepoId, name: Annotated[str, typer.Argument(help="New name.")]) -> None:
    """Rename a repo."""
    answer = ctx.client.patch(path("repos", repo), {"name": name})
    ctx.show(answer, lambda renamed: output.line(f"{short(renamed['id'])} is now called {clean(renamed['name'])}."))


@command(app, "rm")
def remove(ctx: CommandContext, repo: RepoId) -> None:
    """Forget a repo that no session uses; its folder is not changed."""
    answer = ctx.client.delete(path("repos", repo))
    ctx.show(
        answer,
        lambda removed: output.line(f"{clean(removed['name'])} is forgotten; {clean(removed['path'])} is unchanged."),
    )


def print_adoptable(client: Client, repo_id: str) -> None:
    """Points out git worktrees that Bough does not know."""
    try:
        unknown: list[Json] = client.get(path("repos", repo_id, "worktrees"), known=False, limit=PAGE).value[
            "worktrees"
        ]
    except Refused:
        # A plain folder has no worktrees.
        return
    for worktree in unknown:
        output.note(
            f"Not known to Bough: {worktree['path']} ({worktree['branch'] or 'detached'}). "
            "Adopt it: bough worktree adopt PATH"
        )


def print_undecided(report: Json) -> None:
    """Asks a person to decide about what the repo has and nobody has decided."""
    kinds: list[str] = report["undecided"]
    if kinds:
        output.note(
            f"This repo uses {' and '.join(kinds)}, which Bough does not run. If you trust it: "
            f"bough repo git {short(report['repoId'])} {' '.join(f'--allow {kind}' for kind in kinds)}. "
            f"To keep them off: {' '.join(f'--deny {kind}' for kind in kinds)}."
        )


def open_repo(client: Client, text: str) -> str:
    """Returns the id for a path or a name; registers a new folder."""
    if (path_given := folder_named(text)) is None:
        return _find_named(client, text)
    return _register(client, path_given)["id"]


def open_folder(client: Client, text: str, *, whole: bool) -> Json:
    """Returns where a new session works: the repo of a path, registered if it is new, and the folder inside it unless
    the `whole` repo is meant; or the repo with an id or a name."""
    if (path_given := folder_named(text)) is None:
        return {"repoId": _find_named(client, text)}
    repo = _register(client, path_given)
    real, top = path_given.resolve(), Path(repo["path"])
    inside = not whole and top in real.parents and ".git" not in real.relative_to(top).parts
    return {"repoId": repo["id"], "folder": str(real.relative_to(top))} if inside else {"repoId": repo["id"]}


def known_repos(client: Client) -> dict[Path, str]:
    """Returns the ids of all registered repos by their folders."""
    known: dict[Path, str] = {}
    while True:
        page = client.get("/api/repos", limit=PAGE, offset=len(known)).value
        known |= {Path(repo["path"]): repo["id"] for repo in page["repos"]}
        if len(known) >= page["total"] or not page["repos"]:
            return known


@contextlib.contextmanager
def forgotten_if_refused(client: Client, repo_id: str | None, known: Collection[str]) -> Generator[None]:
    """Forgets a repo that was registered for what is created in it, if that is refused."""
    try:
        yield
    except Refused:
        if repo_id is not None and repo_id not in known:
            # Somebody else may use it by now.
            with contextlib.suppress(BoughError):
                client.delete(path("repos", repo_id))
        raise


def find_repo(client: Client, text: str) -> str:
    """Returns the id for a path or a name; a folder inside a registered repo means that repo. Registers nothing."""
    path_given = folder_named(text)
    return _find_named(client, text) if path_given is None else find(client, REPO, str(path_given))


def _register(client: Client, path_given: Path) -> Json:
    try:
        return client.post("/api/repos", {"path": str(path_given)}).value
    except Refused as error:
        # The server may run on another machine, so it is asked first.
        if path_given.is_dir():
            raise
        raise NotFound("path_missing", f"There is no such folder: {path_given}") from error


def _find_named(client: Client, text: str) -> str:
    try:
        return find(client, REPO, text)
    except Refused as error:
        if error.code != "repo_not_found":
            raise
        raise NotFound("repo_not_found", f"There is no such folder and no such repo: {text}") from error
