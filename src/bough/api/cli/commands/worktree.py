"""`bough worktree`: making, adopting, showing, comparing, removing and recovering worktrees. What sessions do there is
`bough session`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from bough.api.cli.commands.approval_details import STYLES
from bough.api.cli.commands.repo import PAGE, Limit, Offset, find_repo, folder, open_repo, say_adoptable
from bough.api.cli.framework import output, stream
from bough.api.cli.framework.base import DONE, FAILED, Here, command
from bough.api.cli.framework.client import SETUP_WITHIN, Client, Json, Refused, parts, path
from bough.api.cli.framework.completion import ids
from bough.api.cli.framework.formats import ago, brief, clean, moment, short, short_forms
from bough.errors import NotFound

# The seconds after which a setup that says nothing is asked about, should its event have been missed.
ASK_EVERY = 15.0

app = typer.Typer(no_args_is_help=True, help="Working copies of repositories, each with a branch of its own.")
WorktreeId = Annotated[
    str,
    typer.Argument(
        metavar="WORKTREE", help="Its id, 8 characters of it, or its folder.", autocompletion=ids("worktrees", "name")
    ),
]
RemovedId = Annotated[
    str,
    typer.Argument(
        metavar="WORKTREE",
        help="Its id, or 8 characters of it.",
        autocompletion=ids("worktrees", "name", removed=True),
    ),
]
Repo = Annotated[str, typer.Option("--repo", "-r", metavar="PATH|ID", help="Of which repository.")]
Notes = Annotated[str | None, typer.Option("--notes", help="What people should know about it.")]
Name = Annotated[str | None, typer.Option("--name", help="What to call it.")]


def add_to(root: typer.Typer) -> None:
    root.add_typer(app, name="worktree")


@command(app, "list")
def list_worktrees(
    here: Here,
    repo: Annotated[str | None, typer.Option("--repo", "-r", metavar="PATH|ID", help="Only of this one.")] = None,
    removed: Annotated[bool, typer.Option("--removed", help="Those that were removed instead.")] = False,
    limit: Limit = 20,
    offset: Offset = 0,
) -> None:
    """List worktrees, newest first; of one repository also those that can be adopted."""
    repo_id = find_repo(here.client, repo) if repo is not None else None
    answer = here.client.get("/api/worktrees", repoId=repo_id, removed=removed, limit=limit, offset=offset)

    def render(page: Any) -> None:
        rows: list[Json] = page["worktrees"]
        known = short_forms([row["id"] for row in rows])
        output.table(
            ("ID", "NAME", "BRANCH", "STATE", "AGE", "PATH"),
            [
                (
                    known[row["id"]],
                    brief(row["name"], 40),
                    brief(row["branch"] or "(detached)", 40),
                    _state(row),
                    ago(row["removedAt"] or row["createdAt"]),
                    row["path"],
                )
                for row in rows
            ],
            flexible="PATH",
            empty="No worktree was removed." if removed else "No worktree. Make one with: bough worktree new BRANCH",
        )
        output.more(page, len(rows))
        if repo_id is not None and not removed:
            say_adoptable(here.client, repo_id)

    here.show(answer, render)


@command(app, "new")
def new(
    here: Here,
    branch: Annotated[str, typer.Argument(metavar="BRANCH", help="Its branch; made if it is missing.")],
    repo: Repo = ".",
    folder: Annotated[
        str | None, typer.Option("--path", metavar="DIR", help="Where, if not in .worktrees/BRANCH of the repository.")
    ] = None,
    base: Annotated[str | None, typer.Option("--base", metavar="REF", help="What a new branch begins with.")] = None,
    name: Name = None,
    notes: Notes = None,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Wait until its setup has ended.")] = True,
) -> int:
    """Make a worktree, and show its setup as it runs."""
    given = {"branch": branch, "path": folder, "base": base, "name": name, "notes": notes}
    body = {key: value for key, value in given.items() if value is not None}
    body |= {"repoId": open_repo(here.client, repo), "wait": False}
    cursor = stream.now(here.client) if wait else 0
    answer = here.client.post("/api/worktrees", body)
    if answer.value["status"] != "setting_up" or not wait:
        here.show(answer, say_made)
        return DONE
    done = follow_setup(here, answer.value, cursor)
    output.document(done) if here.json else say_made(done)
    return FAILED if done["setupError"] else DONE


def follow_setup(here: Here, made: Json, cursor: int) -> Json:
    """Shows what a setup prints until it has ended; gives the worktree as it is then."""
    if not here.json:
        output.note(f"Worktree {short(made['id'])} is made; setting it up …")
    shown = ""
    with stream.Stream(here.client, None, cursor) as events:
        while True:
            item = events.next(within=ASK_EVERY)
            if item is None or item.kind in ("lost", "back"):
                continue
            if item.kind == "quiet":
                found: Json = here.client.get(path("worktrees", made["id"])).value
            elif item.event.get("objectId") == made["id"]:
                found = item.event["data"]
            else:
                continue
            text: str = found["setupOutput"] or ""
            if not here.json and text != shown:
                fresh = text[len(shown) :] if text.startswith(shown) else text
                output.note(fresh.rstrip("\n"))
                shown = text
            if found["status"] != "setting_up":
                return found


def say_made(made: Json) -> None:
    output.line(f"Worktree {short(made['id'])}: {made['branch'] or 'detached'} in {clean(made['path'])}")
    if made["setupError"]:
        output.note(f"Its setup did not work: {made['setupError']}")
    output.note(f"Next: bough session new --in {short(made['id'])} -p PROMPT")


@command(app, "adopt")
def adopt(
    here: Here,
    place: Annotated[str, typer.Argument(metavar="PATH", help="A worktree that git has already.")],
    repo: Annotated[
        str | None, typer.Option("--repo", "-r", metavar="PATH|ID", help="Of which repository, if not this folder's.")
    ] = None,
    name: Name = None,
    notes: Notes = None,
) -> None:
    """Make a worktree known that was made without Bough; it stays as it is."""
    real = str(Path(place).expanduser().absolute())
    repo_id = find_repo(here.client, repo if repo is not None else ".")
    given = {"repoId": repo_id, "path": real, "name": name, "notes": notes}
    answer = here.client.post("/api/worktrees", {key: value for key, value in given.items() if value is not None})
    here.show(answer, say_made)


@command(app, "show")
def show(here: Here, worktree: WorktreeId) -> None:
    """Show a worktree, how it stands in git, and the sessions in it."""
    here.show(here.client.get(path("worktrees", find_worktree(here.client, worktree))), _draw)


def _draw(found: Json) -> None:
    git: Json = found["git"] or {}
    uncommitted = [f"{git[key]} {key}" for key in ("changed", "untracked") if git.get(key)]
    far = [f"{git[key]} {key}" for key in ("ahead", "behind") if git.get(key)]
    output.facts(
        [
            ("worktree", found["id"]),
            ("name", clean(found["name"])),
            ("path", clean(found["path"])),
            ("branch", clean(git.get("branch") or found["branch"] or "(detached)")),
            ("commit", (git.get("sha") or "")[:12]),
            ("base", clean(f"{found['baseRef'] or ''} {(found['baseSha'] or '')[:12]}".strip())),
            ("state", _state(found) if not git.get("missing") else "its folder is gone"),
            ("files", ", ".join(uncommitted) or ("clean" if git and not git["missing"] else "")),
            ("commits", f"{', '.join(far)} of {clean(git['against'])}" if far else ""),
            ("locked", "yes" if git.get("locked") is not None else ""),
            ("setup", clean(found["setupError"] or "")),
            ("notes", clean(found["notes"])),
            (
                "made",
                f"{moment(found['createdAt'])} ({ago(found['createdAt'])})" if found["madeByBough"] else "adopted",
            ),
            ("removed", f"{moment(found['removedAt'])} ({ago(found['removedAt'])})" if found["removedAt"] else ""),
            ("kept on", found["recoveryRef"] or ""),
        ]
    )
    for use in found["sessions"]:
        state = use["activity"] if use["status"] == "active" else use["status"]
        output.line(f"session {short(use['id'])}  {use['agent']}  {state}  {brief(use['title'], 60)}")


@command(app, "losses")
def losses(here: Here, worktree: WorktreeId) -> None:
    """Show what removing a worktree would lose, and whether it would be refused."""

    def render(found: Json) -> None:
        for title, name, texts in (
            ("uncommitted", "uncommitted", found["uncommitted"]),
            ("untracked", "untracked", found["untracked"]),
            ("commit", "unpushed", [f"{one['sha'][:12]}  {one['subject']}" for one in found["unpushed"]]),
            ("session", "sessions", [short(one) for one in found["sessions"]]),
        ):
            for text in texts:
                output.line(f"{title:<12} {clean(text)}")
            if found["counts"][name] > len(texts):
                output.line(f"{title:<12} and {found['counts'][name] - len(texts)} more")
        output.line(clean(found["why"]))

    here.show(here.client.get(path("worktrees", find_worktree(here.client, worktree), "losses")), render)


@command(app, "diff")
def diff(
    here: Here,
    worktree: WorktreeId,
    head: Annotated[bool, typer.Option("--head", help="Since its last commit instead of since its base.")] = False,
    stat: Annotated[bool, typer.Option("--stat", help="Only the files and how much changed in them.")] = False,
) -> None:
    """Show what has changed in a worktree, untracked files included."""
    against = "head" if head else "base"
    answer = here.client.get(path("worktrees", find_worktree(here.client, worktree), "diff"), against=against)

    def render(found: Json) -> None:
        for one in found["files"] if stat else ():
            name = f"{one['oldPath']} → {one['path']}" if one["oldPath"] else one["path"]
            size = "binary" if one["binary"] else f"+{one['additions']} -{one['deletions']}"
            output.line(f"{one['status']:<12}  {size:<12}  {name}")
        for line in found["text"].splitlines() if not stat else ():
            output.line(line, STYLES.get(line[:1], ""))
        if not found["files"]:
            output.line("Nothing has changed.", "dim")
        if found["note"]:
            output.note(found["note"])

    here.show(answer, render)


@command(app, "set")
def change(
    here: Here,
    worktree: WorktreeId,
    name: Name = None,
    notes: Notes = None,
    board: Annotated[
        str | None, typer.Option("--board", metavar="ID", help="The board it lies on; an empty text takes it off.")
    ] = None,
    x: Annotated[float | None, typer.Option("--x", metavar="N", help="Where on it, from the left.")] = None,
    y: Annotated[float | None, typer.Option("--y", metavar="N", help="Where on it, from the top.")] = None,
) -> None:
    """Change a worktree's name, notes, or place on a board."""
    given = {"name": name, "notes": notes, "x": x, "y": y}
    body: Json = {key: value for key, value in given.items() if value is not None}
    if board is not None:
        body["boardId"] = board or None
    if not body:
        raise typer.BadParameter("Say what to change; see: bough worktree set --help")
    answer = here.client.patch(path("worktrees", find_worktree(here.client, worktree)), body)
    here.show(answer, lambda found: output.line(f"Worktree {short(found['id'])} is called {clean(found['name'])}."))


@command(app, "remove")
def remove(
    here: Here,
    worktree: WorktreeId,
    force: Annotated[
        bool, typer.Option("--force", help="Also with work in it; all of it is kept and can be recovered.")
    ] = False,
    delete_branch: Annotated[
        bool, typer.Option("--delete-branch", help="Delete the branch too, if Bough made it and nothing is lost.")
    ] = False,
) -> None:
    """Remove a worktree with its folder; one that was adopted is only forgotten unless forced."""
    branch = "delete" if delete_branch else "keep"
    try:
        answer = here.client.delete(path("worktrees", find_worktree(here.client, worktree)), force=force, branch=branch)
    except Refused as error:
        name_what_would_be_lost(error)
        raise
    here.show(answer, say_removed)


def name_what_would_be_lost(error: Refused) -> None:
    """Every file and commit that keeps a worktree from being removed."""
    for one in parts(error.details, "files"):
        output.note(f"  {one['state']:<18}  {one['path']}")
    for one in parts(error.details, "commits"):
        output.note(f"  {one['sha'][:12]:<18}  {one['subject']}")


def say_removed(gone: Json) -> None:
    if gone["forgotten"]:
        output.line(f"Worktree {short(gone['id'])} is forgotten; {clean(gone['path'])} stays as it is.")
        return
    output.line(f"Worktree {short(gone['id'])} is removed{', its branch too' if gone['branchDeleted'] else ''}.")
    if gone["recover"]:
        output.note(f"Everything is kept. Get it back with: bough worktree recover {short(gone['id'])}")


@command(app, "recover")
def recover(here: Here, worktree: RemovedId) -> None:
    """Bring a removed worktree back to where it was, with its uncommitted files."""
    here.show(here.client.post(path("worktrees", worktree, "recover"), within=SETUP_WITHIN), say_made)


def find_worktree(client: Client, text: str) -> str:
    """The id for an id or a folder; a folder inside of a worktree means that one."""
    place = folder(text)
    if place is None:
        return text
    known: dict[Path, str] = {}
    while True:
        page = client.get("/api/worktrees", limit=PAGE, offset=len(known)).value
        known |= {Path(one["path"]): one["id"] for one in page["worktrees"]}
        if len(known) >= page["total"] or not page["worktrees"]:
            break
    real = place.resolve()
    for one in (real, *real.parents):
        if one in known:
            return known[one]
    raise NotFound("worktree_not_found", f"No worktree of Bough's is at {place}.")


def _state(row: Json) -> str:
    if row["removedAt"]:
        return "kept" if row["recoveryRef"] else "removed"
    if row["status"] != "ready":
        return row["status"].replace("_", " ")
    return "setup failed" if row["setupError"] else "ready"
