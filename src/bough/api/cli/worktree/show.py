"""Lists and shows worktrees: their state, what would be lost with them, and their changes."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from bough.api.cli.approvals.details import STYLES
from bough.api.cli.framework import output
from bough.api.cli.framework.base import CommandContext
from bough.api.cli.framework.client import Json, path
from bough.api.cli.framework.completion import names
from bough.api.cli.framework.formats import ago, brief, moment, short, short_forms
from bough.api.cli.framework.terminal_safety import clean
from bough.api.cli.repos.repo import Limit, Offset, find_repo, print_adoptable
from bough.api.cli.worktree.checks import summary
from bough.api.cli.worktree.find import WorktreeId

# How many seconds a list waits for files to be compared.
SURVEY_WITHIN = 5
# How many seconds it waits for folders to be measured.
MEASURE_WITHIN = 10


def list_worktrees(
    ctx: CommandContext,
    repo: Annotated[
        str | None,
        typer.Option(
            "--repo", "-r", metavar="PATH|NAME|ID", autocompletion=names("repo"), help="Only worktrees of this repo."
        ),
    ] = None,
    removed: Annotated[bool, typer.Option("--removed", help="List removed worktrees instead.")] = False,
    disk: Annotated[bool, typer.Option("--disk", help="Measure and show how much disk each one uses.")] = False,
    limit: Limit = 20,
    offset: Offset = 0,
) -> None:
    """List worktrees, newest first; with --repo, also those that can be adopted."""
    repo_id = find_repo(ctx.client, repo) if repo is not None else None
    answer = ctx.client.get("/api/worktrees", repoId=repo_id, removed=removed, limit=limit, offset=offset)

    def render(page: Any) -> None:
        rows: list[Json] = page["worktrees"]
        overlaps = _overlaps(ctx) if rows and not removed else {}
        requests = _requests(ctx) if rows and not removed else {}
        sizes = _sizes(ctx) if rows and disk and not removed else None
        short_ids = short_forms([row["id"] for row in rows])
        output.table(
            ("ID", "NAME", "BRANCH", "STATE", "AGE", *(("DISK",) if sizes is not None else ()), "PATH"),
            [
                (
                    short_ids[row["id"]],
                    brief(row["name"], 40),
                    brief(row["branch"] or "(detached)", 40),
                    _state(row) + overlaps.get(row["id"], "") + requests.get(row["id"], ""),
                    ago(row["removedAt"] or row["createdAt"]),
                    *((sizes.get(row["id"], ""),) if sizes is not None else ()),
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


def _overlaps(ctx: CommandContext) -> dict[str, str]:
    """Returns a mark for each worktree that changed the same files as another one."""
    surveyed: Json = ctx.client.get("/api/worktrees/overlaps", wait=SURVEY_WITHIN).value
    marks: dict[str, str] = {}
    for item in surveyed["worktrees"]:
        names = [overlap["name"] for overlap in item["overlaps"]]
        more = f" +{len(names) - 1}" if len(names) > 1 else ""
        marks[item["worktreeId"]] = f", overlaps {brief(names[0], 20)}{more}"
    return marks


def _sizes(ctx: CommandContext) -> dict[str, str]:
    """Returns the disk use of each worktree that was measured in time."""
    use: Json = ctx.client.get("/api/worktrees/disk", wait=MEASURE_WITHIN).value
    return {item["worktreeId"]: f"{item['bytes'] / 1024**2:,.1f} MiB" for item in use["worktrees"]}


def _requests(ctx: CommandContext) -> dict[str, str]:
    """Returns a mark for each worktree with a pull request."""
    known: Json = ctx.client.get("/api/worktrees/checks").value
    return {item["worktreeId"]: f", {_request(item)}" for item in known["requests"]}


def _request(item: Json) -> str:
    if item["state"] != "open":
        return f"PR {item['number']} {item['state']}"
    return f"PR {item['number']}: {summary(item)}"


def show(ctx: CommandContext, worktree: WorktreeId) -> None:
    """Show a worktree, its git status and its sessions."""
    ctx.show(ctx.client.get(path("worktrees", worktree)), _draw)


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

    ctx.show(ctx.client.get(path("worktrees", worktree, "losses")), render)


def diff(
    ctx: CommandContext,
    worktree: WorktreeId,
    head: Annotated[bool, typer.Option("--head", help="Compare with its last commit instead of its base.")] = False,
    stat: Annotated[bool, typer.Option("--stat", help="Only list the files and how many lines changed.")] = False,
) -> None:
    """Show the changes in a worktree, including untracked files."""
    against = "head" if head else "base"
    answer = ctx.client.get(path("worktrees", worktree, "diff"), against=against)

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


def _state(row: Json) -> str:
    if row["removedAt"]:
        return "recoverable" if row["recoveryRef"] else "removed"
    if row["status"] != "ready":
        return row["status"].replace("_", " ")
    return "setup failed" if row["setupError"] else "ready"
