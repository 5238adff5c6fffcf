"""`bough worktree`: creates, adopts, lists, shows, compares, changes, removes and recovers worktrees."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from bough.api.cli.commands.approval_details import STYLES
from bough.api.cli.commands.repo import PAGE, Limit, Offset, find_repo, folder, open_repo, print_adoptable
from bough.api.cli.framework import output, stream
from bough.api.cli.framework.base import DONE, FAILED, CommandContext, command
from bough.api.cli.framework.client import SETUP_WITHIN, Client, Json, Refused, parts, path
from bough.api.cli.framework.completion import ids
from bough.api.cli.framework.formats import ago, brief, moment, short, short_forms
from bough.api.cli.framework.terminal_safety import clean
from bough.errors import NotFound

# Seconds without output after which a setup is polled, in case its event was missed.
ASK_EVERY = 15.0

app = typer.Typer(no_args_is_help=True, help="Worktrees: working copies of a repo, each on its own branch.")
WorktreeId = Annotated[
    str,
    typer.Argument(
        metavar="WORKTREE",
        help="Worktree id, 8 characters of it, or its folder.",
        autocompletion=ids("worktrees", "name"),
    ),
]
RemovedId = Annotated[
    str,
    typer.Argument(
        metavar="WORKTREE",
        help="Worktree id, or 8 characters of it.",
        autocompletion=ids("worktrees", "name", removed=True),
    ),
]
Repo = Annotated[str, typer.Option("--repo", "-r", metavar="PATH|ID", help="Repo to create it in.")]
Notes = Annotated[str | None, typer.Option("--notes", help="Notes for people.")]
Name = Annotated[str | None, typer.Option("--name", help="Display name.")]


def add_to(root: typer.Typer) -> None:
    root.add_typer(app, name="worktree")


@command(app, "list")
def list_worktrees(
    ctx: CommandContext,
    repo: Annotated[
        str | None, typer.Option("--repo", "-r", metavar="PATH|ID", help="Only worktrees of this repo.")
    ] = None,
    removed: Annotated[bool, typer.Option("--removed", help="List removed worktrees instead.")] = False,
    limit: Limit = 20,
    offset: Offset = 0,
) -> None:
    """List worktrees, newest first; with --repo, also those that can be adopted."""
    repo_id = find_repo(ctx.client, repo) if repo is not None else None
    answer = ctx.client.get("/api/worktrees", repoId=repo_id, removed=removed, limit=limit, offset=offset)

    def render(page: Any) -> None:
        rows: list[Json] = page["worktrees"]
        short_ids = short_forms([row["id"] for row in rows])
        output.table(
            ("ID", "NAME", "BRANCH", "STATE", "AGE", "PATH"),
            [
                (
                    short_ids[row["id"]],
                    brief(row["name"], 40),
                    brief(row["branch"] or "(detached)", 40),
                    _state(row),
                    ago(row["removedAt"] or row["createdAt"]),
                    row["path"],
                )
                for row in rows
            ],
            flexible="PATH",
            empty="No removed worktrees." if removed else "No worktrees. Create one: bough worktree new BRANCH",
        )
        output.more(page, len(rows))
        if repo_id is not None and not removed:
            print_adoptable(ctx.client, repo_id)

    ctx.show(answer, render)


@command(app, "new")
def new(
    ctx: CommandContext,
    branch: Annotated[str, typer.Argument(metavar="BRANCH", help="Branch; created if it does not exist.")],
    repo: Repo = ".",
    folder: Annotated[
        str | None, typer.Option("--path", metavar="DIR", help="Folder; defaults to .worktrees/BRANCH in the repo.")
    ] = None,
    base: Annotated[
        str | None,
        typer.Option("--base", metavar="REF", help="Base of a new branch; defaults to the repo's default branch."),
    ] = None,
    name: Name = None,
    notes: Notes = None,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Wait for its setup to finish.")] = True,
) -> int:
    """Create a worktree and show its setup as it runs."""
    fields = {"branch": branch, "path": folder, "base": base, "name": name, "notes": notes}
    body = {key: value for key, value in fields.items() if value is not None}
    body |= {"repoId": open_repo(ctx.client, repo), "wait": False}
    cursor = stream.now(ctx.client) if wait else 0
    answer = ctx.client.post("/api/worktrees", body)
    if answer.value["status"] != "setting_up" or not wait:
        ctx.show(answer, print_created)
        return DONE
    ready = follow_setup(ctx, answer.value, cursor)
    output.document(ready) if ctx.json else print_created(ready)
    return FAILED if ready["setupError"] else DONE


def follow_setup(ctx: CommandContext, created: Json, cursor: int) -> Json:
    """Shows a setup's output until it ends; returns the worktree in its final state."""
    if not ctx.json:
        output.note(f"Worktree {short(created['id'])} created; running its setup …")
    shown = ""
    with stream.Stream(ctx.client, None, cursor) as events:
        while True:
            item = events.next(within=ASK_EVERY)
            if item is None or item.kind in ("lost", "back"):
                continue
            if item.kind == "quiet":
                worktree: Json = ctx.client.get(path("worktrees", created["id"])).value
            elif item.event.get("objectId") == created["id"]:
                worktree = item.event["data"]
            else:
                continue
            text: str = worktree["setupOutput"] or ""
            if not ctx.json and text != shown:
                fresh = text[len(shown) :] if text.startswith(shown) else text
                output.note(fresh.rstrip("\n"))
                shown = text
            if worktree["status"] != "setting_up":
                return worktree


def print_created(worktree: Json) -> None:
    output.line(f"Worktree {short(worktree['id'])}: {worktree['branch'] or 'detached'} in {clean(worktree['path'])}")
    if worktree["setupError"]:
        output.note(f"Its setup failed: {worktree['setupError']}")
    output.note(f"Next: bough session new --in {short(worktree['id'])} -p PROMPT")


@command(app, "adopt")
def adopt(
    ctx: CommandContext,
    folder_text: Annotated[str, typer.Argument(metavar="PATH", help="Folder of an existing git worktree.")],
    repo: Annotated[
        str | None, typer.Option("--repo", "-r", metavar="PATH|ID", help="Its repo; defaults to this folder's.")
    ] = None,
    name: Name = None,
    notes: Notes = None,
) -> None:
    """Adopt a worktree that was created without Bough; nothing in it changes."""
    absolute = str(Path(folder_text).expanduser().absolute())
    repo_id = find_repo(ctx.client, repo if repo is not None else ".")
    fields = {"repoId": repo_id, "path": absolute, "name": name, "notes": notes}
    answer = ctx.client.post("/api/worktrees", {key: value for key, value in fields.items() if value is not None})
    ctx.show(answer, print_created)


@command(app, "show")
def show(ctx: CommandContext, worktree: WorktreeId) -> None:
    """Show a worktree, its git status and its sessions."""
    ctx.show(ctx.client.get(path("worktrees", find_worktree(ctx.client, worktree))), _draw)


def _draw(worktree: Json) -> None:
    git: Json = worktree["git"] or {}
    uncommitted = [f"{git[key]} {key}" for key in ("changed", "untracked") if git.get(key)]
    distance = [f"{git[key]} {key}" for key in ("ahead", "behind") if git.get(key)]
    output.facts(
        [
            ("worktree", worktree["id"]),
            ("name", clean(worktree["name"])),
            ("path", clean(worktree["path"])),
            ("branch", clean(git.get("branch") or worktree["branch"] or "(detached)")),
            ("commit", (git.get("sha") or "")[:12]),
            ("base", clean(f"{worktree['baseRef'] or ''} {(worktree['baseSha'] or '')[:12]}".strip())),
            ("state", _state(worktree) if not git.get("missing") else "folder missing"),
            ("files", ", ".join(uncommitted) or ("clean" if git and not git["missing"] else "")),
            ("commits", f"{', '.join(distance)} of {clean(git['against'])}" if distance else ""),
            ("locked", "yes" if git.get("locked") is not None else ""),
            ("setup", clean(worktree["setupError"] or "")),
            ("notes", clean(worktree["notes"])),
            (
                "created",
                f"{moment(worktree['createdAt'])} ({ago(worktree['createdAt'])})"
                if worktree["madeByBough"]
                else "adopted",
            ),
            (
                "removed",
                f"{moment(worktree['removedAt'])} ({ago(worktree['removedAt'])})" if worktree["removedAt"] else "",
            ),
            ("recovery ref", worktree["recoveryRef"] or ""),
        ]
    )
    for session in worktree["sessions"]:
        state = session["activity"] if session["status"] == "active" else session["status"]
        output.line(f"session {short(session['id'])}  {session['agent']}  {state}  {brief(session['title'], 60)}")


@command(app, "losses")
def losses(ctx: CommandContext, worktree: WorktreeId) -> None:
    """Show what would be lost with a worktree, and whether its removal would be refused."""

    def render(answer: Json) -> None:
        for title, name, texts in (
            ("uncommitted", "uncommitted", answer["uncommitted"]),
            ("untracked", "untracked", answer["untracked"]),
            ("commit", "unpushed", [f"{item['sha'][:12]}  {item['subject']}" for item in answer["unpushed"]]),
            ("session", "sessions", [short(item) for item in answer["sessions"]]),
        ):
            for text in texts:
                output.line(f"{title:<12} {clean(text)}")
            if answer["counts"][name] > len(texts):
                output.line(f"{title:<12} and {answer['counts'][name] - len(texts)} more")
        output.line(clean(answer["why"]))

    ctx.show(ctx.client.get(path("worktrees", find_worktree(ctx.client, worktree), "losses")), render)


@command(app, "diff")
def diff(
    ctx: CommandContext,
    worktree: WorktreeId,
    head: Annotated[bool, typer.Option("--head", help="Compare with its last commit instead of its base.")] = False,
    stat: Annotated[bool, typer.Option("--stat", help="Only list the files and how many lines changed.")] = False,
) -> None:
    """Show the changes in a worktree, including untracked files."""
    against = "head" if head else "base"
    answer = ctx.client.get(path("worktrees", find_worktree(ctx.client, worktree), "diff"), against=against)

    def render(changes: Json) -> None:
        for file in changes["files"] if stat else ():
            name = f"{file['oldPath']} → {file['path']}" if file["oldPath"] else file["path"]
            size = "binary" if file["binary"] else f"+{file['additions']} -{file['deletions']}"
            output.line(f"{file['status']:<12}  {size:<12}  {name}")
        for line in changes["text"].splitlines() if not stat else ():
            output.line(line, STYLES.get(line[:1], ""))
        if not changes["files"]:
            output.line("No changes.", "dim")
        if changes["note"]:
            output.note(changes["note"])

    ctx.show(answer, render)


@command(app, "set")
def change(
    ctx: CommandContext,
    worktree: WorktreeId,
    name: Name = None,
    notes: Notes = None,
    board: Annotated[
        str | None, typer.Option("--board", metavar="ID", help="Board to put it on; '' removes it from its board.")
    ] = None,
    x: Annotated[float | None, typer.Option("--x", metavar="N", help="Distance from the board's left edge.")] = None,
    y: Annotated[float | None, typer.Option("--y", metavar="N", help="Distance from the board's top edge.")] = None,
) -> None:
    """Change a worktree's name, notes or position on a board."""
    fields = {"name": name, "notes": notes, "x": x, "y": y}
    body: Json = {key: value for key, value in fields.items() if value is not None}
    if board is not None:
        body["boardId"] = board or None
    if not body:
        raise typer.BadParameter("Nothing to change; see: bough worktree set --help")
    answer = ctx.client.patch(path("worktrees", find_worktree(ctx.client, worktree)), body)
    ctx.show(
        answer,
        lambda worktree_row: output.line(
            f"Worktree {short(worktree_row['id'])} is now called {clean(worktree_row['name'])}."
        ),
    )


@command(app, "remove")
def remove(
    ctx: CommandContext,
    worktree: WorktreeId,
    force: Annotated[
        bool, typer.Option("--force", help="Remove it even if it contains work, which can be recovered.")
    ] = False,
    delete_branch: Annotated[
        bool, typer.Option("--delete-branch", help="Also delete its branch, if Bough created it and nothing is lost.")
    ] = False,
) -> None:
    """Remove a worktree and its folder; an adopted one is only forgotten, unless forced."""
    branch = "delete" if delete_branch else "keep"
    try:
        answer = ctx.client.delete(path("worktrees", find_worktree(ctx.client, worktree)), force=force, branch=branch)
    except Refused as error:
        print_losses(error)
        raise
    ctx.show(answer, print_removed)


def print_losses(error: Refused) -> None:
    """Prints the files and commits that block a worktree's removal."""
    for file in parts(error.details, "files"):
        output.note(f"  {file['state']:<18}  {file['path']}")
    for commit in parts(error.details, "commits"):
        output.note(f"  {commit['sha'][:12]:<18}  {commit['subject']}")


def print_removed(removed: Json) -> None:
    if removed["forgotten"]:
        output.line(f"Worktree {short(removed['id'])} is forgotten; {clean(removed['path'])} is unchanged.")
        return
    output.line(f"Worktree {short(removed['id'])} is removed{', its branch too' if removed['branchDeleted'] else ''}.")
    if removed["recover"]:
        output.note(f"Its contents are saved. Recover them: bough worktree recover {short(removed['id'])}")


@command(app, "recover")
def recover(ctx: CommandContext, worktree: RemovedId) -> None:
    """Recover a removed worktree in its old place, with its uncommitted files."""
    ctx.show(ctx.client.post(path("worktrees", worktree, "recover"), within=SETUP_WITHIN), print_created)


def find_worktree(client: Client, text: str) -> str:
    """Returns the id for an id or a folder; a folder inside a worktree means that worktree."""
    path_given = folder(text)
    if path_given is None:
        return text
    known: dict[Path, str] = {}
    while True:
        page = client.get("/api/worktrees", limit=PAGE, offset=len(known)).value
        known |= {Path(row["path"]): row["id"] for row in page["worktrees"]}
        if len(known) >= page["total"] or not page["worktrees"]:
            break
    real = path_given.resolve()
    for candidate in (real, *real.parents):
        if candidate in known:
            return known[candidate]
    raise NotFound(
        "worktree_not_found", f"{path_given} is not in a worktree that Bough knows. See: bough worktree list"
    )


def _state(row: Json) -> str:
    if row["removedAt"]:
        return "recoverable" if row["recoveryRef"] else "removed"
    if row["status"] != "ready":
        return row["status"].replace("_", " ")
    return "setup failed" if row["setupError"] else "ready"
